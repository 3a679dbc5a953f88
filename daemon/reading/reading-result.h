/*
 * A reading (schema/reading.md) that was checked: each length, number and text. It comes from a process that has met a
 * guest's bytes, or from a file of a cache.
 */
#ifndef READING_RESULT_H
#define READING_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/reading.h>

#define READING_KEY_BYTES 64u
#define READING_TAILS_MAX 256u
#define READING_CUTS_MAX  65536u /* of all tails of a reading */

struct reading_cut {
	uint64_t sequence;
	uint32_t end, resume; /* the packet is valid up to END, and again from RESUME on; 0 = it is not */
};

/* The end of a stream's tail. */
struct reading_tail {
	int64_t stream;
	uint64_t begin_sequence;
	uint32_t begin_offset;
	uint32_t n_cuts;
	uint64_t next, newest, not_after;
	struct reading_cut *cuts; /* owned */
};

/* Texts without a NUL inside, UTF-8; "" = none. A zeroed result is empty. */
struct reading_result {
	char cause[READING_KEY_BYTES]; /* the key of the cause: its name and a checksum */
	char sentence[MPROF_READING_SENTENCE_MAX + 1];
	char last[MPROF_READING_LAST_MAX + 1];
	char exception[MPROF_READING_EXCEPTION_MAX + 1];
	char failure[MPROF_READING_FAILURE_MAX + 1]; /* why the capture could not be read; "" = it was */
	bool main_failed;	    /* the guest's main thread failed; EXCEPTION is why, "" = without a text */
	bool whole_end;		    /* the ends of all streams were read: without MAIN_FAILED it did not fail there */
	bool damage_known;	    /* the next three are set */
	uint64_t damages;	    /* damaged places in the bytes that were read */
	uint64_t skipped;	    /* bytes that were skipped there */
	uint64_t unproven;	    /* events behind them, to the ends of their packets */
	struct reading_tail *tails; /* owned */
	uint32_t n_tails;
};

/*
 * Fill *RESULT, which is empty, from the reading of BYTES bytes at P. Return false, with an empty result, if it is no
 * reading of this version, or without memory.
 */
bool reading_result_take(const uint8_t *p, size_t bytes, struct reading_result *result);
/* Free the memory of R, and empty it. */
void reading_result_deinit(struct reading_result *r);

#define READING_FAILURE_BYTES (MPROF_READING_HEADER_BYTES + MPROF_READING_SECTION_BYTES + MPROF_READING_FAILURE_MAX)
/* Write a reading with FAILURE alone, a text of 1 to MPROF_READING_FAILURE_MAX bytes, to OUT. Return its bytes. */
size_t reading_of_failure(const char *failure, uint8_t out[READING_FAILURE_BYTES]);

/*
 * Append a section for TAIL to the reading *P of *BYTES bytes, which is reallocated. Return 0, -ENOMEM, or -E2BIG: the
 * reading would be too long, and stays as it is.
 */
int reading_add_tail(uint8_t **p, size_t *bytes, const struct reading_tail *tail);

#endif
