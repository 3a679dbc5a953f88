/*
 * The sequence-checked copy.
 *
 * The writer takes no notice of us, publishes a size before the bytes exist, stores a size in two halves, renumbers a packet
 * before it empties it, and may be hostile.  What makes a byte acceptable all the same:
 *
 *   1. Geometry is read once, at attach, and frozen.  A header counts only if one load of count, high, low, high, count
 *      agrees with itself.
 *   2. An incarnation is its count and its first timestamp.  The first timestamp is loaded before the header, and while the
 *      writer is in the packet the header counts only if that timestamp is newer than the packet's before it: else it may be "new
 *      count, old size, old bytes".  Once bytes of a packet were taken its first timestamp must stay; before that it may have
 *      been read half-written, and a change merely starts the packet afresh.
 *   3. A size is a position only when a later load of the same incarnation shows the same high half and a greater low half, or when
 *      the writer has moved on and the size is loaded once more after that.
 *   4. Between two such marks m1 < m2 everything up to m1 is complete: m2's confirmation shows that two later events have begun,
 *      and one writer nests at most one (its GC event).  Bytes are loaded after that proof, and count and first timestamp once more
 *      after the bytes; if either differs the copy is dropped.
 *   5. Whatever the cursor passes without handing it over is declared as a gap.
 *
 * tests/model states and checks these against the writer store by store.
 */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/packet.h>

#define HEADER_TRIES	   8u
#define RESYNCS_PER_LOOK   3u
#define WRITER_BYTES_PER_S 500000000ull /* no writer is faster: how many packets can have passed unseen */
#define STALE_NS	   NS_PER_S	/* a first timestamp may stay old that long before it is believed */
#define PROOF_LAG	   1u		/* marks that must follow the one up to which we copy */
#define BEHIND_LOOKS	   3u		/* looks after which a count that fell is taken for one that went round */
/* A low half below this may have gone round with the last event: those are shorter than 2 KiB. */
#define ROUND_BITS 16384u
/* More steps at once while the writer is seen to move: only loads close to each other prove anything. */
#define EAGER_STEPS 4u

/* Conditions inside this file, beside the public ones. */
enum step {
	STEP_STILL = 0x100, /* nothing more to see now */
	STEP_MOVED,	    /* the writer has left the active packet: go on with the next */
	STEP_AGAIN,	    /* the packet was started afresh */
	STEP_LAPPED,	    /* a packet is not any more what it was: find out where the writer is */
};

static uint32_t slot_after(const struct ring *ring, uint32_t slot)
{
	return slot + 1 == ring->n ? 0 : slot + 1;
}

/* The slot of packet SEQUENCE, which is less than N away from the active one. */
static uint32_t slot_of(const struct ring *ring, uint64_t sequence)
{
	uint64_t back = (ring->active - sequence) % ring->n;

	return (uint32_t)((ring->slot + ring->n - back) % ring->n);
}

static uint32_t header_bits(const struct ring_header *h)
{
	return (uint32_t)h->high << 16 | h->low;
}

/* The content size that H states for SLOT, or 0 where it is impossible. */
static uint32_t header_bytes(const struct ring_header *h, const struct ring_slot *slot)
{
	uint32_t content = mprof_packet_bytes(header_bits(h));

	if (slot->cut && content > slot->bytes)
		content = slot->bytes;
	return mprof_packet_content_ok(content, slot->bytes) ? content : 0;
}

static bool load16(const struct ring *ring, uint64_t at, uint16_t *value)
{
	uint8_t raw[2];

	if (!ring->memory->load(ring->memory, at, raw, sizeof(raw)))
		return false;
	*value = mprof_load16(raw);
	return true;
}

/* One header load (rule 1).  0, RING_E_GONE, or STEP_STILL where the header never stood still. */
static int header_load(struct ring *ring, const struct ring_slot *slot, struct ring_header *h)
{
	const uint64_t count = slot->at + offsetof(struct mprof_packet_wire, count);
	const uint64_t low = slot->at + offsetof(struct mprof_packet_wire, content_low);
	const uint64_t high = slot->at + offsetof(struct mprof_packet_wire, content_high);

	for (unsigned i = 0; i < HEADER_TRIES; i++) {
		uint16_t count_again, high_again;

		if (!load16(ring, count, &h->count) || !load16(ring, high, &h->high) || !load16(ring, low, &h->low) ||
		    !load16(ring, high, &high_again) || !load16(ring, count, &count_again))
			return RING_E_GONE;
		if (h->count == count_again && h->high == high_again)
			return 0;
	}
	ring->counters.unsteady++;
	return STEP_STILL;
}

static bool first_load(const struct ring *ring, const struct ring_slot *slot, uint64_t *first)
{
	uint8_t raw[8] = {0};

	/* A packet may be too small for any event; the bytes behind it are then another packet's. */
	if (slot->bytes >= MPROF_PACKET_HEADER_BYTES + sizeof(raw) &&
	    !ring->memory->load(ring->memory, slot->at + MPROF_PACKET_HEADER_BYTES, raw, sizeof(raw)))
		return false;
	*first = mprof_load64(raw);
	return true;
}

/* ---- marks ---------------------------------------------------------------------------------------------------------- */

static void mark_add(struct ring *ring, uint64_t sequence, uint32_t offset)
{
	struct ring_mark *newest = ring->n_marks ? &ring->marks[ring->n_marks - 1] : NULL;

	if (offset <= MPROF_PACKET_HEADER_BYTES)
		return;
	if (newest && newest->sequence == sequence && offset <= newest->offset) {
		/* One writer's position never falls. */
		if (offset < newest->offset)
			ring->several_writers = true;
		return;
	}
	if (ring->n_marks == RING_MARKS) {
		memmove(ring->marks, ring->marks + 1, sizeof(ring->marks) - sizeof(ring->marks[0]));
		ring->n_marks--;
	}
	ring->marks[ring->n_marks++] = (struct ring_mark){.sequence = sequence, .offset = offset};
}

static void marks_forget_from(struct ring *ring, uint64_t sequence)
{
	while (ring->n_marks && ring->marks[ring->n_marks - 1].sequence >= sequence)
		ring->n_marks--;
}

/* Up to where everything is complete (rule 4); false where nothing is. */
static bool proven_limit(const struct ring *ring, struct ring_mark *limit)
{
	if (ring->n_marks <= PROOF_LAG)
		return false;
	*limit = ring->marks[ring->n_marks - 1 - PROOF_LAG];
	return true;
}

static bool cursor_before(const struct ring *ring, const struct ring_mark *limit)
{
	return ring->sequence < limit->sequence || (ring->sequence == limit->sequence && ring->offset < limit->offset);
}

/* ---- where the reader looks ---------------------------------------------------------------------------------------- */

static void active_set(struct ring *ring, uint64_t sequence, uint32_t slot)
{
	ring->active = sequence;
	ring->slot = slot;
	ring->has_candidate = false;
	ring->saw_empty = false;
	ring->stale_since = 0;
	ring->seen = MPROF_PACKET_HEADER_BYTES;
	ring->has_hint = false;
}

/* Look at packet SEQUENCE again as if for the first time. */
static void return_to(struct ring *ring, uint64_t sequence)
{
	uint32_t slot = slot_of(ring, sequence);

	for (uint64_t q = sequence; q <= ring->active; q++) {
		struct ring_slot *s = &ring->slots[slot_of(ring, q)];

		s->has_first = false;
		s->final = 0;
		s->damaged = false;
		s->clock = false;
	}
	marks_forget_from(ring, sequence);
	active_set(ring, sequence, slot);
	ring->has_reference = false;
}

/*
 * FIRST was loaded as packet SEQUENCE's first timestamp: is it still the incarnation that we know (rule 2)?  0, STEP_AGAIN or
 * STEP_LAPPED.
 */
static int first_check(struct ring *ring, uint64_t sequence, struct ring_slot *slot, uint64_t first)
{
	if (!slot->has_first) {
		slot->first = first;
		slot->has_first = true;
		return 0;
	}
	if (slot->first == first)
		return 0;
	if (ring->sequence == sequence && ring->offset > MPROF_PACKET_HEADER_BYTES)
		return STEP_LAPPED;
	return_to(ring, sequence);
	return STEP_AGAIN;
}

/* May the active packet's header count, with this first timestamp (rule 2)? */
static bool first_fresh(struct ring *ring, struct ring_slot *slot, uint64_t first, bool grown, uint64_t now)
{
	if (ring->has_reference ? first > ring->reference : first > 0) {
		ring->stale_since = 0;
		return true;
	}
	if (!ring->stale_since)
		ring->stale_since = now;
	if (now - ring->stale_since < STALE_NS)
		return false;
	/* The guest's clock stepped back or stands still: not refused for ever, but marked. */
	if ((slot->has_before && first != slot->before) || (ring->saw_empty && grown)) {
		slot->clock = true;
		return true;
	}
	return false;
}

/*
 * Our own recorder empties a packet before it renumbers it, low half first.  A packet that was left, whose size bears that low half, may
 * thus be on its way to its next incarnation, but only while the writer is in the packet before that one.  0, STEP_STILL (it is whole),
 * or RING_E_GONE.
 */
static int being_emptied(const struct ring *ring, const struct ring_header *h)
{
	const struct ring_slot *before = &ring->slots[ring->slot ? ring->slot - 1 : ring->n - 1];
	uint16_t count;

	if (h->low != MPROF_PACKET_EMPTY_BITS)
		return STEP_STILL;
	if (!load16(ring, before->at + offsetof(struct mprof_packet_wire, count), &count))
		return RING_E_GONE;
	return count == (uint16_t)(ring->active - 1 + ring->n) ? 0 : STEP_STILL;
}

/* The writer has left the active packet: its size is final. */
static int step_moved(struct ring *ring)
{
	struct ring_slot *slot = &ring->slots[ring->slot];
	uint32_t next = slot_after(ring, ring->slot);
	struct ring_header h;
	uint64_t first;
	uint32_t content;
	int r;

	if (!first_load(ring, slot, &first))
		return RING_E_GONE;
	r = header_load(ring, slot, &h);
	if (r)
		return r;
	if (h.count != (uint16_t)ring->active)
		return STEP_LAPPED;
	r = first_check(ring, ring->active, slot, first);
	if (r)
		return r;
	content = header_bytes(&h, slot);
	r = being_emptied(ring, &h);
	if (r == RING_E_GONE)
		return r;
	slot->damaged = content == 0 || r == 0;
	if (slot->damaged)
		content = 0;
	slot->final = content ? content : MPROF_PACKET_HEADER_BYTES;
	if (!content)
		ring->counters.bad_sizes++;
	if (slot->final > ring->seen)
		ring->written += slot->final - ring->seen;
	mark_add(ring, ring->active, slot->final);
	/* Not believed to fall until the packet is taken: it may have been read before its first event was written. */
	if (slot->final > MPROF_PACKET_HEADER_BYTES &&
	    (!ring->has_reference || ring->guessed_reference || first > ring->reference)) {
		ring->reference = first;
		ring->has_reference = true;
		ring->guessed_reference = false;
	}

	slot = &ring->slots[next];
	slot->before = slot->first;
	slot->has_before = slot->has_first;
	slot->has_first = false;
	slot->final = 0;
	slot->clock = false;
	slot->damaged = false;
	slot->count = (uint16_t)(ring->active + 1);
	active_set(ring, ring->active + 1, next);
	return STEP_MOVED;
}

/* The writer is still in the active packet: how far (rules 2 and 3)? */
static int step_active(struct ring *ring, uint64_t now)
{
	struct ring_slot *slot = &ring->slots[ring->slot];
	struct ring_header h;
	uint64_t first;
	uint32_t content;
	int r;

	if (!first_load(ring, slot, &first))
		return RING_E_GONE;
	r = header_load(ring, slot, &h);
	if (r)
		return r;
	if (h.count != (uint16_t)ring->active)
		return STEP_LAPPED;
	content = header_bytes(&h, slot);
	if (content == MPROF_PACKET_HEADER_BYTES) {
		ring->saw_empty = true;
		return STEP_STILL;
	}
	if (!content) {
		ring->counters.bad_sizes++;
		return STEP_STILL;
	}
	if (!first_fresh(ring, slot, first, content > MPROF_PACKET_HEADER_BYTES, now))
		return STEP_STILL;
	r = first_check(ring, ring->active, slot, first);
	if (r)
		return r;
	if (content > ring->seen) {
		ring->written += content - ring->seen;
		ring->seen = content;
	}
	if (ring->has_candidate && ring->candidate.high == h.high && h.low > ring->candidate.low)
		mark_add(ring, ring->active, mprof_packet_bytes(header_bits(&ring->candidate)));
	ring->candidate = h;
	ring->has_candidate = true;
	return STEP_STILL;
}

/* One step of following the writer. */
static int step(struct ring *ring, uint64_t now)
{
	struct ring_slot *next = &ring->slots[slot_after(ring, ring->slot)];
	struct ring_header h;
	int r;

	r = header_load(ring, next, &h);
	if (r)
		return r;
	/* In a new ring the counts 1, 2, 3 stand there from the start, in front of nothing. */
	if (h.count == (uint16_t)(ring->active + 1) &&
	    (ring->active + 1 >= ring->n || header_bits(&h) > MPROF_PACKET_EMPTY_BITS))
		return step_moved(ring);
	if (h.count != next->count)
		return STEP_LAPPED;
	return step_active(ring, now);
}

/* ---- copying ------------------------------------------------------------------------------------------------------- */

/*
 * After a copy: is packet SEQUENCE in SLOT still the incarnation whose first timestamp is FIRST?  The count comes last: mirage-profile
 * changes it before anything else.  Our own recorder changes the size, and then the timestamp.  0, STEP_LAPPED or RING_E_GONE.
 */
static int still_there(struct ring *ring, uint64_t sequence, const struct ring_slot *slot, uint64_t first)
{
	uint64_t first_now;
	uint16_t low, high, count;

	if (!first_load(ring, slot, &first_now) ||
	    !load16(ring, slot->at + offsetof(struct mprof_packet_wire, content_low), &low) ||
	    !load16(ring, slot->at + offsetof(struct mprof_packet_wire, content_high), &high) ||
	    !load16(ring, slot->at + offsetof(struct mprof_packet_wire, count), &count))
		return RING_E_GONE;
	/* In the active packet it may be half of a size. */
	if (sequence != ring->active && low == MPROF_PACKET_EMPTY_BITS && high == 0)
		return STEP_LAPPED;
	return count == (uint16_t)sequence && first_now == first ? 0 : STEP_LAPPED;
}

/* Copy [FROM, TO) of packet SEQUENCE to SINK, TO being as far as this piece goes.  0, RING_E_FULL, RING_E_GONE, STEP_LAPPED. */
static int copy_piece(struct ring *ring, struct ring_sink *sink, uint64_t sequence, struct ring_chunk *chunk)
{
	struct ring_slot *slot = &ring->slots[slot_of(ring, sequence)];
	uint8_t *to;
	int r;

	to = sink->reserve(sink, chunk->length, chunk->tail);
	if (!to)
		return RING_E_FULL;
	chunk->sequence = sequence;
	chunk->packet_bytes = slot->bytes;
	chunk->first_timestamp = slot->final == MPROF_PACKET_HEADER_BYTES ? 0 : slot->first;
	chunk->clock = chunk->clock || (chunk->tail && slot->clock);
	if (chunk->length && !ring->memory->load(ring->memory, slot->at + chunk->offset, to, chunk->length))
		r = RING_E_GONE;
	else
		r = still_there(ring, sequence, slot, slot->first);
	if (r) {
		ring->counters.dropped++;
		sink->drop(sink);
		return r;
	}
	chunk->copied = moment_now();
	sink->chunk(sink, chunk);
	return 0;
}

/* Take packet SEQUENCE from the cursor up to TO; LAST: the packet is complete there. */
static int take_upto(struct ring *ring, struct ring_sink *sink, uint32_t to, bool last)
{
	uint64_t sequence = ring->sequence;
	const struct ring_slot *slot = &ring->slots[slot_of(ring, sequence)];

	do {
		uint32_t left = to - ring->offset;
		uint32_t length = left < RING_PIECE_MAX ? left : RING_PIECE_MAX;
		struct ring_chunk chunk = {
			.offset = ring->offset,
			.length = length,
			.end = length == left,
			.last = last && length == left,
			.unproven = ring->several_writers || slot->cut,
			.clock = ring->has_taken_first && slot->first <= ring->taken_first,
		};
		int r = copy_piece(ring, sink, sequence, &chunk);

		if (r)
			return r;
		ring->first = slot->first;
		ring->offset += length;
		ring->counters.bytes += length;
	} while (ring->offset < to);
	return 0;
}

static int declare(struct ring *ring, struct ring_sink *sink, uint64_t next, uint64_t packets, bool at_least,
		   enum ring_gap_reason reason)
{
	struct ring_gap gap = {
		.after_sequence = ring->sequence,
		.after_offset = ring->offset,
		.next_sequence = next,
		.packets = packets,
		.at_least = at_least,
		.reason = reason,
		.found = moment_now(),
	};

	if (!sink->gap(sink, &gap))
		return RING_E_FULL;
	ring->sequence = next;
	ring->offset = MPROF_PACKET_HEADER_BYTES;
	return 0;
}

/* Copy everything that is proven. */
static int take(struct ring *ring, struct ring_sink *sink)
{
	struct ring_mark limit;
	int r;

	if (ring->skipping || !proven_limit(ring, &limit))
		return 0;
	while (cursor_before(ring, &limit)) {
		struct ring_slot *slot = &ring->slots[slot_of(ring, ring->sequence)];
		bool whole = ring->sequence < limit.sequence;

		/* The writer was followed further than the sink had room: the slot is another packet's. */
		if (ring->active - ring->sequence >= ring->n)
			return STEP_LAPPED;
		if (whole && (slot->damaged || slot->final < ring->offset)) {
			r = declare(ring, sink, ring->sequence + 1, 1, false, RING_GAP_DAMAGED);
			if (r)
				return r;
			continue;
		}
		r = take_upto(ring, sink, whole ? slot->final : limit.offset, whole);
		if (r == STEP_LAPPED && ring->offset == MPROF_PACKET_HEADER_BYTES) {
			/* Nothing of it was taken: it may merely have been looked at too early. */
			return_to(ring, ring->sequence);
			return STEP_AGAIN;
		}
		if (r)
			return r;
		/* What the next packet's freshness rests on can be believed now, also where it fell. */
		if (ring->sequence + 1 == ring->active) {
			ring->reference = slot->first;
			ring->has_reference = true;
			ring->guessed_reference = false;
		}
		if (whole) {
			ring->taken_first = slot->first;
			ring->has_taken_first = slot->final > MPROF_PACKET_HEADER_BYTES;
			ring->sequence++;
			ring->offset = MPROF_PACKET_HEADER_BYTES;
		}
	}
	return 0;
}

/* ---- finding the writer ----------------------------------------------------------------------------------------------- */

struct sweep {
	uint32_t newest;  /* slot of the newest packet */
	uint32_t history; /* packets before it whose numbers follow one another */
	bool new_ring;	  /* numbered 0, 1, 2 … as at creation, with empty packets at the end */
	bool all_empty;
	uint64_t first_of_0; /* first timestamp in slot 0 */
	uint64_t counts;     /* of all headers, folded into one number */
};

/* Look at every header once and work out where the writer is. */
static int sweep_load(struct ring *ring, struct sweep *sweep)
{
	uint32_t best = 0, last_filled = 0;
	bool numbered = true;

	*sweep = (struct sweep){.all_empty = true};
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_slot *slot = &ring->slots[i];
		struct ring_header h;
		uint64_t first;
		int r;

		if (!first_load(ring, slot, &first))
			return RING_E_GONE;
		r = header_load(ring, slot, &h);
		if (r)
			return r;
		if (i == 0)
			sweep->first_of_0 = first;
		numbered = numbered && h.count == i;
		sweep->counts = sweep->counts * 0x100000001b3u + ((uint64_t)h.count << 32 | header_bits(&h));
		slot->count = h.count;
		if (header_bits(&h) != MPROF_PACKET_EMPTY_BITS) {
			sweep->all_empty = false;
			last_filled = i;
		}
		if ((int16_t)(h.count - ring->slots[best].count) > 0)
			best = i;
	}
	if (numbered && (last_filled + 1 < ring->n || sweep->all_empty)) {
		sweep->new_ring = true;
		best = last_filled;
	}
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
 * The newest of the first timestamps of all packets but the one in SLOT: every older packet's is below an active one's.  A guess: the
 * writer may have been beyond SLOT already when the others were read.
 */
static int newest_other_first(struct ring *ring, uint32_t slot)
{
	ring->has_reference = false;
	ring->guessed_reference = true;
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_header h;
		uint64_t first;
		int r;

		if (i == slot)
			continue;
		if (!first_load(ring, &ring->slots[i], &first))
			return RING_E_GONE;
		r = header_load(ring, &ring->slots[i], &h);
		if (r == RING_E_GONE)
			return r;
		/* Renewed since the sweep, or about to be. */
		if (r || h.count != ring->slots[i].count || header_bits(&h) == MPROF_PACKET_EMPTY_BITS)
			continue;
		if (first && (!ring->has_reference || first > ring->reference)) {
			ring->reference = first;
			ring->has_reference = true;
		}
	}
	return 0;
}

/* Begin to follow the writer at packet START, which is not newer than NEWEST, the packet in slot SWEEP->newest. */
static int follow_from(struct ring *ring, uint64_t start, uint64_t newest, const struct sweep *sweep)
{
	for (uint32_t i = 0; i < ring->n; i++) {
		struct ring_slot *slot = &ring->slots[i];

		slot->has_first = false;
		slot->has_before = false;
		slot->final = 0;
		slot->clock = false;
		slot->damaged = false;
	}
	ring->n_marks = 0;
	ring->has_reference = false;
	active_set(ring, newest, sweep->newest);
	active_set(ring, start, slot_of(ring, start));
	if (ring->sequence == start && ring->offset > MPROF_PACKET_HEADER_BYTES) {
		ring->slots[ring->slot].first = ring->first;
		ring->slots[ring->slot].has_first = true;
	}
	if (start == newest && !(sweep->new_ring && sweep->history == 0))
		return newest_other_first(ring, ring->slot);
	return 0;
}

static bool cursor_moved(const struct ring *ring)
{
	return ring->sequence > 0 || ring->offset > MPROF_PACKET_HEADER_BYTES;
}

/* Could so many packets have passed in NS that their number is known modulo 65,536 only? */
static bool count_may_have_wrapped(const struct ring *ring, uint64_t ns)
{
	uint64_t smallest = ring->slots[0].bytes;

	for (uint32_t i = 1; i < ring->n; i++)
		if (ring->slots[i].bytes < smallest)
			smallest = ring->slots[i].bytes;
	return (double)ns * (WRITER_BYTES_PER_S / 1e9) / (double)smallest >= 32768;
}

/* Was the ring initialised again since the last look? */
static bool renewed(const struct ring *ring, const struct sweep *sweep)
{
	const struct ring_slot *zero = &ring->slots[0];
	uint64_t passed;

	if (!sweep->new_ring)
		return false;
	if (ring->active < ring->n)
		return cursor_moved(ring) &&
		       (sweep->all_empty || (zero->has_first && zero->first != sweep->first_of_0));
	if (sweep->newest + 2 != ring->n)
		return true;
	/* One empty packet behind full ones can also be a count that has just gone round: if there was time for that. */
	passed = (uint16_t)(ring->n - 1 - (uint16_t)ring->active);
	return (double)passed * zero->bytes >
	       (double)(clock_mono() - ring->looked_at) * (WRITER_BYTES_PER_S / 1e9) + 4.0 * zero->bytes * ring->n;
}

/*
 * Is the packet at the cursor, of which something was taken, still what we know?  0, STEP_LAPPED (the same number and another packet: the
 * count went round), STEP_MOVED (it is being emptied: the rest of it is lost), STEP_STILL (not to be said now) or RING_E_GONE.
 */
static int cursor_check(struct ring *ring, uint64_t newest, const struct sweep *sweep)
{
	uint64_t back = (newest - ring->sequence) % ring->n, first;
	struct ring_slot *slot = &ring->slots[(sweep->newest + ring->n - back) % ring->n];
	struct ring_header h;
	int r;

	if (ring->offset <= MPROF_PACKET_HEADER_BYTES)
		return 0;
	if (!first_load(ring, slot, &first))
		return RING_E_GONE;
	r = header_load(ring, slot, &h);
	if (r)
		return r;
	if (h.count != (uint16_t)ring->sequence)
		return STEP_STILL;
	if (header_bits(&h) == MPROF_PACKET_EMPTY_BITS)
		return STEP_MOVED;
	return first == ring->first ? 0 : STEP_LAPPED;
}

/*
 * The sequence of the packet that a sweep found to be the newest.  One behind the active packet is either a count that went round or a
 * sweep that the writer overtook: the first is believed only when it stays.  STEP_STILL: sweep again.
 */
static int newest_sequence(struct ring *ring, const struct sweep *sweep, bool at_least, uint64_t *newest)
{
	*newest = mprof_sequence_after(ring->active, ring->slots[sweep->newest].count);
	if (*newest - ring->active <= INT16_MAX || at_least || ++ring->behind > BEHIND_LOOKS) {
		ring->behind = 0;
		return 0;
	}
	return STEP_STILL;
}

/* The ring is not what we followed: find the writer, declare what was lost for REASON, and go on.  OLDEST: begin at the oldest packet. */
static int resync(struct ring *ring, struct ring_sink *sink, enum ring_gap_reason reason, bool oldest)
{
	bool at_least = count_may_have_wrapped(ring, clock_mono() - ring->looked_at);
	uint64_t newest, start;
	struct sweep sweep, again;
	int r;

	ring->counters.lapped++;
	r = sweep_load(ring, &sweep);
	if (r)
		return r;
	if (renewed(ring, &sweep)) {
		/* A sweep that the writer overtook looks like that too; two that are equal do not. */
		again = sweep;
		r = sweep_load(ring, &sweep);
		if (r)
			return r;
		return sweep.counts == again.counts && sweep.first_of_0 == again.first_of_0 && sweep.new_ring
			       ? RING_E_RENEWED
			       : STEP_STILL;
	}
	r = newest_sequence(ring, &sweep, at_least, &newest);
	if (r)
		return r;
	if (ring->skipping)
		return follow_from(ring, newest, newest, &sweep);

	start = newest - sweep.history;
	/* The oldest packet is the next to be overwritten: while the writer moves, it is no place to begin. */
	if (!oldest && start < newest && sweep.history + 1 == ring->n)
		start++;
	if (start <= ring->sequence && ring->sequence <= newest) {
		r = cursor_check(ring, newest, &sweep);
		if (r == 0)
			return follow_from(ring, ring->sequence, newest, &sweep);
		if (r != STEP_LAPPED && r != STEP_MOVED)
			return r;
		if (r == STEP_LAPPED) {
			newest += 65536;
			start += 65536;
			at_least = true;
		} else if (start == ring->sequence) {
			start++;
		}
	}
	if (start > ring->sequence) {
		r = declare(ring, sink, start, start - ring->sequence, at_least, reason);
		if (r)
			return r;
	}
	return follow_from(ring, start < newest ? start : newest, newest, &sweep);
}

/* ---- the calls ----------------------------------------------------------------------------------------------------------- */

/* The bytes of the two headers that show any change.  Decides only whether a closer look is worth it. */
static int glance(struct ring *ring, bool *same)
{
	const struct ring_slot *slot = &ring->slots[ring->slot];
	const struct ring_slot *next = &ring->slots[slot_after(ring, ring->slot)];
	const uint64_t at = offsetof(struct mprof_packet_wire, count);
	uint8_t hint[sizeof(ring->hint)] = {0};
	size_t n = slot->bytes < sizeof(struct mprof_packet_wire) ? 6 : 14;

	if (!ring->memory->load(ring->memory, slot->at + at, hint, n) ||
	    !ring->memory->load(ring->memory, next->at + at, hint + 14, 6))
		return RING_E_GONE;
	*same = ring->has_hint && memcmp(hint, ring->hint, sizeof(hint)) == 0;
	memcpy(ring->hint, hint, sizeof(hint));
	ring->has_hint = true;
	return 0;
}

/* Follow the writer to where it is, copying what becomes proven on the way. */
static int follow(struct ring *ring, struct ring_sink *sink, uint64_t now)
{
	unsigned resyncs = 0, eager = 0;
	int r;

	for (uint32_t i = 0; i < 2 * ring->n + 8; i++) {
		uint64_t written = ring->written;

		r = step(ring, now);
		if (r == STEP_STILL || r == STEP_MOVED) {
			int taken = take(ring, sink);

			if (taken)
				r = taken;
			else if (r == STEP_STILL && (ring->written == written || ++eager > EAGER_STEPS))
				return 0;
			else if (r == STEP_STILL)
				continue;
		}
		if (r == STEP_LAPPED) {
			if (++resyncs > RESYNCS_PER_LOOK)
				break;
			r = resync(ring, sink, RING_GAP_LAPPED, false);
			if (r == STEP_STILL)
				break;
			if (r == 0)
				continue;
		}
		if (r != STEP_MOVED && r != STEP_AGAIN)
			return r;
	}
	ring->has_hint = false; /* not seen to the end: look closely next time */
	return 0;
}

int ring_look(struct ring *ring, struct ring_sink *sink)
{
	uint64_t now = clock_mono();
	bool same;
	int r;

	ring->counters.looks++;
	if (ring->restarted) {
		/* Attach put the active packet where the archive goes on; what lies between is gone. */
		r = declare(ring, sink, ring->active, ring->active - ring->sequence, ring->restart_at_least,
			    RING_GAP_RESTART);
		if (r)
			return r;
		ring->restarted = false;
	}
	r = glance(ring, &same);
	if (r == 0 && !(same && !ring->stale_since)) {
		r = follow(ring, sink, now);
		if (r || ring->counters.unsteady != ring->unsteady_seen)
			ring->has_hint = false;
		ring->unsteady_seen = ring->counters.unsteady;
	}
	ring->looked_at = now;
	return r;
}

/*
 * A dead writer may have stored the low half of a size and not the high half: what the header states is then 8 KiB too small.  Where
 * that can be so (the low half has just gone round) those 8 KiB are part of the tail: which events of it hold is found out event by event.
 */
static uint32_t dead_end(const struct ring_slot *slot, const struct ring_header *h)
{
	const uint32_t lap = 65536 / 8, stated = mprof_packet_bytes(header_bits(h));

	return h->low < ROUND_BITS && stated + lap <= slot->bytes ? stated + lap : header_bytes(h, slot);
}

/* What the active packet's first timestamp must be newer than, read again now that nobody writes. */
static bool dead_reference(struct ring *ring)
{
	const struct ring_slot *slot;
	uint64_t first;

	if (ring->active == 0 || !ring->has_reference || ring->guessed_reference)
		return true;
	slot = &ring->slots[ring->slot ? ring->slot - 1 : ring->n - 1];
	if (!first_load(ring, slot, &first))
		return false;
	if (first)
		ring->reference = first;
	return true;
}

/* How far the tail of packet SEQUENCE reaches; 0 where it must not be served under that number.  Or RING_E_GONE. */
static int tail_end(struct ring *ring, uint64_t sequence, bool dead, uint32_t *end)
{
	struct ring_slot *slot = &ring->slots[slot_of(ring, sequence)];
	struct ring_header h;
	uint64_t first;
	int r;

	*end = 0;
	if (sequence < ring->active) {
		*end = slot->final;
		return 0;
	}
	if (!first_load(ring, slot, &first) || (dead && !dead_reference(ring)))
		return RING_E_GONE;
	r = header_load(ring, slot, &h);
	if (r)
		return r == STEP_STILL ? 0 : r;
	if (h.count != (uint16_t)sequence)
		return 0;
	/* A packet whose first timestamp is not fresh is the incarnation before, under a new number. */
	if (!slot->clock && !(ring->has_reference ? first > ring->reference : first > 0) &&
	    !(dead && slot->has_before && first != slot->before))
		return 0;
	if (slot->has_first && slot->first != first && ring->sequence == sequence &&
	    ring->offset > MPROF_PACKET_HEADER_BYTES)
		return 0;
	slot->first = first;
	slot->has_first = true;
	*end = dead ? dead_end(slot, &h) : header_bytes(&h, slot);
	for (uint32_t i = 0; i < ring->n_marks; i++)
		if (ring->marks[i].sequence == sequence && ring->marks[i].offset > *end)
			*end = ring->marks[i].offset;
	return 0;
}

static bool mark_before(const struct ring_mark *a, uint64_t sequence, uint32_t offset)
{
	return a->sequence < sequence || (a->sequence == sequence && a->offset < offset);
}

/* Hand over the tail of the packet at *AT up to END. */
static int tail_copy(struct ring *ring, struct ring_sink *sink, struct ring_mark *at, uint32_t end)
{
	while (at->offset < end) {
		uint32_t left = end - at->offset;
		struct ring_chunk chunk = {
			.offset = at->offset,
			.length = left < RING_PIECE_MAX ? left : RING_PIECE_MAX,
			.unproven = true,
			.tail = true,
			.last = at->sequence < ring->active,
		};
		int r = copy_piece(ring, sink, at->sequence, &chunk);

		if (r)
			return r;
		at->offset += chunk.length;
	}
	return 0;
}

/* A packet of a dead ring that cannot be had: the only loss behind the cursor. */
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

int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at)
{
	if (mark_before(at, ring->sequence, ring->offset))
		*at = (struct ring_mark){.sequence = ring->sequence, .offset = ring->offset};
	if (ring->active >= ring->n && at->sequence + ring->n <= ring->active)
		return 0; /* the writer is a lap ahead: nothing of what follows the cursor is there any more */
	for (; at->sequence <= ring->active; *at = (struct ring_mark){at->sequence + 1, MPROF_PACKET_HEADER_BYTES}) {
		uint32_t end;
		int r = tail_end(ring, at->sequence, dead, &end);

		if (r == 0)
			r = tail_copy(ring, sink, at, end);
		if (r == STEP_LAPPED && !dead)
			return 0; /* the writer is faster: the rest of the tail is no tail any more */
		if (r == STEP_LAPPED && !tail_lost(sink, at))
			return RING_E_FULL;
		if (r && r != STEP_LAPPED)
			return r;
	}
	return 0;
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
	ring->skipping = false;
	ring->has_hint = false;
	r = resync(ring, sink, RING_GAP_POLICY, dead);
	if (r == RING_E_FULL || r == STEP_STILL)
		ring->skipping = true;
	return r == STEP_STILL ? RING_E_FULL : r;
}

bool ring_pending(const struct ring *ring)
{
	return ring->active > ring->sequence || ring->seen > ring->offset;
}

uint64_t ring_oldest(const struct ring *ring)
{
	return ring->active + 1 >= ring->n ? ring->active + 1 - ring->n : 0;
}

/* ---- attach -------------------------------------------------------------------------------------------------------------- */

static int slot_add(struct ring *ring, uint64_t at, uint64_t bytes, bool cut)
{
	struct ring_slot *slots;

	if (ring->n % 16 == 0) {
		slots = realloc(ring->slots, (ring->n + 16) * sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		ring->slots = slots;
	}
	ring->slots[ring->n++] = (struct ring_slot){.at = at, .bytes = (uint32_t)bytes, .cut = cut};
	return 0;
}

/* Read offsets and sizes of the packets, once and for ever (rule 1). */
static int geometry_load(struct ring *ring, bool dead, const char **fault)
{
	uint8_t raw[MPROF_PACKET_HEADER_BYTES];
	struct mprof_packet_header h;
	enum mprof_packet_status status;
	uint64_t at = 0, left;
	int r;

	while ((left = ring->bytes - at) > 0) {
		if (left < sizeof(raw) && dead && ring->n)
			break; /* a file cut inside a header */
		if (left < sizeof(raw) || !ring->memory->load(ring->memory, at, raw, sizeof(raw))) {
			*fault = "its packets do not fill it";
			return RING_E_NOT_YET;
		}
		status = mprof_packet_load(&h, raw, sizeof(raw));
		/* A content size may be wrong for a moment while the writer stores its halves. */
		if (status != MPROF_PACKET_OK && status != MPROF_PACKET_BAD_CONTENT) {
			*fault = mprof_packet_status_text(status);
			return RING_E_NOT_YET;
		}
		if (h.packet_bytes > left && !dead) {
			*fault = "a packet runs past its end";
			return RING_E_NOT_YET;
		}
		if (ring->n == MPROF_RING_PACKETS_MAX) {
			*fault = "it has more than 1,024 packets";
			return RING_E_REFUSED;
		}
		r = slot_add(ring, at, h.packet_bytes < left ? h.packet_bytes : left, h.packet_bytes > left);
		if (r)
			return r;
		at += ring->slots[ring->n - 1].bytes;
	}
	if (ring->n < MPROF_RING_PACKETS_MIN) {
		*fault = "it has fewer than two packets";
		return RING_E_NOT_YET;
	}
	return 0;
}

/* Take up a ring where the archive ends.  0, RING_E_RENEWED, RING_E_GONE or STEP_STILL. */
static int resume_at(struct ring *ring, const struct ring_resume *resume, const struct sweep *sweep)
{
	uint64_t newest, oldest, first, gone = clock_real() - resume->last_real;
	bool known = false;

	for (uint32_t i = 0; i < ring->n && !known; i++) {
		if (ring->slots[i].count != (uint16_t)resume->last_sequence)
			continue;
		if (!first_load(ring, &ring->slots[i], &first))
			return RING_E_GONE;
		known = first == resume->first_timestamp;
	}
	if (!known && sweep->new_ring)
		return RING_E_RENEWED;
	newest = mprof_sequence_after(resume->last_sequence, ring->slots[sweep->newest].count);
	if (!known && newest - resume->last_sequence < ring->n)
		newest += 65536;
	ring->sequence = resume->sequence;
	ring->offset = resume->offset;
	ring->first = resume->first_timestamp;
	ring->restart_at_least = !known && (newest - resume->last_sequence >= 65536 ||
					    (gone < UINT64_MAX / 2 && count_may_have_wrapped(ring, gone)));
	oldest = newest - sweep->history;
	if (oldest > ring->sequence) {
		ring->restarted = true;
		return follow_from(ring, oldest, newest, sweep);
	}
	return follow_from(ring, ring->sequence < newest ? ring->sequence : newest, newest, sweep);
}

int ring_attach(struct ring *ring, const struct memory *memory, uint64_t bytes, const struct ring_resume *resume,
		bool dead, const char **fault)
{
	struct sweep sweep;
	int r;

	*ring = (struct ring){.memory = memory, .bytes = bytes, .looked_at = clock_mono()};
	*fault = "";
	if (bytes < MPROF_RING_BYTES_MIN || bytes > MPROF_RING_BYTES_MAX) {
		*fault = bytes ? "it is not between 1 KiB and 256 MiB" : "it is empty";
		return bytes > MPROF_RING_BYTES_MAX ? RING_E_REFUSED : RING_E_NOT_YET;
	}
	r = geometry_load(ring, dead, fault);
	if (r == 0)
		r = sweep_load(ring, &sweep);
	if (r == 0 && resume) {
		r = resume_at(ring, resume, &sweep);
	} else if (r == 0) {
		uint64_t newest = ring->slots[sweep.newest].count;

		/* A count that has gone round once already: packets before it have numbers too. */
		if (newest < sweep.history)
			newest += 65536;
		ring->sequence = newest - sweep.history;
		ring->offset = MPROF_PACKET_HEADER_BYTES;
		r = follow_from(ring, ring->sequence, newest, &sweep);
	}
	if (r) {
		ring_detach(ring);
		if (r == STEP_STILL || r == RING_E_GONE)
			r = RING_E_NOT_YET;
	}
	return r;
}

void ring_detach(struct ring *ring)
{
	free(ring->slots);
	*ring = (struct ring){0};
}
