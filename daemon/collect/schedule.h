/*
 * What is to be done when: a heap of tasks, each embedded in what it is for.
 */
#ifndef COLLECT_SCHEDULE_H
#define COLLECT_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

struct task {
	uint64_t due; /* CLOCK_MONOTONIC ns */
	size_t place; /* in the heap, from 1; 0 = not in it */
	void (*run)(struct task *task, uint64_t now);
};

/* Zeroed is ready.  Tasks are borrowed while they are in it. */
struct schedule {
	struct task **heap; /* from 1 */
	size_t n, room;
};

void schedule_deinit(struct schedule *schedule);
/* Put TASK in, or move it, so that it is run at DUE.  -ENOMEM. */
int schedule_at(struct schedule *schedule, struct task *task, uint64_t due);
void schedule_remove(struct schedule *schedule, struct task *task); /* also one that is not in it */
/* The task that is due first, or NULL. */
struct task *schedule_first(const struct schedule *schedule);

#endif
