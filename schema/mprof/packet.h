/*
 * The packet header: the functions that load, check and store it. All programs use them.
 *
 * Pure functions over private bytes. Never pass shared memory to them: copy it first, then check
 * the copy.
 */
#ifndef MPROF_SCHEMA_PACKET_H
#define MPROF_SCHEMA_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

struct mprof_packet_header {
	uint32_t packet_bytes;	/* bytes of the whole packet, header included */
	uint32_t content_bytes; /* bytes of header and events; 30 = no events */
	uint16_t count;		/* sequence number modulo 65,536 */
};

enum mprof_packet_status {
	MPROF_PACKET_OK = 0,
	MPROF_PACKET_SHORT, /* fewer than 30 bytes */
	MPROF_PACKET_BAD_MAGIC,
	MPROF_PACKET_BAD_UUID,
	MPROF_PACKET_BAD_SIZE, /* packet_size is no multiple of 8 bits, or has no room for the header */
	/* content_size is no multiple of 8 bits, is below 240 bits, or exceeds packet_size */
	MPROF_PACKET_BAD_CONTENT,
};

static inline const char *mprof_packet_status_text(enum mprof_packet_status status)
{
	switch (status) {
	case MPROF_PACKET_OK:
		return "ok";
	case MPROF_PACKET_SHORT:
		return "shorter than a packet header";
	case MPROF_PACKET_BAD_MAGIC:
		return "bad magic";
	case MPROF_PACKET_BAD_UUID:
		return "bad uuid";
	case MPROF_PACKET_BAD_SIZE:
		return "bad packet size";
	case MPROF_PACKET_BAD_CONTENT:
		return "bad content size";
	}
	return "unknown";
}

/* Convert a size field from bits to bytes. Return 0 if BITS is not a multiple of 8. */
static inline uint32_t mprof_packet_bytes(uint32_t bits)
{
	return bits % 8 ? 0 : bits / 8;
}

/* Return whether a packet of PACKET bytes can have CONTENT bytes of header and events. */
static inline bool mprof_packet_content_ok(uint32_t content, uint32_t packet)
{
	return content >= MPROF_PACKET_HEADER_BYTES && content <= packet;
}

/*
 * Load and check the header at P, which has LEN private bytes. On any status but MPROF_PACKET_OK,
 * *H has the fields that were loaded before the fault; the other fields are 0. The caller checks
 * that the packet fits into its file or ring.
 */
static inline enum mprof_packet_status mprof_packet_load(struct mprof_packet_header *h, const uint8_t *p, size_t len)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;

	memset(h, 0, sizeof(*h));
	if (len < MPROF_PACKET_HEADER_BYTES)
		return MPROF_PACKET_SHORT;
	if (mprof_load32(p) != MPROF_PACKET_MAGIC)
		return MPROF_PACKET_BAD_MAGIC;
	if (memcmp(p + 4, uuid, sizeof(uuid)) != 0)
		return MPROF_PACKET_BAD_UUID;
	h->count = mprof_load16(p + offsetof(struct mprof_packet_wire, count));
	h->packet_bytes = mprof_packet_bytes(mprof_load32(p + offsetof(struct mprof_packet_wire, packet_size)));
	if (h->packet_bytes < MPROF_PACKET_HEADER_BYTES)
		return MPROF_PACKET_BAD_SIZE;
	h->content_bytes = mprof_packet_bytes(mprof_load32(p + offsetof(struct mprof_packet_wire, content_low)));
	if (!mprof_packet_content_ok(h->content_bytes, h->packet_bytes))
		return MPROF_PACKET_BAD_CONTENT;
	return MPROF_PACKET_OK;
}

/*
 * Store *H as the 30 bytes at P. Both sizes must be below 512 MiB: the packet stores them as 32-bit
 * numbers of bits.
 */
static inline void mprof_packet_store(const struct mprof_packet_header *h, uint8_t *p)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;

	mprof_store32(p, MPROF_PACKET_MAGIC);
	memcpy(p + 4, uuid, sizeof(uuid));
	mprof_store32(p + offsetof(struct mprof_packet_wire, packet_size), h->packet_bytes * 8);
	mprof_store16(p + offsetof(struct mprof_packet_wire, count), h->count);
	mprof_store32(p + offsetof(struct mprof_packet_wire, content_low), h->content_bytes * 8);
}

/*
 * Widen the 16-bit COUNT to 64 bits: return the smallest sequence number that is at least REFERENCE
 * and equals COUNT modulo 65,536.
 */
static inline uint64_t mprof_sequence_after(uint64_t reference, uint16_t count)
{
	return reference + (uint16_t)(count - (uint16_t)reference);
}

#endif
