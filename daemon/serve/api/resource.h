/*
 * The resource of a request: a run or a capture, with its streams. (The functions that return bool
 * return false if the request was answered with an error.)
 */
#ifndef SERVE_RESOURCE_H
#define SERVE_RESOURCE_H

#include "capture-coverage.h"
#include "exchange.h"
#include "selection.h"

#define RESOURCE_STREAMS_MAX 1024u

struct resource_stream {
	int64_t id;
	uint32_t number;
	uint32_t ring_packets;
	uint64_t deletions;
	/* The capture's range of the stream; CAPTURE 0 = the capture does not have the stream. */
	struct archive_capture_stream range;
	struct span span;	/* of RANGE, with its tail */
	enum coverage coverage; /* how much of RANGE is still archived */
};

struct resource {
	int64_t run;
	bool ended;
	int64_t capture;	/* capture that {id} in the path names; 0 = the path has {domain} */
	uint64_t captured_real; /* when the capture was taken, CLOCK_REALTIME ns; 0 = the path has {domain} */
	bool lacks;		/* the capture had streams of which nothing is left */
	int64_t tails_of;	/* capture whose tails' ends were looked for; 0 = none */
	size_t n_streams;
	struct resource_stream *streams;
};

void resource_deinit(struct resource *res);

/*
 * Set *RUN to the latest run of the guest that {domain} in the path names, by UUID, name or domid,
 * in this order.
 */
bool resource_run(struct exchange *x, int64_t *run);
/* Do the same as resource_run(), but do not answer an error: return what the reader returns. */
int resource_find_run(struct exchange *x, int64_t *run);
/* A route's FINDS: whether the guest, or the guest of the capture, in the path exists. */
int resource_finds_domain(struct exchange *x);
int resource_finds_capture(struct exchange *x);
/*
 * Load the run that {domain} names, or the query's `run`, or the run of the position FIRST (NULL =
 * none).
 */
bool resource_domain(struct exchange *x, const struct position *first, struct resource *res);
/* Load the capture and its run. A capture without a stream is answered: it is being taken, or was never finished. */
bool resource_capture(struct exchange *x, struct resource *res);
/* Parse {id} of the path, the id of a capture, into *ID. The capture need not exist. */
bool resource_capture_id(struct exchange *x, int64_t *id);
/* Parse {id} of the path into *ID. Return false, and set *ID to 0, if it is no number from 1 on; do not answer. */
bool resource_id(const struct exchange *x, int64_t *id);
/*
 * Return the context of capture ID as the API shows it, which the caller owns; NULL: the request was
 * answered with an error.
 */
json_t *capture_context(struct exchange *x, int64_t id);
/*
 * Write the header Mprof-Damages of a body of CAPTURE to TEXT (READING_DAMAGES_TEXT bytes): by a reading, or on a hub by its
 * database. Return false if there is none.
 */
bool capture_damages(struct exchange *x, int64_t capture, char *text);
/* Return whether all packets of the capture are archived. Return true if the resource is a run. */
bool resource_complete(const struct resource *res);
/*
 * If no packet that the capture has of STREAM (NULL = of any stream) is archived any more, answer
 * 410 and return true.
 */
bool resource_gone(struct exchange *x, const struct resource *res, const struct resource_stream *stream);
/*
 * Set *STREAM to the stream that the query or the position FIRST names, or to the only stream;
 * answer 409 if there are several. *STREAM is NULL if the run has no stream yet.
 */
bool resource_pick(struct exchange *x, const struct resource *res, const struct position *first,
		   const struct resource_stream **stream);

/* Set *S to the part of STREAM that the query selects by from, to, last, first, end and tail. */
bool resource_select(struct exchange *x, struct resource *res, const struct resource_stream *stream,
		     const struct position *first, struct selection *s);
/*
 * Parse the query's position KEY into STORE, and point *P to it. *P is NULL if the query does not
 * have KEY.
 */
bool resource_position(struct exchange *x, const char *key, struct position *store, const struct position **p);
/* Answer 410, with the oldest position that is still archived. */
void resource_deleted(struct exchange *x, int64_t run, const struct resource_stream *stream);

#endif
