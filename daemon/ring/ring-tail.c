/*
 * Copy the bytes past the proven ones, as a capture's tail. For a dead ring the tail has all
 * remaining bytes.
 */
#include "ring-state.h"

#include <mprof/packet.h>

/*
 * Return the offset at which the active packet of a dead ring ends. The writer may have died after
 * it stored the low half of a size and before the high half; the size in the header is then 8 KiB
 * too small. If a greater size was seen earlier, these 8 KiB belong to the tail, and the reader of
 * the archive checks its events one by one. Otherwise they do not: bytes behind the true end are of
 * an earlier lap, and might pass for events.
 */
static uint32_t dead_end(const struct ring *ring, const struct ring_slot *slot, const struct ring_header *h)
{
	const uint32_t stated = mprof_packet_bytes(ring_header_bits(h));

	return ring->writer.seen > stated && ring_size_is_half(ring, h) ? stated + RING_HALF
									: ring_header_bytes(h, slot);
}

/*
 * Load the reference for the active packet's first timestamp (rule 2) again: it is final now that
 * the ring is dead. Return false if its bytes cannot be loaded.
 */
static bool dead_reference(struct ring *ring)
{
	const struct ring_slot *slot;
	uint64_t first;

	if (ring->writer.active == 0 || !ring->reference.known || ring->reference.guessed)
		return true;
	slot = &ring->slots[ring->writer.slot ? ring->writer.slot - 1 : ring->n - 1];
	if (!ring_first_load(ring, slot, &first))
		return false;
	if (first)
		ring->reference.first = first;
	return true;
}

/*
 * Return whether the active packet with the header H and the first timestamp FIRST, which is not fresh, may have bytes of this
 * incarnation. It has none if both are those of the former incarnation: only the count was stored. If only the timestamp
 * is, the first event may be unfinished, and later ones not. In the first lap there is no former incarnation. If the
 * former one is not known, nothing tells the two apart.
 */
static bool content_possible(const struct ring *ring, const struct ring_slot *slot, const struct ring_header *h,
			     uint64_t first)
{
	return !slot->has_before || ring->writer.active < ring->n || first != slot->before ||
	       ring_header_bytes(h, slot) != slot->before_final;
}

/*
 * Set *END for the active packet, as ring_tail_end(), from its header H and first timestamp FIRST. Return 0, or
 * STEP_LAPPED if the slot does not hold the packet that was followed.
 */
static int active_end(struct ring *ring, struct ring_slot *slot, const struct ring_header *h, uint64_t first, bool dead,
		      uint32_t *end)
{
	const uint64_t sequence = ring->writer.active;
	bool fresh = slot->clock || (ring->reference.known ? first > ring->reference.first : first > 0);

	if (h->count != (uint16_t)sequence)
		return STEP_LAPPED;
	/*
	 * If the first timestamp is not fresh, the slot may have the new count but still the bytes of its earlier
	 * incarnation. The bytes of a dead ring are copied nevertheless, if they may be the packet's: the reader of the
	 * archive judges their events.
	 */
	if (!fresh && !(dead && content_possible(ring, slot, h, first)))
		return 0;
	if (slot->has_first && slot->first != first && ring->cursor.sequence == sequence &&
	    ring->cursor.offset > MPROF_PACKET_HEADER_BYTES)
		return STEP_LAPPED;
	/* The sizes that were seen belong to another first timestamp: they tell nothing of this one's. */
	if (slot->has_first && slot->first != first) {
		ring_marks_forget(ring, sequence);
		ring->writer.seen = MPROF_PACKET_HEADER_BYTES;
	}
	*end = dead ? dead_end(ring, slot, h) : ring_header_bytes(h, slot);
	if (*end <= MPROF_PACKET_HEADER_BYTES) /* without an event there is no first timestamp yet */
		return *end ? 0 : STEP_LAPPED;
	slot->clock =
		slot->clock || (!fresh && sequence < ring->n) || (!fresh && slot->has_before && first != slot->before);
	slot->first = first;
	slot->has_first = true;
	return 0;
}

/* Set *END for the active packet, in SLOT, as ring_tail_end(). */
static int active_load_end(struct ring *ring, struct ring_slot *slot, bool dead, uint32_t *end)
{
	const uint64_t sequence = ring->writer.active;
	struct ring_header h;
	uint64_t first;
	int r;

	if (dead && !dead_reference(ring))
		return RING_E_GONE;
	r = ring_incarnation_load(ring, slot, &first, &h);
	if (r)
		return r == STEP_STILL ? STEP_LAPPED : r;
	r = active_end(ring, slot, &h, first, dead, end);
	for (uint32_t i = 0; *end && i < ring->proof.n_marks; i++)
		if (ring->proof.marks[i].sequence == sequence && ring->proof.marks[i].offset > *end)
			*end = ring->proof.marks[i].offset;
	return r;
}

int ring_tail_end(struct ring *ring, uint64_t sequence, bool dead, uint32_t *end)
{
	struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	int r;

	*end = 0;
	if (sequence == ring->writer.active) {
		r = active_load_end(ring, slot, dead, end);
	} else {
		r = ring_final_again(ring, sequence);
		*end = slot->final;
	}
	/* Behind BACK_TO the writer has written over events. */
	if (slot->back == sequence + 1 && *end > slot->back_to)
		*end = slot->back_to;
	return r;
}

/*
 * Copy the tail of the packet at *AT up to offset END, and move *AT. Return as ring_copy_piece().
 */
static int tail_copy(struct ring *ring, struct ring_sink *sink, struct ring_mark *at, uint32_t end)
{
	/* A dead writer may have set the size back and come exactly to the cursor again. */
	if (ring->dead && at->offset == end && at->sequence == ring->cursor.sequence && end == ring->cursor.offset)
		return ring_copied_check(ring, &ring->slots[ring_slot_of(ring, at->sequence)]);
	while (at->offset < end) {
		uint32_t left = end - at->offset;
		struct ring_chunk chunk = {
			.offset = at->offset,
			.length = left < RING_PIECE_MAX ? left : RING_PIECE_MAX,
			.unproven = true,
			.tail = true,
			.last = at->sequence < ring->writer.active,
		};
		int r = ring_copy_piece(ring, sink, at->sequence, &chunk);

		if (r)
			return r;
		at->offset += chunk.length;
	}
	return 0;
}

/*
 * Declare a packet of a dead ring, or its bytes from *AT on, as lost. Only this function declares a loss
 * behind the cursor. Return false if the sink has no room.
 */
static bool tail_lost(struct ring_sink *sink, const struct ring_mark *at)
{
	const struct ring_gap gap = {
		.after_sequence = at->sequence,
		.after_offset = at->offset,
		.next_sequence = at->sequence + 1,
		.packets = 1,
		.reason = RING_GAP_DAMAGED,
		.found = moment_now(),
	};

	return sink->gap(sink, &gap);
}

/*
 * Return whether the writer has set the size of packet SEQUENCE back, or has left it with fewer bytes than were copied or seen
 * before, or, if the ring is DEAD, ended in it with fewer. Events that it wrote after that, or before, are lost.
 */
static bool ended_with_less(struct ring *ring, uint64_t sequence, bool dead)
{
	const struct ring_slot *slot = &ring->slots[ring_slot_of(ring, sequence)];
	uint32_t end = slot->final, grown = slot->grown;
	struct ring_header h;

	if (sequence < ring->cursor.sequence || slot->damaged)
		return false;
	if (slot->back == sequence + 1)
		return true;
	if (sequence == ring->writer.active && !dead)
		return false;
	if (sequence == ring->writer.active) {
		grown = ring->writer.grown;
		if (!ring_header_load(ring, slot, &h))
			end = dead_end(ring, slot, &h);
	}
	return end && (end < grown || (sequence == ring->cursor.sequence && end < ring->cursor.offset));
}

/*
 * Return whether the slot behind the active packet has a number that the writer could not leave there: the guest died while it
 * initialised the ring again, and the slot may have had a packet that was not seen.
 */
static bool is_begun_anew(struct ring *ring, uint64_t sequence)
{
	const struct ring_slot *next = &ring->slots[ring_slot_after(ring, ring->writer.slot)];
	const uint64_t lap = sequence + 1 < ring->n ? 0 : ring->n;
	struct ring_header h;

	return sequence == ring->writer.active && !next->missing && !ring_header_load(ring, next, &h) &&
	       h.count != (uint16_t)(sequence + 1) && h.count != (uint16_t)(sequence + 1 - lap);
}

int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at)
{
	if (ring_mark_before(*at, ring_cursor_mark(ring)))
		*at = ring_cursor_mark(ring);
	if (ring->writer.active >= ring->n && at->sequence + ring->n <= ring->writer.active)
		return 0; /* the writer is a lap ahead: the bytes behind the cursor are overwritten */
	for (; at->sequence <= ring->writer.active;
	     *at = (struct ring_mark){at->sequence + 1, MPROF_PACKET_HEADER_BYTES}) {
		const struct ring_slot *slot = &ring->slots[ring_slot_of(ring, at->sequence)];
		uint32_t end;
		int r = ring_tail_end(ring, at->sequence, dead, &end);

		if (r == 0)
			r = slot->damaged && dead ? STEP_LAPPED : tail_copy(ring, sink, at, end);
		if (r == 0 &&
		    (ended_with_less(ring, at->sequence, dead) || (dead && is_begun_anew(ring, at->sequence)))) {
			if (!dead)
				return 0; /* a later poll declares the rest of the packet lost */
			if (!tail_lost(sink, at))
				return RING_E_FULL;
		}
		/* The rest of the packet at the cursor is lost. The cursor goes behind it. */
		if (r == STEP_OVERWRITTEN)
			r = ring_declare(ring, sink, at->sequence + 1, 1, false, RING_GAP_DAMAGED);
		if (r == STEP_LAPPED && !dead)
			return 0; /* the writer has moved on meanwhile: these bytes are no tail any more */
		if (r == STEP_LAPPED && !tail_lost(sink, at))
			return RING_E_FULL;
		if (r && r != STEP_LAPPED)
			return r;
	}
	/* The tail has all bytes that were owed after a rewind. */
	if (dead)
		ring->debt.owed = (struct ring_mark){0};
	return 0;
}
