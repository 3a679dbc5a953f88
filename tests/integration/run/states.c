/* Threads that wait nowhere, as far as the C library's functions tell. Each program hangs, and its first thread joins the other. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "target.h"

/* Make the system call NUMBER without the C library. Return what the kernel returns. */
static long call(long number, const void *a, long b, long c, const void *d)
{
#ifdef __x86_64__
	register long result __asm__("rax") = number;
	register const void *fourth __asm__("r10") = d;

	__asm__ volatile("syscall" : "+r"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
	return result;
#else
	register long which __asm__("x8") = number;
	register long result __asm__("x0") = (long)a;
	register long second __asm__("x1") = b, third __asm__("x2") = c;
	register const void *fourth __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(result) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
	return result;
#endif
}

static const struct timespec hour = {.tv_sec = 3600};

static void sleep_bare(void)
{
	for (;;)
		call(SYS_nanosleep, &hour, 0, 0, NULL);
}

static void *wait_in_futex(void *nothing)
{
	static uint32_t word;

	for (;;)
		call(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
	return nothing;
}

static void *sleep_in_kernel(void *nothing)
{
	sleep_bare();
	return nothing;
}

/* The kernel lets the parent of a vfork() wait until the child executes a program or ends, in state D. */
static void *wait_for_child(void *nothing)
{
	pid_t child = vfork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_bare();
	}
	CHECK(child > 0);
	return nothing;
}

static int join(void *(*run)(void *), const char *name)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	CHECK(pthread_setname_np(thread, name) == 0);
	return pthread_join(thread, NULL);
}

static sem_t gate, never, begun;

/* Wait by a call of the C library, then for GATE. */
static void *wait_twice(void *the_gate)
{
	usleep(1000);
	sem_post(&begun);
	while (sem_wait(the_gate) != 0)
		;
	return NULL;
}

static void ignore(int number)
{
	(void)number;
}

static void *sleep_then_wait(void *nothing)
{
	call(SYS_nanosleep, &hour, 0, 0, NULL);
	while (sem_wait(&never) != 0)
		;
	return nothing;
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name)
{
	pthread_attr_t small;

	CHECK(pthread_attr_init(&small) == 0);
	CHECK(pthread_attr_setstacksize(&small, 256 << 10) == 0);
	CHECK(pthread_create(thread, &small, run, argument) == 0);
	CHECK(pthread_attr_destroy(&small) == 0);
	CHECK(pthread_setname_np(*thread, name) == 0);
}

int program_bare_futex(void)
{
	return join(wait_in_futex, "futex");
}

int program_bare_sleep(void)
{
	return join(sleep_in_kernel, "sleeper");
}

/* The thread sleeps by a call that is not recorded. When a byte comes on the standard input, it waits by one that is. */
int program_sleeps_then_waits(void)
{
	pthread_t thread;
	char byte;

	CHECK(sem_init(&never, 0, 0) == 0 && signal(SIGUSR1, ignore) != SIG_ERR);
	start(&thread, sleep_then_wait, NULL, "sleeper");
	CHECK(read(0, &byte, 1) == 1 && pthread_kill(thread, SIGUSR1) == 0);
	return pthread_join(thread, NULL);
}

/* More threads sleep by a call that is not recorded than are looked at in two seconds. */
int program_bare_crowd(void)
{
	pthread_t thread;

	for (int i = 0; i < 600; i++)
		start(&thread, sleep_in_kernel, NULL, "sleeper");
	return pthread_join(thread, NULL);
}

/* The last threads begin to wait while as many others wait as the keeper can have stacks of, of which some end. */
int program_late_waiters(void)
{
	pthread_t early[256], thread;

	CHECK(sem_init(&gate, 0, 0) == 0 && sem_init(&never, 0, 0) == 0 && sem_init(&begun, 0, 0) == 0);
	for (int i = 0; i < 256; i++)
		start(&early[i], wait_twice, i < 16 ? &gate : &never, "early");
	for (int i = 0; i < 256; i++)
		CHECK(sem_wait(&begun) == 0);
	for (int i = 0; i < 4; i++)
		start(&thread, wait_twice, &never, "late");
	for (int i = 0; i < 4; i++)
		CHECK(sem_wait(&begun) == 0);
	for (int i = 0; i < 16; i++)
		CHECK(sem_post(&gate) == 0);
	for (int i = 0; i < 16; i++)
		CHECK(pthread_join(early[i], NULL) == 0);
	return join(sleep_in_kernel, "sleeper");
}

int program_blocked(void)
{
	return join(wait_for_child, "blocked");
}
