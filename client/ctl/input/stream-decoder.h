/*
 * Decode the bytes of one stream into events. The decoder sorts packets that are out of order,
 * recognises s-expression logs, and reports damage.
 */
#ifndef CTL_STREAM_DECODER_H
#define CTL_STREAM_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"

enum stream_decoder_kind {
	/*
	 * The bytes may be the image of a ring, whose packets are out of order. They are held in
	 * memory until their end, or until there are more than a ring can have.
	 */
	STREAM_DECODER_FILE,
	/*
	 * As STREAM_DECODER_FILE, but not if the first packet has the form that only the daemon
	 * serves.
	 */
	STREAM_DECODER_PIPE,
	STREAM_DECODER_STREAM, /* packets are in order; nothing is held */
};

struct stream_decoder {
	const struct consumer *consumer; /* borrowed */
	const char *name;		 /* name of the trace for messages; borrowed */
	enum stream_decoder_kind kind;
	unsigned int stream; /* number of the stream, passed to CONSUMER */
	struct mprof_decoder *decoder;
	struct mprof_sexp *sexp; /* parser of s-expression logs; NULL if the stream is no such log */
	uint8_t *held;
	size_t used, room;
	uint64_t bytes;	  /* bytes received so far */
	uint64_t damages; /* damaged places found so far */
	uint64_t packet;  /* index of the packet that was reported to CONSUMER last, if IN_PACKET */
	bool in_packet;
	uint64_t lost; /* missing packets that were reported to CONSUMER so far */
};

/*
 * Begin a stream of KIND of the trace NAME. Return false without memory. The caller deinits S in
 * any case.
 */
bool stream_decoder_init(struct stream_decoder *s, const struct consumer *consumer, const char *name,
			 enum stream_decoder_kind kind);
void stream_decoder_deinit(struct stream_decoder *s);

/*
 * Return a buffer for the next bytes. *ROOM is its size (at least 1). Return NULL without memory.
 * When the buffer has bytes, call stream_decoder_advance().
 */
uint8_t *stream_decoder_room(struct stream_decoder *s, size_t *room);
/*
 * Decode N bytes that the caller put into the buffer of stream_decoder_room(). Return 0, -ENOMEM,
 * or the consumer's error.
 */
int stream_decoder_advance(struct stream_decoder *s, size_t n);
/* End the stream, and decode the bytes that are still held. Return as stream_decoder_advance(). */
int stream_decoder_end(struct stream_decoder *s);

/*
 * Decode LEN bytes, which are copied only if they must be held. Return as stream_decoder_advance().
 */
int stream_decoder_put(struct stream_decoder *s, const void *bytes, size_t len);

/*
 * Report DAMAGE of the stream NAME on stderr. N is its number in this trace, from 1. From a limit
 * on, nothing is reported.
 */
void report_damage(const char *name, const struct mprof_damage *damage, uint64_t n);

/* Return the decoder's totals, which belong to S. */
const struct mprof_totals *stream_decoder_totals(const struct stream_decoder *s);

#endif
