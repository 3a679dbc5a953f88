/* Write slice events as a Perfetto trace of track events, one packet at a time. */
#ifndef CTL_PERFETTO_H
#define CTL_PERFETTO_H

#include <stdbool.h>
#include <stdint.h>

#include "slices.h"
#include "texts.h"
#include "writer.h"

#define PERFETTO_CONSTANTS_MAX 64u

/* Constants with numbers from 1, in the order of their use. */
struct perfetto_constants {
	const char *at[PERFETTO_CONSTANTS_MAX];
	uint32_t n;
};

struct perfetto {
	struct writer *out; /* borrowed */
	int32_t first_pid;  /* pid of stream 0; the others follow */
	bool begun;
	struct slice_ops ops; /* for slices_init() */
	struct perfetto_constants categories, keys;
	struct texts names;
	struct text_constants constants; /* numbers of constant names */
	uint8_t *packet;		 /* buffer for the present packet */
	size_t packet_room;
};

/*
 * Begin writing to OUT, which the caller keeps. The streams are processes from FIRST_PID (1 or
 * more) on. Allocates nothing.
 */
void perfetto_init(struct perfetto *p, struct writer *out, int32_t first_pid);
void perfetto_deinit(struct perfetto *p);

/*
 * Write a simultaneous reading of CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds. Return 0 or
 * -errno.
 */
int perfetto_clocks(struct perfetto *p, uint64_t monotonic, uint64_t realtime);

#endif
