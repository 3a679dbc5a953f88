/*
 * The trace ring: the memory that a guest shares with dom0.
 *
 * A ring is N packets of fixed offset and size, one after the other. It has no ring header, no
 * index and no writer position. mirage-profile (0.1 to 0.9.1) always cuts a ring of S bytes into
 * four packets of floor(S/4) bytes; the last one also takes the remainder. All integers are
 * little-endian and byte-packed: nothing in a ring is aligned, not even a packet (250,880-byte
 * packets in a 245-page ring).
 *
 *     +---------------- packet 0 ----------------+---- packet 1 ----+-- ... --+-- packet N-1 --+
 *     | header (30) | event | event | ... | pad  |                  |         |                |
 *     +-------------+-------+-------+-----+------+------------------+---------+----------------+
 *
 *     0        4               20             24       26             28             30
 *     | magic  | uuid          | packet_size  | count  | content low  | content high | event ...
 *
 * The mirage-profile writer stores as follows, without any barrier; a reader must cope with it:
 *
 *  an event      content low half, content high half, then the timestamp, the id, the rest byte by
 *                byte. The event is thus counted before any of its bytes exist. A GC event may be
 *                written inside another event, between its size and its bytes, and may even move
 *                the writer to the next packet.
 *  a new packet  count, content low half (240), content high half (0).
 *
 * mprofd's recorder (client/recorder/recorder.c) stores as follows, with a release fence between
 * any two steps:
 *
 *  an event      all its bytes, then the size: bytes 24 to 31 of a packet are one aligned word,
 *                stored at once.
 *  a new packet  the size 240 under the old count, then the first event's bytes, then the new
 *                count and the size behind that event in one store. A new count is thus never
 *                seen without its first timestamp. A size that falls to 240 under the old count
 *                and the old timestamp is a packet being reused, not a second writer. No writer
 *                leaves a packet empty when it moves on: a packet behind the newest with size 240
 *                under its own count has just been lost to a lap; it was not empty.
 *
 * The recorder's packets begin at multiples of 8 bytes, and the last takes the remainder. On a
 * machine without an atomic 8-byte store, the recorder zeroes the first timestamp before the size
 * falls, and stores count and low half at once, then the high half.
 */
#ifndef MPROF_SCHEMA_RING_H
#define MPROF_SCHEMA_RING_H

#include <stddef.h>
#include <stdint.h>

#define MPROF_RING_PACKETS_MIN 2u
#define MPROF_RING_PACKETS_MAX 1024u
#define MPROF_RING_BYTES_MIN   1024u
#define MPROF_RING_BYTES_MAX   (256u << 20)

#define MPROF_PACKET_MAGIC 0xc1fc1fc1u

/* 05883b8d-521a-487b-b397-456ab150680c, the same in every trace of every dialect. */
#define MPROF_PACKET_UUID                                                                                      \
	{                                                                                                      \
		0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c \
	}

#define MPROF_PACKET_HEADER_BYTES 30u
#define MPROF_PACKET_EMPTY_BITS	  240u /* content_size of a packet without events: the header alone */

/* The wire form.  Never overlaid on shared memory: it gives offsets and nothing else. */
struct mprof_packet_wire {
	uint8_t magic[4];
	uint8_t uuid[16];
	uint8_t packet_size[4]; /* bits, constant after creation */
	uint8_t count[2];	/* sequence number modulo 65,536 */
	uint8_t content_low[2]; /* used bits, header included; written as two 16-bit stores */
	uint8_t content_high[2];
	uint8_t first_timestamp[8]; /* of the first event, nanoseconds */
};

_Static_assert(offsetof(struct mprof_packet_wire, uuid) == 4, "uuid follows the magic");
_Static_assert(offsetof(struct mprof_packet_wire, packet_size) == 20, "packet_size at 20");
_Static_assert(offsetof(struct mprof_packet_wire, count) == 24, "count at 24");
_Static_assert(offsetof(struct mprof_packet_wire, content_low) == 26, "content low half at 26");
_Static_assert(offsetof(struct mprof_packet_wire, content_high) == 28, "content high half at 28");
_Static_assert(offsetof(struct mprof_packet_wire, first_timestamp) == MPROF_PACKET_HEADER_BYTES, "events at 30");

#endif
