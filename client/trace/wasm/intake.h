/*
 * One stream, from bytes as they come to events in logical order.
 *
 *   while (bytes are left) {
 *           room = intake_room(i, n);       // write n bytes there
 *           intake_came(i, n);
 *           while ((n = intake_next(i, events, N, &status)) || status != MPROF_MORE)
 *                   ...
 *   }
 *   intake_end(i);                          // and ask on until MPROF_END
 *
 * What can be the image of a ring that has wrapped is held until its end is known.  Given out as it comes is what cannot (what has more packets
 * or bytes than a ring, a log of s-expressions, what the daemon serves), and what can be had again, as long as nothing in it goes back.
 */
#ifndef TRACE_INTAKE_H
#define TRACE_INTAKE_H

#include <mprof/trace.h>

enum intake_kind {
	INTAKE_FILE, /* any file: can be the image of a ring */
	INTAKE_TWICE, /* a file that can be given once more where it turns out that its end must be known first: see intake_wrapped() */
	INTAKE_SERVED, /* what comes from the daemon, if its first packet looks like it */
	INTAKE_HELD,   /* hold everything until the end, whatever it is */
};

struct intake;

/* NULL without memory. */
struct intake *intake_new(enum intake_kind kind);
/* Takes NULL too; returns NULL. */
struct intake *intake_free(struct intake *i);

/* So many bytes will come in all, as far as is known: what is held then grows once.  Only a hint: nothing comes of what it says beyond a ring. */
void intake_expect(struct intake *i, uint64_t bytes);
/* Hold everything until the end after all; nothing came yet. */
void intake_hold(struct intake *i);
/* Room for N bytes more, to be called when intake_next() said MPROF_MORE, or first; lent until the next call.  NULL without memory. */
uint8_t *intake_room(struct intake *i, size_t n);
/* N bytes were written there. */
void intake_came(struct intake *i, size_t n);
/* Of INTAKE_TWICE: what came so far may not be in order; all of it is to be given to a new intake, of INTAKE_HELD. */
bool intake_wrapped(const struct intake *i);
/* No more will. */
void intake_end(struct intake *i);

/* As mprof_decoder_batch(); texts are lent until the next call. */
size_t intake_next(struct intake *i, struct mprof_event *events, size_t n, enum mprof_status *status);
/* The damage of the last MPROF_CORRUPT. */
const struct mprof_damage *intake_damage(const struct intake *i);
/* Up to the events that came last. */
const struct mprof_totals *intake_totals(const struct intake *i);
uint64_t intake_bytes(const struct intake *i);

#endif
