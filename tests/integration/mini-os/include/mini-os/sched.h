/* Threads. */
#ifndef MINI_OS_SCHED_H
#define MINI_OS_SCHED_H

#include <mini-os/os.h>

struct thread {
	char *name;
	unsigned long sp; /* the stand-in's context of the thread */
	s_time_t wakeup_time;
	int runnable;
	struct thread *next;
};

struct thread *get_current(void);
struct thread *create_thread(char *name, void (*function)(void *), void *data);
void exit_thread(void) __attribute__((noreturn));
void schedule(void);
void wake(struct thread *thread);
void block(struct thread *thread);
void msleep(uint32_t milliseconds);
void __arch_switch_threads(unsigned long *prevctx, unsigned long *nextctx);

#define is_runnable(thread) ((thread)->runnable)

#endif
