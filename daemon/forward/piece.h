/*
 * Pieces: the bytes of captures and packets as a hub keeps them (schema/fleet/README.md).
 *
 * The pieces of one capture are the same whenever they are read, however often the collector has
 * rewritten the rows of a packet meanwhile. Packets that are over are read as they are stored. The packet
 * in which the capture ends is read up to that end, cut at multiples of a mebibyte, and compressed again.
 */
#ifndef FORWARD_PIECE_H
#define FORWARD_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "memtraces-reader.h"
#include "reader.h"

struct piece {
	const char *part; /* "context", "memory", "tail" or "trace"; a constant */
	int64_t stream;	  /* of a memory profile the recording; 0: none */
	uint32_t number;  /* from 0 in each part and stream; in a packet, from 0 in the packet */
	uint64_t sequence;
	uint32_t offset, length, flags, packet_bytes;
	uint64_t first_timestamp;
	int codec;
	const uint8_t *ends, *data; /* borrowed until the callback returns */
	size_t ends_bytes, bytes;
};
#define PIECE_ENDS_MOST 262144u /* bytes of chunk ends of a piece; of more, some are left out */

/* The part of a memory profile that belongs to a capture: the first BYTES bytes of a recording. */
struct memory_part {
	int64_t recording; /* 0 = none */
	uint64_t bytes;
	bool has_ended; /* the profile had ended when the part was chosen */
};

struct pieces;

/* Create a source of pieces. R and M are borrowed. Return 0 or -ENOMEM. */
int pieces_new(struct pieces **pp, struct reader *r, struct memtraces_reader *m);
struct pieces *pieces_free(struct pieces *p);
CLEANUP_DEFINE(struct pieces, pieces_free)

/* Receive a piece, which is valid during the call. Another result than 0 ends the reading. */
typedef int piece_call(void *context, const struct piece *piece);

/*
 * Pass each piece of CAPTURE to CALL, whose N ranges are sorted by stream: the context, MEMORY, the tails,
 * and the traces, each in the order of streams and numbers. Return 0, the result of CALL, or an error
 * of the reader (reader.h). PIECES_E_MEMORY: the recording is not as MEMORY has it, or it is damaged.
 */
#define PIECES_E_MEMORY 96
int pieces_of_capture(struct pieces *p, int64_t capture, const struct memory_part *memory,
		      const struct archive_capture_stream *ranges, size_t n, piece_call *call, void *context);
/* Pass each piece of a complete packet to CALL. Return as pieces_of_capture(). */
int pieces_of_packet(struct pieces *p, int64_t stream, uint64_t sequence, piece_call *call, void *context);

#endif
