/* run-target PROGRAM [ARGUMENT]: one of the programs, or a way to end. */
#include "target.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pthread_t thread;
	void (*wake)(void *context);
	void *context;
	int tid;
} waker;

/* Return the state of the thread TID, a letter of /proc. */
static char state_of(int tid)
{
	char path[64], text[256];
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	CHECK(f);
	CHECK(fgets(text, sizeof(text), f));
	fclose(f);
	end = strrchr(text, ')');
	CHECK(end);
	return end[2];
}

static void *wake_later(void *nothing)
{
	(void)nothing;
	while (state_of(waker.tid) != 'S')
		sched_yield();
	waker.wake(waker.context);
	return NULL;
}

void wake_when_asleep(void (*wake)(void *context), void *context)
{
	waker.wake = wake;
	waker.context = context;
	waker.tid = (int)gettid();
	CHECK(pthread_create(&waker.thread, NULL, wake_later, NULL) == 0);
}

void woken(void)
{
	CHECK(pthread_join(waker.thread, NULL) == 0);
}

void until_waits(const int *tid, long call)
{
	char path[64], text[256];
	long number = -1;
	FILE *f;

	while (number != call) {
		sched_yield();
		snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", __atomic_load_n(tid, __ATOMIC_ACQUIRE));
		f = fopen(path, "r");
		/* The first number is that of the call. A thread that runs has none. */
		number = f && fgets(text, sizeof(text), f) && text[0] != 'r' ? strtol(text, NULL, 10) : -1;
		if (f)
			fclose(f);
	}
}

struct timespec soon(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Wait for ever, after a line that says the pid. */
static int hang(void)
{
	int fds[2];
	char byte;

	CHECK(pipe(fds) == 0);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return (int)read(fds[0], &byte, 1);
}

#ifdef __x86_64__
/* Wait for a millisecond. clock_gettime() may not be called: it reads the counter. */
static void *wait_shortly(void *nothing)
{
	(void)nothing;
	for (int i = 0; i < 20; i++)
		CHECK(poll(NULL, 0, 1) == 0);
	return NULL;
}

/* A program forbids itself to read the time stamp counter, and so does its child. */
static int no_counter(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	wait_shortly(NULL);
	CHECK(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
	wait_shortly(NULL);
	CHECK(pthread_create(&thread, NULL, wait_shortly, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		wait_shortly(NULL);
		CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
		CHECK(pthread_create(&thread, NULL, wait_shortly, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("%d\n", (int)child);
	return status;
}
#endif

static const struct {
	const char *name;
	int (*run)(void);
} programs[] = {
	{"calls-threads", program_calls_threads},
	{"calls-files", program_calls_files},
	{"calls-sleeps", program_calls_sleeps},
	{"deadlock", program_deadlock},
	{"missed", program_missed},
	{"uncontended", program_uncontended},
	{"cancel", program_cancel},
	{"errno", program_errno},
	{"signals", program_signals},
	{"many", program_many},
	{"fork", program_fork},
	{"daemon", program_daemon},
	{"vfork", program_vfork},
	{"old-condition", program_old_condition},
	{"idle-pool", program_idle_pool},
	{"pool-ends", program_pool_ends},
	{"lost-wakeup", program_lost_wakeup},
	{"holder-ends", program_holder_ends},
	{"waits-for-itself", program_waits_for_itself},
	{"lock-over-fork", program_lock_over_fork},
	{"permits", program_permits},
	{"forgets", program_forgets},
	{"computes", program_computes},
	{"pipe", program_pipe},
	{"remade", program_remade},
	{"sockets", program_sockets},
	{"two-readers", program_two_readers},
	{"connection", program_connection},
	{"watches", program_watches},
	{"child-writes", program_child_writes},
	{"library-locks", program_library_locks},
	{"bare-futex", program_bare_futex},
	{"bare-sleep", program_bare_sleep},
	{"sleeps-then-waits", program_sleeps_then_waits},
	{"bare-crowd", program_bare_crowd},
	{"late-waiters", program_late_waiters},
	{"blocked", program_blocked},
	{"hang", hang},
#ifdef __x86_64__
	{"no-counter", no_counter},
#endif
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(name, "exit") == 0)
		return number;
	if (strcmp(name, "_exit") == 0)
		_exit(number);
	if (strcmp(name, "pid") == 0)
		return printf("%d\n", (int)getpid()) < 0;
	if (strcmp(name, "raise") == 0)
		return raise(number);
	if (strcmp(name, "reuse") == 0 && argc > 3)
		return program_reuse(argv[2], argv[3]);
	if (strcmp(name, "random") == 0)
		return program_random((unsigned int)number);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (strcmp(name, programs[i].name) == 0)
			return programs[i].run();
	fprintf(stderr, "run-target: %s: no such program\n", name);
	return 2;
}
