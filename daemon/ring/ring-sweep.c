/*
 * Find the writer again after it was lost, by a *sweep*: load every header once while the writer
 * goes on. The headers that a sweep loads may never have existed at one moment, so later steps
 * check each conclusion again.
 */
#include "ring-state.h"

#include <mprof/packet.h>

/* No writer is faster: the recorder writes 3 GB/s, and 8 without its clock. It limits how many packets can have passed unseen. */
#define WRITER_BYTES_PER_S 10000000000ull
#define BEHIND_POLLS	   3u /* polls after which a ring whose count fell counts as initialised again */

bool ring_is_replaced(const struct ring *ring, uint32_t i, uint64_t first, const struct ring_header *h)
{
	const struct ring_slot *slot = &ring->slots[i];
	const struct ring_cursor *cursor = &ring->cursor;
	const uint64_t back = (ring->writer.slot + ring->n - i) % ring->n;
	const uint64_t sequence = ring->writer.active - back;
	const bool is_taken = cursor->has_taken_first && cursor->taken == sequence;
	bool declared;

	if (back == 0 || back > ring->writer.active || h->count != (uint16_t)sequence ||
	    ring_header_bits(h) == MPROF_PACKET_EMPTY_BITS)
		return false;
	if (!is_taken && !(slot->has_first && slot->final > MPROF_PACKET_HEADER_BYTES && !slot->damaged))
		return false;
	/* It may have been loaded before the first event was stored: a collection's event can move the writer on meanwhile. */
	if (!is_taken && (slot->first == 0 || (slot->has_before && slot->first == slot->before)))
		return false;
	/* Writers without a lock may store the first event of a packet after the packet was left. */
	if (ring->proof.several_writers)
		return false;
	if (first == (is_taken ? cursor->taken_first : slot->first))
		return false;
	/* A first timestamp that was loaded in life may be older than the header, where stores are seen out of order. */
	return (ring->dead && is_taken) || (ring_order_load(ring, slot, &declared) == 0 && declared);
}

int ring_sweep_load(struct ring *ring, struct sweep *sweep)
{
	uint32_t best = 0, last_filled = 0;
	bool numbered = true, zero_empty = true;

	*sweep = (struct sweep){.all_empty = true};
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_slot *slot = &ring->slots[i];
		struct ring_header h;
		uint64_t first;
		int r;

		r = ring_incarnation_load(ring, slot, &first, &h);
		if (r)
			return r;
		if (i == 0)
			sweep->first_of_0 = first;
		numbered = numbered && h.count == i;
		sweep->replaced = sweep->replaced || ring_is_replaced(ring, i, first, &h);
		sweep->counts = sweep->counts * 0x100000001b3u + ((uint64_t)h.count << 32 | ring_header_bits(&h));
		slot->count = h.count;
		if (ring_header_bits(&h) != MPROF_PACKET_EMPTY_BITS) {
			sweep->all_empty = false;
			last_filled = i;
			zero_empty = zero_empty && i > 0;
		}
		if ((int16_t)(h.count - ring->slots[best].count) > 0)
			best = i;
	}
	if (numbered && (last_filled + 1 < ring->n || sweep->all_empty)) {
		sweep->new_ring = true;
		best = last_filled;
	}
	sweep->first_lap = numbered && !zero_empty;
	sweep->newest = best;
	while (sweep->history + 1 < ring->n) {
		uint32_t back = (best + ring->n - sweep->history - 1) % ring->n;

		if (ring->slots[back].count != (uint16_t)(ring->slots[best].count - sweep->history - 1) ||
		    (sweep->new_ring && back > best))
			break;
		sweep->history++;
	}
	return 0;
}

/*
 * Set the reference to the newest first timestamp of all packets but the one in SLOT, because a
 * packet's first timestamp is newer than that of every older packet. The reference is a guess: the
 * writer may have left SLOT before the other packets were loaded.
 */
static int newest_other_first(struct ring *ring, uint32_t slot)
{
	ring->reference.known = false;
	ring->reference.guessed = true;
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_header h;
		uint64_t first;
		int r;

		if (i == slot)
			continue;
		r = ring_incarnation_load(ring, &ring->slots[i], &first, &h);
		if (r == RING_E_GONE)
			return r;
		/* The slot was reused since the sweep, or is being reused. */
		if (r || h.count != ring->slots[i].count || ring_header_bits(&h) == MPROF_PACKET_EMPTY_BITS)
			continue;
		if (first && (!ring->reference.known || first > ring->reference.first)) {
			ring->reference.first = first;
			ring->reference.known = true;
		}
	}
	return 0;
}

int ring_follow_from(struct ring *ring, uint64_t start, uint64_t newest, const struct sweep *sweep)
{
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_slot *slot = &ring->slots[i];

		slot->has_first = false;
		slot->has_before = false;
		slot->final = 0;
		slot->clock = false;
		slot->damaged = false;
	}
	ring->proof.n_marks = 0;
	ring->proof.proven = ring->proof.settled = (struct ring_mark){0};
	ring->reference.known = false;
	ring_active_set(ring, newest, sweep->newest);
	ring_active_set(ring, start, ring_slot_of(ring, start));
	if (ring->cursor.sequence == start && ring->cursor.offset > MPROF_PACKET_HEADER_BYTES) {
		ring->slots[ring->writer.slot].first = ring->cursor.first;
		ring->slots[ring->writer.slot].has_first = true;
		ring->writer.seen = ring->writer.grown = ring->cursor.offset;
	}
	/*
	 * In the first lap, the first timestamp of packet 0 tells whether the ring is initialised
	 * again (see emptied() and renewed()). The writer has left packet 0, so it is not followed.
	 */
	if (newest < ring->n && start > 0) {
		ring->slots[0].first = sweep->first_of_0;
		ring->slots[0].has_first = true;
	}
	if (start == newest && !(sweep->new_ring && sweep->history == 0))
		return newest_other_first(ring, ring->writer.slot);
	return 0;
}

bool ring_is_taken(const struct ring *ring)
{
	return ring->cursor.sequence > 0 || ring->cursor.offset > MPROF_PACKET_HEADER_BYTES || ring->debt.owed.offset;
}

bool ring_count_may_wrap(const struct ring *ring, uint64_t ns)
{
	uint64_t smallest = ring->slots[0].bytes;

	for (uint32_t i = 1; i < ring->n; i++)
		if (ring->slots[i].bytes < smallest)
			smallest = ring->slots[i].bytes;
	return (double)ns * (WRITER_BYTES_PER_S / 1e9) / (double)smallest >= 32768;
}

/*
 * Return whether the ring, which was followed in its first lap, has packets with the same numbers as then and another packet 0: the count
 * wrapped around, or the ring was initialised again and is full. Before the writer leaves packet 0, or a byte of it is taken, its first
 * timestamp may have been loaded half-written.
 */
static bool is_another_lap(const struct ring *ring, const struct sweep *sweep)
{
	const struct ring_slot *zero = &ring->slots[0];

	return sweep->first_lap && ring->writer.active < ring->n && zero->has_first &&
	       zero->first != sweep->first_of_0 &&
	       (ring->writer.active > 0 || ring_is_taken(ring) || ring->writer.fell);
}

/* Return for how long the writer was not followed, ns. */
static uint64_t lost_ns(const struct ring *ring)
{
	return clock_mono() - (ring->writer.lost_at ? ring->writer.lost_at : ring->polled_at);
}

/* Return whether the count may have wrapped around until now. Call this after the loads from which a conclusion is drawn. */
static bool may_wrap(const struct ring *ring)
{
	return ring_count_may_wrap(ring, lost_ns(ring));
}

/* Return whether the ring was initialised again since the last poll. */
static bool renewed(const struct ring *ring, const struct sweep *sweep)
{
	const struct ring_slot *zero = &ring->slots[0];
	uint64_t passed;

	if ((sweep->replaced || is_another_lap(ring, sweep)) && !may_wrap(ring))
		return true;
	if (!sweep->new_ring)
		return false;
	if (ring->writer.active < ring->n)
		return (ring_is_taken(ring) || ring->writer.fell) &&
		       (sweep->all_empty || (zero->has_first && zero->first != sweep->first_of_0));
	if (sweep->newest + 2 != ring->n)
		return true;
	/*
	 * Full packets with one empty packet behind them look like a ring in its first lap, but the
	 * count may also have just wrapped around. Return whether the time since the last poll was
	 * too short for a wrap.
	 */
	passed = (uint16_t)(ring->n - 1 - (uint16_t)ring->writer.active);
	return (double)passed * zero->bytes >
	       (double)lost_ns(ring) * (WRITER_BYTES_PER_S / 1e9) + 4.0 * zero->bytes * ring->n;
}

/*
 * The packet at the cursor, in slot AT, has its count and another first timestamp. Return STEP_OVERWRITTEN (the packet before it is
 * still there as it was copied, so no lap has passed: the writer has begun the packet anew), STEP_LAPPED (the count wrapped
 * around) or RING_E_GONE.
 */
static int cursor_anew(const struct ring *ring, uint32_t at)
{
	const struct ring_slot *before = &ring->slots[at ? at - 1 : ring->n - 1];
	uint64_t first;

	if (!ring->cursor.has_taken_first || ring->cursor.taken + 1 != ring->cursor.sequence ||
	    before->count != (uint16_t)(ring->cursor.sequence - 1))
		return STEP_LAPPED;
	if (!ring_first_load(ring, before, &first))
		return RING_E_GONE;
	return first == ring->cursor.taken_first ? STEP_OVERWRITTEN : STEP_LAPPED;
}

/* Look whether the slot of the packet at the cursor still holds that packet. Return as cursor_check(), but never RING_E_RENEWED. */
static int cursor_look(struct ring *ring, uint64_t newest, const struct sweep *sweep)
{
	const uint32_t n = ring->n ? ring->n : 1; /* N is never 0; this tells it to the static analyser */
	const uint32_t at = (uint32_t)((sweep->newest + n - (newest - ring->cursor.sequence) % n) % n);
	const struct ring_slot *slot = &ring->slots[at];
	uint64_t first;
	struct ring_header h;
	int r;

	if (ring->cursor.offset <= MPROF_PACKET_HEADER_BYTES)
		return 0;
	r = ring_incarnation_load(ring, slot, &first, &h);
	if (r)
		return r;
	if (h.count != (uint16_t)ring->cursor.sequence)
		return STEP_STILL;
	if (ring_header_bits(&h) == MPROF_PACKET_EMPTY_BITS)
		return STEP_MOVED;
	return first == ring->cursor.first ? 0 : cursor_anew(ring, at);
}

/*
 * If bytes of the packet at the cursor were taken, check that its slot still holds that packet. Return 0; STEP_LAPPED (another packet with
 * the same count: the count wrapped around); RING_E_RENEWED (the same, and there was no time for that: the ring was initialised
 * again); STEP_OVERWRITTEN (the writer has begun the packet anew); STEP_MOVED (the slot is being reused: the packet's remaining
 * bytes are lost); STEP_STILL (undecided: try again) or RING_E_GONE.
 */
static int cursor_check(struct ring *ring, uint64_t newest, const struct sweep *sweep)
{
	int r = cursor_look(ring, newest, sweep);
	struct sweep again;

	if (r != STEP_LAPPED || may_wrap(ring))
		return r;
	/* If stores are seen out of order, the slot may be being reused: sweep, and look again. */
	r = ring_sweep_load(ring, &again);
	if (r == 0)
		r = cursor_look(ring, newest, sweep);
	return r == STEP_LAPPED ? RING_E_RENEWED : r == RING_E_GONE ? r : STEP_STILL;
}

/*
 * Set *NEWEST to the 64-bit number of the newest packet of the sweep. *AT_LEAST: the count may have wrapped around. If more packets
 * precede the newest one than its number allows, or a packet has the number of another one, the count has wrapped at least once: set
 * *AT_LEAST. If the newest packet is before the active one, and the count did not wrap, the writer overtook the sweep, or the ring was
 * initialised again; it counts as initialised again only after BEHIND_POLLS polls. Return 0, RING_E_RENEWED, or STEP_STILL to
 * sweep again.
 */
static int newest_sequence(struct ring *ring, const struct sweep *sweep, bool *at_least, uint64_t *newest)
{
	const bool is_other = *at_least && (sweep->replaced || is_another_lap(ring, sweep));

	*newest = mprof_sequence_after(ring->writer.active, ring->slots[sweep->newest].count);
	if (*newest < sweep->history || (is_other && *newest - ring->writer.active < ring->n)) {
		*newest += 65536;
		*at_least = true;
	}
	if (*newest - ring->writer.active <= INT16_MAX || *at_least) {
		ring->writer.behind = 0;
		return 0;
	}
	return ++ring->writer.behind > BEHIND_POLLS ? RING_E_RENEWED : STEP_STILL;
}

/*
 * A sweep that the writer overtakes can look like a new ring too, but two such sweeps differ. A packet that was replaced, or
 * a full ring in its first lap with another packet 0, is no such sweep: the writer may go on meanwhile.
 */
int ring_confirm_renewed(struct ring *ring, struct sweep *sweep)
{
	const struct sweep first = *sweep;
	int r = ring_sweep_load(ring, sweep);
	bool same;

	if (r)
		return r;
	if (first.replaced && sweep->replaced)
		return RING_E_RENEWED;
	same = first.new_ring ? sweep->new_ring && sweep->counts == first.counts : first.first_lap && sweep->first_lap;
	return same && sweep->first_of_0 == first.first_of_0 ? RING_E_RENEWED : STEP_STILL;
}

/*
 * The writer has begun the packet at the cursor anew. Declare the rest of it lost, and follow the writer behind it. NEWEST is the
 * number of the newest packet of the sweep. Return 0, RING_E_FULL or RING_E_GONE.
 */
static int begun_anew(struct ring *ring, struct ring_sink *sink, uint64_t newest, const struct sweep *sweep)
{
	const uint64_t next = ring->cursor.sequence + 1;
	int r = ring_declare(ring, sink, next, 1, ring->debt.rewound && ring->debt.at_least, RING_GAP_DAMAGED);

	if (r)
		return r;
	ring->proof.several_writers = true;
	return ring_follow_from(ring, next < newest ? next : newest, newest, sweep);
}

/* Find the writer as ring_resync(), which says what this returns. */
static int find(struct ring *ring, struct ring_sink *sink, enum ring_gap_reason reason, bool oldest)
{
	bool at_least = ring->restart.pending && ring->restart.at_least;
	uint64_t newest, start;
	struct sweep sweep;
	int r;

	ring->counters.lapped++;
	r = ring_sweep_load(ring, &sweep);
	if (r)
		return r;
	if (renewed(ring, &sweep))
		return ring_confirm_renewed(ring, &sweep);
	at_least = at_least || may_wrap(ring);
	r = newest_sequence(ring, &sweep, &at_least, &newest);
	if (r)
		return r;
	if (ring->skipping)
		return ring_follow_from(ring, newest, newest, &sweep);

	start = newest - sweep.history;
	/* The writer overwrites the oldest packet next, so do not begin there while it runs. */
	if (!oldest && start < newest && sweep.history + 1 == ring->n)
		start++;
	if (start <= ring->cursor.sequence && ring->cursor.sequence <= newest) {
		r = cursor_check(ring, newest, &sweep);
		if (r == 0)
			return ring_follow_from(ring, ring->cursor.sequence, newest, &sweep);
		/*
		 * If only the oldest packet is emptied, the writer reuses its slot. If a later
		 * packet is, the ring is being initialised again: sweep again to see that.
		 */
		if (r == STEP_MOVED && start < ring->cursor.sequence)
			return STEP_STILL;
		if (r == STEP_OVERWRITTEN)
			return begun_anew(ring, sink, newest, &sweep);
		if (r != STEP_LAPPED && r != STEP_MOVED)
			return r;
		if (r == STEP_LAPPED) {
			newest += 65536;
			start += 65536;
			at_least = true;
		} else {
			start++;
		}
	}
	if (start > ring->cursor.sequence) {
		at_least = at_least || (ring->debt.rewound && ring->debt.at_least);
		r = ring_declare(ring, sink, start, start - ring->cursor.sequence, at_least, reason);
		if (r)
			return r;
	}
	return ring_follow_from(ring, start < newest ? start : newest, newest, &sweep);
}

int ring_resync(struct ring *ring, struct ring_sink *sink, enum ring_gap_reason reason, bool oldest)
{
	int r = find(ring, sink, reason, oldest);

	if (r == 0)
		ring->writer.lost_at = 0;
	else if (!ring->writer.lost_at)
		ring->writer.lost_at = ring->polled_at;
	return r;
}
