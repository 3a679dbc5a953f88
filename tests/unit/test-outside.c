/* A thread of another process, looked at from outside. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
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

#define PATIENCE_NS UINT64_C(60000000000) /* so long a state may take to come */

static void (*before_seize)(pid_t); /* called with the thread that is to be traced next; NULL = nothing */

/* outside.c calls this one, and not the C library's. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;
	pid_t pid;
	void *address, *data;

	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	if (request == PTRACE_SEIZE && before_seize)
		before_seize(pid);
	return syscall(SYS_ptrace, (long)request, (long)pid, address, data);
}

static void pass(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
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

/* Wait until the child sleeps, in the call A or B. Return false if that does not come. */
static bool await_call(pid_t child, int64_t a, int64_t b)
{
	uint64_t until = now() + PATIENCE_NS;
	struct outside_state s;

	do {
		pass();
		if (!CHECK(outside_look(child, child, &s) && !s.refused && now() < until))
			return false;
	} while (s.kind != MPROF_STATE_sleeps || (s.call != a && s.call != b));
	return true;
}

/* Wait until the state of the child is KIND. Return false if that does not come. */
static bool await_kind(pid_t child, enum mprof_state_kind kind)
{
	uint64_t until = now() + PATIENCE_NS;
	struct outside_state s;

	do {
		pass();
		if (!CHECK(outside_stat(child, child, &s) && now() < until))
			return false;
	} while (s.kind != kind);
	return true;
}

/* The thread ran when its state was read, and then began a call that would fail by a stop: it is not stopped. */
static void test_begins_call(void)
{
	struct outside_state ran = {.kind = MPROF_STATE_runs, .call = -1}, looked;
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
	/* The state is that of the stack. */
	CHECK(outside_look(child, child, &looked));
	CHECK_EQ_INT(ran.kind, looked.kind);
	CHECK_EQ_INT(ran.call, looked.call);
	CHECK(ran.counted && ran.switches == looked.switches);
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

static void on_signal(int number)
{
	(void)number;
}

static void *sleep_on(void *unused)
{
	for (;;)
		sleep(1000);
	return unused;
}

/* Let the thread TID, which waits for a signal to end, do so. */
static void end_thread(pid_t tid)
{
	kill(tid, SIGUSR1);
	await_kind(tid, MPROF_STATE_ended);
}

/* The first thread of the process ends just before it is to be stopped: the process is not refused for that. */
static void test_ends(void)
{
	struct outside_late late = {0};
	struct outside_state s;
	struct stack_copy copy;
	sigset_t blocked;
	pthread_t other;
	pid_t child;

	signal(SIGUSR1, on_signal);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	child = fork();
	if (child == 0) {
		pthread_create(&other, NULL, sleep_on, NULL);
		sigemptyset(&blocked);
		sigsuspend(&blocked);
		syscall(SYS_exit, 0);
	}
	if (await_call(child, SYS_rt_sigsuspend, SYS_rt_sigsuspend)) {
		CHECK(outside_look(child, child, &s));
		before_seize = end_thread;
		CHECK_EQ_INT(outside_stack(child, child, &s, &late, &copy, stack), OUTSIDE_LEFT);
		before_seize = NULL;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Let the thread TID, which waits for a signal to call vfork(), do so. */
static void begin_vfork(pid_t tid)
{
	kill(tid, SIGUSR1);
	await_kind(tid, MPROF_STATE_blocked);
}

/* Call vfork() for a child process that ends when the pipe FD does. */
static void wait_for_vfork(int fd)
{
	sigset_t none;
	char byte;

	sigemptyset(&none);
	sigsuspend(&none);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): its parent is to wait where no signal wakes it */
	if (vfork() == 0) {
		(void)!read(fd, &byte, 1);
		_exit(0);
	}
	for (;;)
		sleep(1000);
}

/* A thread that stops late goes on at once, whatever this process does. */
static void test_late(void)
{
	static struct outside_late late;
	struct outside_state s;
	struct stack_copy copy;
	int ends[2];
	pid_t child;

	CHECK_EQ_INT(pipe2(ends, O_CLOEXEC), 0);
	outside_watch(&late);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		wait_for_vfork(ends[0]);
	}
	close(ends[0]);
	if (await_call(child, SYS_rt_sigsuspend, SYS_rt_sigsuspend)) {
		CHECK(outside_look(child, child, &s));
		before_seize = begin_vfork;
		CHECK_EQ_INT(outside_stack(child, child, &s, &late, &copy, stack), OUTSIDE_LATE);
		before_seize = NULL;
		CHECK(late.n == 1 && late.tids[0] == child);
		close(ends[1]);
		await_call(child, SYS_clock_nanosleep, SYS_nanosleep);
		CHECK_EQ_INT(late.tids[0], 0);
	} else {
		close(ends[1]);
	}
	signal(SIGCHLD, SIG_DFL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Return why threads cannot be looked at on this machine, or NULL. */
static const char *reason(void)
{
	struct outside_state s = {0};
	const char *why = NULL;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	if (child < 0)
		return "no process can be made";
	outside_call(child, child, &s);
	if (access("/proc/self/syscall", F_OK) < 0)
		why = "the kernel does not tell system calls";
	else if (s.refused || ptrace(PTRACE_SEIZE, child, 0, 0) < 0)
		why = "the system forbids to trace a process";
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return why;
}

int main(void)
{
	const char *why = reason();

	if (why)
		return check_skip(why);
	CHECK_RUN(test_begins_call);
	CHECK_RUN(test_sleeps_on);
	CHECK_RUN(test_ends);
	CHECK_RUN(test_late);
	return check_done();
}
