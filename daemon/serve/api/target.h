/* What a request is about: {domain} or {id}, the run, and the stream. */
#ifndef SERVE_TARGET_H
#define SERVE_TARGET_H

#include "exchange.h"
#include "kept.h"
#include "selection.h"

#define TARGET_STREAMS_MAX 1024u

struct target_stream {
	int64_t id;
	uint32_t number;
	uint32_t ring_packets;
	uint64_t deletions;
	struct archive_capture_stream range; /* of a capture; CAPTURE 0 = the stream is not in it */
	enum kept kept;			     /* of that range */
};

struct target {
	int64_t run;
	bool ended;
	int64_t capture; /* what was asked for by {id}; 0 = by {domain} */
	size_t n_streams;
	struct target_stream *streams;
};

void target_deinit(struct target *t);

/*
 * Each returns false where it has answered with a problem.  A run is resolved from {domain}: a UUID, a name, a domid, in this order.
 */
bool target_run(struct exchange *x, int64_t *run);
/* The same without an answer: returns what the reader returns. */
int target_find(struct exchange *x, int64_t *run);
/* From {domain} and the query's run, or from the run that the position FIRST names (NULL = none). */
bool target_domain(struct exchange *x, const struct position *first, struct target *t);
bool target_capture(struct exchange *x, struct target *t);
/* The number in {id}; whether there is such a capture is not asked. */
bool target_capture_id(struct exchange *x, int64_t *id);
/* Is all there that the capture names?  True where the target is none. */
bool target_complete(const struct target *t);
/* Where nothing is left of what the capture names of STREAM (NULL = of any), answer 410 and return true. */
bool target_gone(struct exchange *x, const struct target *t, const struct target_stream *stream);
/* The stream that the query or FIRST names, or the only one; 409 where there are several.  *STREAM NULL: the run has none yet. */
bool target_pick(struct exchange *x, const struct target *t, const struct position *first,
		 const struct target_stream **stream);

/* The selection that the query's from, to, last, first, end and tail make of STREAM. */
bool target_select(struct exchange *x, const struct target *t, const struct target_stream *stream,
		   const struct position *first, struct selection *s);
/* The query's position KEY.  *P is NULL where there is none, else points to STORE. */
bool target_position(struct exchange *x, const char *key, struct position *store, const struct position **p);
/* 410, naming the oldest position left. */
void target_deleted(struct exchange *x, int64_t run, const struct target_stream *stream);

#endif
