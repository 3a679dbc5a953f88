/*
 * Copy the bytes that are proven (rule 4 of ring.c), and declare the bytes that are lost (rule 5).
 */
#include "ring-state.h"

#include <mprof/extra.h>
#include <mprof/ring.h>

#define PROOF_LAG 1u /* number of marks that must follow a mark before the bytes up to it are copied */

/*
 * Set *LIMIT to the position up to which all bytes are proven (rule 4), if the writer's stores are seen in
 * their order. Return false if no byte is.
 */
static bool proven_limit(struct ring *ring, struct ring_mark *limit)
{
	if (ring->proof.n_marks <= PROOF_LAG)
		return false;
	*limit = ring->proof.marks[ring->proof.n_marks - 1 - PROOF_LAG];
	if (RING_SETTLE && ring->proof.proven_at != ring->polled_at) {
		ring->proof.settled = ring->proof.proven;
		ring->proof.proven_at = ring->polled_at;
	}
	ring->proof.proven = *limit;
	return true;
}

int ring_order_load(const struct ring *ring, const struct ring_slot *slot, bool *declared)
{
	uint8_t raw[MPROF_DECLARATION_EVENT];

	*declared = !RING_SETTLE;
	if (!RING_SETTLE || slot->missing || slot->bytes <= MPROF_PACKET_HEADER_BYTES + sizeof(raw))
		return 0;
	if (!ring->memory->load(ring->memory, slot->at + MPROF_PACKET_HEADER_BYTES, raw, sizeof(raw)))
		return RING_E_GONE;
	*declared = mprof_packet_declares_order(raw);
	return 0;
}

int ring_final_again(struct ring *ring, uint64_t sequence)
{
	struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	struct ring_header h;
	uint32_t content;
	int r;

	if (!RING_SETTLE || slot->damaged)
		return 0;
	r = ring_header_load(ring, slot, &h);
	if (r)
		return r == STEP_STILL ? 0 : r;
	content = ring_header_bytes(&h, slot);
	if (h.count == (uint16_t)sequence && content > slot->final)
		slot->final = content;
	return 0;
}

/*
 * Lower *LIMIT to the position up to which bytes of the packet at the cursor may be copied. *UNPROVEN: they
 * may be false even so. Return 0 or RING_E_GONE.
 */
static int order_limit(struct ring *ring, struct ring_mark *limit, bool *unproven)
{
	bool declared;
	int r = ring_order_load(ring, &ring->slots[ring_slot_of(ring, ring->cursor.sequence)], &declared);

	*unproven = !declared && !ring->dead; /* all stores of a dead writer are visible */
	if (r == 0 && *unproven)
		*limit = ring->proof.settled;
	return r || declared ? r : ring_final_again(ring, ring->cursor.sequence);
}

uint64_t ring_sum(const uint8_t *bytes, uint32_t n)
{
	uint64_t sum = n;

	for (; n >= 8; bytes += 8, n -= 8) {
		sum = (sum ^ mprof_load64(bytes)) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 32;
	}
	for (; n; bytes++, n--)
		sum = (sum ^ *bytes) * 0x100000001b3u;
	return sum;
}

/*
 * If several writers store a size first and the bytes later, one of them may store bytes that were copied already. That
 * looks as a size that was set back: the rest of the packet is a gap.
 */
int ring_copied_check(const struct ring *ring, const struct ring_slot *slot)
{
	const struct ring_cursor *cursor = &ring->cursor;
	uint8_t bytes[RING_SUMMED_MAX];

	if (!cursor->summed || cursor->offset <= MPROF_PACKET_HEADER_BYTES)
		return 0;
	if (!ring->memory->load(ring->memory, slot->at + cursor->offset - cursor->summed, bytes, cursor->summed))
		return RING_E_GONE;
	return ring_sum(bytes, cursor->summed) == cursor->sum ? 0 : STEP_OVERWRITTEN;
}

/*
 * The count is loaded last, because mirage-profile changes the count first when it reuses a slot. mprofd's recorder
 * changes the size first, then the timestamp.
 */
int ring_still_there(const struct ring *ring, uint64_t sequence, const struct ring_slot *slot, uint64_t first)
{
	/* Size 240: the slot is being reused. In the active packet it may also be half of a size. */
	const bool left = sequence != ring->writer.active;
	uint64_t first_now;
	uint16_t low = 0, high = 0, count;

	if (!ring_first_load(ring, slot, &first_now) ||
	    (left && !ring_load16(ring, slot->at + offsetof(struct mprof_packet_wire, content_low), &low)) ||
	    (left && !ring_load16(ring, slot->at + offsetof(struct mprof_packet_wire, content_high), &high)) ||
	    !ring_load16(ring, slot->at + offsetof(struct mprof_packet_wire, count), &count))
		return RING_E_GONE;
	if (left && low == MPROF_PACKET_EMPTY_BITS && high == 0)
		return STEP_LAPPED;
	return count == (uint16_t)sequence && first_now == first ? 0 : STEP_LAPPED;
}

int ring_copy_piece(struct ring *ring, struct ring_sink *sink, uint64_t sequence, struct ring_chunk *chunk)
{
	struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	uint32_t summed;
	uint64_t sum;
	uint8_t *to;
	int r = 0;

	to = sink->reserve(sink, chunk->length, chunk->tail);
	if (!to)
		return RING_E_FULL;
	chunk->sequence = sequence;
	chunk->packet_bytes = slot->bytes;
	chunk->first_timestamp = slot->final == MPROF_PACKET_HEADER_BYTES ? 0 : slot->first;
	chunk->clock = chunk->clock || (chunk->tail && slot->clock);
	if (chunk->length && !ring->memory->load(ring->memory, slot->at + chunk->offset, to, chunk->length))
		r = RING_E_GONE;
	else if (sequence == ring->cursor.sequence && chunk->offset == ring->cursor.offset)
		r = ring_copied_check(ring, slot);
	/* After all other loads: a slot that is reused is no slot whose bytes a faulty writer has changed. */
	if (r == 0 || r == STEP_OVERWRITTEN) {
		int changed = ring_still_there(ring, sequence, slot, slot->first);

		r = changed ? changed : r;
	}
	if (r) {
		ring->counters.dropped++;
		sink->drop(sink);
		return r;
	}
	chunk->copied = moment_now();
	summed = chunk->length < RING_SUMMED_MAX ? chunk->length : RING_SUMMED_MAX;
	sum = ring_sum(to + chunk->length - summed, summed);
	sink->chunk(sink, chunk);
	if (summed && !chunk->tail) {
		ring->cursor.summed = (uint16_t)summed;
		ring->cursor.sum = sum;
	}
	return 0;
}

/*
 * Copy the packet at the cursor from the cursor to the offset TO, and move the cursor there. LAST: the
 * packet is complete at TO. UNPROVEN: the bytes may be false. Return as ring_copy_piece(). The function
 * moves the cursor's offset; ring_copy_piece() has moved the sum.
 */
static int take_upto(struct ring *ring, struct ring_sink *sink, uint32_t to, bool last, bool unproven)
{
	uint64_t sequence = ring->cursor.sequence;
	const struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];

	do {
		uint32_t left = to - ring->cursor.offset;
		uint32_t length = left < RING_PIECE_MAX ? left : RING_PIECE_MAX;
		struct ring_chunk chunk = {
			.offset = ring->cursor.offset,
			.length = length,
			.end = length == left,
			.last = last && length == left,
			.unproven = unproven || ring->proof.several_writers || slot->cut,
			.clock = ring->cursor.has_taken_first && slot->first <= ring->cursor.taken_first,
		};
		int r = ring_copy_piece(ring, sink, sequence, &chunk);

		if (r)
			return r;
		ring->cursor.first = slot->first;
		ring->cursor.offset += length;
		ring->counters.bytes += length;
	} while (ring->cursor.offset < to);
	return 0;
}

int ring_declare(struct ring *ring, struct ring_sink *sink, uint64_t next, uint64_t packets, bool at_least,
		 enum ring_gap_reason reason)
{
	struct ring_gap gap = {
		.after_sequence = ring->cursor.sequence,
		.after_offset = ring->cursor.offset,
		.next_sequence = next,
		.packets = packets,
		.at_least = at_least,
		.reason = reason,
		.found = moment_now(),
	};

	if (ring->restart.unseen && ring->cursor.sequence == ring->restart.unseen_from &&
	    ring->cursor.offset <= MPROF_PACKET_HEADER_BYTES) {
		gap.after_offset = 0;
		gap.packets = ring->restart.known ? packets : 1;
		gap.at_least = true;
	}
	if (!sink->gap(sink, &gap))
		return RING_E_FULL;
	ring->cursor.sequence = next;
	ring->cursor.offset = MPROF_PACKET_HEADER_BYTES;
	return 0;
}

/* Move the cursor behind the packet that it is at. All of it was copied from SLOT. */
static void leave_packet(struct ring *ring, const struct ring_slot *slot)
{
	ring->cursor.taken_first = slot->first;
	ring->cursor.taken = ring->cursor.sequence;
	ring->cursor.has_taken_first = slot->final > MPROF_PACKET_HEADER_BYTES;
	ring->cursor.sequence++;
	ring->cursor.offset = MPROF_PACKET_HEADER_BYTES;
}

/*
 * Copy the packet at the cursor up to the offset TO, because the writer set the packet's size back, and declare the rest of the
 * packet lost. Return as ring_copy_piece().
 */
static int take_set_back(struct ring *ring, struct ring_sink *sink, uint32_t to)
{
	int r = 0;

	if (ring->cursor.offset < to)
		r = take_upto(ring, sink, to, false, true);
	return r ? r : ring_declare(ring, sink, ring->cursor.sequence + 1, 1, false, RING_GAP_DAMAGED);
}

/* Return whether the writer set the size of the packet at the cursor back. */
static bool is_set_back(const struct ring *ring)
{
	return ring->cursor.sequence <= ring->writer.active &&
	       ring->slots[ring_slot_of(ring, ring->cursor.sequence)].back == ring->cursor.sequence + 1;
}

/* Return whether the writer left the packet at the cursor, in SLOT, with fewer bytes than were copied or seen before. */
static bool is_left_with_less(const struct ring *ring, const struct ring_slot *slot)
{
	return slot->final < ring->cursor.offset || slot->final < slot->grown;
}

/*
 * Copy bytes of the packet at the cursor, up to PROVEN at most, and move the cursor. Set *WHOLE to whether that is all of the
 * packet. Return as ring_copy_piece(), or STEP_STILL if nothing may be copied yet.
 */
static int take_some(struct ring *ring, struct ring_sink *sink, const struct ring_mark *proven, bool *whole)
{
	const uint64_t sequence = ring->cursor.sequence;
	const struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	struct ring_mark limit = *proven;
	bool unproven;
	int r;

	*whole = false;
	if (is_set_back(ring))
		return take_set_back(ring, sink, slot->back_to);
	r = order_limit(ring, &limit, &unproven);
	if (r || !ring_mark_before(ring_cursor_mark(ring), limit))
		return r ? r : STEP_STILL;
	/* The whole packet is proven, and the writer has left it. */
	*whole = sequence < limit.sequence || (sequence < ring->writer.active && limit.offset == slot->final);
	if (!*whole || !(slot->damaged || is_left_with_less(ring, slot)))
		return take_upto(ring, sink, *whole ? slot->final : limit.offset, *whole, unproven);
	*whole = false;
	return take_set_back(ring, sink, slot->final);
}

/* Copy bytes of the packet at the cursor, as take_some(), and act on its result. Return as ring_take(), or STEP_STILL. */
static int take_packet(struct ring *ring, struct ring_sink *sink, const struct ring_mark *proven)
{
	const uint64_t sequence = ring->cursor.sequence;
	struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	bool whole;
	int r = take_some(ring, sink, proven, &whole);

	if (r == STEP_LAPPED && ring->cursor.offset == MPROF_PACKET_HEADER_BYTES) {
		const uint64_t first = slot->first;

		/*
		 * No byte of the packet was taken yet. Its first timestamp may have been loaded too early:
		 * follow the packet from its beginning again. In packet 0 the size then tells whether
		 * the ring is initialised again.
		 */
		ring_return_to(ring, sequence);
		slot->has_first = sequence == 0;
		slot->first = first;
		return STEP_AGAIN;
	}
	if (r == STEP_OVERWRITTEN)
		return ring_declare(ring, sink, sequence + 1, 1, false, RING_GAP_DAMAGED);
	if (r || ring->cursor.sequence != sequence)
		return r;
	/* The first timestamp of a copied packet is certain: it is the reference (rule 2), also if it is older. */
	if (sequence + 1 == ring->writer.active) {
		ring->reference.first = slot->first;
		ring->reference.known = true;
		ring->reference.guessed = false;
	}
	if (whole)
		leave_packet(ring, slot);
	return 0;
}

int ring_take(struct ring *ring, struct ring_sink *sink)
{
	struct ring_mark proven = {0};

	if (ring->skipping || ring->held)
		return 0;
	/*
	 * A dead ring may have no mark: those of its life are forgotten (ring_set_dead()). Its writer may be a lap ahead
	 * even so, if nothing was copied before it died.
	 */
	if (!proven_limit(ring, &proven) && !is_set_back(ring))
		return ring->dead && ring_is_lapped(ring) ? STEP_LAPPED : 0;
	while (ring_mark_before(ring_cursor_mark(ring), proven) || is_set_back(ring)) {
		int r;

		/* The sink had no room while the writer went on. */
		if (ring_is_lapped(ring))
			return STEP_LAPPED;
		r = take_packet(ring, sink, &proven);
		if (r)
			return r == STEP_STILL ? 0 : r;
	}
	return 0;
}
