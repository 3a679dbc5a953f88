/* Write slice events (slices.h) as a Perfetto trace of track events, one packet at a time. */
#ifndef CTL_PERFETTO_H
#define CTL_PERFETTO_H

#include <stdbool.h>
#include <stdint.h>

#include "output-writer.h"
#include "slices.h"
#include "texts.h"

#define PERFETTO_CONSTANTS_MAX 64u

/* Interned strings: the first one that is used has number 1, the next one number 2. */
struct perfetto_constants {
	const char *at[PERFETTO_CONSTANTS_MAX];
	uint32_t n;
};

struct perfetto {
	struct writer *out; /* output; borrowed */
	int32_t first_pid;  /* pid of stream 0; stream N has pid FIRST_PID + N */
	bool begun;
	struct slice_ops ops; /* functions that write slice events; pass it to slices_init() */
	struct perfetto_constants categories, keys;
	struct texts names;
	struct text_constants constants; /* numbers of constant names */
	uint8_t *packet;		 /* buffer for the packet that is being written; owned */
	size_t packet_room;
};

/*
 * Begin writing to OUT. The caller keeps the ownership of OUT. Each stream becomes a process, with
 * pids from FIRST_PID (1 or more) on. No memory is allocated.
 */
void perfetto_init(struct perfetto *p, struct writer *out, int32_t first_pid);
void perfetto_deinit(struct perfetto *p);

/*
 * Write that dom0's CLOCK_MONOTONIC and CLOCK_REALTIME had these values, in nanoseconds, at the
 * same moment. Return 0 or -errno.
 */
int perfetto_clocks(struct perfetto *p, uint64_t monotonic, uint64_t realtime);

#endif
