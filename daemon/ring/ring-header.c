/* Load a packet's header and first timestamp (rule 1 of ring.c). */
#include "ring-state.h"

#include <mprof/packet.h>

#define HEADER_TRIES 8u

uint32_t ring_slot_after(const struct ring *ring, uint32_t slot)
{
	return slot + 1 == ring->n ? 0 : slot + 1;
}

uint32_t ring_slot_of(const struct ring *ring, uint64_t sequence)
{
	uint64_t back = (ring->writer.active - sequence) % ring->n;

	return (uint32_t)((ring->writer.slot + ring->n - back) % ring->n);
}

uint32_t ring_header_bits(const struct ring_header *h)
{
	return (uint32_t)h->high << 16 | h->low;
}

uint32_t ring_header_bytes(const struct ring_header *h, const struct ring_slot *slot)
{
	uint32_t content = mprof_packet_bytes(ring_header_bits(h));

	if (slot->cut && content > slot->bytes)
		content = slot->bytes;
	return mprof_packet_content_ok(content, slot->bytes) ? content : 0;
}

bool ring_size_is_half(const struct ring *ring, const struct ring_header *h)
{
	const uint32_t whole = mprof_packet_bytes(ring_header_bits(h)) + RING_HALF;

	/* The high half is still that of the size before, which is not less than the one that was seen. */
	return whole <= ring->slots[ring->writer.slot].bytes &&
	       (h->high >= ring->writer.grown * 8 >> 16 || (ring->writer.least && whole == ring->writer.grown));
}

bool ring_load16(const struct ring *ring, uint64_t at, uint16_t *value)
{
	uint8_t raw[2];

	if (!ring->memory->load(ring->memory, at, raw, sizeof(raw)))
		return false;
	*value = mprof_load16(raw);
	return true;
}

int ring_header_load(struct ring *ring, const struct ring_slot *slot, struct ring_header *h)
{
	const uint64_t count = slot->at + offsetof(struct mprof_packet_wire, count);
	const uint64_t low = slot->at + offsetof(struct mprof_packet_wire, content_low);
	const uint64_t high = slot->at + offsetof(struct mprof_packet_wire, content_high);

	if (slot->missing) {
		/*
		 * The packet is missing from a file that was cut. It counts as a packet with an
		 * impossible size that the writer has left.
		 */
		*h = (struct ring_header){.count = slot->count, .low = UINT16_MAX, .high = UINT16_MAX};
		return 0;
	}
	for (unsigned i = 0; i < HEADER_TRIES; i++) {
		uint16_t count_again, high_again;

		if (!ring_load16(ring, count, &h->count) || !ring_load16(ring, high, &h->high) ||
		    !ring_load16(ring, low, &h->low) || !ring_load16(ring, high, &high_again) ||
		    !ring_load16(ring, count, &count_again))
			return RING_E_GONE;
		if (h->count == count_again && h->high == high_again)
			return 0;
	}
	ring->counters.unsteady++;
	return STEP_STILL;
}

bool ring_first_load(const struct ring *ring, const struct ring_slot *slot, uint64_t *first)
{
	uint8_t raw[8] = {0};

	/*
	 * A packet may be too small for an event. The eight bytes behind its header then belong to
	 * the next packet; load them only if the file has them.
	 */
	if (!slot->missing && slot->bytes >= MPROF_PACKET_HEADER_BYTES + sizeof(raw) &&
	    !ring->memory->load(ring->memory, slot->at + MPROF_PACKET_HEADER_BYTES, raw, sizeof(raw)))
		return false;
	*first = mprof_load64(raw);
	return true;
}

int ring_incarnation_load(struct ring *ring, const struct ring_slot *slot, uint64_t *first, struct ring_header *h)
{
	return ring_first_load(ring, slot, first) ? ring_header_load(ring, slot, h) : RING_E_GONE;
}
