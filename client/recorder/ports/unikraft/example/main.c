/*
 * A unikernel that records its threads: `server` answers five requests, and `client` waits for an answer
 * that came before it began to wait. Then the program says where the ring is, and waits for ever, so
 * that somebody outside can copy the ring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <uk/mprof.h>
#include <uk/sched.h>
#include <uk/semaphore.h>
#include <uk/thread.h>
#include <uk/wait.h>

#define REQUESTS    5
#define MILLISECOND 1000000

static struct uk_semaphore requests;
static struct uk_waitq answers;
static int served;

static void __noreturn serve(void)
{
	for (;;) {
		uk_semaphore_down(&requests);
		mprof_uk_counter("served", ++served);
		uk_waitq_wake_up(&answers);
	}
}

static void __noreturn wait_for_answer(void)
{
	int before = served;

	mprof_uk_should_resolve();
	uk_waitq_wait_event(&answers, served != before);
	uk_sched_thread_exit();
}

static void start(uk_thread_fn0_t function, const char *name)
{
	if (!uk_sched_thread_create_fn0(uk_sched_current(), function, 0, 0, 0, 0, name, NULL, NULL))
		abort();
}

int main(void)
{
	const void *ring;
	size_t bytes;

	uk_semaphore_init(&requests, 0);
	uk_waitq_init(&answers);
	if (mprof_uk_start() < 0)
		return 1;
	mprof_uk_label("main");
	start(serve, "server");
	for (int i = 0; i < REQUESTS; i++) {
		uk_semaphore_up(&requests);
		uk_sched_thread_sleep(MILLISECOND);
	}
	start(wait_for_answer, "client"); /* too late: the last answer has come */
	uk_sched_thread_sleep(MILLISECOND);
	ring = mprof_uk_ring(&bytes);
	printf("memsave %p %zu ring.ctf\n", ring, bytes);
	for (;;)
		uk_sched_thread_sleep(1000000000);
}
