/*
 * libmprof: sums, time line and stack tree of a memory profile.
 *
 *   p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = random});
 *   // or mprof_mem_next() and mprof_profile_add()
 *   while ((status = mprof_profile_read(p, d)) != MPROF_END)
 *           ...             // MPROF_MORE: feed D; MPROF_CORRUPT: mprof_mem_damage(d)
 *   sums = mprof_profile_sums(p);
 *   nodes = mprof_profile_nodes(p, &n);
 *
 * The unit is the sample. Estimate bytes as SAMPLES / RATE * WORD_BYTES (struct mprof_mem_info),
 * with a relative error of about one by the square root of SAMPLES.
 *
 * A filter on an object's end, or on the peak, needs two scans of the events: a profile without a
 * tree for the times, a selection of the objects, and then a profile of the selection.
 *
 * Memory: 128 KiB; 44 to 70 bytes for each live object (24 more in a selection); with a tree 80 to
 * 100 bytes for each different stack and prefix of one, up to a limit; one bit for each allocation
 * of a selection.
 */
#ifndef MPROF_PROFILE_H
#define MPROF_PROFILE_H

#include <mprof/memtrace.h>
#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of nodes. Further stacks lose their innermost frames. */
#define MPROF_PROFILE_NODES_MAX (1u << 22)

struct mprof_selection;

struct mprof_profile_options {
	bool tree;
	/*
	 * Sort events by time before counting them. Events of several domains are not sorted, and
	 * without this their peak and time line are wrong. Takes 64 bytes per event, and all
	 * results wait for mprof_profile_finish().
	 */
	bool sort;
	uint64_t seed; /* as in struct mprof_mem_options */
	/*
	 * Count only these objects; NULL: all. The selection must stay as long as events are added.
	 */
	const struct mprof_selection *selection;
};

/*
 * Sums over all events so far. Times are microseconds since the Unix epoch, in the stream's clock.
 */
struct mprof_profile_sums {
	uint64_t allocs[3];  /* number of allocs, by enum mprof_mem_source */
	uint64_t samples[3]; /* samples of allocs, likewise */
	uint64_t promotes;
	uint64_t promoted; /* samples of promoted objects */
	uint64_t collects;
	uint64_t collected; /* samples of collected objects */
	/* Samples of collected objects that were not in the minor heap. */
	uint64_t collected_major;
	/* Promotes and collects of unknown objects, or of objects already promoted: ignored. */
	uint64_t unknown;
	uint64_t small[3]; /* samples of blocks of at most 4, 16, 256 words */
	uint64_t length;   /* words of all blocks, without headers */
	uint64_t max_length;
	uint64_t first_us; /* time of the first event, 0 without one */
	uint64_t last_us;  /* latest time of an event */
	uint64_t live;	   /* samples that live now */
	uint64_t live_objects;
	uint64_t peak;	       /* most samples that lived at one time */
	uint64_t peak_objects; /* live objects at that time */
	uint64_t peak_us;      /* first such time */
	/* Samples of stacks past the limit; counted at a prefix of the stack. */
	uint64_t left_out;
	uint64_t domains;  /* number of domains with events, at most 2 */
	uint64_t repeated; /* allocs of a live id: ignored */
};

/* Codes that stand for the frames that the writer cut, and for an unknown stack. */
#define MPROF_CODE_TRUNCATED (UINT32_MAX - 1)
#define MPROF_CODE_UNKNOWN   (UINT32_MAX - 2)

/*
 * A prefix of stacks: the frames from the root (node 0, which has no code) to CODE. The counts are
 * of allocations whose stack ends here.
 */
struct mprof_profile_node {
	uint32_t parent; /* parent, at a lower index; MPROF_NONE for the root */
	/* Index of the decoder's codes, one of the two above, or MPROF_NONE for the root. */
	uint32_t code;
	uint32_t depth; /* number of frames */
	uint64_t allocs;
	uint64_t samples;
	uint64_t live; /* samples that live now */
	uint64_t peak; /* samples that lived at the peak */
};

/* ---- selections ---- */

enum mprof_heap {
	MPROF_HEAP_MINOR = 1 << MPROF_MEM_MINOR,
	MPROF_HEAP_MAJOR = 1 << MPROF_MEM_MAJOR,
	MPROF_HEAP_EXTERNAL = 1 << MPROF_MEM_EXTERNAL,
};

/* A range, both ends included. A zeroed one holds every value. */
struct mprof_mem_range {
	uint64_t least;
	uint64_t most;
	bool has_least;
	bool has_most;
};

/* A condition on the functions of a stack, at any depth. Case matters. */
struct mprof_mem_clause {
	const char *name; /* NUL-terminated */
	bool whole;	  /* true: the function's name equals NAME; false: it contains NAME */
	bool outside;	  /* true: no function of the stack matches; false: at least one does */
};

#define MPROF_MEM_CLAUSES_MAX 8u

/*
 * Conditions that a selected object meets, all of them. Times are microseconds since the trace's
 * start. With the major heap but not the minor, an object of the minor heap counts from its
 * promotion on, and not at all without one. With the minor heap but not the major, an object ends
 * with its promotion.
 */
struct mprof_mem_filter {
	struct mprof_mem_range allocated;
	/* Range in which it lived at least once; equal ends ask for one moment. */
	struct mprof_mem_range live;
	/* An object that lives at the end counts as collected with the last event. */
	struct mprof_mem_range collected;
	bool never_collected;	      /* only objects that live at the end */
	struct mprof_mem_range bytes; /* bytes of the block, without its header */
	/* microseconds; for an object that lives at the end: up to the last event */
	struct mprof_mem_range lifetime;
	uint8_t heaps; /* set of enum mprof_heap; 0: all */
	uint8_t n_clauses;
	struct mprof_mem_clause clauses[MPROF_MEM_CLAUSES_MAX];
};

/*
 * Return a selection for a trace whose last event is at LAST_US, as a profile reported before; NULL
 * without memory. FILTER and the names in it must outlive the selection.
 */
MPROF_API struct mprof_selection *mprof_selection_new(const struct mprof_mem_filter *filter, uint64_t last_us,
						      uint64_t seed);
/* Free S, which may be NULL. Return NULL. */
MPROF_API struct mprof_selection *mprof_selection_free(struct mprof_selection *s);
/*
 * Add an event of D; give all events that the profile gets later. Return MPROF_OK or MPROF_NOMEM;
 * after that the selection can only be freed.
 */
MPROF_API enum mprof_status mprof_selection_add(struct mprof_selection *s, const struct mprof_mem *d,
						const struct mprof_mem_event *e);
/* End the events. Return as mprof_selection_add(). */
MPROF_API enum mprof_status mprof_selection_finish(struct mprof_selection *s);
/* Store the number of selected objects, and their samples. */
MPROF_API void mprof_selection_count(const struct mprof_selection *s, uint64_t *objects, uint64_t *samples);

/* ---- profiles ---- */

struct mprof_profile;

/* Return an empty profile, or NULL without memory. Copy OPTIONS. */
MPROF_API struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options);
/* Free P, which may be NULL. Return NULL. */
MPROF_API struct mprof_profile *mprof_profile_free(struct mprof_profile *p);

/*
 * Add an event. MPROF_MEM_BEGIN discards all events before it. Return MPROF_OK, or MPROF_NOMEM with
 * nothing changed.
 */
MPROF_API enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e);
/*
 * Add all events that D has: the same as mprof_profile_add() of each result of mprof_mem_next(),
 * faster. Return the last status of mprof_mem_next(), never MPROF_OK: MPROF_MORE, MPROF_END,
 * MPROF_CORRUPT (call it again), or MPROF_NOMEM; after that P can only be freed.
 */
MPROF_API enum mprof_status mprof_profile_read(struct mprof_profile *p, struct mprof_mem *d);

/*
 * Record the live samples at N times in LIVE: START_US + T * i / N for i from 1 to N, by the last
 * event at or before each. LIVE must stay until the last event is added. Call it before the first
 * event; another MPROF_MEM_BEGIN starts it anew. START_US is the trace's start, T a time in
 * microseconds.
 */
MPROF_API void mprof_profile_timeline(struct mprof_profile *p, uint64_t start_us, uint64_t t, uint64_t *live,
				      uint32_t n);

/*
 * End the events: complete the time line and count sorted events. Return MPROF_OK or MPROF_NOMEM;
 * after that P can only be freed.
 */
MPROF_API enum mprof_status mprof_profile_finish(struct mprof_profile *p);

/* Return the sums. P owns them and keeps them up to date. */
MPROF_API const struct mprof_profile_sums *mprof_profile_sums(const struct mprof_profile *p);
/*
 * Return the nodes of the tree as it is now, their number in *N; NULL without a tree. Valid until
 * the next event is added.
 */
MPROF_API const struct mprof_profile_node *mprof_profile_nodes(struct mprof_profile *p, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
