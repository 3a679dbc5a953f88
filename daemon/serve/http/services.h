/*
 * The services with which handlers work: the readers of the archives, the daemons that write them,
 * and the watch for events.
 */
#ifndef SERVE_SERVICES_H
#define SERVE_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

struct access;
struct decode_thread;
struct fleet;
struct freshness;
struct live_steps;
struct memtraces_reader;
struct notice;
struct reader;
struct readings;
struct scratch;
struct watch;

/* Owned by struct server. */
struct services {
	struct access *access;
	struct reader *reader;
	struct memtraces_reader *memtraces;
	struct scratch *scratch;
	struct decode_thread *decode_thread;
	struct live_steps *live_steps;
	struct notice *collector, *sink;
	struct freshness *freshness; /* of the collector's archive */
	bool sink_wanted;	     /* the configuration has a section [sink] */
	struct watch *watch;
	struct readings *readings; /* NULL = captures are not read (reader = no) */
	struct fleet *fleet;	   /* of a hub, whose reader, daemons and watch are NULL; else NULL */
	uint64_t commits;	   /* number of the collector's notices of commits */
	char source_sentence[512]; /* the collector's sentence on why guests may not be found; "" = no problem */
};

#endif
