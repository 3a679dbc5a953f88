/*
 * From bytes of one stream to its events: packets in logical order, the old logs of s-expressions, and complaints about damage.
 */
#ifndef CTL_FUNNEL_H
#define CTL_FUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

enum funnel_kind {
	FUNNEL_FILE,   /* may be the image of a ring: held until its end is known, or it is too large for one */
	FUNNEL_PIPE,   /* the same, unless it begins with a packet as the daemon serves them */
	FUNNEL_STREAM, /* in order already */
};

struct funnel {
	const struct sink *sink; /* borrowed */
	const char *name;	 /* of the trace, for complaints; borrowed */
	enum funnel_kind kind;
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
bool funnel_init(struct funnel *f, const struct sink *sink, const char *name, enum funnel_kind kind);
void funnel_deinit(struct funnel *f);

/* At least one free byte for what comes next, up to *ROOM; NULL without memory.  Follow with funnel_advance(). */
uint8_t *funnel_room(struct funnel *f, size_t *room);
/* N bytes were put there.  Returns 0, -ENOMEM, or what the sink returned. */
int funnel_advance(struct funnel *f, size_t n);
/* All of the stream came.  As funnel_advance(). */
int funnel_end(struct funnel *f);

/* LEN bytes at once, by the three calls above. */
int funnel_put(struct funnel *f, const void *bytes, size_t len);

/* Complain about the damage that a decoder of stream NAME reports, the Nth in this trace (from 1): not about each of too many. */
void tell_damage(const char *name, const struct mprof_damage *damage, uint64_t n);

/* What it came across; lent. */
const struct mprof_totals *funnel_totals(const struct funnel *f);

#endif
