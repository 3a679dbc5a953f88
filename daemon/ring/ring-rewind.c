/*
 * Move the cursor back.
 *
 * To make room for a dead guest's last bytes, the queue can drop bytes of a living guest that are
 * not archived yet. Most of those bytes are still in the ring, so the cursor moves back and they
 * are copied again. The ring is then treated like one whose writer was lost (ring-sweep.c): the
 * packets that it still holds are followed and proven again, and the others become a gap that
 * begins where the archive's bytes end. Until the cursor reaches its former position again, the
 * bytes up to that position are *owed*. If the ring is detached before that, the owed bytes are
 * declared lost.
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
