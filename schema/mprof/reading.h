/*
 * A reading, the result of the reader of a capture: a small file of sections (reading.md). Pure functions over
 * private bytes, without I/O, allocation or state.
 */
#ifndef MPROF_READING_H
#define MPROF_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <mprof/bytes.h>

#define MPROF_READING_MAGIC	    0x7264706du /* "mpdr" */
#define MPROF_READING_VERSION	    3u
#define MPROF_READING_HEADER_BYTES  8u	       /* magic (32 bits), version (32 bits) */
#define MPROF_READING_SECTION_BYTES 8u	       /* kind (32 bits), bytes of the content (32 bits) */
#define MPROF_READING_BYTES_MAX	    (2u << 20) /* of a whole reading */

enum mprof_reading_kind {
	MPROF_READING_FAILURE = 1, /* text: why the capture could not be read */
	MPROF_READING_CAUSE,	   /* text of struct mprof_cause: any bytes but 0 */
	MPROF_READING_SENTENCE,	   /* text: the cause in words */
	MPROF_READING_LAST,	   /* text: what ran last */
	MPROF_READING_EXCEPTION,   /* text by which the main thread failed, else of the last event `fails` */
	MPROF_READING_TAIL,	   /* the end of one stream's tail */
	MPROF_READING_DAMAGE,	   /* damage in the bytes that were read */
	MPROF_READING_MAIN_FAILED, /* without content: the main thread failed */
	MPROF_READING_WHOLE_END,   /* without content: the reader got and decoded the ends of all streams */
};

/* Bytes of the texts at most. */
#define MPROF_READING_FAILURE_MAX   255u
#define MPROF_READING_CAUSE_MAX	    1023u
#define MPROF_READING_SENTENCE_MAX  1024u
#define MPROF_READING_LAST_MAX	    4096u
#define MPROF_READING_EXCEPTION_MAX 1024u

/* A section MPROF_READING_TAIL has these bytes, and for each cut 16: packet (64 bits), two offsets (32 bits each). */
#define MPROF_READING_TAIL_BYTES 48u
#define MPROF_READING_CUT_BYTES	 16u

#define MPROF_READING_DAMAGE_BYTES 24u /* of a section MPROF_READING_DAMAGE */

struct mprof_reading_section {
	uint32_t kind;
	uint32_t bytes;
	const uint8_t *content; /* in the reading */
};

/* Write the header of a reading to OUT, MPROF_READING_HEADER_BYTES bytes. */
static inline void mprof_reading_begin(uint8_t *out)
{
	mprof_store32(out, MPROF_READING_MAGIC);
	mprof_store32(out + 4, MPROF_READING_VERSION);
}

/* Write the header of a section of KIND with BYTES bytes to OUT, MPROF_READING_SECTION_BYTES bytes. */
static inline void mprof_reading_section(uint8_t *out, enum mprof_reading_kind kind, uint32_t bytes)
{
	mprof_store32(out, (uint32_t)kind);
	mprof_store32(out + 4, bytes);
}

/* Return whether the LEN bytes at P begin as a reading of this version. */
static inline bool mprof_reading_is_known(const uint8_t *p, size_t len)
{
	return len >= MPROF_READING_HEADER_BYTES && len <= MPROF_READING_BYTES_MAX &&
	       mprof_load32(p) == MPROF_READING_MAGIC && mprof_load32(p + 4) == MPROF_READING_VERSION;
}

/*
 * Take the section at *AT, an offset in the LEN bytes at P, and move *AT behind it; *AT is
 * MPROF_READING_HEADER_BYTES at first. Return false at the end, or if the bytes end inside the section: *AT is
 * LEN only at the end.
 */
static inline bool mprof_reading_next(const uint8_t *p, size_t len, size_t *at, struct mprof_reading_section *section)
{
	size_t left = len - *at;

	if (left < MPROF_READING_SECTION_BYTES)
		return false;
	section->kind = mprof_load32(p + *at);
	section->bytes = mprof_load32(p + *at + 4);
	section->content = p + *at + MPROF_READING_SECTION_BYTES;
	if (section->bytes > left - MPROF_READING_SECTION_BYTES)
		return false;
	*at += MPROF_READING_SECTION_BYTES + section->bytes;
	return true;
}

#endif
