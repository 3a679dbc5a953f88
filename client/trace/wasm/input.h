/*
 * One stream, from bytes as they come to events in logical order.
 *
 *   while (bytes are left) {
 *           room = input_room(i, n);       // write n bytes there
 *           input_came(i, n);
 *           while ((n = input_next(i, events, N, &status)) || status != MPROF_MORE)
 *                   ...
 *   }
 *   input_end(i);                          // and ask on until MPROF_END
 *
 * What can be the image of a ring that has wrapped is held until its end is known.  Given out as it comes is what cannot (what has more packets
 * or bytes than a ring, a log of s-expressions, what the daemon serves), and what can be had again, as long as nothing in it goes back.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <mprof/trace.h>

enum input_kind {
	INPUT_FILE, /* any file: can be the image of a ring */
	INPUT_TWICE, /* a file that can be given once more where it turns out that its end must be known first: see input_wrapped() */
	INPUT_SERVED, /* what comes from the daemon, if its first packet looks like it */
	INPUT_HELD,   /* hold everything until the end, whatever it is */
};

struct input;

/* NULL without memory. */
struct input *input_new(enum input_kind kind);
/* Takes NULL too; returns NULL. */
struct input *input_free(struct input *i);

/* So many bytes will come in all, as far as is known: what is held then grows once.  Only a hint: nothing comes of what it says beyond a ring. */
void input_expect(struct input *i, uint64_t bytes);
/* Hold everything until the end after all; nothing came yet. */
void input_hold(struct input *i);
/* Room for N bytes more, to be called when input_next() said MPROF_MORE, or first; lent until the next call.  NULL without memory. */
uint8_t *input_room(struct input *i, size_t n);
/* N bytes were written there. */
void input_came(struct input *i, size_t n);
/* Of INPUT_TWICE: what came so far may not be in order; all of it is to be given to a new intake, of INPUT_HELD. */
bool input_wrapped(const struct input *i);
/* No more will. */
void input_end(struct input *i);

/* As mprof_decoder_batch(); texts are lent until the next call. */
size_t input_next(struct input *i, struct mprof_event *events, size_t n, enum mprof_status *status);
/* The damage of the last MPROF_CORRUPT. */
const struct mprof_damage *input_damage(const struct input *i);
/* Up to the events that came last. */
const struct mprof_totals *input_totals(const struct input *i);
uint64_t input_bytes(const struct input *i);

#endif
