/* The resource of a request: a run or a capture, with its streams. */
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
	struct archive_capture_stream range; /* of the capture; CAPTURE 0 = the stream is not in it */
	enum coverage coverage;		     /* of RANGE */
};

struct resource {
	int64_t run;
	bool ended;
	int64_t capture; /* the {id} of the path; 0 = the path has {domain} */
	size_t n_streams;
	struct resource_stream *streams;
};

void resource_deinit(struct resource *res);

/*
 * Each function that returns bool returns false after it answered a problem.
 *
 * Resolve {domain} to a run: by UUID, name or domid, in this order.
 */
bool resource_run(struct exchange *x, int64_t *run);
/* Resolve {domain} and send no problem. Return what the reader returns. */
int resource_find_run(struct exchange *x, int64_t *run);
/* Resolve {domain} and the query's run, or the run of position FIRST (NULL = none). */
bool resource_domain(struct exchange *x, const struct position *first, struct resource *res);
bool resource_capture(struct exchange *x, struct resource *res);
/* Parse {id}. The capture need not exist. */
bool resource_capture_id(struct exchange *x, int64_t *id);
/* Return whether all that the capture names is archived. True if the resource is a run. */
bool resource_complete(const struct resource *res);
/*
 * Answer 410 and return true if nothing is left of what the capture names of STREAM (NULL = of
 * any).
 */
bool resource_gone(struct exchange *x, const struct resource *res, const struct resource_stream *stream);
/*
 * Pick the stream that the query or FIRST names, or the only one; answer 409 if there are several.
 * *STREAM NULL: the run has none yet.
 */
bool resource_pick(struct exchange *x, const struct resource *res, const struct position *first,
		   const struct resource_stream **stream);

/* Select the part of STREAM that the query's from, to, last, first, end and tail name. */
bool resource_select(struct exchange *x, const struct resource *res, const struct resource_stream *stream,
		     const struct position *first, struct selection *s);
/* Parse the query's position KEY into STORE. *P is NULL if it is absent. */
bool resource_position(struct exchange *x, const char *key, struct position *store, const struct position **p);
/* Answer 410 with the oldest position left. */
void resource_deleted(struct exchange *x, int64_t run, const struct resource_stream *stream);

#endif
