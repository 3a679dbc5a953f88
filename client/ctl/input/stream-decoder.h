/*
 * From bytes of one stream to its events: packets in logical order, the old logs of s-expressions, and complaints about damage.
 */
#ifndef CTL_STREAM_DECODER_H
#define CTL_STREAM_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"

enum stream_decoder_kind {
	STREAM_DECODER_FILE,   /* may be the image of a ring: held until its end is known, or it is too large for one */
	STREAM_DECODER_PIPE,   /* the same, unless it begins with a packet as the daemon serves them */
	STREAM_DECODER_STREAM, /* in order already */
};

struct stream_decoder {
	const struct consumer *consumer; /* borrowed */
	const char *name;		 /* of the trace, for complaints; borrowed */
	enum stream_decoder_kind kind;
	unsigned int stream; /* what the sink is told */
	struct mprof_decoder *decoder;
	struct mprof_sexp *sexp; /* NULL = it is none */
	uint8_t *held;
	size_t used, room;
	uint64_t bytes;	  /* that came */
	uint64_t damages; /* that were found */
	uint64_t lost;	  /* packets that the sink knows to be missing */
};

/* False without memory; deinit it in any case. */
bool stream_decoder_init(struct stream_decoder *f, const struct consumer *consumer, const char *name,
			 enum stream_decoder_kind kind);
void stream_decoder_deinit(struct stream_decoder *f);

/* At least one free byte for what comes next, up to *ROOM; NULL without memory.  Follow with funnel_advance(). */
uint8_t *stream_decoder_room(struct stream_decoder *f, size_t *room);
/* N bytes were put there.  Returns 0, -ENOMEM, or what the sink returned. */
int stream_decoder_advance(struct stream_decoder *f, size_t n);
/* All of the stream came.  As funnel_advance(). */
int stream_decoder_end(struct stream_decoder *f);

/* LEN bytes at once, by the three calls above. */
int stream_decoder_put(struct stream_decoder *f, const void *bytes, size_t len);

/* Complain about the damage that a decoder of stream NAME reports, the Nth in this trace (from 1): not about each of too many. */
void report_damage(const char *name, const struct mprof_damage *damage, uint64_t n);

/* What it came across; lent. */
const struct mprof_totals *stream_decoder_totals(const struct stream_decoder *f);

#endif
