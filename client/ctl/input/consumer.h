/* Where the events of a trace go: what a verb gives to whatever reads them. */
#ifndef CTL_CONSUMER_H
#define CTL_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/* Each call returns 0, or a -errno that ends the reading and is handed through. */
struct consumer {
	/* Told before the first event where the trace has several streams: their COUNT names, lent as long as it is read.  May be NULL. */
	int (*streams)(void *data, char *const *names, unsigned int count);
	/* N events of STREAM (from 0), in order; their texts are lent for the call. */
	int (*events)(void *data, unsigned int stream, const struct mprof_event *events, size_t n);
	/* By their counts PACKETS packets (at least 1) of STREAM are missing before its next event, or its end.  May be NULL. */
	int (*gap)(void *data, unsigned int stream, uint64_t packets);
	/* Damage in STREAM was passed over, at this place of its events; lent for the call.  May be NULL. */
	int (*damage)(void *data, unsigned int stream, const struct mprof_damage *damage);
	/* What STREAM has from FROM_NS on was not proven when its guest ended: told behind all events.  NULL: nobody asks the daemon for it. */
	int (*tail)(void *data, unsigned int stream, uint64_t from_ns);
	/* Nothing more is there at once, or a complaint follows: give out what waits.  May be NULL. */
	int (*pause)(void *data);
	void *data;
};

#endif
