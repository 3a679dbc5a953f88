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
 * A function is its name, as the program's debug information has it; where calls were inlined, one code of a stack is several functions.
 */
#ifndef MPROF_FLAME_H
#define MPROF_FLAME_H

#include <mprof/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What of a profile is counted, in samples. */
enum mprof_weight {
	MPROF_WEIGHT_ALL,  /* what was allocated */
	MPROF_WEIGHT_LIVE, /* what lives now, after the last event */
	MPROF_WEIGHT_PEAK, /* what lived at the peak */
};

struct mprof_flame_options {
	enum mprof_weight weight;
	bool sites;	/* below the function that allocates: the place where it does */
	bool recursion; /* keep every frame; else a function that is on the stack already is not added again */
	/* Functions whose frames are left out; OUTSIDE means nothing here.  Where it is the one that allocates, its site too. */
	const struct mprof_mem_clause *hidden;
	size_t n_hidden;
};

struct mprof_flame_node {
	uint32_t parent;       /* MPROF_NONE for the root, node 0; a parent stands before its children */
	uint32_t first_child;  /* the heaviest first, equal ones by name */
	uint32_t next_sibling; /* MPROF_NONE: the last */
	uint32_t name;	       /* string of the decoder; MPROF_NONE for the root and where CODE says more */
	uint32_t location;     /* of the decoder, where the node is a place of allocation; else MPROF_NONE */
	uint32_t code;	       /* MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE */
	uint32_t depth;	       /* of the root 0 */
	uint64_t allocs;       /* events whose stack ends here */
	uint64_t self;	       /* samples of those */
	uint64_t total;	       /* SELF, and of all below */
};

struct mprof_flame;

/*
 * The tree of P's functions as it is now, D the decoder that its events came from.  Codes without a name are passed over.  NULL without memory.  N log n
 * in the size of P's tree.
 */
MPROF_API struct mprof_flame *mprof_flame_new(struct mprof_profile *p, const struct mprof_mem *d,
					      const struct mprof_flame_options *options);
/* In a tree the other way round of so many functions; of a longer stack those are left out that are farthest from the allocation. */
#define MPROF_FLAME_CALLERS_MAX 256u
/*
 * F the other way round: below the root those that allocate, below each its callers.  SELF is what is left at the end of a stack.  At most
 * MPROF_PROFILE_NODES_MAX nodes: what does not fit counts for the beginning of its path.  NULL without memory.
 */
MPROF_API struct mprof_flame *mprof_flame_callers(const struct mprof_flame *f, const struct mprof_mem *d);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_flame *mprof_flame_free(struct mprof_flame *f);
/* Nodes of which nothing is counted are in no list of children.  Lent. */
MPROF_API const struct mprof_flame_node *mprof_flame_nodes(const struct mprof_flame *f, uint32_t *n);

/* Callers are told of stacks of so many different functions; of a deeper one those are left out that are farthest from the allocation.  Of
 * more than four million pairs of functions those that come later are left out. */
#define MPROF_HOTSPOT_CALLERS_MAX 256u

/* A function, told from others of its name by its file. */
struct mprof_hotspot {
	uint32_t name; /* strings of the decoder; MPROF_NONE where a code has no name: see CODE */
	uint32_t file;
	uint32_t code;	       /* the code without a name, MPROF_CODE_TRUNCATED, MPROF_CODE_UNKNOWN, or MPROF_NONE */
	uint32_t places[3];    /* locations of the decoder where it allocates most, or MPROF_NONE */
	uint32_t n_places;     /* how many there are of them */
	uint32_t first_caller; /* of the list of callers */
	uint32_t n_callers;    /* the heaviest first */
	uint64_t self;	       /* samples that it allocates */
	uint64_t total;	       /* samples of stacks that it is in, each once */
};

/* A function that is, at any distance, above one that allocates. */
struct mprof_hotspot_caller {
	uint32_t caller; /* hotspots */
	uint32_t callee;
	uint64_t samples; /* that CALLEE allocates below CALLER */
};

struct mprof_hotspots;

/* As mprof_flame_new(). */
MPROF_API struct mprof_hotspots *mprof_hotspots_new(struct mprof_profile *p, const struct mprof_mem *d,
						    enum mprof_weight weight);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_hotspots *mprof_hotspots_free(struct mprof_hotspots *h);
/* By SELF, the heaviest first, equal ones by name.  Lent. */
MPROF_API const struct mprof_hotspot *mprof_hotspots_list(const struct mprof_hotspots *h, uint32_t *n);
MPROF_API const struct mprof_hotspot_caller *mprof_hotspots_callers(const struct mprof_hotspots *h, uint32_t *n);

/* ---- what was made and never went ---- */

#define MPROF_LEAK_PARTS 8u

/*
 * What lives at the end, by the code that allocated it and by when.  What a program needs for long is allocated in the first part of its run, and what
 * was not collected yet in the last one; where something of each part between them is left, more is made than goes.
 */
struct mprof_leak {
	uint32_t code;			  /* as of a node of a profile; MPROF_NONE of allocations without a stack */
	uint32_t node;			  /* of the profile: the stack that most of it has */
	uint64_t at_node;		  /* samples of that stack that live */
	uint64_t live;			  /* samples in all */
	uint64_t parts[MPROF_LEAK_PARTS]; /* those by the part of the run in which they were made */
	uint64_t growth;		  /* those of all parts but the first and the last */
	uint32_t steady; /* parts of which something is left, without the last: up to MPROF_LEAK_PARTS - 1 */
};

struct mprof_leaks;

/* Of P, all of whose events from START_US to LAST_US came.  NULL without memory.  Linear in P's nodes and what lives. */
MPROF_API struct mprof_leaks *mprof_leaks_new(struct mprof_profile *p, const struct mprof_mem *d, uint64_t start_us,
					      uint64_t last_us);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_leaks *mprof_leaks_free(struct mprof_leaks *l);
/* By growth, the largest first, then by what lives.  Lent. */
MPROF_API const struct mprof_leak *mprof_leaks_list(const struct mprof_leaks *l, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
