/*
 * libmprof: the answers of `mem identify` and `mem timeline` as JSON: a memory profile's description of itself, its sums, and what it lacks;
 * and the bytes that lived at several times.
 *
 *   struct mprof_profile_report r = {.profile = p, .mem = d, .totals = *mprof_mem_totals(d)};
 *   mprof_json_open(&json, NULL, '{');
 *   mprof_profile_write(&r, &json);
 *
 * `mprofctl mem identify --json` and `mprofctl mem timeline --json` print them, and the viewer reads the first one.
 * schema/answers/profile.json and schema/answers/timeline.json have their keys.
 */
#ifndef MPROF_PROFILE_REPORT_H
#define MPROF_PROFILE_REPORT_H

#include <mprof/json-writer.h>
#include <mprof/memtrace.h>
#include <mprof/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller owns all that a report points to; it is used during the calls only. */
struct mprof_profile_report {
	const struct mprof_profile *profile;
	const struct mprof_mem *mem;	/* the decoder from which the profile came */
	struct mprof_mem_totals totals; /* of the decoder that read the bytes in their order */
	uint64_t recording;		/* the number, from 1, of the recording that was chosen; 0: the last one */
};

/* Bytes that a note has at most, with its end. */
#define MPROF_PROFILE_NOTE_MAX 192u

/* Kinds of notes, by what they are about. */
enum mprof_profile_note {
	MPROF_PROFILE_JOINED,	 /* several recordings */
	MPROF_PROFILE_CLOCK,	 /* the clock went back */
	MPROF_PROFILE_TRUNCATED, /* stacks that the writer cut */
	MPROF_PROFILE_STACKLESS, /* stacks that are lost */
	MPROF_PROFILE_UNNAMED,	 /* names and places beyond the decoder's limits, or behind damage */
	MPROF_PROFILE_LEFT_OUT,	 /* stacks beyond the profile's limit */
	MPROF_PROFILE_UNKNOWN,	 /* events about objects that the profile does not know */
	MPROF_PROFILE_REPEATED,	 /* objects that were allocated twice */
};
#define MPROF_PROFILE_NOTES 8u

/*
 * Write NOTE, a sentence with its full stop about what the recording lacks, into BUF of MPROF_PROFILE_NOTE_MAX bytes. Return false if there
 * is nothing to say.
 */
MPROF_API bool mprof_profile_note(const struct mprof_profile_report *r, enum mprof_profile_note note, char *buf);
/*
 * Write the members of the answer of `mem identify`; the caller opens the object and closes it. Before the recording's header was read, texts
 * are empty, numbers 0, and the process is -1.
 */
MPROF_API void mprof_profile_write(const struct mprof_profile_report *r, struct mprof_json *j);
/*
 * Write the members of the answer of `mem timeline`. The N items of LIVE are the samples that lived at LENGTH_US * i / N microseconds behind
 * the start, for i from 1 to N.
 */
MPROF_API void mprof_profile_write_timeline(const struct mprof_profile_report *r, const uint64_t *live, uint32_t n,
					    uint64_t length_us, struct mprof_json *j);
/* Return the time of item I, from 0, of such a timeline, in nanoseconds behind the start. */
MPROF_API uint64_t mprof_profile_timeline_ns(uint64_t length_us, uint32_t i, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
