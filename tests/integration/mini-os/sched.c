/* The threads of the stand-in. They run in turn. */
#include "stand-in.h"

#include <mini-os/sched.h>

#include <stdlib.h>
#include <ucontext.h>

#define STACK (256 * 1024)

static struct thread *threads; /* a list in the order of creation */
static struct thread *current; /* NULL before the first thread runs */
static ucontext_t boot;

struct thread *get_current(void)
{
	return current;
}

static void begin(unsigned high, unsigned low, unsigned data_high, unsigned data_low)
{
	void (*function)(void *) = (void (*)(void *))((uintptr_t)high << 32 | low);

	function((void *)((uintptr_t)data_high << 32 | data_low));
	exit_thread();
}

struct thread *create_thread(char *name, void (*function)(void *), void *data)
{
	struct thread *thread = calloc(1, sizeof(*thread)), **at = &threads;
	ucontext_t *context = calloc(1, sizeof(*context));
	uintptr_t f = (uintptr_t)function, d = (uintptr_t)data;

	if (!thread || !context)
		abort();
	getcontext(context);
	context->uc_stack.ss_sp = malloc(STACK);
	context->uc_stack.ss_size = STACK;
	makecontext(context, (void (*)(void))begin, 4, (unsigned)(f >> 32), (unsigned)f, (unsigned)(d >> 32),
		    (unsigned)d);
	*thread = (struct thread){.name = name, .sp = (unsigned long)context, .runnable = 1};
	while (*at)
		at = &(*at)->next;
	*at = thread;
	return thread;
}

void wake(struct thread *thread)
{
	thread->runnable = 1;
	thread->wakeup_time = 0;
}

void block(struct thread *thread)
{
	thread->runnable = 0;
}

/* Wake the threads whose time has come. Return the first time at which another one's comes, or 0. */
static s_time_t wake_late(void)
{
	s_time_t first = 0, now = NOW();

	for (struct thread *t = threads; t; t = t->next) {
		if (t->wakeup_time && t->wakeup_time <= now)
			wake(t);
		if (t->wakeup_time && (!first || t->wakeup_time < first))
			first = t->wakeup_time;
	}
	return first;
}

/* Return the next thread after the current one that can run, or NULL. */
static struct thread *next_runnable(void)
{
	struct thread *from = current ? current->next : threads, *t;

	for (t = from; t; t = t->next)
		if (t->runnable)
			return t;
	for (t = threads; t != from; t = t->next)
		if (t->runnable)
			return t;
	return NULL;
}

void schedule(void)
{
	struct thread *previous = current, *next;
	s_time_t first;

	for (;;) {
		first = wake_late();
		next = next_runnable();
		if (next)
			break;
		block_domain(first);
	}
	if (next == previous)
		return;
	current = next;
	/* The boot has no thread; its context is never entered again. */
	__arch_switch_threads(previous ? &previous->sp : &(unsigned long){(unsigned long)&boot}, &next->sp);
}

void exit_thread(void)
{
	struct thread **at = &threads;

	while (*at != current)
		at = &(*at)->next;
	/* The thread's memory stays, because its stack is in use. */
	*at = current->next;
	current->runnable = 0;
	schedule();
	abort();
}

void msleep(uint32_t milliseconds)
{
	current->wakeup_time = NOW() + milliseconds * 1000000ll;
	block(current);
	schedule();
}

void sched_run(void)
{
	schedule();
	abort();
}
