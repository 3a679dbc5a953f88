/*
 * One stream: bytes as they arrive in, events in logical order out.
 *
 *   while (bytes are left) {
 *           room = input_room(i, n);       // write n bytes there
 *           input_came(i, n);
 *           while ((n = input_next(i, events, N, &status)) || status != MPROF_MORE)
 *                   ...
 *   }
 *   input_end(i);                          // then call input_next() until MPROF_END
 *
 * An input that may be the image of a wrapped ring is *held*: its bytes are kept until its end, and
 * only then decoded. Other inputs are decoded as they arrive: an input with more packets or bytes
 * than a ring, a log of s-expressions, data from the daemon, and INPUT_TWICE as long as no packet's
 * count goes back.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <mprof/trace.h>

enum input_kind {
	INPUT_FILE, /* any file, which may be the image of a ring */
	/*
	 * A file that is decoded as it arrives. If its packets show that it is the image of a wrapped
	 * ring, input_wrapped() reports that, and the caller reads the file again as INPUT_HELD.
	 */
	INPUT_TWICE,
	INPUT_SERVED, /* probably data from the daemon: its first packet decides */
	INPUT_HELD,   /* hold everything until the end */
};

struct input;

/* Return an input, or NULL without memory. */
struct input *input_new(enum input_kind kind);
/* Free I, which may be NULL. Return NULL. */
struct input *input_free(struct input *i);

/*
 * Hint the number of bytes to expect in all. Held bytes then get room at once and are not copied
 * later. A number larger than a ring has no effect.
 */
void input_expect(struct input *i, uint64_t bytes);
/* Hold the input, as if its kind were INPUT_HELD. Call it before the first byte. */
void input_hold(struct input *i);
/*
 * Return room for N more bytes, or NULL without memory. Call it first, and then when input_next()
 * has returned MPROF_MORE. Valid until the next call on I.
 */
uint8_t *input_room(struct input *i, size_t n);
/* Take the N bytes that the caller has written into that room. */
void input_came(struct input *i, size_t n);
/*
 * Return true when an INPUT_TWICE may be out of order: then give all its bytes again, to a new
 * input of INPUT_HELD.
 */
bool input_wrapped(const struct input *i);
/* End the input: no more bytes come. */
void input_end(struct input *i);

/*
 * Store the next events, at most N, in EVENTS, and return as mprof_decoder_batch(). Texts are valid
 * until the next call on I.
 */
size_t input_next(struct input *i, struct mprof_event *events, size_t n, enum mprof_status *status);
/* Return the damage of the last MPROF_CORRUPT. */
const struct mprof_damage *input_damage(const struct input *i);
/*
 * input_totals() returns the totals up to the last events. input_bytes() returns the number of
 * bytes taken.
 */
const struct mprof_totals *input_totals(const struct input *i);
uint64_t input_bytes(const struct input *i);
/* Store in *COUNT the count of the packet of the last events. Return false if the input has no packets. */
bool input_packet(const struct input *i, uint16_t *count);

#endif
