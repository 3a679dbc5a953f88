/*
 * The services that handlers work with: the archives, the daemons that write them, and the watch
 * for events.
 */
#ifndef SERVE_SERVICES_H
#define SERVE_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

struct memtraces_reader;
struct notice;
struct reader;
struct scratch;
struct watch;

/* The server owns all of it. */
struct services {
	struct reader *reader;
	struct memtraces_reader *memtraces;
	struct scratch *scratch;
	struct notice *collector, *sink;
	bool sink_wanted; /* the configuration has a sink */
	struct watch *watch;
	uint64_t commits;	   /* notices of the collector so far */
	char source_sentence[512]; /* the collector's, on why guests may not be found; "" = nothing is wrong */
};

#endif
