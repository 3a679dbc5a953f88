/*
 * libmprof: a memory profile by functions.
 *
 *   f = mprof_flame_new(p, d, &(struct mprof_flame_options){.weight = MPROF_WEIGHT_PEAK});
 *   nodes = mprof_flame_nodes(f, &n);               // a tree of functions, the heaviest first
 *
 *   h = mprof_hotspots_new(p, d, MPROF_WEIGHT_ALL);
 *   for (i = 0; i < n; i++)                         // functions by what they allocate themselves
 *           spot = &mprof_hotspots_list(h, &n)[i];
 *
 * A function is identified by its name in the program's debug information. When calls were inlined,
 * one code of a stack stands for several functions.
 */
#ifndef MPROF_FLAME_H
#define MPROF_FLAME_H

#include <mprof/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which samples of a profile to count. */
enum mprof_weight {
	MPROF_WEIGHT_ALL,  /* everything allocated */
	MPROF_WEIGHT_LIVE, /* everything live after the last event */
	MPROF_WEIGHT_PEAK, /* everything live at the peak */
};

struct mprof_flame_options {
	enum mprof_weight weight;
	bool sites;	/* add a node for the place of the allocation below each allocating function */
	bool recursion; /* true: keep every frame; false: skip a function that is on the stack already */
	/*
	 * Functions to leave out; OUTSIDE of a clause is ignored. When the allocating function is
	 * hidden, the place of the allocation is hidden, too.
	 */
	const struct mprof_mem_clause *hidden;
	size_t n_hidden;
};

struct mprof_flame_node {
	uint32_t parent; /* index of the parent, lower than the node's own; MPROF_NONE for the root, node 0 */
	/*
	 * First child, or MPROF_NONE; children are sorted by TOTAL, the largest first, then by
	 * name.
	 */
	uint32_t first_child;
	uint32_t next_sibling; /* MPROF_NONE for the last child */
	/*
	 * Name of the function, a string of the decoder; MPROF_NONE for the root and for nodes with
	 * a CODE or a LOCATION.
	 */
	uint32_t name;
	/* Location of the decoder for a place of allocation, else MPROF_NONE. */
	uint32_t location;
	uint32_t code;	 /* MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE */
	uint32_t depth;	 /* distance from the root */
	uint64_t allocs; /* number of allocations whose stack ends at this node */
	uint64_t self;	 /* samples of those allocations */
	uint64_t total;	 /* SELF plus the totals of all children */
};

struct mprof_flame;

/*
 * Build the tree of functions of the profile P as it is now. MEM is the decoder from which P's events
 * came. Codes without a name are skipped. This takes n log n in the nodes of P. Return the tree, or
 * NULL without memory.
 */
MPROF_API struct mprof_flame *mprof_flame_new(struct mprof_profile *p, const struct mprof_mem *mem,
					      const struct mprof_flame_options *options);
/*
 * Largest number of functions of one stack in the tree of mprof_flame_callers(). Longer stacks lose
 * the frames farthest from the allocation.
 */
#define MPROF_FLAME_CALLERS_MAX 256u
/*
 * Build the inverted tree of F: below the root the functions that allocate, and below each node the
 * callers of its function. SELF counts at the node at which a stack ends. When the tree is full
 * (MPROF_PROFILE_NODES_MAX), samples count at the last node of their stack that there is. M is the
 * decoder from which F's profile came. Return the tree, or NULL without memory.
 */
MPROF_API struct mprof_flame *mprof_flame_callers(const struct mprof_flame *f, const struct mprof_mem *m);
/* Free F, which may be NULL. Return NULL. */
MPROF_API struct mprof_flame *mprof_flame_free(struct mprof_flame *f);
/*
 * Return all nodes, and their number in *N. A node whose TOTAL is 0 is no child in FIRST_CHILD and
 * NEXT_SIBLING. F owns the nodes until it is freed.
 */
MPROF_API const struct mprof_flame_node *mprof_flame_nodes(const struct mprof_flame *f, uint32_t *n);

/*
 * Largest number of different functions of one stack that are counted as callers. Deeper stacks
 * lose the callers farthest from the allocation. Pairs of functions past four million are left out.
 */
#define MPROF_HOTSPOT_CALLERS_MAX 256u

/* One function, identified by name and file. */
struct mprof_hotspot {
	uint32_t name; /* NAME and FILE are strings of the decoder; MPROF_NONE for a code without a name */
	uint32_t file;
	/*
	 * MPROF_NONE for a function with a name; else MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or
	 * the index of the code without a name.
	 */
	uint32_t code;
	uint32_t places[3];    /* locations at which the function allocates most, or MPROF_NONE */
	uint32_t n_places;     /* number of locations at which the function allocates */
	uint32_t first_caller; /* index in mprof_hotspots_callers() */
	uint32_t n_callers;    /* number of callers; they are sorted by samples, the largest first */
	uint64_t self;	       /* samples that the function allocates itself */
	uint64_t total;	       /* samples of the stacks on which the function is, each stack counted once */
};

/* A function anywhere above an allocating function. */
struct mprof_hotspot_caller {
	uint32_t caller; /* CALLER and CALLEE are indices in mprof_hotspots_list() */
	uint32_t callee;
	uint64_t samples; /* samples that CALLEE allocates below CALLER, at any distance */
	/* Part of SAMPLES for which no other function is between CALLER and CALLEE. */
	uint64_t direct;
};

struct mprof_hotspots;

/*
 * List the functions of the profile P as it is now, counting the samples of WEIGHT. M is the
 * decoder from which P's events came. Return the list, or NULL without memory.
 */
MPROF_API struct mprof_hotspots *mprof_hotspots_new(struct mprof_profile *p, const struct mprof_mem *m,
						    enum mprof_weight weight);
/* Free H, which may be NULL. Return NULL. */
MPROF_API struct mprof_hotspots *mprof_hotspots_free(struct mprof_hotspots *h);
/*
 * mprof_hotspots_list() returns the functions by SELF, the largest first, then by name.
 * mprof_hotspots_callers() returns all pairs of caller and callee. *N becomes the number of items.
 * H owns both arrays until it is freed.
 */
MPROF_API const struct mprof_hotspot *mprof_hotspots_list(const struct mprof_hotspots *h, uint32_t *n);
MPROF_API const struct mprof_hotspot_caller *mprof_hotspots_callers(const struct mprof_hotspots *h, uint32_t *n);

/* ---- texts of functions ---- */

/* A function with its place in the source. The texts are unescaped bytes without a terminator, of the decoder or of CODE. */
struct mprof_frame {
	const char *function; /* never NULL; `$` and a code if it has no name; "(truncated stack)", "(unknown stack)" */
	const char *file;     /* NULL: the function has no name */
	size_t function_bytes;
	size_t file_bytes;
	uint32_t line; /* 0: unknown */
	char code[28]; /* room for FUNCTION */
};

/* Store the function of SPOT, which is of M's profile, in *FRAME, without a line. */
MPROF_API void mprof_hotspot_frame(const struct mprof_mem *m, const struct mprof_hotspot *spot,
				   struct mprof_frame *frame);

/* A walk through a stack of a profile, from its innermost frame. Set the first four fields, and zero the others. */
struct mprof_stack_walk {
	const struct mprof_mem *mem;
	const struct mprof_profile_node *nodes; /* mprof_profile_nodes() */
	uint32_t node;				/* the innermost node; MPROF_NONE: the stack is empty */
	uint32_t most; /* no further node is taken after so many frames; a node of inlined calls has several frames */
	/* Fields of the walk. */
	uint32_t frames;
	uint32_t left; /* locations of NODE that are to come */
};

/* Store the next frame of W in *FRAME. Return false after the last one. */
MPROF_API bool mprof_stack_next(struct mprof_stack_walk *w, struct mprof_frame *frame);

/* ---- leaks ---- */

#define MPROF_LEAK_PARTS 8u

/* How sure a leak is. */
enum mprof_sureness {
	MPROF_LEAK_NONE,     /* no growth: too few objects are of the time between the beginning and the end */
	MPROF_LEAK_POSSIBLE, /* objects live that did not after the beginning; the code may have reached its most */
	MPROF_LEAK_LIKELY, /* and they are of most parts of the run, and more of them live than at three quarters of it */
	MPROF_LEAK_SURE,   /* and they are of all parts, many, and more and more live from quarter to quarter */
};

/*
 * The objects that one code allocated and that live at the end, by the part of the run in which
 * they were allocated; the run is divided into MPROF_LEAK_PARTS equal parts. A program allocates
 * long-lived objects in the first part of its run, and the last part holds objects not collected
 * yet. Objects left over from the parts between are growth.
 *
 * There are two such divisions: into equal times, and into equal numbers of allocations, for which a burst, an idle
 * night or a clock that was set make no difference. Objects left over from a burst are of few parts of the time.
 */
struct mprof_leak {
	/*
	 * The allocating code, as in struct mprof_profile_node; MPROF_NONE for allocations without
	 * a stack.
	 */
	uint32_t code;
	uint32_t node;			  /* node of the profile: the stack with the most live samples */
	uint64_t at_node;		  /* live samples of that stack */
	uint64_t live;			  /* live samples of all stacks */
	uint64_t parts[MPROF_LEAK_PARTS]; /* live samples by the part of the run that allocated them */
	uint64_t growth;		  /* sum of PARTS without the first and the last */
	uint32_t steady;		  /* number of items of PARTS that are not 0, without the last item */
	uint32_t allocated_steady;	  /* as STEADY, by allocations */
	uint64_t allocated_growth;	  /* as GROWTH, by allocations */
	uint32_t sureness;		  /* enum mprof_sureness */
	uint32_t reserved;
};

struct mprof_leaks;

/*
 * Find the codes of which objects live in P, a profile with all events from START_US to LAST_US, microseconds since the Unix
 * epoch. M is the decoder from which they came. This is linear in P's nodes and live objects.
 * Return NULL without memory.
 */
MPROF_API struct mprof_leaks *mprof_leaks_new(struct mprof_profile *p, const struct mprof_mem *m, uint64_t start_us,
					      uint64_t last_us);
/* Free L, which may be NULL. Return NULL. */
MPROF_API struct mprof_leaks *mprof_leaks_free(struct mprof_leaks *l);
/*
 * Return the leaks, and codes without a leak behind them, sorted by the larger of GROWTH and ALLOCATED_GROWTH, the
 * largest first, then by LIVE, and their number in *N. L
 * owns them until it is freed.
 */
MPROF_API const struct mprof_leak *mprof_leaks_list(const struct mprof_leaks *l, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
