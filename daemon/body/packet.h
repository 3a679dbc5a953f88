/*
 * Single packets of a stream: where they end, their newest events, and how far their unproven bytes
 * are valid. The functions return what the reader returns.
 */
#ifndef BODY_PACKET_H
#define BODY_PACKET_H

#include <mprof/event.h>

#include "decoded.h"
#include "plan-cache.h"
#include "reader.h"
#include "tail-ends.h"

/* Buffers that all requests share. Their content is valid during one call only, but for TAILS and PLANS. */
struct scratch {
	uint8_t *window; /* 2 * ARCHIVE_PIECE_MAX bytes */
	uint8_t *before; /* 2 * ARCHIVE_PIECE_MAX bytes */
	uint8_t *piece;	 /* ARCHIVE_PIECE_MAX bytes */
	struct ZSTD_CCtx_s *zstd;
	struct tail_ends tails; /* of the archives of one reader */
	struct plan_cache plans;
	struct decoded *decoded; /* borrowed; NULL = none */
};
/* Allocate the buffers. Return 0 or -ENOMEM. */
int scratch_init(struct scratch *s);
void scratch_deinit(struct scratch *s);

/* Read the oldest or the newest packet of a stream. ARCHIVE_E_ABSENT: the stream has no packet. */
int stream_oldest(struct reader *r, int64_t stream, struct reader_packet *p);
int stream_newest(struct reader *r, int64_t stream, struct reader_packet *p);
/*
 * Set *END to the offset at which the served chunks of packet P end: its last chunk end, 30 if it
 * is empty, or 0 if it has no chunk end yet.
 */
int packet_chunks_end(struct reader *r, int64_t stream, const struct reader_packet *p, uint32_t *end);
/*
 * Set *NEWEST to the timestamp of the last event before the offset END in a packet's chunks. If
 * there is none, *NEWEST stays as it is.
 */
int packet_newest(struct reader *r, struct scratch *scratch, int64_t stream, uint64_t sequence, uint32_t end,
		  uint64_t *newest);
/*
 * Set *NS to the timestamp of the first event of the last of a packet's chunks, whose ends are ENDS. If
 * the packet has one chunk, ENDS does not tell. *KNOWN: *NS is set.
 */
int packet_last_chunk(struct reader *r, struct scratch *scratch, int64_t stream, uint64_t sequence,
		      const struct reader_ends *ends, uint64_t *ns, bool *known);
/* Unproven bytes: those of packet SEQUENCE from offset FROM to TO. */
struct unproven {
	struct reader_source source;
	uint32_t ring_packets;
	uint64_t sequence;
	uint32_t from, to;
	bool ends; /* the packet ends at TO, so events behind an invalid one are looked for */
};
/*
 * Verify the bytes U, event by event. They are valid up to END->valid, and again from END->resume to their end
 * (mprof_tail_resume()). LIMITS are those of mprof_tail_walk(); its BEFORE is not used. If the packet begins
 * with U and its slot's former packet is known, or there was none, the first event may have any time: bytes of
 * that packet are known by themselves. Return what the reader returns.
 */
int tail_verify(struct reader *r, struct scratch *scratch, const struct unproven *u, const struct mprof_tail *limits,
		struct tail_end *end);

#endif
