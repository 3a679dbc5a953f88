/* What a request is about: {domain} or {id}, the run, and the stream. */
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
	struct archive_capture_stream range; /* of a capture; CAPTURE 0 = the stream is not in it */
	enum coverage coverage;		     /* of that range */
};

struct resource {
	int64_t run;
	bool ended;
	int64_t capture; /* what was asked for by {id}; 0 = by {domain} */
	size_t n_streams;
	struct resource_stream *streams;
};

void resource_deinit(struct resource *res);

/*
 * Each returns false where it has answered with a problem.  A run is resolved from {domain}: a UUID, a name, a domid, in this order.
 */
bool resource_run(struct exchange *x, int64_t *run);
/* The same without an answer: returns what the reader returns. */
int resource_find_run(struct exchange *x, int64_t *run);
/* From {domain} and the query's run, or from the run that the position FIRST names (NULL = none). */
bool resource_domain(struct exchange *x, const struct position *first, struct resource *res);
bool resource_capture(struct exchange *x, struct resource *res);
/* The number in {id}; whether there is such a capture is not asked. */
bool resource_capture_id(struct exchange *x, int64_t *id);
/* Is all there that the capture names?  True where the target is none. */
bool resource_complete(const struct resource *res);
/* Where nothing is left of what the capture names of STREAM (NULL = of any), answer 410 and return true. */
bool resource_gone(struct exchange *x, const struct resource *res, const struct resource_stream *stream);
/* The stream that the query or FIRST names, or the only one; 409 where there are several.  *STREAM NULL: the run has none yet. */
bool resource_pick(struct exchange *x, const struct resource *res, const struct position *first,
		   const struct resource_stream **stream);

/* The selection that the query's from, to, last, first, end and tail make of STREAM. */
bool resource_select(struct exchange *x, const struct resource *res, const struct resource_stream *stream,
		     const struct position *first, struct selection *s);
/* The query's position KEY.  *P is NULL where there is none, else points to STORE. */
bool resource_position(struct exchange *x, const char *key, struct position *store, const struct position **p);
/* 410, naming the oldest position left. */
void resource_deleted(struct exchange *x, int64_t run, const struct resource_stream *stream);

#endif
