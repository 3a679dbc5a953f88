/* A trace as it grows: whole packets, each once, over broken connections too. */
#ifndef CTL_FOLLOW_H
#define CTL_FOLLOW_H

#include "http.h"
#include "trace-source.h"

struct follow_ops {
	/* The next packet or packets, whole; 0, or anything else to end it. */
	int (*write)(void *data, const uint8_t *bytes, size_t len);
	void *data;
	int refused; /* what write() returned, where it was not 0 */
};

/*
 * Until the run ends or a signal comes, which is in good order: http_catch_signals() was called.  Returns an exit code, having said why;
 * CTL_FAILED without a word where OPS->refused says why.
 */
int follow_run(struct http *h, const struct trace_source *t, const struct selection *s, struct follow_ops *ops);

#endif
