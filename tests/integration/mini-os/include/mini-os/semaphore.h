/* Semaphores. */
#ifndef MINI_OS_SEMAPHORE_H
#define MINI_OS_SEMAPHORE_H

#include <mini-os/wait.h>

struct semaphore {
	int count;
	struct wait_queue_head wait;
};

void init_SEMAPHORE(struct semaphore *sem, int count);
int trydown(struct semaphore *sem);
void down(struct semaphore *sem);
void up(struct semaphore *sem);

#endif
