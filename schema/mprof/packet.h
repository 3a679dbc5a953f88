/*
 * The packet header: the one way to read, check and write it.
 *
 * Pure functions over private bytes.  Nobody hands shared memory to them: copy first, then check
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
	uint32_t packet_bytes;	/* the packet's room, header included */
	uint32_t content_bytes; /* its used part, header included: 30 = empty */
	uint16_t count;		/* sequence number modulo 65,536 */
};

enum mprof_packet_status {
	MPROF_PACKET_OK = 0,
	MPROF_PACKET_SHORT, /* fewer than 30 bytes */
	MPROF_PACKET_BAD_MAGIC,
	MPROF_PACKET_BAD_UUID,
	MPROF_PACKET_BAD_SIZE,	  /* packet_size is no whole number of bytes, or no room for the header */
	MPROF_PACKET_BAD_CONTENT, /* content_size is no whole number of bytes, below 240 or above packet_size */
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

/* A size field in bits as bytes; 0 where it is not a whole number of bytes. */
static inline uint32_t mprof_packet_bytes(uint32_t bits)
{
	return bits % 8 ? 0 : bits / 8;
}

/* Is CONTENT (bytes) a possible fill of a packet of PACKET bytes? */
static inline bool mprof_packet_content_ok(uint32_t content, uint32_t packet)
{
	return content >= MPROF_PACKET_HEADER_BYTES && content <= packet;
}

/*
 * Read a header from LEN private bytes at P.  On anything but MPROF_PACKET_OK the fields of *H that
 * were read before the fault are set and the others zero.  That the packet fits its container is
 * for the caller to check.
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

/* Write the 30 bytes of *H at P.  Sizes must be below 512 MiB, as 32 bits of bits hold. */
static inline void mprof_packet_store(const struct mprof_packet_header *h, uint8_t *p)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;

	mprof_store32(p, MPROF_PACKET_MAGIC);
	memcpy(p + 4, uuid, sizeof(uuid));
	mprof_store32(p + offsetof(struct mprof_packet_wire, packet_size), h->packet_bytes * 8);
	mprof_store16(p + offsetof(struct mprof_packet_wire, count), h->count);
	mprof_store32(p + offsetof(struct mprof_packet_wire, content_low), h->content_bytes * 8);
}

/* Widen a 16-bit COUNT to the 64-bit sequence at or after REFERENCE that bears it. */
static inline uint64_t mprof_sequence_after(uint64_t reference, uint16_t count)
{
	return reference + (uint16_t)(count - (uint16_t)reference);
}

#endif
