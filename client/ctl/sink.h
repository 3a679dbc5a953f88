/* Where the events of a trace go: what a verb gives to whatever reads them. */
#ifndef CTL_SINK_H
#define CTL_SINK_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/* Each call returns 0, or a -errno that ends the reading and is handed through. */
struct sink {
	/* Told before the first event where the trace has several streams: their COUNT names, lent as long as it is read.  May be NULL. */
	int (*streams)(void *data, char *const *names, unsigned int count);
	/* N events of STREAM (from 0), in order; their texts are lent for the call. */
	int (*events)(void *data, unsigned int stream, const struct mprof_event *events, size_t n);
	/* Nothing more is there at once, or a complaint follows: give out what waits.  May be NULL. */
	int (*pause)(void *data);
	void *data;
};

#endif
