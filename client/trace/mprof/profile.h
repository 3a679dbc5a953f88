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
 * The unit of all amounts is the sample. Estimate bytes as SAMPLES / RATE * WORD_BYTES (struct
 * mprof_mem_info); the relative error is about one divided by the square root of SAMPLES. The
 * *peak* is the moment at which most samples lived.
 *
 * A filter on an object's end, or on the peak, needs several scans of the events: first a profile
 * without a tree, for the times; then a selection of the objects; at last a profile of the
 * selection.
 *
 * Memory: 128 to 384 KiB; 44 to 70 bytes for each live object (24 more in a selection), without a
 * tree and selection only for objects that outlive a million allocations or have several samples;
 * with a tree, 80 to 100 bytes for each different stack and each prefix of a stack, up to a limit, and
 * 256 bytes for each code; one
 * bit for each allocation of a selection.
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
	 * Sort events by time before counting them. The events of several domains do not come in
	 * the order of time, and if they are not sorted, the peak and the time line are wrong.
	 * Sorting takes 64 bytes per event, and there are no results before mprof_profile_finish().
	 */
	bool sort;
	uint64_t seed; /* as in struct mprof_mem_options */
	/*
	 * Count only the objects of this selection; NULL: all. The caller keeps it until the last
	 * event is added.
	 */
	const struct mprof_selection *selection;
};

/*
 * Sums over all events so far. Times are microseconds since the Unix epoch, by the clock that
 * stamped the stream.
 */
struct mprof_profile_sums {
	uint64_t allocs[3];  /* number of allocs, by enum mprof_mem_source */
	uint64_t samples[3]; /* sum of the samples of allocs, by enum mprof_mem_source */
	uint64_t promotes;
	uint64_t promoted; /* samples of promoted objects */
	uint64_t collects;
	uint64_t collected; /* samples of collected objects */
	/* Samples of collected objects that were not in the minor heap. */
	uint64_t collected_major;
	/*
	 * Number of promotes and collects of unknown objects, and of promotes of objects already
	 * promoted. They are ignored.
	 */
	uint64_t unknown;
	uint64_t small[3]; /* samples of allocs of blocks of at most 4, 16 and 256 words */
	uint64_t length;   /* number of words of all allocated blocks, without headers */
	uint64_t max_length;
	uint64_t first_us; /* time of the first event; 0 without an event */
	uint64_t last_us;  /* latest time of an event */
	uint64_t live;	   /* samples that live now */
	uint64_t live_objects;
	uint64_t peak;	       /* largest number of samples that lived at one time */
	uint64_t peak_objects; /* live objects at that time */
	uint64_t peak_us;      /* first time with PEAK live samples */
	/*
	 * Samples of stacks that the full tree has no node for (MPROF_PROFILE_NODES_MAX); they are
	 * counted at a prefix of the stack.
	 */
	uint64_t left_out;
	uint64_t domains;  /* number of domains with events: 0, 1, or 2 for two and more */
	uint64_t repeated; /* number of allocs with the id of a live object; they are ignored */
};

/*
 * Two codes of nodes that no decoder has: MPROF_CODE_TRUNCATED stands for frames that the writer
 * cut, MPROF_CODE_UNKNOWN for an unknown stack.
 */
#define MPROF_CODE_TRUNCATED (UINT32_MAX - 1)
#define MPROF_CODE_UNKNOWN   (UINT32_MAX - 2)

/*
 * A node of the stack tree is a prefix of stacks: the frames from the root (node 0, which has no
 * code) to CODE. ALLOCS, SAMPLES, LIVE and PEAK are of the allocations whose whole stack is this
 * prefix.
 */
struct mprof_profile_node {
	uint32_t parent; /* index of the parent, lower than the node's own; MPROF_NONE for the root */
	/*
	 * Index of a code of the decoder, MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE
	 * for the root.
	 */
	uint32_t code;
	uint32_t depth; /* number of frames from the root to CODE */
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

/*
 * A range of values from LEAST to MOST, both included. Without HAS_LEAST or HAS_MOST it has no such
 * end, so a zeroed range holds every value.
 */
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
 * Conditions on objects. A selected object meets all of them. Times are microseconds since the
 * recording's start. HEAPS with the major heap but without the minor: an object of the minor heap
 * counts from its promotion on, and one without a promotion does not count. HEAPS with the minor
 * heap but without the major: an object ends with its promotion.
 */
struct mprof_mem_filter {
	struct mprof_mem_range allocated;
	/* The object lived at some moment of this range; equal ends ask for one moment. */
	struct mprof_mem_range live;
	/*
	 * Time of the object's end. An object that lives at the end of the recording counts as
	 * collected with the last event.
	 */
	struct mprof_mem_range collected;
	bool never_collected;	      /* true: only objects that live at the end of the recording */
	struct mprof_mem_range bytes; /* size of the object without its header, bytes */
	/*
	 * Time from allocation to end, microseconds; for an object that lives at the end of the
	 * recording, up to the last event.
	 */
	struct mprof_mem_range lifetime;
	uint8_t heaps; /* heaps that count, a set of enum mprof_heap; 0: all */
	uint8_t n_clauses;
	struct mprof_mem_clause clauses[MPROF_MEM_CLAUSES_MAX];
};

/*
 * Return a selection for a recording whose last event is at LAST_US, which an earlier profile
 * reported (struct mprof_profile_sums). Return NULL without memory. FILTER and the names in it must
 * outlive the selection.
 */
MPROF_API struct mprof_selection *mprof_selection_new(const struct mprof_mem_filter *filter, uint64_t last_us,
						      uint64_t seed);
/* Free S, which may be NULL. Return NULL. */
MPROF_API struct mprof_selection *mprof_selection_free(struct mprof_selection *s);
/*
 * Add E, an event of decoder M. Add all events that the profile will get later. Return MPROF_OK or
 * MPROF_NOMEM; after MPROF_NOMEM the selection can only be freed.
 */
MPROF_API enum mprof_status mprof_selection_add(struct mprof_selection *s, const struct mprof_mem *m,
						const struct mprof_mem_event *e);
/* Say that all events were added. Return as mprof_selection_add(). */
MPROF_API enum mprof_status mprof_selection_finish(struct mprof_selection *s);
/* Store the number of selected objects in *OBJECTS, and the sum of their samples in *SAMPLES. */
MPROF_API void mprof_selection_count(const struct mprof_selection *s, uint64_t *objects, uint64_t *samples);

/* ---- profiles ---- */

struct mprof_profile;

/* Return an empty profile, or NULL without memory. Copy OPTIONS. */
MPROF_API struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options);
/* Free P, which may be NULL. Return NULL. */
MPROF_API struct mprof_profile *mprof_profile_free(struct mprof_profile *p);

/*
 * Add an event. An MPROF_MEM_BEGIN discards all events before it. Return MPROF_OK, or MPROF_NOMEM
 * with nothing changed.
 */
MPROF_API enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e);
/*
 * Add all events that M has: as mprof_profile_add() of each result of mprof_mem_next(), but faster.
 * Return the status with which M's events end, never MPROF_OK: MPROF_MORE; MPROF_END;
 * MPROF_CORRUPT, after which call this function again; or MPROF_NOMEM, after which P can only be
 * freed.
 */
MPROF_API enum mprof_status mprof_profile_read(struct mprof_profile *p, struct mprof_mem *m);

/*
 * Record the live samples at N times in LIVE, an array of N items that the caller keeps until the
 * last event is added. The times are START_US + T * i / N for i from 1 to N; the item has the value
 * after the last event at or before its time. START_US is the recording's start, T a duration in
 * microseconds. Call it before the first event. Another MPROF_MEM_BEGIN starts the recording of
 * LIVE anew.
 */
MPROF_API void mprof_profile_timeline(struct mprof_profile *p, uint64_t start_us, uint64_t t, uint64_t *live,
				      uint32_t n);

/*
 * Say that all events were added: complete the time line, and sort and count the events if the
 * option SORT is set. Return MPROF_OK or MPROF_NOMEM; after MPROF_NOMEM P can only be freed.
 */
MPROF_API enum mprof_status mprof_profile_finish(struct mprof_profile *p);

/* Return the sums. P owns them and updates them in place. */
MPROF_API const struct mprof_profile_sums *mprof_profile_sums(const struct mprof_profile *p);
/*
 * Return the nodes of the stack tree as it is now, and their number in *N; NULL without a tree. P
 * owns them; they are valid until the next event is added.
 */
MPROF_API const struct mprof_profile_node *mprof_profile_nodes(struct mprof_profile *p, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
