/*
 * The sequence-checked copy.
 *
 * The writer takes no notice of the reader. It publishes a size before the bytes exist, stores a
 * size in two halves, changes a packet's count before it empties the packet, and may be hostile.
 * These rules decide which bytes are copied (schema/mprof/ring.h says what slot, lap and
 * incarnation mean):
 *
 *  1. Geometry is read once, at attach, and never again. A header counts only if the loads of count,
 *     high, low, high, count, in this order, give the same count and the same high half twice.
 *  2. An incarnation is identified by its count and its first timestamp. The first timestamp is
 *     loaded before the header. While the writer is in a packet, the packet's header counts only if
 *     that timestamp is *fresh*: newer than the first timestamp of the packet before (the
 *     *reference*). If it is not, the slot may have the new count with the old size and bytes. Once
 *     bytes of a packet were taken, its first timestamp must not change: if it does, the count has wrapped
 *     around, or, if the packet before is still there, a faulty writer has begun the packet anew. Before
 *     that it may have been loaded half-written, so a change only makes the reader follow the packet from
 *     its beginning again.
 *  3. A size becomes a *mark*, a confirmed position of the writer, only when a later load of the
 *     same incarnation shows the same high half and a greater low half; or when the writer has moved
 *     on and the size is loaded again after that.
 *  4. With two marks m1 < m2, everything up to m1 is complete (*proven*): the confirmation of m2 shows
 *     that two later events have begun, and a single writer nests at most one event in another (a GC
 *     event). The bytes are loaded after that proof, and count and first timestamp again after the
 *     bytes; if either has changed, the copy is dropped.
 *  5. All bytes that the cursor passes without handing them over are declared as a gap.
 *  6. A size that a packet was seen to grow to never falls, but by half of a size (ring_size_is_half()), also if
 *     the first timestamp changes meanwhile (rule 2). (A size that was seen once may be left from the slot's
 *     earlier incarnation, until a size is confirmed.) If one falls otherwise, a faulty writer has set it back, or several writers write at
 *     once: the rest of the packet is a gap. Half of a size has the high half of a size before, and the next
 *     size is not less than its whole one. So a fall that may be half of a size counts when a mark confirms
 *     it, the next size is less, or the writer leaves the packet with less. A fall to the size 240, or to an
 *     impossible one, counts with the next size, or when the writer leaves the packet, unless the writer had
 *     left it before and was reusing the slot.
 *     If the first timestamp of packet 0 changes in the first lap before bytes are taken, and the size is less
 *     than was seen, the ring was initialised again, and no size was set back.
 *     If no load showed the fall, and the writer has written over bytes before the cursor, the bytes there
 *     are not those that were copied (ring_sum()): the rest of the packet is a gap, too.
 *
 * tests/model checks these rules against a writer that makes its stores one by one, also that its sizes
 * seem never to fall. tests/unit/test-ring-set-back.c and test-ring-falls.c have the writers that do what rule 6 forbids.
 */
#include "ring-state.h"

#include <string.h>

#include <mprof/ring.h>

#define RESYNCS_PER_POLL 3u
/*
 * If the guest wrote more than EAGER_BYTES since the last poll, it will probably write as many
 * before the next. But a size is confirmed only by two loads between which less than 8 KiB were
 * written (rule 3). So the poll goes on watching the writer for EAGER_NS.
 */
#define EAGER_BYTES 4096u
#define EAGER_NS    (20 * NS_PER_US)

/*
 * Load a few header bytes of the active packet and of the packet behind it. Every change of the
 * ring changes some of these bytes. Set *SAME to whether the bytes are as at the last poll; the
 * caller then need not read the ring closely. Return 0 or RING_E_GONE.
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
 * Return whether this poll, which began at NOW, should make another step at once. MORE is the
 * number of bytes written since the last poll.
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
		steps += r != STEP_STILL; /* steps without progress are limited by time instead */
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
	/* The writer was not followed to its position: read the ring closely at the next poll. */
	ring->glance.known = false;
	return 0;
}

int ring_settle(struct ring *ring, struct ring_sink *sink)
{
	int r;

	/* While a ring is skipped, only ring_seek() declares the loss before the attach. */
	if (ring->restart.pending && !ring->skipping) {
		/*
		 * ring_attach() made the oldest packet that exists the active one. The bytes
		 * between the archive's end and that packet are lost.
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
	uint64_t lost_at;
	int r;

	if (!ring->skipping)
		return 0;
	r = ring_settle(ring, sink);
	if (r)
		return r;
	ring->skipping = false;
	ring->glance.known = false;
	lost_at = ring->writer.lost_at;
	r = ring_resync(ring, sink, RING_GAP_POLICY, dead);
	if (r == 0)
		ring->restart.pending = false;
	if (r == RING_E_FULL || r == STEP_STILL) {
		ring->skipping = true;
		ring->writer.lost_at = lost_at; /* polls follow the writer meanwhile */
	}
	return r == STEP_STILL ? RING_E_FULL : r;
}

bool ring_pending(const struct ring *ring)
{
	/* The cursor is behind the active packet if the rest of that packet was declared lost. */
	return ring->writer.active > ring->cursor.sequence ||
	       (ring->writer.active == ring->cursor.sequence && ring->writer.seen > ring->cursor.offset);
}

uint64_t ring_oldest(const struct ring *ring)
{
	return ring->writer.active + 1 >= ring->n ? ring->writer.active + 1 - ring->n : 0;
}
