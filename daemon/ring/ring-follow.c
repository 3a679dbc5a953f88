/*
 * Follow the writer from packet to packet (rules 2 and 3 of ring.c). A step reads the packet after
 * the active one, to see whether the writer has moved on, and then the active packet. A position of
 * the writer that is confirmed becomes a mark.
 */
#include "ring-state.h"

#include <string.h>

#include <mprof/packet.h>

#define STALE_NS NS_PER_S /* accept an old first timestamp if it stays for this time */

static void mark_add(struct ring *ring, uint64_t sequence, uint32_t offset)
{
	struct ring_mark *newest = ring->proof.n_marks ? &ring->proof.marks[ring->proof.n_marks - 1] : NULL;

	if (offset <= MPROF_PACKET_HEADER_BYTES)
		return;
	if (newest && newest->sequence == sequence && offset <= newest->offset) {
		/*
		 * With a single writer the position in a packet never falls, so there are several.
		 */
		if (offset < newest->offset)
			ring->proof.several_writers = true;
		return;
	}
	if (ring->proof.n_marks == RING_MARKS) {
		memmove(ring->proof.marks, ring->proof.marks + 1,
			sizeof(ring->proof.marks) - sizeof(ring->proof.marks[0]));
		ring->proof.n_marks--;
	}
	ring->proof.marks[ring->proof.n_marks++] = (struct ring_mark){.sequence = sequence, .offset = offset};
}

void ring_marks_forget(struct ring *ring, uint64_t sequence)
{
	while (ring->proof.n_marks && ring->proof.marks[ring->proof.n_marks - 1].sequence >= sequence)
		ring->proof.n_marks--;
	ring->proof.proven = ring->proof.settled = (struct ring_mark){0};
}

void ring_active_set(struct ring *ring, uint64_t sequence, uint32_t slot)
{
	ring->writer.active = sequence;
	ring->writer.slot = slot;
	ring->writer.has_candidate = false;
	ring->writer.saw_empty = ring->writer.fell = false;
	ring->reference.stale_since = 0;
	ring->writer.seen = ring->writer.grown = MPROF_PACKET_HEADER_BYTES;
	ring->writer.least = 0;
	ring->glance.known = false;
}

/*
 * The first timestamp of packet SEQUENCE has changed. Forget all that was seen of the packets from SEQUENCE on, except for sizes
 * that were set back and for those to which packet SEQUENCE grew, and follow the writer from there again. If one of these sizes
 * fell, the whole packet is lost.
 */
void ring_return_to(struct ring *ring, uint64_t sequence)
{
	const uint32_t slot = ring_slot_of(ring, sequence);
	struct ring_slot *first = &ring->slots[slot];
	const uint32_t grown = sequence == ring->writer.active ? ring->writer.grown : first->grown;
	const bool fell = sequence == ring->writer.active && ring->writer.fell;

	for (uint64_t q = sequence; q <= ring->writer.active; q++) {
		struct ring_slot *s = &ring->slots[ring_slot_of(ring, q)];

		s->has_first = false;
		s->final = 0;
		s->damaged = false;
		s->clock = false;
	}
	ring_marks_forget(ring, sequence);
	if (first->back == sequence + 1)
		first->back_to = MPROF_PACKET_HEADER_BYTES;
	ring_active_set(ring, sequence, slot);
	if (grown > MPROF_PACKET_HEADER_BYTES) {
		ring->writer.grown = grown;
		ring->writer.least = MPROF_PACKET_HEADER_BYTES;
		ring->writer.fell = fell;
	}
	ring->reference.known = false;
}

/*
 * The active packet's size fell to CONTENT bytes, which may be half of a greater size. The next size must be that one, or one
 * that is greater still.
 */
static void half_note(struct ring *ring, uint32_t content)
{
	const uint32_t least = content < MPROF_PACKET_HEADER_BYTES ? MPROF_PACKET_HEADER_BYTES : content;

	if (!ring->writer.least || least < ring->writer.least)
		ring->writer.least = least;
	ring->writer.grown = content + RING_HALF;
}

/*
 * The first timestamp of packet 0, in SLOT, has changed in the first lap before bytes were taken, and its header H states CONTENT
 * bytes (0 = an impossible size). If that is less than was seen before, the ring is initialised again. LEFT: the writer has left the
 * packet. Return 0 (the size did not fall), STEP_LAPPED (it fell), STEP_STILL (it may be half of a size) or RING_E_GONE.
 */
static int restart_check(struct ring *ring, const struct ring_slot *slot, const struct ring_header *h, uint32_t content,
			 bool left)
{
	bool declared;
	int r;

	if (ring->writer.fell)
		return STEP_LAPPED;
	if (!content || content >= ring->writer.grown)
		return 0;
	if (!left && !ring->dead && ring_size_is_half(ring, h)) {
		half_note(ring, content);
		ring_marks_forget(ring, 0);
		return STEP_STILL;
	}
	r = ring_order_load(ring, slot, &declared);
	if (r || !(declared || ring->dead))
		return r;
	ring->writer.fell = true;
	return STEP_LAPPED;
}

/*
 * In the first lap packet 0 stays as the writer left it. If its first timestamp changes, the ring is initialised again, or the writer is a lap
 * ahead: whatever the ring has is not what was followed. Return 0, STEP_LAPPED or RING_E_GONE.
 */
static int first_lap_check(const struct ring *ring)
{
	const struct ring_slot *zero = &ring->slots[0];
	uint64_t first;

	if (ring->writer.active == 0 || ring->writer.active >= ring->n || !zero->has_first)
		return 0;
	if (!ring_first_load(ring, zero, &first))
		return RING_E_GONE;
	return first == zero->first ? 0 : STEP_LAPPED;
}

/*
 * The active packet, of which no byte was taken, has a first timestamp that was not seen before. If the packet before it has its
 * number and is another one, so is this one, although its first timestamp may also have been loaded half-written. Return 0, STEP_LAPPED or
 * RING_E_GONE.
 */
static int before_check(struct ring *ring)
{
	const uint32_t before = ring->writer.slot ? ring->writer.slot - 1 : ring->n - 1;
	struct ring_header h;
	uint64_t first;
	int r = ring_incarnation_load(ring, &ring->slots[before], &first, &h);

	if (r)
		return r == RING_E_GONE ? r : 0;
	return ring_is_replaced(ring, before, first, &h) ? STEP_LAPPED : 0;
}

/*
 * Compare FIRST, which was loaded as the first timestamp of the active packet, in SLOT, with the one that was seen before (rule 2).
 * H, CONTENT and LEFT as for restart_check(). Return 0, STEP_AGAIN (it changed before bytes were taken: the packet starts afresh),
 * STEP_LAPPED (the ring is initialised again, or bytes were taken), STEP_STILL or RING_E_GONE.
 */
static int first_check(struct ring *ring, struct ring_slot *slot, uint64_t first, const struct ring_header *h,
		       uint32_t content, bool left)
{
	const uint64_t sequence = ring->writer.active;
	int r;

	if (slot->has_first && slot->first == first)
		return 0;
	if (!slot->has_first) {
		r = before_check(ring);
		slot->first = first;
		slot->has_first = r == 0;
		return r;
	}
	if (ring->cursor.sequence == sequence && ring->cursor.offset > MPROF_PACKET_HEADER_BYTES)
		return STEP_LAPPED;
	r = sequence == 0 ? restart_check(ring, slot, h, content, left) : first_lap_check(ring);
	if (r == 0)
		r = before_check(ring);
	if (r)
		return r;
	ring_return_to(ring, sequence);
	return STEP_AGAIN;
}

/*
 * Return whether the first timestamp FIRST shows that the active packet's header is of this
 * incarnation, so that its size counts (rule 2).
 */
static bool first_fresh(struct ring *ring, struct ring_slot *slot, uint64_t first, uint64_t now)
{
	if (ring->reference.known ? first > ring->reference.first : first > 0) {
		ring->reference.stale_since = 0;
		return true;
	}
	if (!ring->reference.stale_since)
		ring->reference.stale_since = now;
	if (now - ring->reference.stale_since < STALE_NS)
		return false;
	/*
	 * The guest's clock stepped back or stands still: accept the packet, and set CLOCK in its
	 * slot. In the first lap no packet has an earlier incarnation.
	 */
	if ((slot->has_before && first != slot->before) || ring->writer.saw_empty ||
	    (ring->writer.active < ring->n && first > 0)) {
		slot->clock = true;
		return true;
	}
	return false;
}

/*
 * The writer has left this packet: find out whether the packet is being reused. mprofd's recorder
 * stores the size 240, low half first, before it stores the new count, and only while it is in the
 * packet before this one. Return 0 (it is being reused), STEP_STILL (it is whole) or RING_E_GONE.
 */
static int being_emptied(const struct ring *ring, const struct ring_header *h)
{
	const struct ring_slot *before = &ring->slots[ring->writer.slot ? ring->writer.slot - 1 : ring->n - 1];
	uint16_t count;

	if (h->low != MPROF_PACKET_EMPTY_BITS || before->missing)
		return STEP_STILL;
	if (!ring_load16(ring, before->at + offsetof(struct mprof_packet_wire, count), &count))
		return RING_E_GONE;
	return count == (uint16_t)(ring->writer.active - 1 + ring->n) ? 0 : STEP_STILL;
}

/*
 * Load the active packet's first timestamp and header. Return 0, STEP_LAPPED (its count has
 * changed), or as ring_incarnation_load().
 */
static int active_load(struct ring *ring, uint64_t *first, struct ring_header *h)
{
	int r = ring_incarnation_load(ring, &ring->slots[ring->writer.slot], first, h);

	return r ? r : h->count == (uint16_t)ring->writer.active ? 0 : STEP_LAPPED;
}

/* Return whether the writer has set the size of the active packet, in SLOT, back. */
static bool is_back(const struct ring *ring, const struct ring_slot *slot)
{
	return slot->back == ring->writer.active + 1;
}

/*
 * The writer has set the size of the active packet back to CONTENT bytes, or to fewer from which it came to CONTENT. It writes
 * over events that were not copied yet, so the packet's bytes behind the least size that was seen will be a gap, also if nothing can
 * be copied before it falls again. A writer that orders no store may seem to do so where stores may be seen out of order. Return 0
 * or RING_E_GONE.
 */
static int set_back(struct ring *ring, struct ring_slot *slot, uint32_t content)
{
	bool declared;
	int r = ring_order_load(ring, slot, &declared);

	ring->proof.several_writers = true;
	if (r || !(declared || ring->dead))
		return r;
	/* A size that may have been half of a greater one was none, or the first event was written anew. */
	if (ring->writer.least && ring->writer.least < content)
		content = ring->writer.least;
	if (!is_back(ring, slot) || content < slot->back_to)
		slot->back_to = content;
	slot->back = ring->writer.active + 1;
	return 0;
}

/*
 * The writer has left the active packet, in SLOT, with CONTENT bytes (0 = with an impossible size). Find out whether it has set the
 * size back (rule 6). Return 0 or RING_E_GONE.
 */
static int left_size_check(struct ring *ring, struct ring_slot *slot, uint32_t content)
{
	if (ring->writer.fell)
		return set_back(ring, slot, MPROF_PACKET_HEADER_BYTES);
	if (!content || content >= ring->writer.grown)
		return 0;
	/* A slot with size 240 may be reused just now. */
	return content > MPROF_PACKET_HEADER_BYTES || is_back(ring, slot) ? set_back(ring, slot, content) : 0;
}

/*
 * The writer has left the active packet: store the packet's final size, and make the next packet
 * the active one. Return STEP_MOVED, or another value to try again.
 */
static int step_moved(struct ring *ring)
{
	struct ring_slot *slot = &ring->slots[ring->writer.slot];
	uint32_t next = ring_slot_after(ring, ring->writer.slot);
	struct ring_header h;
	uint64_t first;
	uint32_t content;
	int r;

	r = active_load(ring, &first, &h);
	if (r)
		return r;
	content = ring_header_bytes(&h, slot);
	r = first_check(ring, slot, first, &h, content, true);
	if (r)
		return r;
	r = being_emptied(ring, &h);
	if (r == RING_E_GONE)
		return r;
	slot->damaged = content == 0 || r == 0;
	if (slot->damaged)
		content = 0;
	slot->final = content ? content : MPROF_PACKET_HEADER_BYTES;
	slot->grown = ring->writer.grown;
	if (!content)
		ring->counters.bad_sizes++;
	r = left_size_check(ring, slot, content);
	if (r)
		return r;
	if (slot->final > ring->writer.seen)
		ring->writer.written += slot->final - ring->writer.seen;
	mark_add(ring, ring->writer.active, slot->final);
	/*
	 * Do not use a first timestamp that is older than the reference as the new reference before
	 * the packet is taken: it may have been loaded before the first event was written.
	 */
	if (slot->final > MPROF_PACKET_HEADER_BYTES &&
	    (!ring->reference.known || ring->reference.guessed || first > ring->reference.first)) {
		ring->reference.first = first;
		ring->reference.known = true;
		ring->reference.guessed = false;
	}

	slot = &ring->slots[next];
	slot->before = slot->first;
	slot->before_final = slot->final;
	slot->has_before = slot->has_first;
	slot->has_first = false;
	slot->final = 0;
	slot->clock = false;
	slot->damaged = false;
	slot->count = (uint16_t)(ring->writer.active + 1);
	ring_active_set(ring, ring->writer.active + 1, next);
	return STEP_MOVED;
}

/*
 * Return whether the header H of the next packet shows that the writer has left the active one. In the first lap,
 * packets that the writer has not reached have the counts 1, 2, 3, ... already, but no events.
 */
static bool is_next_begun(const struct ring *ring, const struct ring_header *h)
{
	return h->count == (uint16_t)(ring->writer.active + 1) &&
	       (ring->writer.active + 1 >= ring->n || ring_header_bits(h) > MPROF_PACKET_EMPTY_BITS);
}

/*
 * The active packet has the size, or half of the size, of an empty packet: a writer that is a lap ahead may be reusing the slot.
 * Find out whether it has left the packet since the next one was loaded. The count is loaded last: until it changes, the
 * next packet stays begun. Return 0 (it is in the packet), STEP_STILL or RING_E_GONE.
 */
static int left_check(struct ring *ring)
{
	const struct ring_slot *slot = &ring->slots[ring->writer.slot];
	const struct ring_slot *next = &ring->slots[ring_slot_after(ring, ring->writer.slot)];
	struct ring_header h;
	uint16_t count;
	int r = ring_header_load(ring, next, &h);

	if (r == 0 && !ring_load16(ring, slot->at + offsetof(struct mprof_packet_wire, count), &count))
		r = RING_E_GONE;
	if (r)
		return r;
	return is_next_begun(ring, &h) || h.count != next->count || count != (uint16_t)ring->writer.active ? STEP_STILL
													   : 0;
}

/*
 * The active packet's size fell to CONTENT bytes, in its header H. Find out whether the writer may have stored half of a greater
 * size; else it has set the size back. Return 0, STEP_STILL (the slot may be reused) or RING_E_GONE.
 */
static int size_fell(struct ring *ring, struct ring_slot *slot, const struct ring_header *h, uint32_t content)
{
	int r;

	/* If the writer has set the size back before, a further fall counts at once. */
	if (is_back(ring, slot) || !ring_size_is_half(ring, h)) {
		r = h->low == MPROF_PACKET_EMPTY_BITS ? left_check(ring) : 0;
		return r ? r : set_back(ring, slot, content);
	}
	half_note(ring, content);
	return 0;
}

/*
 * The active packet, in SLOT, has size 240 or an impossible one in its header H. Set FELL if a greater one was seen before, and
 * this is neither half of a size nor that of a slot that is reused. Return 0, STEP_STILL or RING_E_GONE.
 */
static int fell_check(struct ring *ring, const struct ring_slot *slot, const struct ring_header *h)
{
	bool declared;
	int r;

	if (ring_header_bits(h) / 8 >= ring->writer.grown || ring->writer.grown <= MPROF_PACKET_HEADER_BYTES ||
	    ring->writer.fell)
		return 0;
	if (!is_back(ring, slot) && ring_size_is_half(ring, h)) {
		half_note(ring, mprof_packet_bytes(ring_header_bits(h)));
		return 0;
	}
	r = left_check(ring);
	if (r == 0)
		r = ring_order_load(ring, slot, &declared);
	if (r == 0)
		ring->writer.fell = declared || ring->dead;
	return r;
}

/*
 * The active packet, in SLOT, had content and now has size 240 under the same count, in its header H. The writer has stored
 * only half of a size so far, or reuses the slot, or has set the size back; or the ring is being initialised again in its first
 * lap. In the last case the first timestamp of packet 0 has changed, too, or will change with the next event. So the next
 * size tells whether the size was set back (rule 6). Return STEP_STILL, STEP_LAPPED (initialised again) or RING_E_GONE.
 */
static int emptied(struct ring *ring, const struct ring_slot *slot, const struct ring_header *h)
{
	const struct ring_slot *zero = &ring->slots[0];
	uint64_t first;

	ring->glance.known = false; /* the bytes that a glance compares may be the same after the next change */
	if (fell_check(ring, slot, h) == RING_E_GONE || !ring_first_load(ring, zero, &first))
		return RING_E_GONE;
	if (ring->writer.active >= ring->n || !zero->has_first || first == zero->first)
		return STEP_STILL;
	/* Before a byte was taken, the first timestamp may have been loaded half-written; then the next size tells. */
	return ring->writer.active == 0 && ring->writer.least && !ring_is_taken(ring) ? STEP_STILL : STEP_LAPPED;
}

/*
 * The active packet, in SLOT, has CONTENT bytes, no fewer than were seen before. After a confirmed size it has no size of an earlier
 * incarnation any more. So where stores are seen in order the writer has written so many bytes at least, also if no later size
 * with the same high half confirms this one. Return 0 or RING_E_GONE.
 */
static int size_grew(struct ring *ring, const struct ring_slot *slot, uint32_t content)
{
	bool declared;
	int r;

	if (ring->writer.grown <= MPROF_PACKET_HEADER_BYTES || content == ring->writer.grown)
		return 0;
	r = ring_order_load(ring, slot, &declared);
	if (r == 0 && (declared || ring->dead))
		ring->writer.grown = content;
	return r;
}

/*
 * Compare the header H of the active packet, which states CONTENT bytes, with what was seen before. Add a mark if the size seen
 * before is confirmed (rule 3), and find out whether the writer has set the size back (rule 6). Return as size_fell().
 */
static int size_check(struct ring *ring, struct ring_slot *slot, const struct ring_header *h, uint32_t content)
{
	const struct ring_header *candidate = &ring->writer.candidate;
	uint32_t confirmed;

	if (ring->writer.fell)
		return set_back(ring, slot, MPROF_PACKET_HEADER_BYTES);
	if (ring->writer.has_candidate && candidate->high == h->high && h->low > candidate->low) {
		confirmed = mprof_packet_bytes(ring_header_bits(candidate));
		mark_add(ring, ring->writer.active, confirmed);
		ring->writer.confirmed = true;
		if (confirmed < ring->writer.grown)
			return set_back(ring, slot, confirmed);
		ring->writer.grown = content;
	}
	if (content < ring->writer.grown)
		return size_fell(ring, slot, h, content);
	ring->writer.least = 0;
	return size_grew(ring, slot, content);
}

/*
 * See how far the writer has come in the active packet, and add a mark if an earlier size is
 * confirmed (rules 2 and 3). Return STEP_*, or RING_E_GONE.
 */
static int step_active(struct ring *ring, uint64_t now)
{
	struct ring_slot *slot = &ring->slots[ring->writer.slot];
	struct ring_header h;
	uint64_t first;
	uint32_t content;
	int r;

	r = active_load(ring, &first, &h);
	if (r)
		return r;
	content = ring_header_bytes(&h, slot);
	if (content == MPROF_PACKET_HEADER_BYTES) {
		ring->writer.saw_empty = true;
		return ring->writer.seen > content || ring->writer.grown > content ? emptied(ring, slot, &h)
										   : STEP_STILL;
	}
	if (!content) {
		ring->counters.bad_sizes++;
		return fell_check(ring, slot, &h) == RING_E_GONE ? RING_E_GONE : STEP_STILL;
	}
	if (!first_fresh(ring, slot, first, now))
		return STEP_STILL;
	r = first_check(ring, slot, first, &h, content, false);
	if (r == 0)
		r = size_check(ring, slot, &h, content);
	if (r)
		return r;
	if (content > ring->writer.seen) {
		ring->writer.written += content - ring->writer.seen;
		ring->writer.seen = content;
	}
	ring->writer.candidate = h;
	ring->writer.has_candidate = true;
	return STEP_STILL;
}

int ring_step(struct ring *ring, uint64_t now)
{
	struct ring_slot *next = &ring->slots[ring_slot_after(ring, ring->writer.slot)];
	struct ring_header h;
	int r;

	/* Before the writer reuses the slot of packet 0: it does that while it is in the last packet. */
	r = ring->writer.active + 1 < ring->n ? first_lap_check(ring) : 0;
	if (r == 0)
		r = ring_header_load(ring, next, &h);
	if (r)
		return r;
	if (is_next_begun(ring, &h))
		return step_moved(ring);
	if (h.count != next->count)
		return STEP_LAPPED;
	return step_active(ring, now);
}
