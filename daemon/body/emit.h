/*
 * Emit one packet of a CTF body: its header, then its content. With ZSTD both are zstd frames, and
 * the stored frames of rows are used where possible.
 */
#ifndef BODY_EMIT_H
#define BODY_EMIT_H

#include <mprof/ring.h>

#include "decode-thread.h"
#include "packet-walk.h"

struct emitter {
	struct reader *reader;
	struct scratch *scratch;
	struct reader_source chunks, tail;
	bool zstd;
	struct packet_view view;
	uint32_t at;	    /* offset of the next content byte */
	uint32_t header_at; /* number of header bytes that were emitted */
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	uint8_t *buffer; /* bytes to emit next: content, or a frame */
	size_t buffer_at, buffer_len;
	bool held; /* the buffer has the packed row HELD_PIECE, for which there was no room */
	struct reader_piece held_piece;
};

/*
 * Initialise E for the packets of SELECTION. READER and SCRATCH are borrowed. Return 0 or -ENOMEM.
 */
int emitter_init(struct emitter *e, struct reader *reader, struct scratch *scratch, const struct selection *selection,
		 bool zstd);
void emitter_deinit(struct emitter *e);

/* Begin the packet VIEW. */
void emitter_begin(struct emitter *e, const struct packet_view *view);
/* Skip the first BYTES of the packet, which has more. Not allowed with ZSTD. */
void emitter_skip(struct emitter *e, uint64_t bytes);
/*
 * Return how many bytes of the packet were emitted or skipped, not counting those in the buffer. Not allowed
 * with ZSTD.
 */
uint64_t emitter_place(const struct emitter *e);
/* A positive result: the next row does not fit. */
#define EMIT_E_ROOM 110
/*
 * Emit the next bytes into OUT, *N of at most MAX; *N is 0 at the end of the packet. Return what
 * the reader returns. ARCHIVE_E_ABSENT: the packet's rows were deleted.
 *
 * With LATER (NULL = none; not allowed with ZSTD) whole rows become frames of that batch, which are
 * decoded later to their places in OUT. EMIT_E_ROOM: the next row does not fit in MAX bytes or in the
 * batch, and nothing was emitted; emitter_room() returns the row's length.
 */
int emitter_pull(struct emitter *e, char *out, size_t max, struct decode_batch *later, size_t *n);
size_t emitter_room(const struct emitter *e);

#endif
