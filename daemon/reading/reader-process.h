/* Run a reader (reading.h) in a process of its own, and take its answer. */
#ifndef READING_READER_PROCESS_H
#define READING_READER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "reading-result.h"
#include "reading.h"

struct reader_limits {
	uint64_t memory;       /* bytes of address space */
	unsigned seconds;      /* of processor time */
	unsigned wall_seconds; /* by the clock: a machine that is busy needs more of them */
};

/* Longest answer of a reader, with the room to see that one is longer. */
#define READER_ANSWER_MAX (8192u + 1u)

/*
 * Let a reader read the capture of the descriptor IN, from its present position. Fill *RESULT, which is empty.
 * Return 0, or -errno if no process could be made, which says nothing of the capture.
 */
int reader_process_run(int in, const struct reader_limits *limits, struct reading_result *result);

/* A reader that was begun, and has not ended. */
struct reader_process {
	pid_t pid; /* 0 = there is no process */
	int out;   /* its answer comes here; owned */
	/*
	 * After reader_process_end(): its time by the clock was over, or something else has killed it, as a machine without memory does. This
	 * says nothing of the capture.
	 */
	bool was_killed;
};
/*
 * Begin a reader of the descriptor IN. Return 0; or -errno, and *PROCESS has no process and no descriptor. A program
 * of several threads may call this.
 */
int reader_process_begin(int in, const struct reader_limits *limits, struct reader_process *process);
/*
 * End PROCESS, if it runs yet, and take its answer, BYTES bytes at ANSWER; LATE: its time by the clock was over. Else its
 * pipe has ended, or ANSWER is full. Fill *RESULT, which is empty: if there is no good answer, with the failure. Return 0;
 * or -EPERM if the process says that it could not begin or lock itself, which says nothing of the capture.
 */
int reader_process_end(struct reader_process *process, const struct reader_limits *limits, bool late,
		       const uint8_t *answer, size_t bytes, struct reading_result *result);
/*
 * Take the answer of a reader, as reading_result_take() does. It has no ends of tails: those are the server's,
 * and a reader that a guest has taken over must not shorten tails. Return false, with an empty result, if it
 * has some.
 */
bool reader_process_answered(const uint8_t *answer, size_t bytes, struct reading_result *result);
/* Return whether this build has readers that can lock themselves. A sanitizer needs more than a reader may have. */
bool reader_process_works(void);

/*
 * Be the reader: lock this process, which reader_process_begin() has begun, read the descriptor 0 and answer to 1.
 * MEMORY and SECONDS are the words of its command line. Return the exit code.
 */
int reader_process_be(const char *memory, const char *seconds);

#define READER_WORD "--read-one" /* first argument of a reader, which is this program */

#endif
