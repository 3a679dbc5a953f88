/*
 * The sequence-checked copy.
 *
 * The writer takes no notice of the reader. It publishes a size before the bytes exist, stores a
 * size in two halves, renumbers a packet before it empties it, and may be hostile. These rules make
 * a byte acceptable all the same:
 *
 *   1. Geometry is read once, at attach, and frozen. A header counts only if one load of count, high,
 *      low, high, count agrees with itself.
 *   2. An incarnation is its count and its first timestamp. The first timestamp is loaded before the
 *      header. While the writer is in the packet, the header counts only if that timestamp is newer
 *      than the one of the packet before; otherwise it may be "new count, old size, old bytes". Once
 *      bytes of a packet were taken its first timestamp must stay. Before that it may have been read
 *      half-written, and a change only starts the packet afresh.
 *   3. A size is a position only when a later load of the same incarnation shows the same high half
 *      and a greater low half, or when the writer has moved on and the size is loaded again after.
 *   4. Between two such marks m1 < m2 everything up to m1 is complete: the confirmation of m2 shows
 *      that two later events have begun, and one writer nests at most one (its GC event). Bytes are
 *      loaded after that proof, and count and first timestamp again after the bytes; if either
 *      differs, the copy is dropped.
 *   5. Whatever the cursor passes without handing it over is declared as a gap.
 *
 * tests/model states these rules and checks them against the writer store by store.
 */
#include "ring-state.h"

#include <string.h>

#include <mprof/ring.h>

#define RESYNCS_PER_POLL 3u
/*
 * A writer that wrote this many bytes since the last poll will write as many before the next. A
 * size is proven only by loads less than 8 KiB apart, so the writer is watched for a moment at
 * once.
 */
#define EAGER_BYTES 4096u
#define EAGER_NS    (20 * NS_PER_US)

/*
 * Load the bytes of the two headers that show any change. They only decide whether to read the ring
 * more closely.
 */
static int glance(struct ring *ring, bool *same)
{
	const struct ring_slot *slot = &ring->slots[ring->writer.slot];
	const struct ring_slot *next = &ring->slots[ring_slot_after(ring, ring->writer.slot)];
	const uint64_t at = offsetof(struct mprof_packet_wire, count);
	uint8_t hint[sizeof(ring->glance.bytes)] = {0};
	size_t n = slot->bytes < sizeof(struct mprof_packet_wire) ? 6 : 14;

	if ((!slot->missing && !ring->memory->load(ring->memory, slot->at + at, hint, n)) ||
	    (!next->missing && !ring->memory->load(ring->memory, next->at + at, hint + 14, 6)))
		return RING_E_GONE;
	*same = ring->glance.known && memcmp(hint, ring->glance.bytes, sizeof(hint)) == 0;
	memcpy(ring->glance.bytes, hint, sizeof(hint));
	ring->glance.known = true;
	return 0;
}

/*
 * Return true if another step at once is worth it. MORE bytes were written since the last poll;
 * this one began at NOW.
 */
static bool watch(const struct ring *ring, uint64_t more, uint64_t now)
{
	return more > EAGER_BYTES && ring->writer.has_candidate && !ring->writer.confirmed && !ring->dead &&
	       clock_mono() - now < EAGER_NS;
}

int ring_follow(struct ring *ring, struct ring_sink *sink, uint64_t now)
{
	uint64_t written = ring->writer.written;
	unsigned resyncs = 0;
	int r;

	ring->writer.confirmed = false;
	for (uint32_t steps = 0; steps < 2 * ring->n + 8;) {
		r = ring_step(ring, now);
		steps += r != STEP_STILL; /* still steps end by time */
		if (r == STEP_STILL || r == STEP_MOVED) {
			int taken = ring_take(ring, sink);

			if (taken)
				r = taken;
			else if (r == STEP_STILL && !watch(ring, ring->writer.written - written, now))
				return 0;
			else if (r == STEP_STILL)
				continue;
		}
		if (r == STEP_LAPPED) {
			if (++resyncs > RESYNCS_PER_POLL)
				break;
			r = ring_resync(ring, sink, RING_GAP_LAPPED, false);
			if (r == STEP_STILL)
				break;
			if (r == 0)
				continue;
		}
		if (r != STEP_MOVED && r != STEP_AGAIN)
			return r;
	}
	ring->glance.known = false; /* not seen to the end: read closely at the next poll */
	return 0;
}

int ring_settle(struct ring *ring, struct ring_sink *sink)
{
	int r;

	/* In a ring of which only snapshots are wanted, the next snapshot declares the gap. */
	if (ring->restart.pending && !ring->skipping) {
		/*
		 * The attach put the active packet where the archive continues. The bytes in
		 * between are gone.
		 */
		r = ring_declare(ring, sink, ring->writer.active, ring->writer.active - ring->cursor.sequence,
				 ring->restart.at_least, RING_GAP_RESTART);
		if (r)
			return r;
		ring->restart.pending = false;
	}
	if (!ring->debt.rewound)
		return 0;
	if (ring->skipping)
		return ring_declare_owed(ring, sink);
	r = ring_resync(ring, sink, RING_GAP_LAPPED, ring->dead);
	if (r == 0)
		ring->debt.rewound = ring->debt.at_least = false;
	return r == STEP_STILL ? RING_E_FULL : r;
}

int ring_poll(struct ring *ring, struct ring_sink *sink)
{
	uint64_t now = clock_mono();
	bool same;
	int r;

	ring->counters.polls++;
	r = ring_settle(ring, sink);
	if (r)
		return r;
	r = glance(ring, &same);
	if (r == 0 && !(same && !ring->reference.stale_since)) {
		r = ring_follow(ring, sink, now);
		if (r || ring->counters.unsteady != ring->glance.unsteady)
			ring->glance.known = false;
		ring->glance.unsteady = ring->counters.unsteady;
	}
	ring->polled_at = now;
	return r;
}

void ring_skip(struct ring *ring)
{
	ring->skipping = true;
}

int ring_seek(struct ring *ring, struct ring_sink *sink, bool dead)
{
	int r;

	if (!ring->skipping)
		return 0;
	r = ring_settle(ring, sink);
	if (r)
		return r;
	ring->skipping = false;
	ring->glance.known = false;
	r = ring_resync(ring, sink, RING_GAP_POLICY, dead);
	if (r == 0)
		ring->restart.pending = false;
	if (r == RING_E_FULL || r == STEP_STILL)
		ring->skipping = true;
	return r == STEP_STILL ? RING_E_FULL : r;
}

bool ring_pending(const struct ring *ring)
{
	return ring->writer.active > ring->cursor.sequence || ring->writer.seen > ring->cursor.offset;
}

uint64_t ring_oldest(const struct ring *ring)
{
	return ring->writer.active + 1 >= ring->n ? ring->writer.active + 1 - ring->n : 0;
}
