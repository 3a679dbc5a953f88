/*
 * The process is this program, begun anew: it has no connection, no key and no memory of its parent. It has two
 * descriptors, the capture and a pipe for its answer.
 */
#include "reader-process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "sandbox.h"

#define EXIT_LOCK   3 /* the reader could not begin, or not lock itself */
#define PATIENCE_MS 20u
#define NICE	    10

int reader_process_be(const char *memory, const char *seconds)
{
	if (sandbox_enter(strtoull(memory, NULL, 10), (unsigned)strtoul(seconds, NULL, 10)) < 0)
		return EXIT_LOCK;
	return reading_run(0, 1) == 0 ? 0 : 1;
}

bool reader_process_works(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false;
#else
	return sandbox_works();
#endif
}

/* In the new process: become the reader of IN with the words ARGS. Other threads of the program may have held locks. */
static void become(int in, int out, pid_t parent, char *const *args)
{
	char *none[] = {NULL};

	/* A reader whose parent was killed ends, too. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(EXIT_LOCK);
	(void)setpriority(PRIO_PROCESS, 0, NICE); /* a unit may forbid this */
	close_range(2, ~0u, 0);
	execve("/proc/self/exe", args, none);
	_exit(EXIT_LOCK);
}

int reader_process_begin(int in, const struct reader_limits *limits, struct reader_process *process)
{
	char memory[24], seconds[16], name[] = "mprof-reader", word[] = READER_WORD;
	char *args[] = {name, word, memory, seconds, NULL};
	pid_t parent = getpid(), pid;
	int ends[2];

	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)limits->memory);
	snprintf(seconds, sizeof(seconds), "%u", limits->seconds);
	*process = (struct reader_process){.out = -1};
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become(in, ends[1], parent, args);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	*process = (struct reader_process){.pid = pid, .out = ends[0]};
	return 0;
}

/* Say in RESULT why the reader ended without an answer. */
static void tell_end(int status, bool late, const struct reader_limits *limits, struct reading_result *result)
{
	char *to = result->failure;
	size_t size = sizeof(result->failure);

	if (late)
		snprintf(to, size, "its reader gave no answer within %u s", limits->wall_seconds);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		snprintf(to, size, "reading it took longer than %u s of processor time", limits->seconds);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		snprintf(to, size, "its reader made a system call that is forbidden to it");
	else if (WIFSIGNALED(status))
		snprintf(to, size, "its reader ended by signal %d", WTERMSIG(status));
	else
		snprintf(to, size, "its reader gave no answer and ended with %d", WEXITSTATUS(status));
}

bool reader_process_answered(const uint8_t *answer, size_t bytes, struct reading_result *result)
{
	if (!reading_result_take(answer, bytes, result))
		return false;
	if (!result->n_tails)
		return true;
	reading_result_deinit(result);
	return false;
}

int reader_process_end(struct reader_process *process, const struct reader_limits *limits, bool late,
		       const uint8_t *answer, size_t bytes, struct reading_result *result)
{
	bool ended =
		process->pid <= 0; /* there is none: kill() and waitpid() would take such a number for many processes */
	int status = 0;

	closep(&process->out);
	/* A process that has answered ends at once. If it does not, it is ended, and its answer may be good. */
	for (unsigned i = 0; i < PATIENCE_MS && !late && !ended; i++) {
		ended = waitpid(process->pid, &status, WNOHANG) > 0;
		if (!ended)
			clock_sleep(NS_PER_MS);
	}
	if (!ended)
		kill(process->pid, SIGKILL);
	while (!ended && waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOCK)
		return -EPERM;
	if (late || !reader_process_answered(answer, bytes, result)) {
		/* A reader cannot close its pipe, so it was ending if the pipe has ended, however long that took. */
		process->was_killed =
			late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && bytes < READER_ANSWER_MAX);
		tell_end(status, late, limits, result);
	}
	return 0;
}

/*
 * Read the answer from FD until its end, or until UNTIL (CLOCK_MONOTONIC ns). Return its bytes, at most SIZE; *LATE:
 * the time is over.
 */
static size_t take_answer(int fd, uint64_t until, uint8_t *answer, size_t size, bool *late)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t bytes = 0;
	ssize_t n = 1;

	*late = false;
	while (n > 0 && bytes < size && !*late) {
		uint64_t now = clock_mono();
		int ready = now < until ? poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) : 0;

		*late = ready == 0;
		n = ready > 0 ? read(fd, answer + bytes, size - bytes) : ready == 0 || errno == EINTR;
		bytes += ready > 0 && n > 0 ? (size_t)n : 0;
	}
	return bytes;
}

int reader_process_run(int in, const struct reader_limits *limits, struct reading_result *result)
{
	uint8_t answer[READER_ANSWER_MAX];
	struct reader_process process;
	size_t bytes;
	bool late;
	int r = reader_process_begin(in, limits, &process);

	if (r < 0)
		return r;
	bytes = take_answer(process.out, clock_mono() + limits->wall_seconds * NS_PER_S, answer, sizeof(answer), &late);
	return reader_process_end(&process, limits, late, answer, bytes, result);
}
