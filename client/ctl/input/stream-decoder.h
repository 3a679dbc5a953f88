/*
 * Decode the bytes of one stream into events: put packets in order, read s-expression logs, report
 * damage.
 */
#ifndef CTL_STREAM_DECODER_H
#define CTL_STREAM_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"

enum stream_decoder_kind {
	/* May be a ring's image: hold it until its end comes or it is too large for a ring. */
	STREAM_DECODER_FILE,
	/* The same, unless it begins with a packet as the daemon serves them. */
	STREAM_DECODER_PIPE,
	STREAM_DECODER_STREAM, /* already in order */
};

struct stream_decoder {
	const struct consumer *consumer; /* borrowed */
	const char *name;		 /* trace's name, for messages; borrowed */
	enum stream_decoder_kind kind;
	unsigned int stream; /* number for the consumer */
	struct mprof_decoder *decoder;
	struct mprof_sexp *sexp; /* NULL if the stream is no s-expression log */
	uint8_t *held;
	size_t used, room;
	uint64_t bytes;	  /* received so far */
	uint64_t damages; /* found so far */
	uint64_t lost;	  /* packets that the consumer knows to be missing */
};

/* Return false without memory. The caller deinits F in any case. */
bool stream_decoder_init(struct stream_decoder *f, const struct consumer *consumer, const char *name,
			 enum stream_decoder_kind kind);
void stream_decoder_deinit(struct stream_decoder *f);

/*
 * Return room for the next bytes, *ROOM of them (at least one). Return NULL without memory. Call
 * stream_decoder_advance() next.
 */
uint8_t *stream_decoder_room(struct stream_decoder *f, size_t *room);
/* Decode N bytes that were put into the room. Return 0, -ENOMEM, or the consumer's error. */
int stream_decoder_advance(struct stream_decoder *f, size_t n);
/* End the stream. Return as stream_decoder_advance(). */
int stream_decoder_end(struct stream_decoder *f);

/* Decode LEN bytes, by the calls above. */
int stream_decoder_put(struct stream_decoder *f, const void *bytes, size_t len);

/*
 * Report DAMAGE in the stream NAME, the Nth of this trace (from 1). Beyond a limit, report nothing
 * more.
 */
void report_damage(const char *name, const struct mprof_damage *damage, uint64_t n);

/* Return the decoder's totals; lent. */
const struct mprof_totals *stream_decoder_totals(const struct stream_decoder *f);

#endif
