/*
 * Keep the newest packets of a dead ring, if there is no room for all of its bytes.
 *
 * The bytes of a packet cannot be decoded without the bytes before them, so whole packets are
 * declared lost, oldest first. If the newest packet alone does not fit, its beginning is kept.
 */
#include "ring-state.h"

#include <mprof/ring.h>

void ring_set_dead(struct ring *ring, bool dead)
{
	bool declared = true;

	/*
	 * A size that was loaded while the writer lived may have been visible before an earlier store,
	 * so marks of that time do not prove what is copied now without settling. (If the declaration
	 * cannot be loaded, no byte can.)
	 */
	if (RING_SETTLE && dead && !ring->dead)
		ring_order_load(ring, &ring->slots[ring->writer.slot], &declared);
	if (!declared) {
		ring->proof.n_marks = 0;
		ring->writer.has_candidate = false;
		ring->writer.grown = MPROF_PACKET_HEADER_BYTES;
		for (uint32_t i = 0; i < ring->n; i++)
			ring->slots[i].grown = 0;
	}
	ring->dead = dead;
	ring->glance.known = false;
}

/*
 * Follow the writer to its end without copying, so that the sizes of all packets are known. Return
 * as ring_remaining().
 */
static int follow_to_end(struct ring *ring, struct ring_sink *sink)
{
	int r = ring_settle(ring, sink);

	ring->held = true;
	if (r == 0)
		r = ring_follow(ring, sink, clock_mono());
	if (r == 0 && ring_is_lapped(ring)) {
		/*
		 * While nothing was copied, the writer overwrote the packet at the cursor. Continue
		 * at the oldest packet that the ring still holds.
		 */
		r = ring_resync(ring, sink, RING_GAP_LAPPED, true);
		if (r == 0)
			r = ring_follow(ring, sink, clock_mono());
	}
	ring->held = false;
	ring->glance.known = false; /* the bytes that were followed are not copied yet */
	return r == STEP_STILL ? RING_E_FULL : r;
}

/*
 * Return where the remaining bytes begin: at *AT, if a tail was begun behind the cursor, else at
 * the cursor.
 */
static struct ring_mark left_from(const struct ring *ring, const struct ring_mark *at)
{
	const struct ring_mark cursor = ring_cursor_mark(ring);

	return ring_mark_before(cursor, *at) ? *at : cursor;
}

/*
 * Set *BYTES to the number of bytes of packet SEQUENCE at or after FROM that remain to be copied,
 * plus COST for each piece. Return 0 or RING_E_GONE.
 */
static int packet_left(struct ring *ring, uint64_t sequence, const struct ring_mark *from, uint32_t cost,
		       uint64_t *bytes)
{
	const struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	uint32_t begin = sequence == from->sequence ? from->offset : MPROF_PACKET_HEADER_BYTES, end;
	int r = ring_tail_end(ring, sequence, true, &end);
	uint64_t length;

	if (r && r != STEP_LAPPED) /* the capture declares such a packet lost */
		return r;
	length = !r && end > begin && !slot->damaged ? end - begin : 0;
	/*
	 * Besides the pieces of RING_PIECE_MAX there may be a cut where the proven bytes end, one
	 * where the packet is complete, and a last short piece.
	 */
	*bytes = length + (length / RING_PIECE_MAX + 3) * cost;
	return 0;
}

int ring_remaining(struct ring *ring, struct ring_sink *sink, uint32_t cost, const struct ring_mark *at,
		   uint64_t *bytes)
{
	int r = follow_to_end(ring, sink);
	struct ring_mark from = left_from(ring, at);

	*bytes = 0;
	for (uint64_t q = from.sequence; r == 0 && q <= ring->writer.active; q++) {
		uint64_t more;

		r = packet_left(ring, q, &from, cost, &more);
		if (r == 0)
			*bytes += more;
	}
	return r;
}

/*
 * Declare all bytes from FROM to the beginning of packet NEXT lost. If FROM is the cursor, move the
 * cursor to NEXT; else move *AT, the position of the tail. Return 0 or RING_E_FULL.
 */
static int leave_out(struct ring *ring, struct ring_sink *sink, const struct ring_mark *from, struct ring_mark *at,
		     uint64_t next)
{
	const struct ring_gap gap = {
		.after_sequence = from->sequence,
		.after_offset = from->offset,
		.next_sequence = next,
		.packets = next - from->sequence,
		.reason = RING_GAP_LAPPED,
		.found = moment_now(),
	};

	if (from->sequence == ring->cursor.sequence && from->offset == ring->cursor.offset)
		return ring_declare(ring, sink, next, next - from->sequence, false, RING_GAP_LAPPED);
	if (!sink->gap(sink, &gap))
		return RING_E_FULL;
	*at = (struct ring_mark){.sequence = next, .offset = MPROF_PACKET_HEADER_BYTES};
	return 0;
}

int ring_keep_newest(struct ring *ring, struct ring_sink *sink, uint32_t cost, struct ring_mark *at, uint64_t bytes)
{
	int r = follow_to_end(ring, sink);
	struct ring_mark from = left_from(ring, at);
	uint64_t oldest = ring->writer.active, more, total = 0;

	for (uint64_t q = ring->writer.active; r == 0 && q + 1 > from.sequence; q--) {
		r = packet_left(ring, q, &from, cost, &more);
		total += r ? 0 : more;
		if (total > bytes)
			break;
		oldest = q;
		if (q == 0)
			break;
	}
	if (r || oldest <= from.sequence)
		return r;
	return leave_out(ring, sink, &from, at, oldest);
}

int ring_declare_rest(struct ring *ring, struct ring_sink *sink, struct ring_mark *at)
{
	int r = follow_to_end(ring, sink);
	struct ring_mark from = left_from(ring, at);

	if (r == RING_E_FULL || from.sequence > ring->writer.active)
		return r == RING_E_FULL ? r : 0;
	r = leave_out(ring, sink, &from, at, ring->writer.active + 1);
	if (r)
		return r;
	ring->cursor.sequence = ring->writer.active + 1;
	ring->cursor.offset = MPROF_PACKET_HEADER_BYTES;
	return 0;
}
