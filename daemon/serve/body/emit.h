/*
 * One packet as bytes of a CTF body: its header, then its content; or as zstd frames, as far as they are stored so.
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
	uint32_t at;	    /* the next content byte */
	uint32_t header_at; /* bytes of the header that are out */
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	uint8_t *buffer; /* bytes that are ready: uncompressed content, or frames */
	size_t buffer_at, buffer_len;
};

/* The reader and the scratch are borrowed.  0 or -ENOMEM. */
int emitter_init(struct emitter *e, struct reader *reader, struct scratch *scratch, const struct selection *selection,
		 bool zstd);
void emitter_deinit(struct emitter *e);

/* Begin the packet VIEW. */
void emitter_begin(struct emitter *e, const struct packet_view *view);
/* Leave out its first BYTES, fewer than it has; not with zstd. */
void emitter_skip(struct emitter *e, uint64_t bytes);
/* The next bytes, at most MAX; *N is 0 at the packet's end.  ARCHIVE_E_ABSENT: its rows are gone. */
int emitter_pull(struct emitter *e, char *out, size_t max, size_t *n);

#endif
