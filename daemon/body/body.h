/* The bytes of a planned CTF body: a second walk over the plan's selection emits them. */
#ifndef BODY_BODY_H
#define BODY_BODY_H

#include <sys/types.h>

#include "blocks.h"
#include "emit.h"
#include "plan.h"

struct body {
	struct reader *reader;
	struct selection selection;
	struct packet_walk walk;
	struct emitter emitter;
	bool in_packet;
	bool zstd;
	struct body_place from, last;
	/*
	 * Uncompressed bytes that are not emitted yet; with ZSTD, bytes of the packets that are not
	 * begun.
	 */
	uint64_t left;
};

/*
 * Begin the body of PLAN; with RANGE, only the plan's range. The body has BYTES uncompressed bytes.
 * READER and SCRATCH are borrowed. Return 0 or -ENOMEM.
 */
int body_init(struct body *b, struct reader *reader, struct scratch *scratch, const struct plan *plan, bool zstd,
	      bool range, uint64_t bytes);
void body_deinit(struct body *b);

enum body_condition { BODY_E_END = 100, BODY_E_CHANGED };

/*
 * Emit the next bytes into OUT, *N of at most MAX. Return 0; BODY_E_END if all bytes were emitted;
 * BODY_E_CHANGED if the archive has changed, so the planned body cannot be completed; or what the
 * reader returns.
 */
int body_pull(struct body *b, char *out, size_t max, size_t *n);
/* The same for a block of a body CONTEXT without zstd: see blocks.h. */
int body_fill(void *context, struct block *block);

/* A body that is decoded ahead while it is sent. */
struct body_stream {
	struct body body;
	struct blocks blocks; /* without zstd */
};
/* As body_init(), body_deinit() and body_pull(). Borrow THREAD. S must not move. */
int body_stream_init(struct body_stream *s, struct reader *reader, struct scratch *scratch,
		     struct decode_thread *thread, const struct plan *plan, bool zstd, bool range, uint64_t bytes);
void body_stream_deinit(struct body_stream *s);
int body_stream_pull(struct body_stream *s, char *out, size_t max, size_t *n);

#endif
