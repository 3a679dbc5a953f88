/* Tasks by the time they are due: a heap. Each task is embedded in the thing it is for. */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

struct task {
	uint64_t due; /* CLOCK_MONOTONIC ns */
	size_t place; /* place in the heap, from 1; 0 = not in it */
	void (*run)(struct task *task, uint64_t now);
};

/* Zeroed is ready. Tasks are borrowed while they are in it. */
struct schedule {
	struct task **heap; /* index from 1 */
	size_t n, room;
};

void schedule_deinit(struct schedule *schedule);
/* Put TASK in, or move it, so that it runs at DUE. Return 0 or -ENOMEM. */
int schedule_at(struct schedule *schedule, struct task *task, uint64_t due);
void schedule_remove(struct schedule *schedule, struct task *task); /* accepts one that is not in it */
/* Return the task that is due first, or NULL. */
struct task *schedule_first(const struct schedule *schedule);

#endif
