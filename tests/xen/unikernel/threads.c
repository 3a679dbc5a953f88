/*
 * Threads, which run until they wait, and semaphores. Interrupts are disabled while their state changes.
 */
#include "kernel.h"

#define STACK 16384u

static struct thread threads[THREADS];
static uint8_t stacks[THREADS][STACK] __attribute__((aligned(16)));
static struct thread *current;
static uint64_t waits; /* number of waits so far */

void thread_switch(void **save, void *load);

struct thread *thread_current(void)
{
	return current;
}

/* Make threads ready whose time is over. Return the next ready thread behind FROM, or NULL and the earliest DEADLINE. */
static struct thread *next(const struct thread *from, uint64_t *deadline)
{
	uint64_t now = clock_now();
	size_t at = (size_t)(from - threads);

	*deadline = 0;
	for (size_t i = 1; i <= THREADS; i++) {
		struct thread *t = &threads[(at + i) % THREADS];

		if (t->state == THREAD_BLOCKED && t->deadline && t->deadline <= now)
			t->state = THREAD_READY;
		if (t->state == THREAD_READY)
			return t;
		if (t->state == THREAD_BLOCKED && t->deadline && (!*deadline || t->deadline < *deadline))
			*deadline = t->deadline;
	}
	return NULL;
}

/* Run another thread, or wait for one, with interrupts disabled. Returns when the calling thread runs again. */
static void schedule(void)
{
	struct thread *from = current, *to;
	uint64_t deadline;

	while (!(to = next(from, &deadline))) {
		trace_switch(NULL);
		clock_wait(deadline);
	}
	current = to;
	trace_switch(to);
	if (to != from)
		thread_switch(&from->sp, to->sp);
}

/* The first function of a thread. */
static void begin(void)
{
	interrupts_restore(true);
	current->function(current->argument);
	interrupts_off();
	trace_thread_end(current);
	current->state = THREAD_FREE;
	schedule();
	__builtin_unreachable();
}

void threads_init(void)
{
	current = &threads[0];
	current->name = "main";
	current->state = THREAD_READY;
}

void thread_create(const char *name, void (*function)(void *argument), void *argument)
{
	bool on = interrupts_off();
	size_t i = 0;
	uint64_t *top;

	while (threads[i].state != THREAD_FREE)
		if (++i == THREADS)
			panic("too many threads");
	/* Popped by thread_switch(): six registers, the address to return to; above it, an address that nobody uses. */
	top = (uint64_t *)(stacks[i] + STACK);
	top[-1] = 0;
	top[-2] = (uintptr_t)begin;
	memset(top - 8, 0, 6 * sizeof(*top));
	threads[i] = (struct thread){top - 8, name, THREAD_READY, 0, 0, NULL, function, argument};
	trace_thread_begin(&threads[i]);
	interrupts_restore(on);
}

/* Let the running thread wait, with interrupts disabled. */
static void block(struct semaphore *sem, uint64_t deadline, const char *label)
{
	trace_wait(sem, label, deadline);
	current->state = THREAD_BLOCKED;
	current->waits = sem;
	current->since = ++waits;
	current->deadline = deadline;
	schedule();
}

void thread_sleep(uint64_t ns)
{
	char label[40];
	bool on = interrupts_off();

	text_format(label, sizeof(label), "sleep %u ms", ns / NS_PER_MS);
	block(NULL, clock_now() + ns, label);
	interrupts_restore(on);
}

bool semaphore_down_until(struct semaphore *sem, uint64_t deadline, const char *label)
{
	bool on = interrupts_off(), taken = true;

	if (sem->count) {
		sem->count--;
		trace_take(sem);
	} else {
		block(sem, deadline, label);
		taken = !current->waits;
		current->waits = NULL;
	}
	interrupts_restore(on);
	return taken;
}

void semaphore_down(struct semaphore *sem)
{
	char label[64];

	text_format(label, sizeof(label), "down %s", sem->name);
	semaphore_down_until(sem, 0, label);
}

void semaphore_up(struct semaphore *sem)
{
	bool on = interrupts_off();
	struct thread *first = NULL;

	for (size_t i = 0; i < THREADS; i++) {
		struct thread *t = &threads[i];

		if (t->state == THREAD_BLOCKED && t->waits == sem && (!first || t->since < first->since))
			first = t;
	}
	trace_up(sem);
	if (first) {
		first->waits = NULL;
		first->state = THREAD_READY;
		trace_wake(first);
	} else {
		sem->count++;
	}
	interrupts_restore(on);
}
