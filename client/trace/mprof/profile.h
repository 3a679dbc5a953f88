/*
 * libmprof: what the events of a memory profile add up to.
 *
 *   p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = random});
 *   while ((status = mprof_profile_read(p, d)) != MPROF_END)     // or mprof_mem_next() and mprof_profile_add()
 *           ...                                                  // MPROF_MORE: feed D; MPROF_CORRUPT: mprof_mem_damage(d)
 *   sums = mprof_profile_sums(p);
 *   nodes = mprof_profile_nodes(p, &n);
 *
 * Everything is counted in samples: bytes are estimated as SAMPLES / RATE * WORD_BYTES (struct mprof_mem_info), with a relative error of about
 * one by the square root of SAMPLES.
 *
 * Questions that know an object's end, or the peak, before its beginning go through the events twice: first a profile without a tree for the
 * times, then a selection of the objects, then a profile of what was selected.
 *
 * Memory: 128 KiB, 44 to 70 bytes for each object that lives (24 more in a selection), with a tree 80 to 100 for each different stack and beginning of one,
 * up to a limit, and one bit for each allocation of a selection.
 */
#ifndef MPROF_PROFILE_H
#define MPROF_PROFILE_H

#include <mprof/memtrace.h>
#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of more stacks than this the innermost frames are left out. */
#define MPROF_PROFILE_NODES_MAX (1u << 22)

struct mprof_selection;

struct mprof_profile_options {
	bool tree;
	/*
	 * Put events in the order of time before they are counted.  Of several domains they come out of it, and peak and timeline are wrong without;
	 * it takes 64 bytes for each event, and nothing is known before mprof_profile_finish().
	 */
	bool sort;
	uint64_t seed; /* as in struct mprof_mem_options */
	/* Only these objects, as if there were no others; NULL: all.  Lent as long as events are added. */
	const struct mprof_selection *selection;
};

/* Sums over all events so far.  Times are those of the events, microseconds since the Unix epoch. */
struct mprof_profile_sums {
	uint64_t allocs[3];  /* events, by enum mprof_mem_source */
	uint64_t samples[3]; /* the same */
	uint64_t promotes;
	uint64_t promoted; /* samples of those */
	uint64_t collects;
	uint64_t collected;	  /* samples of those */
	uint64_t collected_major; /* samples of those that were not in the minor heap (any more) */
	uint64_t
		unknown; /* promotes and collects of objects that were not there, or not to be promoted: else passed over */
	uint64_t small[3]; /* samples of blocks of at most 4, 16, 256 words */
	uint64_t length;   /* words of all blocks, without their headers */
	uint64_t max_length;
	uint64_t first_us; /* of the first event, 0 without one */
	uint64_t last_us;  /* the latest */
	uint64_t live;	   /* samples that live now */
	uint64_t live_objects;
	uint64_t peak;	       /* the most samples that ever lived at a time */
	uint64_t peak_objects; /* at that time */
	uint64_t peak_us;      /* the first such time */
	uint64_t left_out;     /* samples of stacks past the limit, which count for a beginning of them */
	uint64_t domains;      /* that there were events of, up to two */
	uint64_t repeated;     /* allocs of an id that lives: passed over */
};

/* In place of a code: what the writer cut off, and the whole of a stack that is not known. */
#define MPROF_CODE_TRUNCATED (UINT32_MAX - 1)
#define MPROF_CODE_UNKNOWN   (UINT32_MAX - 2)

/*
 * A beginning of stacks: the frames from the root (node 0, which has no code) down to CODE.  What is counted is of the allocations whose stack
 * ends here.
 */
struct mprof_profile_node {
	uint32_t parent; /* MPROF_NONE for the root; a parent stands before its children */
	uint32_t code;	 /* index of the decoder's codes, one of the two above, or MPROF_NONE for the root */
	uint32_t depth;	 /* frames */
	uint64_t allocs;
	uint64_t samples;
	uint64_t live; /* samples */
	uint64_t peak; /* samples that lived at the peak */
};

/* ---- selections ---- */

enum mprof_heap {
	MPROF_HEAP_MINOR = 1 << MPROF_MEM_MINOR,
	MPROF_HEAP_MAJOR = 1 << MPROF_MEM_MAJOR,
	MPROF_HEAP_EXTERNAL = 1 << MPROF_MEM_EXTERNAL,
};

/* A range, both ends included.  Zeroed it takes everything. */
struct mprof_mem_range {
	uint64_t least;
	uint64_t most;
	bool has_least;
	bool has_most;
};

/* A condition on the functions of a stack, at any depth; upper and lower case are two. */
struct mprof_mem_clause {
	const char *name; /* terminated */
	bool whole;	  /* the function's name is NAME, else it contains it */
	bool outside;	  /* no function of the stack does, else some does */
};

#define MPROF_MEM_CLAUSES_MAX 8u

/*
 * Objects for which all of it holds.  Times are microseconds since the trace's start.  Where the minor heap is left out and the major is not, an
 * object of the minor heap is one from its promotion on, and else is none; where the major is left out and the minor is not, it ends with its
 * promotion.
 */
struct mprof_mem_filter {
	struct mprof_mem_range allocated;
	struct mprof_mem_range live;	  /* it lived at some time in it: a single time where both ends are equal */
	struct mprof_mem_range collected; /* what lives at the end counts as collected with the last event */
	bool never_collected;		  /* it lives at the end */
	struct mprof_mem_range bytes;	  /* of the block, without its header */
	struct mprof_mem_range lifetime;  /* what lives at the end: up to the last event */
	uint8_t heaps;			  /* enum mprof_heap; 0: all */
	uint8_t n_clauses;
	struct mprof_mem_clause clauses[MPROF_MEM_CLAUSES_MAX];
};

/* For a trace that ends at LAST_US, as a profile said before.  FILTER and what it names are borrowed.  NULL without memory. */
MPROF_API struct mprof_selection *mprof_selection_new(const struct mprof_mem_filter *filter, uint64_t last_us,
						      uint64_t seed);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_selection *mprof_selection_free(struct mprof_selection *s);
/* Add an event of D, the same as a profile gets later.  MPROF_OK or MPROF_NOMEM; then the selection is of no use. */
MPROF_API enum mprof_status mprof_selection_add(struct mprof_selection *s, const struct mprof_mem *d,
						const struct mprof_mem_event *e);
/* All events came.  As above. */
MPROF_API enum mprof_status mprof_selection_finish(struct mprof_selection *s);
/* How many objects, and samples of them. */
MPROF_API void mprof_selection_count(const struct mprof_selection *s, uint64_t *objects, uint64_t *samples);

/* ---- profiles ---- */

struct mprof_profile;

/* NULL without memory.  OPTIONS are copied. */
MPROF_API struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_profile *mprof_profile_free(struct mprof_profile *p);

/* Add an event; MPROF_MEM_BEGIN forgets all before it.  MPROF_OK, or MPROF_NOMEM with nothing changed. */
MPROF_API enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e);
/*
 * Add all events that D has: the same as mprof_profile_add() of each that mprof_mem_next() gives out, and sooner done.  Returns what the latter said
 * last, which is not MPROF_OK: MPROF_MORE, MPROF_END, MPROF_CORRUPT (go on with another call), or MPROF_NOMEM; then P is of no use.
 */
MPROF_API enum mprof_status mprof_profile_read(struct mprof_profile *p, struct mprof_mem *d);

/*
 * Note how much lives at N times, T * i / N behind the start for i from 1 to N, into LIVE (lent until the last event is added): samples, by the last
 * event at or before each.  To be called before any event; another MPROF_MEM_BEGIN begins it anew.  START_US is the trace's start.
 */
MPROF_API void mprof_profile_timeline(struct mprof_profile *p, uint64_t start_us, uint64_t t, uint64_t *live,
				      uint32_t n);

/* All events came: the timeline is complete, and what waited is counted.  MPROF_OK or MPROF_NOMEM; then the profile is of no use. */
MPROF_API enum mprof_status mprof_profile_finish(struct mprof_profile *p);

/* Lent; stay true while events are added. */
MPROF_API const struct mprof_profile_sums *mprof_profile_sums(const struct mprof_profile *p);
/* The tree as it is now, N nodes; lent until the next event is added. */
MPROF_API const struct mprof_profile_node *mprof_profile_nodes(struct mprof_profile *p, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
