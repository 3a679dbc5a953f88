/*
 * The trace ring: the memory that a guest shares with dom0.
 *
 * A ring is N packets of fixed offset and size, one after the other. A ring has no header of its
 * own, no index and no writer position. mirage-profile (0.1 to 0.9.1) always cuts a ring of S bytes
 * into four packets of floor(S/4) bytes; the last packet also takes the remainder. All integers are
 * little-endian. In a ring of mirage-profile nothing is aligned: a packet may begin at any byte.
 *
 *    +---------------- packet 0 ----------------+---- packet 1 ----+-- ... --+-- packet N-1 --+
 *    | header (30) | event | event | ... | pad  |                  |         |                |
 *    +-------------+-------+-------+-----+------+------------------+---------+----------------+
 *
 *    0        4               20             24       26             28             30
 *    | magic  | uuid          | packet_size  | count  | content low  | content high | event ...
 *
 * A *slot* is the memory of one packet. The writer fills the slots in turn and begins again at slot
 * 0: each round is a *lap*. The packet that a slot holds during one lap is an *incarnation* of the
 * slot.
 *
 * mirage-profile stores in this order, without any barrier, and a reader must cope with that:
 *
 *  an event      content low half, content high half, then the timestamp, the id, and the payload
 *                byte by byte. So the size counts the event before any of its bytes exist. A GC
 *                event may be written inside another event, between its size and its bytes, and may
 *                even move the writer to the next packet.
 *  a new packet  count, content low half (240), content high half (0).
 *
 * mprofd's recorder (client/recorder/recorder.c) stores in this order, with a release fence between
 * any two steps:
 *
 *  an event      all its bytes, then the size: bytes 24 to 31 of a packet are one aligned word, which
 *                is stored at once.
 *  a new packet  first the size 240, while the slot still has its old count; then the first event's
 *                bytes; then, in one store, the new count and the size up to the end of that event.
 *                So a reader never sees a new count without its first timestamp. If the size falls
 *                to 240 while count and first timestamp stay the same, the slot is being reused; no
 *                second writer is at work. The recorder never leaves a packet without events when it
 *                goes to the next slot. So if an older packet than the newest shows its own count and
 *                the size 240, the writer has just begun to overwrite that packet.
 *
 * The recorder's packets begin at multiples of 8 bytes, and the last packet takes the remainder. On
 * a machine without an atomic 8-byte store, the recorder stores count and low half at once, then the
 * high half. So the low half 240 with a high half that is not 0 is a size, or a packet that is being
 * emptied. (Until November 2026 such a recorder set the first timestamp to 0 before the size 240.)
 *
 * While a packet keeps its count and its first timestamp, its size never falls, except to 240 as above, and for the moment
 * between the stores of its two halves: the size is then 65,536 bits too small. A reader takes a size that falls otherwise for
 * events that are lost, and declares the rest of the packet lost. It cannot see
 *
 *  - a size that falls before two of its loads showed that it had grown, since mprofd started or had lost the writer;
 *  - a fall to the size of an empty packet, to an impossible one, or to one that may be half, if mprofd loads no further size before
 *    it begins a capture of a ring that it does not copy, or copies bytes once more because its queue had no room for them;
 *  - a size that falls and grows to the same value or beyond between two of its loads, unless bytes are written over that it
 *    copied last before (the 128 last ones, or those of the last piece that it archived, if mprofd was down);
 *  - in a packet of more than 8 KiB, a size that falls and keeps its high half. It looks as half of a size. A next size that is less
 *    than 8 KiB greater shows the fall, unless that size may be half of the one after it, too: the fall may then be forgiven. If it
 *    changes no more before the writer is dead, the bytes behind it, up to 8 KiB, are unproven, and what is no event of them is cut.
 */
#ifndef MPROF_SCHEMA_RING_H
#define MPROF_SCHEMA_RING_H

#include <stddef.h>
#include <stdint.h>

#define MPROF_RING_PACKETS_MIN 2u
#define MPROF_RING_PACKETS_MAX 1024u
#define MPROF_RING_BYTES_MIN   1024u
#define MPROF_RING_BYTES_MAX   (256u << 20)

#ifndef __cplusplus
#define MPROF_ASSERT(what, why) _Static_assert(what, why)
#else
#define MPROF_ASSERT(what, why) static_assert(what, why)
#endif

#define MPROF_PACKET_MAGIC 0xc1fc1fc1u

/*
 * 05883b8d-521a-487b-b397-456ab150680c, the same in every trace that mirage-profile or mprofd's
 * recorder writes.
 */
#define MPROF_PACKET_UUID \
	{0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c}

#define MPROF_PACKET_HEADER_BYTES 30u
#define MPROF_PACKET_EMPTY_BITS	  240u /* content_size of a packet without events: 30 bytes in bits */

/*
 * The layout in memory. Only the offsets of the fields are used: nobody casts a pointer to shared
 * memory to this struct.
 */
struct mprof_packet_wire {
	uint8_t magic[4];
	uint8_t uuid[16];
	uint8_t packet_size[4]; /* bits, constant after creation */
	uint8_t count[2];	/* sequence number modulo 65,536 */
	uint8_t content_low[2]; /* low half of the bits of header and events; each half is a store of its own */
	uint8_t content_high[2];
	uint8_t first_timestamp[8]; /* timestamp of the first event, in nanoseconds */
};

MPROF_ASSERT(offsetof(struct mprof_packet_wire, uuid) == 4, "uuid follows the magic");
MPROF_ASSERT(offsetof(struct mprof_packet_wire, packet_size) == 20, "packet_size at 20");
MPROF_ASSERT(offsetof(struct mprof_packet_wire, count) == 24, "count at 24");
MPROF_ASSERT(offsetof(struct mprof_packet_wire, content_low) == 26, "content low half at 26");
MPROF_ASSERT(offsetof(struct mprof_packet_wire, content_high) == 28, "content high half at 28");
MPROF_ASSERT(offsetof(struct mprof_packet_wire, first_timestamp) == MPROF_PACKET_HEADER_BYTES, "events at 30");

#endif
