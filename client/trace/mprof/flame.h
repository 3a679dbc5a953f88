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
 * A function is its name in the program's debug information. When calls were inlined, one code of a
 * stack is several functions.
 */
#ifndef MPROF_FLAME_H
#define MPROF_FLAME_H

#include <mprof/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The samples of a profile to count. */
enum mprof_weight {
	MPROF_WEIGHT_ALL,  /* everything allocated */
	MPROF_WEIGHT_LIVE, /* everything live after the last event */
	MPROF_WEIGHT_PEAK, /* everything live at the peak */
};

struct mprof_flame_options {
	enum mprof_weight weight;
	bool sites;	/* add the place of allocation below each allocating function */
	bool recursion; /* keep every frame; else skip a function that is on the stack already */
	/*
	 * Functions to leave out; OUTSIDE is ignored. When the allocating function is hidden, its
	 * place is too.
	 */
	const struct mprof_mem_clause *hidden;
	size_t n_hidden;
};

struct mprof_flame_node {
	uint32_t parent;       /* parent, at a lower index; MPROF_NONE for the root, node 0 */
	uint32_t first_child;  /* children by TOTAL, the largest first, then by name */
	uint32_t next_sibling; /* MPROF_NONE for the last child */
	/* String of the decoder; MPROF_NONE for the root and for nodes with a CODE. */
	uint32_t name;
	/* Location of the decoder for a place of allocation, else MPROF_NONE. */
	uint32_t location;
	uint32_t code;	 /* MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE */
	uint32_t depth;	 /* distance from the root */
	uint64_t allocs; /* number of allocations whose stack ends here */
	uint64_t self;	 /* samples of those allocations */
	uint64_t total;	 /* SELF plus the totals of all children */
};

struct mprof_flame;

/*
 * Build the tree of the functions of P as it is now. D is the decoder that P's events came from.
 * Codes without a name are skipped. Takes n log n in the nodes of P. Return NULL without memory.
 */
MPROF_API struct mprof_flame *mprof_flame_new(struct mprof_profile *p, const struct mprof_mem *d,
					      const struct mprof_flame_options *options);
/*
 * Largest number of functions of one stack in a caller tree. Longer stacks lose the frames farthest
 * from the allocation.
 */
#define MPROF_FLAME_CALLERS_MAX 256u
/*
 * Build the inverted tree of F: allocating functions below the root, and their callers below each.
 * SELF counts at the end of each stack. Nodes past MPROF_PROFILE_NODES_MAX count at the beginning
 * of their path. Return NULL without memory.
 */
MPROF_API struct mprof_flame *mprof_flame_callers(const struct mprof_flame *f, const struct mprof_mem *d);
/* Free F, which may be NULL. Return NULL. */
MPROF_API struct mprof_flame *mprof_flame_free(struct mprof_flame *f);
/*
 * Return all nodes, their number in *N. Nodes with total 0 are in no list of children. F owns them
 * until it is freed.
 */
MPROF_API const struct mprof_flame_node *mprof_flame_nodes(const struct mprof_flame *f, uint32_t *n);

/*
 * Largest number of different functions of one stack that are counted as callers. Deeper stacks
 * lose the callers farthest from the allocation. Pairs of functions past four million are left out.
 */
#define MPROF_HOTSPOT_CALLERS_MAX 256u

/* One function, identified by name and file. */
struct mprof_hotspot {
	uint32_t name; /* strings of the decoder; MPROF_NONE for a code without a name */
	uint32_t file;
	/* The code without a name, MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE. */
	uint32_t code;
	uint32_t places[3];    /* locations where it allocates most, or MPROF_NONE */
	uint32_t n_places;     /* number of locations where it allocates */
	uint32_t first_caller; /* index in mprof_hotspots_callers() */
	uint32_t n_callers;    /* callers by samples, the largest first */
	uint64_t self;	       /* samples that it allocates itself */
	uint64_t total;	       /* samples of the stacks that it is on, each stack counted once */
};

/* A function anywhere above an allocating function. */
struct mprof_hotspot_caller {
	uint32_t caller; /* indices of hotspots */
	uint32_t callee;
	uint64_t samples; /* samples that CALLEE allocates below CALLER */
};

struct mprof_hotspots;

/* List the functions of P. Arguments and result as of mprof_flame_new(). */
MPROF_API struct mprof_hotspots *mprof_hotspots_new(struct mprof_profile *p, const struct mprof_mem *d,
						    enum mprof_weight weight);
/* Free H, which may be NULL. Return NULL. */
MPROF_API struct mprof_hotspots *mprof_hotspots_free(struct mprof_hotspots *h);
/*
 * Return the functions by SELF, the largest first, then by name, and all pairs of callers; numbers
 * in *N. H owns both until it is freed.
 */
MPROF_API const struct mprof_hotspot *mprof_hotspots_list(const struct mprof_hotspots *h, uint32_t *n);
MPROF_API const struct mprof_hotspot_caller *mprof_hotspots_callers(const struct mprof_hotspots *h, uint32_t *n);

/* ---- what was made and never went ---- */

#define MPROF_LEAK_PARTS 8u

/*
 * Objects that live at the end, by allocating code and by time of allocation. A program allocates
 * long-lived objects in the first part of its run, and the last part holds objects not collected
 * yet. Objects left over from the parts between are a leak.
 */
struct mprof_leak {
	/* Code of the profile's node; MPROF_NONE for allocations without a stack. */
	uint32_t code;
	uint32_t node;			  /* node of the stack with the most live samples */
	uint64_t at_node;		  /* live samples of that stack */
	uint64_t live;			  /* live samples of all stacks */
	uint64_t parts[MPROF_LEAK_PARTS]; /* live samples by the part of the run that allocated them */
	uint64_t growth;		  /* sum of PARTS without the first and the last */
	uint32_t steady;		  /* number of PARTS but the last that are not 0 */
};

struct mprof_leaks;

/*
 * Find leaks in P, which has all events from START_US to LAST_US (microseconds since the Unix
 * epoch). Linear in P's nodes and live objects. Return NULL without memory.
 */
MPROF_API struct mprof_leaks *mprof_leaks_new(struct mprof_profile *p, const struct mprof_mem *d, uint64_t start_us,
					      uint64_t last_us);
/* Free L, which may be NULL. Return NULL. */
MPROF_API struct mprof_leaks *mprof_leaks_free(struct mprof_leaks *l);
/*
 * Return the leaks by GROWTH, the largest first, then by LIVE; their number in *N. L owns them
 * until it is freed.
 */
MPROF_API const struct mprof_leak *mprof_leaks_list(const struct mprof_leaks *l, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
