/*
 * A thread that decodes frames ahead, for all bodies that are being sent.
 *
 * A batch is a list of frames with the places for their content. The thread decodes the batches that
 * were handed over, the oldest first. A caller that waits for a batch decodes the frames that the
 * thread has not begun, so it never waits for batches of others, and needs no thread.
 */
#ifndef BODY_DECODE_THREAD_H
#define BODY_DECODE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "decoded.h"
#include "reader.h"

#define DECODE_FRAMES 64u /* of a batch, at most */

/* A frame, and the place for its content. */
struct decode_frame {
	struct reader_source source; /* the row that holds it, for reports of damage; the thread does not use it */
	uint64_t sequence;
	size_t at, bytes; /* the frame in the batch's bytes */
	uint8_t *out;	  /* LENGTH bytes, borrowed until the batch was waited for or dropped */
	uint32_t length;
	bool keyed; /* KEY is the row's checksum */
	uint8_t key[CHECKSUM_BYTES];
	struct decoded_place place; /* a copy of the content, which is tried first */
};

/* A zeroed batch is empty. The caller may change a batch that is not handed over. */
struct decode_batch {
	struct decode_frame frames[DECODE_FRAMES];
	unsigned n;
	uint8_t *bytes; /* the frames; owned */
	size_t used, capacity;
	/* From here on the thread's lock guards the batch while it is handed over. */
	struct decode_batch *next;
	bool queued;
	unsigned begun, done;		   /* frames that a thread has begun, and has decoded */
	const struct decode_frame *damage; /* a frame without its declared content; NULL = none */
};

/*
 * Add a copy of FRAME, of BYTES bytes, to B: ORIGIN names its row, and LENGTH bytes of content go to
 * OUT. Return 0, -ENOMEM, or -ENOSPC if B has DECODE_FRAMES already.
 */
int decode_batch_add(struct decode_batch *b, const struct decode_frame *origin, const uint8_t *frame, size_t bytes);
/* Empty B, which is not handed over, and keep its memory. */
void decode_batch_clear(struct decode_batch *b);
/* Free the memory of B, which is not handed over. */
void decode_batch_deinit(struct decode_batch *b);

struct decode_thread;

/*
 * Start the thread. If the system refuses one, the callers of decode_wait() do all the work. Return
 * 0 or -ENOMEM.
 */
int decode_thread_new(struct decode_thread **tp);
/* Stop the thread. No batch may be handed over. Return NULL. */
struct decode_thread *decode_thread_free(struct decode_thread *t);
CLEANUP_DEFINE(struct decode_thread, decode_thread_free)

/* Hand B over. The caller must not touch B before decode_wait() or decode_drop(). */
void decode_begin(struct decode_thread *t, struct decode_batch *b);
/*
 * Decode all frames of B, and take B back. Return NULL, or a frame that has not its declared content.
 * Only one thread may call this for T.
 */
const struct decode_frame *decode_wait(struct decode_thread *t, struct decode_batch *b);
/* Take B back, decoded or not. */
void decode_drop(struct decode_thread *t, struct decode_batch *b);

#endif
