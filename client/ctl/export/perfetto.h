/* Acts as a Perfetto trace of track events, a packet at a time. */
#ifndef CTL_PERFETTO_H
#define CTL_PERFETTO_H

#include <stdbool.h>
#include <stdint.h>

#include "slices.h"
#include "texts.h"
#include "writer.h"

#define PERFETTO_CONSTANTS_MAX 64u

/* Constants under numbers from 1, in the order in which they came. */
struct perfetto_constants {
	const char *at[PERFETTO_CONSTANTS_MAX];
	uint32_t n;
};

struct perfetto {
	struct writer *out; /* borrowed */
	int32_t first_pid;  /* of stream 0; the others follow */
	bool begun;
	struct slice_ops ops; /* to be given to acts_init() */
	struct perfetto_constants categories, keys;
	struct texts names;
	uint8_t *packet; /* the one at hand */
	size_t packet_room;
};

/* To OUT, which stays the caller's; streams are processes from FIRST_PID (1 or more) on.  No memory is taken. */
void perfetto_init(struct perfetto *p, struct writer *out, int32_t first_pid);
void perfetto_deinit(struct perfetto *p);

/* A reading of CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, in nanoseconds.  0 or -errno. */
int perfetto_clocks(struct perfetto *p, uint64_t monotonic, uint64_t realtime);

#endif
