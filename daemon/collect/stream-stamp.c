/*
 * Take the time of an event from copied bytes, if polls have bounded when it was written. The number is
 * the guest's, and nothing but an estimate of its clock depends on it.
 */
#include "stream-stamp.h"

#include <mprof/bytes.h>
#include <mprof/ids.h>

#include "clock.h"
#include "guest.h"
#include "stream.h"

/* Watch the event behind the newest confirmed position, or find out whether it was written. */
static void position_watch(struct stream *stream, uint64_t now)
{
	const struct ring *ring = &stream->ring;
	const struct ring_mark *mark = ring->proof.n_marks ? &ring->proof.marks[ring->proof.n_marks - 1] : NULL;
	struct stream_watch *watch = &stream->watch;
	bool still;

	if (!mark || ring->proof.several_writers)
		return;
	/* The writer was at MARK at this poll; else it was there at this poll or the one before. */
	still = mark->sequence == ring->writer.active && mark->offset == ring->writer.seen;
	if (!watch->on && !still && !stream->polled)
		return;
	if (!watch->on) {
		*watch = (struct stream_watch){.on = true, .mark = *mark, .after = still ? now : stream->polled};
	} else if (mark->sequence != watch->mark.sequence) {
		watch->on = watch->before != 0;
	} else if (mark->offset > watch->mark.offset) {
		watch->before = watch->before ? watch->before : clock_mono();
	} else if (still) {
		watch->after = now;
	}
}

void stream_stamp_poll(struct stream *stream, uint64_t now)
{
	if (!stream->guest->policy.vcpu)
		return;
	position_watch(stream, now);
	stream->polled = now;
}

void stream_stamp_chunk(struct stream *stream, const struct ring_chunk *chunk, const uint8_t *data)
{
	struct stream_watch *watch = &stream->watch;
	uint32_t at = watch->mark.offset - chunk->offset;

	/* Each chunk of a packet that begins before the one before says so: that is one step. */
	stream->stepped = stream->stepped || (chunk->clock && stream->stepped_packet != chunk->sequence + 1);
	if (chunk->clock)
		stream->stepped_packet = chunk->sequence + 1;
	if (!stream->guest->policy.vcpu || !watch->on || chunk->tail || stream->ring.proof.several_writers ||
	    chunk->sequence < watch->mark.sequence)
		return;
	if (chunk->sequence > watch->mark.sequence) {
		watch->on = false;
		return;
	}
	if (chunk->offset > watch->mark.offset || chunk->length < MPROF_EVENT_BYTES_MIN ||
	    at > chunk->length - MPROF_EVENT_BYTES_MIN)
		return;
	stream->stamp = (struct stream_stamp){
		.number = stream->stamp.number + 1,
		.guest_ns = mprof_load64(data + at),
		.after = watch->after,
		.before = watch->before ? watch->before : chunk->copied.mono,
		.stepped = stream->stepped,
	};
	stream->stepped = watch->on = false;
}
