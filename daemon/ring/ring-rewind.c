/*
 * Move the cursor back.
 *
 * Bytes that were handed over and are not archived yet can be taken back, to make room for a dead
 * guest's last bytes. Most of them are still in the ring. The ring is then handled like one whose
 * writer was lost (ring-sweep.c): what is there is followed and proven again, the rest is a gap
 * that begins where the archive will end. Until the cursor passes its former position the bytes in
 * between are owed; a ring that is detached earlier declares them lost.
 */
#include "ring-state.h"

#include <mprof/ring.h>

bool ring_owes(const struct ring *ring)
{
	return ring_mark_before(ring_cursor_mark(ring), ring->debt.owed);
}

void ring_rewind(struct ring *ring, const struct ring_cursor *to, bool at_least)
{
	if (!ring_owes(ring))
		ring->debt.owed = ring_cursor_mark(ring);
	ring->cursor = *to;
	ring->debt.rewound = true;
	ring->debt.at_least = ring->debt.at_least || at_least;
	ring->glance.known = false;
}

int ring_declare_owed(struct ring *ring, struct ring_sink *sink)
{
	uint64_t next = ring->debt.owed.sequence + (ring->debt.owed.offset > MPROF_PACKET_HEADER_BYTES);
	int r = 0;

	if (ring_owes(ring))
		r = ring_declare(ring, sink, next, next - ring->cursor.sequence, ring->debt.at_least, RING_GAP_LAPPED);
	if (r == 0)
		ring->debt.rewound = ring->debt.at_least = false;
	return r;
}
