/*
 * Slices whose begin and end are known at once: durations and garbage collections, which a trace records when
 * they end.
 *
 * Formats want a slice that encloses others before them, and none that overlaps another in part on one track.
 * So the slices are kept until the trace has ended, sorted by their begin, and laid onto lanes: one lane has
 * slices that lie apart or inside of each other. Memory is bounded: what is more than WHOLE_BYTES_MAX lies sorted in an
 * unnamed temporary file; where there are no files, more than WHOLE_HELD_MAX is refused.
 */
#ifndef TRACE_WHOLE_SLICES_H
#define TRACE_WHOLE_SLICES_H

#include <stddef.h>
#include <stdint.h>

#define WHOLE_BYTES_MAX (32u << 20)
#define WHOLE_HELD_MAX	(256u << 20)
#define WHOLE_LANES_MAX 256u  /* lanes of one group */
#define WHOLE_DEPTH_MAX 4096u /* slices inside of each other on one lane */

struct whole_slice {
	uint32_t group;	     /* slices of one group share lanes; groups come in the order of their numbers */
	uint32_t actor;	     /* track of the thread that took the time; 0 = none */
	uint64_t start, end; /* ns */
	uint64_t stamp;	     /* time of the trace's event */
	int64_t thread;	     /* id of that thread */
	int64_t duration;    /* ns, as the trace says */
	uint64_t number;     /* number of the slice, in the order of whole_slices_add(), which sets it */
	uint32_t name_bytes;
};

struct whole_run;

/* Set it to zero before the first slice, but for SPOOL = -1, OPEN and, in tests, MOST. */
struct whole_slices {
	uint8_t *arena; /* slices, each with its name behind it; owned */
	size_t used, room;
	/* Places of the slices in ARENA in bytes; addresses from the sorting on, after which none is added; owned. */
	uintptr_t *places;
	uint32_t n, places_room;
	struct whole_run *runs; /* sorted parts of SPOOL; owned */
	size_t n_runs;
	int spool; /* the temporary file; -1 = none; owned */
	/* Open a temporary file without a name. Return a descriptor or -errno. NULL: there are no files. */
	int (*open)(void);
	uint64_t spooled, number;
	size_t most; /* bytes of ARENA; 0 = WHOLE_BYTES_MAX, or WHOLE_HELD_MAX without files */
};

/*
 * Add W with its NAME, which is copied. Return 0; -ENOMEM, also if there are no files and MOST bytes are taken; or the -errno of the temporary
 * file.
 */
int whole_slices_add(struct whole_slices *s, const struct whole_slice *w, const char *name);

/* A place on a lane: what whole_slices_lay() reports. */
struct whole_place {
	const struct whole_slice *slice;
	const char *name;
	unsigned int lane; /* from 0 */
	uint64_t end;	   /* end of the slice on its lane: cut if there were no more lanes */
};

/* Functions that take the laid slices. Each returns 0, or -errno to stop. */
struct whole_ops {
	/* A slice begins. The first one of a lane makes the lane. */
	int (*begin)(void *context, const struct whole_place *place);
	/*
	 * The last slice that began on the lane and has not ended, ends at TIME. SLICE is that of the group's
	 * last begin.
	 */
	int (*end)(void *context, uint32_t group, unsigned int lane, uint64_t time);
	void *context;
};

/* Lay all slices onto lanes, and forget them. Return 0, -errno, or what OPS returned. */
int whole_slices_lay(struct whole_slices *s, const struct whole_ops *ops);
void whole_slices_deinit(struct whole_slices *s);

#endif
