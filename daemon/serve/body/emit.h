/*
 * Emit one packet of a CTF body: its header, then its content; with zstd as frames, the stored ones
 * where possible.
 */
#ifndef SERVE_EMIT_H
#define SERVE_EMIT_H

#include <mprof/ring.h>

#include "packet-walk.h"

struct emitter {
	struct reader *reader;
	struct scratch *scratch;
	struct reader_source chunks, tail;
	bool zstd;
	struct packet_view view;
	uint32_t at;	    /* next content byte */
	uint32_t header_at; /* header bytes that were emitted */
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	uint8_t *buffer; /* ready bytes: content, or a frame */
	size_t buffer_at, buffer_len;
};

/* Borrow READER and SCRATCH. Return 0 or -ENOMEM. */
int emitter_init(struct emitter *e, struct reader *reader, struct scratch *scratch, const struct selection *selection,
		 bool zstd);
void emitter_deinit(struct emitter *e);

/* Begin the packet VIEW. */
void emitter_begin(struct emitter *e, const struct packet_view *view);
/* Skip the first BYTES of the packet, fewer than it has. Not with zstd. */
void emitter_skip(struct emitter *e, uint64_t bytes);
/*
 * Emit the next bytes, *N of at most MAX; 0 at the packet's end. ARCHIVE_E_ABSENT: its rows are
 * gone.
 */
int emitter_pull(struct emitter *e, char *out, size_t max, size_t *n);

#endif
