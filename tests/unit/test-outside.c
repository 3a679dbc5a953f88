/* A thread of another process, looked at from outside. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "outside.h"

static uint8_t stack[OUTSIDE_STACK_BYTES];

/* In mprof-run this is a function of process.c. */
uint64_t now(void);

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Wait for the pipe FD by epoll. Return 0, or the error. */
static int watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return 255;
	return epoll_wait(epoll, &event, 1, -1) == 1 ? 0 : errno;
}

/* Wait until the child sleeps, in the call A or B. */
static void await_call(pid_t child, int64_t a, int64_t b)
{
	struct outside_state s;

	do {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (!CHECK(outside_look(child, child, &s)))
			return;
	} while (s.kind != MPROF_STATE_sleeps || (s.call != a && s.call != b));
}

/* The thread ran when its state was read, and then began a call that would fail by a stop: it is not stopped. */
static void test_begins_call(void)
{
	static const struct outside_state ran = {.kind = MPROF_STATE_runs, .call = -1};
	struct outside_late late = {0};
	struct stack_copy copy;
	int ends[2], status;
	pid_t child;

	CHECK_EQ_INT(pipe(ends), 0);
	child = fork();
	if (child == 0)
		_exit(watch(ends[0]));
#ifdef SYS_epoll_wait
	await_call(child, SYS_epoll_wait, SYS_epoll_pwait);
#else
	await_call(child, SYS_epoll_pwait, SYS_epoll_pwait);
#endif
	CHECK_EQ_INT(outside_stack(child, child, &ran, &late, &copy, stack), OUTSIDE_LEFT);
	CHECK(copy.bare && copy.n);
	CHECK_EQ_INT(write(ends[1], "x", 1), 1);
	CHECK_EQ_INT(waitpid(child, &status, 0), child);
	CHECK_EQ_INT(status, 0);
	close(ends[0]);
	close(ends[1]);
}

/* A thread in a sleep is stopped, and sleeps on. */
static void test_sleeps_on(void)
{
	struct outside_late late = {0};
	struct outside_state s;
	struct stack_copy copy;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			sleep(1000);
	await_call(child, SYS_clock_nanosleep, SYS_nanosleep);
	CHECK(outside_look(child, child, &s));
	CHECK_EQ_INT(outside_stack(child, child, &s, &late, &copy, stack), OUTSIDE_STOPPED);
	CHECK(!copy.bare && copy.n);
	await_call(child, SYS_clock_nanosleep, SYS_restart_syscall);
	CHECK(outside_look(child, child, &s) && s.counted);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	CHECK_RUN(test_begins_call);
	CHECK_RUN(test_sleeps_on);
	return check_done();
}
