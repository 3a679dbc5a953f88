/* Attach a ring: read its geometry once, and decide at which packet to begin. */
#include "ring-state.h"

#include <errno.h>
#include <stdlib.h>

#include <mprof/packet.h>

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

/*
 * Load the header of the packet at AT, its magic first: our recorder stores the magic after the rest. Return
 * false if its bytes do not exist.
 */
static bool header_load(const struct ring *ring, uint64_t at, uint8_t raw[MPROF_PACKET_HEADER_BYTES])
{
	const size_t magic = offsetof(struct mprof_packet_wire, uuid);

	return ring->memory->load(ring->memory, at, raw, magic) &&
	       ring->memory->load(ring->memory, at + magic, raw + magic, MPROF_PACKET_HEADER_BYTES - magic);
}

/*
 * Read the offsets and sizes of all packets, once (rule 1). Return 0, -ENOMEM, RING_E_NOT_YET or
 * RING_E_REFUSED; *FAULT then says why.
 */
static int geometry_load(struct ring *ring, bool dead, const char **fault)
{
	uint8_t raw[MPROF_PACKET_HEADER_BYTES];
	struct mprof_packet_header h;
	enum mprof_packet_status status;
	uint64_t at = 0, left;
	int r;

	while ((left = ring->bytes - at) > 0) {
		if (left < sizeof(raw) && dead && ring->n)
			break; /* the file ends inside a header */
		if (left < sizeof(raw) || !header_load(ring, at, raw)) {
			*fault = "its packets do not fill it";
			return RING_E_NOT_YET;
		}
		status = mprof_packet_load(&h, raw, sizeof(raw));
		/*
		 * A wrong content size is no fault here: the writer may be storing its halves just
		 * now.
		 */
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

/*
 * The end of a dead file may be missing, with whole packets in it. If the packet in the slot behind
 * the newest one does not have the number that a full ring would have there, the numbers tell how
 * many packets the ring had. Add slots for the packets that are missing, with MISSING set: nothing
 * can be loaded from them. Then sweep again.
 */
static int missing_add(struct ring *ring, struct sweep *sweep)
{
	uint32_t oldest = sweep->newest + 1, had;

	if (oldest >= ring->n || sweep->history + 1 >= ring->n || sweep->new_ring)
		return 0;
	had = (uint16_t)(ring->slots[sweep->newest].count - ring->slots[oldest].count) + 1u;
	if (had <= ring->n || had > MPROF_RING_PACKETS_MAX)
		return 0;
	while (ring->n < had) {
		uint16_t count = (uint16_t)(ring->slots[ring->n - 1].count + 1);
		int r = slot_add(ring, ring->bytes, MPROF_PACKET_HEADER_BYTES, false);

		if (r)
			return r;
		ring->slots[ring->n - 1].missing = true;
		ring->slots[ring->n - 1].count = count;
	}
	return ring_sweep_load(ring, sweep);
}

/*
 * Continue a ring at the position where the archive ends. Return 0, RING_E_RENEWED, RING_E_GONE or
 * STEP_STILL.
 */
static int resume_at(struct ring *ring, const struct ring_resume *resume, const struct sweep *sweep)
{
	const int64_t passed = (int64_t)clock_mono() - resume->last_mono;
	const uint64_t gone = passed < 0 ? 0 : (uint64_t)passed;
	uint64_t newest, oldest, first;
	bool known = false;

	for (uint32_t i = 0; i < ring->n && !known; i++) {
		if (ring->slots[i].count != (uint16_t)resume->last_sequence)
			continue;
		if (!ring_first_load(ring, &ring->slots[i], &first))
			return RING_E_GONE;
		known = first == resume->first_timestamp;
	}
	if (!known && sweep->new_ring)
		return RING_E_RENEWED;
	newest = mprof_sequence_after(resume->last_sequence, ring->slots[sweep->newest].count);
	/*
	 * The 16-bit count has wrapped around if a packet has the same count as the archive's last
	 * packet but another first timestamp, or if more packets precede the newest one than its
	 * number allows.
	 */
	if ((!known && newest - resume->last_sequence < ring->n) || newest < sweep->history)
		newest += 65536;
	ring->cursor.sequence = resume->sequence;
	ring->cursor.offset = resume->offset;
	ring->cursor.first = resume->first_timestamp;
	ring->cursor.summed = (uint16_t)resume->n_last;
	ring->cursor.sum = ring_sum(resume->last, resume->n_last);
	ring->restart.at_least = newest - resume->last_sequence >= 65536 || (!known && ring_count_may_wrap(ring, gone));
	oldest = newest - sweep->history;
	if (oldest > ring->cursor.sequence) {
		ring->restart.pending = true;
		return ring_follow_from(ring, oldest, newest, sweep);
	}
	return ring_follow_from(ring, ring->cursor.sequence < newest ? ring->cursor.sequence : newest, newest, sweep);
}

/*
 * Begin at the oldest packet, or behind it where RESUME says. Without RESUME the ring was never attached before. Return as
 * resume_at().
 */
static int begin_at(struct ring *ring, const struct ring_resume *resume, struct sweep *sweep)
{
	const uint64_t sequence = resume ? resume->sequence : 0;
	bool known = resume && resume->known;
	uint64_t newest = ring->slots[sweep->newest].count, oldest, start;

	/* More packets precede the newest one than its number allows: the count has wrapped. */
	if (newest < sweep->history)
		newest += 65536;
	/*
	 * The rest of the newest packet may be declared lost. If SEQUENCE is behind that, the count has wrapped since, or the ring
	 * was initialised again, and nobody knows how many packets passed.
	 */
	if (sweep->new_ring && resume && (resume->passed || newest + 1 < sequence))
		return ring_confirm_renewed(ring, sweep);
	if (newest + 1 < sequence) {
		newest += (sequence - newest + 65535) / 65536 * 65536;
		known = false;
	}
	oldest = newest - sweep->history;
	start = oldest < sequence ? sequence : oldest;
	if (resume && sequence < oldest)
		ring->restart = (struct ring_restart){
			.pending = true,
			.at_least = true,
			.unseen = true,
			.known = known,
			.unseen_from = sequence,
		};
	ring->cursor.sequence = ring->restart.pending ? sequence : start;
	ring->cursor.offset = MPROF_PACKET_HEADER_BYTES;
	return ring_follow_from(ring, start < newest ? start : newest, newest, sweep);
}

int ring_attach(struct ring *ring, const struct memory *memory, uint64_t bytes, const struct ring_resume *resume,
		bool dead, const char **fault)
{
	struct sweep sweep;
	int r;

	*ring = (struct ring){.memory = memory, .bytes = bytes, .polled_at = clock_mono()};
	*fault = "";
	if (bytes < MPROF_RING_BYTES_MIN || bytes > MPROF_RING_BYTES_MAX) {
		*fault = bytes ? "it is not between 1 KiB and 256 MiB" : "it is empty";
		return bytes > MPROF_RING_BYTES_MAX ? RING_E_REFUSED : RING_E_NOT_YET;
	}
	r = geometry_load(ring, dead, fault);
	if (r == 0)
		r = ring_sweep_load(ring, &sweep);
	if (r == 0 && dead)
		r = missing_add(ring, &sweep);
	if (r == 0)
		r = resume && !resume->unseen ? resume_at(ring, resume, &sweep) : begin_at(ring, resume, &sweep);
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
