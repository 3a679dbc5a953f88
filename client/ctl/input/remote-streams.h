/* A guest or a capture of the daemon, and all its streams. */
#ifndef CTL_REMOTE_STREAMS_H
#define CTL_REMOTE_STREAMS_H

#include "consumer.h"
#include "merge.h"
#include "trace-source.h"

/* Members marked as lent belong to JSON. */
struct remote {
	const struct trace_source *source; /* borrowed */
	json_t *json;			   /* owned */
	int64_t run;			   /* the selected run, or the capture's */
	/* The run's streams, as the API lists them; lent, NULL if absent. */
	const json_t *streams;
	const char *state; /* the run's state; lent, NULL for a capture */
};

/*
 * Ask the daemon for T; S selects the run. Return an exit code. The caller deinits X in any case.
 */
int remote_ask(struct remote *x, struct http *h, const struct trace_source *t, const struct selection *s);
void remote_deinit(struct remote *x);

/* Download each stream of X that S selects, and add it to L. Return 0, -errno, or an exit code. */
int remote_streams(struct merge *l, struct http *h, const struct remote *x, const struct selection *s);

/*
 * Find where the unproven tail of each stream begins: the bytes that were copied after the guest
 * had stopped, as far as the server kept them. Call TO->tail() with the guest's time of the first
 * event in each tail. Streams are counted as S selects them. A tail whose preceding bytes were
 * deleted does not count. Sends at most two short requests for each stream, and none if there can
 * be no tail. Return an exit code, or the error of TO.
 */
int tails_report(const struct remote *x, struct http *h, const struct selection *s, const struct consumer *to);

#endif
