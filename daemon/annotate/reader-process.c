/*
 * The process is this program, begun anew: it has no connection, no key and no memory of the annotator.
 * It has two descriptors, the capture and a pipe for its answer.
 */
#include "reader-process.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mprof/trace.h>

#include "clock.h"
#include "sandbox.h"

#define KEY_BYTES      12u /* of a checksum, in a cause's key */
#define CAUSE_NAME_MAX 20u /* bytes of a cause's name */
#define ANSWER_MAX     (sizeof(struct reading_answer) + READING_CAUSE_MAX + READING_SENTENCE_MAX + READING_LAST_MAX)
#define EXIT_LOCK      3 /* the reader could not lock itself */

/* ---- the answer ---- */

/* Copy a text of N bytes at *AT to OUT of SIZE bytes. Return false if it is too long, or no text. */
static bool take_text(const uint8_t **at, size_t *left, uint32_t n, char *out, size_t size)
{
	if (n > *left || n >= size || memchr(*at, 0, n) || !mprof_text_is_utf8((const char *)*at, n))
		return false;
	memcpy(out, *at, n);
	out[n] = '\0';
	*at += n;
	*left -= n;
	return true;
}

/* Make the key of the cause TEXT of N bytes, which may be any: its name, and a part of its checksum. */
static bool make_key(const uint8_t *text, size_t n, char key[64])
{
	uint8_t sum[32];
	size_t name = 0;

	while (name < n && ((text[name] >= 'a' && text[name] <= 'z') || text[name] == '-'))
		name++;
	if (!name || name > CAUSE_NAME_MAX || (name < n && text[name] != '\n') ||
	    gnutls_hash_fast(GNUTLS_DIG_SHA256, text, n, sum) < 0)
		return false;
	memcpy(key, text, name);
	key[name] = '-';
	for (unsigned i = 0; i < KEY_BYTES; i++)
		snprintf(key + name + 1 + (size_t)2 * i, 3, "%02x", sum[i]);
	return true;
}

bool reader_answer_take(const uint8_t *answer, size_t bytes, struct reader_result *result)
{
	struct reading_answer a;
	const uint8_t *at;
	size_t left;
	char sentence[READING_SENTENCE_MAX + 1];

	*result = (struct reader_result){0};
	if (bytes < sizeof(a))
		return false;
	memcpy(&a, answer, sizeof(a));
	at = answer + sizeof(a);
	left = bytes - sizeof(a);
	if (a.magic != READING_MAGIC || a.failed > 1 || a.cause > READING_CAUSE_MAX || a.cause > left ||
	    (a.cause && !make_key(at, a.cause, result->cause)))
		return false;
	at += a.cause;
	left -= a.cause;
	if (!take_text(&at, &left, a.sentence, sentence, sizeof(sentence)) ||
	    !take_text(&at, &left, a.last, result->last, sizeof(result->last)) || left)
		return false;
	if (a.failed)
		snprintf(result->failure, sizeof(result->failure), "%.255s", sentence);
	else
		memcpy(result->sentence, sentence, a.sentence + 1);
	return !a.failed || (a.sentence && !a.cause);
}

/* ---- the process ---- */

int reader_process_be(const char *memory, const char *seconds)
{
	if (sandbox_enter(strtoull(memory, NULL, 10), (unsigned)strtoul(seconds, NULL, 10)) < 0)
		return EXIT_LOCK;
	return reading_run(0, 1) == 0 ? 0 : 1;
}

/* In the new process: become the reader. */
static void become(int in, int out, pid_t parent, const struct reader_limits *limits)
{
	char memory[24], seconds[16], name[] = "mprof-annotate", word[] = READER_WORD;
	char *args[] = {name, word, memory, seconds, NULL}, *none[] = {NULL};

	snprintf(memory, sizeof(memory), "%llu", (unsigned long long)limits->memory);
	snprintf(seconds, sizeof(seconds), "%u", limits->seconds);
	/* A reader whose annotator was killed ends, too. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(EXIT_LOCK);
	close_range(3, ~0u, 0);
	execve("/proc/self/exe", args, none);
	_exit(EXIT_LOCK);
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

/* Say in RESULT why the reader ended without an answer. */
static void tell_end(int status, bool late, const struct reader_limits *limits, struct reader_result *result)
{
	char *to = result->failure;
	size_t size = sizeof(result->failure);

	*result = (struct reader_result){0};
	if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		snprintf(to, size, "reading it took longer than %u s", limits->seconds);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		snprintf(to, size, "its reader made a system call that is forbidden to it");
	else if (WIFSIGNALED(status))
		snprintf(to, size, "its reader ended by signal %d", WTERMSIG(status));
	else
		snprintf(to, size, "its reader gave no answer and ended with %d", WEXITSTATUS(status));
}

int reader_process_run(int in, const struct reader_limits *limits, struct reader_result *result)
{
	uint8_t answer[ANSWER_MAX + 1];
	int ends[2], status = 0;
	pid_t parent = getpid(), child;
	size_t bytes;
	bool late;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		become(in, ends[1], parent, limits);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	bytes = take_answer(ends[0], clock_mono() + 2 * limits->seconds * NS_PER_S, answer, sizeof(answer), &late);
	close(ends[0]);
	if (late)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOCK)
		return -EPERM;
	if (late || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !reader_answer_take(answer, bytes, result))
		tell_end(status, late, limits, result);
	return 0;
}
