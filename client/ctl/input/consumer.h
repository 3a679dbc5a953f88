/* A consumer takes the events of a trace. A verb gives one to the code that reads the trace. */
#ifndef CTL_CONSUMER_H
#define CTL_CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

/* Each call returns 0, or -errno to stop reading; the reader returns that error. */
struct consumer {
	/*
	 * Announce the COUNT names of the streams, once, before the first event, if the trace has
	 * several streams. The names are lent until the reading ends. May be NULL.
	 */
	int (*streams)(void *context, char *const *names, unsigned int count);
	/* Take the next N events of STREAM (from 0). Their texts are lent for the call. */
	int (*events)(void *context, unsigned int stream, const struct mprof_event *events, size_t n);
	/*
	 * PACKETS packets (at least 1) of STREAM are missing here, by the packet counts. May be
	 * NULL.
	 */
	int (*gap)(void *context, unsigned int stream, uint64_t packets);
	/* The reader skipped DAMAGE in STREAM here. It is lent for the call. May be NULL. */
	int (*damage)(void *context, unsigned int stream, const struct mprof_damage *damage);
	/*
	 * The events of STREAM from FROM_NS on were not proven when the guest ended. Called behind
	 * all events. With NULL the daemon is not asked.
	 */
	int (*tail)(void *context, unsigned int stream, uint64_t from_ns);
	/*
	 * No more events are available at the moment, or an error message follows: flush. May be
	 * NULL.
	 */
	int (*pause)(void *context);
	void *context;
};

#endif
