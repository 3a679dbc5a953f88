/*
 * libmprof: the cause of a trace's end, in a form that is equal for traces that end alike.
 *
 *   if (mprof_cause_find(view, why, &cause) == MPROF_OK && cause.thread != MPROF_NONE)
 *           mprof_explanation_why(e, cause.thread);
 *
 * The text of a cause names threads by their types and labels, never by ids, times or addresses: each
 * run of digits, and each number after 0x, is one `#`. So two guests, on any hosts, have equal causes
 * when the same threads of their programs ended in the same way.
 */
#ifndef MPROF_CAUSE_H
#define MPROF_CAUSE_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mprof_cause_kind {
	MPROF_CAUSE_NONE,     /* no thread ran, and none waits */
	MPROF_CAUSE_DEADLOCK, /* threads wait on each other in a cycle: the cycle that closed first */
	MPROF_CAUSE_MISSED,   /* a thread that should resolve has missed its wake-up (<mprof/why.h>) */
	MPROF_CAUSE_FAILED,   /* a thread failed in the last activation of the program */
	MPROF_CAUSE_WAITS,    /* the program slept at the end, and a thread that should resolve waits */
	MPROF_CAUSE_LAST,     /* none of these: the thread that ran last */
};

/* Bytes of a cause's text with its NUL. A line that does not fit is left out. */
#define MPROF_CAUSE_BYTES 1024u

struct mprof_cause {
	enum mprof_cause_kind kind;
	uint32_t thread;	      /* the thread to explain, of the view; MPROF_NONE for MPROF_CAUSE_NONE */
	uint32_t bytes;		      /* of TEXT, without the NUL */
	char text[MPROF_CAUSE_BYTES]; /* lines of any bytes but 0; the first one is mprof_cause_name() */
};

/*
 * Find the cause of the end of VIEW, of a finished model of one guest; WHY is its index. Both are
 * borrowed during the call. Return MPROF_OK or MPROF_NOMEM. At most 1,000 threads that should resolve
 * are asked about; the call takes at most as long as 1,000 calls of mprof_why_ask().
 */
MPROF_API enum mprof_status mprof_cause_find(const struct mprof_model_view *view, const struct mprof_why *why,
					     struct mprof_cause *cause);

/* Return the name of KIND, a constant: "none", "deadlock", "missed-wakeup", "failed", "waits" or "last". */
MPROF_API const char *mprof_cause_name(enum mprof_cause_kind kind);

#ifdef __cplusplus
}
#endif

#endif
