/* The threads of the process that live: those that have recorded an event and have not ended. */
#ifndef SHIM_ALIVE_H
#define SHIM_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* The thread TID begins, or ends. Any thread calls this for itself; also in a signal handler. */
void alive_add(int tid);
void alive_remove(int tid);
/* Return whether TID is surely no thread of this process that lives and has recorded an event. */
bool alive_is_not(int tid);
/* Return a thread that lives, and move *AT, which begins as 0, behind it. Return 0 after the last one. */
int alive_next(uint32_t *at);
/* Forget all threads: the process is a forked child. */
void alive_forget(void);

#endif
