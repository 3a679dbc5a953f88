/* What the daemon says of a guest or a capture, and all of its streams side by side. */
#ifndef CTL_REMOTE_STREAMS_H
#define CTL_REMOTE_STREAMS_H

#include "consumer.h"
#include "merge.h"
#include "trace-source.h"

/* What is lent is lent by JSON. */
struct remote {
	const struct trace_source *source; /* borrowed */
	json_t *json;			   /* owned */
	int64_t run;			   /* which is meant, or the capture is of */
	const json_t *streams;		   /* of that, as the API lists them; lent, NULL where none are told */
	const char *state;		   /* of that run; lent, NULL of a capture */
};

/* Ask for T, of which S selects; deinit in any case.  An exit code, having said why. */
int remote_ask(struct remote *x, struct http *h, const struct trace_source *t, const struct selection *s);
void remote_deinit(struct remote *x);

/* Download each stream of X, of which S selects, and add it to L.  0, -errno, or an exit code, having said why. */
int remote_streams(struct merge *l, struct http *h, const struct remote *x, const struct selection *s);

/* From when on a stream of the daemon's was not proven: what was copied when its guest had stopped, and of which the server kept what holds. */

/*
 * Tell TO, if it wants to know, of each stream of X with a tail, counted as S selects them, the guest's time of the first event in it; nothing of one whose
 * tail hung on what was deleted.  At most two short requests a stream, and none where there can be no tail.  An exit code, having said why, or what TO
 * returned.
 */
int tails_tell(const struct remote *x, struct http *h, const struct selection *s, const struct consumer *to);

#endif
