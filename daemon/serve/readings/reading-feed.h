/*
 * The input of a reader (reading.h): the streams of one capture, made in steps that do not delay the event
 * loop.
 *
 * First the tails of all streams are walked, so that their ends are remembered (tail-ends.h), and then all that
 * the capture has of long streams, so that the plan is (plan-cache.h). Then come the newest verified bytes of
 * each stream, as a client would get them: FEED_BYTES_MOST together.
 */
#ifndef SERVE_FEED_H
#define SERVE_FEED_H

#include "body.h"
#include "reading.h"

#define FEED_BYTES_MOST (32u << 20)

struct feed_stream {
	struct selection selection;
	uint64_t tail_bytes;
	struct tail_name tail; /* ARCHIVES is 0 if it has none */
};

enum feed_stage { FEED_TAILS, FEED_WHOLE, FEED_HEAD, FEED_PLAN, FEED_BODY, FEED_END };

struct feed {
	struct reader *reader; /* borrowed */
	struct scratch *scratch;
	int64_t capture;
	struct feed_stream *streams; /* owned */
	uint32_t n, at;
	enum feed_stage stage;
	bool planning, in_body;
	bool cut; /* a stream is missing, or events at the end of one (READING_MAGIC_CUT) */
	struct plan plan;
	struct body body;
	uint8_t *part; /* owned */
};

/* Positive results of a step. */
enum feed_condition { FEED_E_AGAIN = 120, FEED_E_END };

/*
 * Begin to feed CAPTURE. READER and SCRATCH are borrowed. Return 0, or what the reader returns;
 * ARCHIVE_E_ABSENT: it has no stream.
 */
int feed_open(struct feed *f, struct reader *reader, struct scratch *scratch, int64_t capture);
void feed_close(struct feed *f);
/* Return whether all tails are verified, and all plans are made. */
bool feed_plans_done(const struct feed *f);
/*
 * Work until UNTIL (CLOCK_MONOTONIC ns). Return 0 with the next *N bytes of the input at *BYTES, which are valid until
 * the next call; FEED_E_AGAIN: there are none yet; FEED_E_END: there are no more; or what the body returns.
 */
int feed_step(struct feed *f, uint64_t until, const uint8_t **bytes, size_t *n);

#endif
