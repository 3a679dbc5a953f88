/* This file declares a guest or a capture of the daemon, with all streams of its run. */
#ifndef CTL_REMOTE_STREAMS_H
#define CTL_REMOTE_STREAMS_H

#include "consumer.h"
#include "merge.h"
#include "trace-source.h"

/*
 * The answer of the daemon about a guest or a capture. The fields STREAMS and STATE point into
 * JSON.
 */
struct remote {
	const struct trace_source *source; /* borrowed */
	json_t *json;			   /* the daemon's description of the guest or capture; owned */
	int64_t run;			   /* number of the selected run, or of the capture's run */
	/* Array of the run's streams as the API lists them; borrowed from JSON; NULL if absent. */
	const json_t *streams;
	const char *state; /* the run's state; borrowed from JSON; NULL for a capture */
};

/*
 * Request T, a guest or a capture, from the daemon. S selects the run. Return an exit code. The
 * caller deinits REMOTE in any case.
 */
int remote_ask(struct remote *remote, struct http *h, const struct trace_source *t, const struct selection *s);
void remote_deinit(struct remote *remote);

/*
 * Download each stream of REMOTE that S selects, and add it to the merge M. Return 0, -errno, or an exit
 * code.
 */
int remote_streams(struct merge *m, struct http *h, const struct remote *remote, const struct selection *s);

/*
 * Find the unproven tail of each stream that S selects, and call TO->tail() with the stream's
 * number (its place among the selected streams) and the guest's time of the first event in the
 * tail. A tail is the bytes that were copied after the guest had stopped, if the server still has
 * them. A tail is left out if the bytes before it were deleted. This sends at most two short
 * requests for each stream, and none if there can be no tail. Return an exit code, or the error of
 * TO.
 */
int tails_report(const struct remote *remote, struct http *h, const struct selection *s, const struct consumer *to);

#endif
