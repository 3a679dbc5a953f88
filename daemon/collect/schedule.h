/*
 * A heap of tasks, ordered by when they are due. A task is embedded in the struct on which it
 * works.
 */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

struct task {
	uint64_t due; /* when to call run(), CLOCK_MONOTONIC ns */
	size_t place; /* index in the heap, from 1; 0 = not scheduled */
	void (*run)(struct task *task, uint64_t now);
};

/* A zeroed struct is an empty schedule. Scheduled tasks are borrowed. */
struct schedule {
	struct task **heap; /* root at index 1 */
	size_t n, room;
};

void schedule_deinit(struct schedule *schedule);
/*
 * Schedule TASK for DUE (CLOCK_MONOTONIC ns), in place of the time for which it was scheduled.
 * Return 0 or -ENOMEM.
 */
int schedule_at(struct schedule *schedule, struct task *task, uint64_t due);
void schedule_remove(struct schedule *schedule, struct task *task); /* does nothing if TASK is not scheduled */
/* Return the task that is due first, or NULL if none is scheduled. */
struct task *schedule_first(const struct schedule *schedule);

#endif
