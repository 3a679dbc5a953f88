/*
 * A cursor that goes back.
 *
 * What was handed over and not archived yet can be taken back, to make room for a dead guest's last bytes: it is mostly still in the ring.
 * The ring is then looked at as one that was lost (ring-sweep.c): what is there is followed and proven anew, what is not is a gap that
 * begins where the archive will end.  Until the cursor is past where it had been, the bytes between are owed: a ring that is detached
 * before declares them.
 */
#include "ring-state.h"

#include <mprof/ring.h>

struct ring_cursor ring_cursor(const struct ring *ring)
{
	return (struct ring_cursor){
		.sequence = ring->sequence,
		.offset = ring->offset,
		.first = ring->first,
		.taken_first = ring->taken_first,
		.has_taken_first = ring->has_taken_first,
	};
}

bool ring_owes(const struct ring *ring)
{
	return ring->sequence < ring->owed.sequence ||
	       (ring->sequence == ring->owed.sequence && ring->offset < ring->owed.offset);
}

void ring_rewind(struct ring *ring, const struct ring_cursor *to, bool at_least)
{
	if (!ring_owes(ring))
		ring->owed = (struct ring_mark){.sequence = ring->sequence, .offset = ring->offset};
	ring->sequence = to->sequence;
	ring->offset = to->offset;
	ring->first = to->first;
	ring->taken_first = to->taken_first;
	ring->has_taken_first = to->has_taken_first;
	ring->rewound = true;
	ring->rewound_at_least = ring->rewound_at_least || at_least;
	ring->has_hint = false;
}

int ring_forfeit(struct ring *ring, struct ring_sink *sink)
{
	uint64_t next = ring->owed.sequence + (ring->owed.offset > MPROF_PACKET_HEADER_BYTES);
	int r = 0;

	if (ring_owes(ring))
		r = ring_declare(ring, sink, next, next - ring->sequence, ring->rewound_at_least, RING_GAP_LAPPED);
	if (r == 0)
		ring->rewound = ring->rewound_at_least = false;
	return r;
}
