/* Follow a trace that grows: pass on whole packets, each once. If a connection breaks, resume. */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

#include "http.h"
#include "trace-source.h"

struct follow_ops {
	/* Take one or more whole packets. Return 0, or anything else to stop. */
	int (*write)(void *context, const uint8_t *bytes, size_t len);
	void *context;
	int refused;	    /* the value other than 0 that write() returned */
	uint64_t run;	    /* out: number of the run of the bytes that were passed on; 0 = there were none */
	uint64_t cut_bytes; /* out: bytes that the server cut, because no event can be read in them */
};

/*
 * Follow the trace until the run ends or a signal comes; the result is CTL_OK for both. Report how many bytes were
 * cut. Call http_catch_signals() first. Return an exit code. If OPS->refused is set, return CTL_FAILED
 * without a message.
 */
int follow_run(struct http *h, const struct trace_source *t, const struct selection *s, struct follow_ops *ops);

#endif
