/*
 * libmprof: what the events of a memory profile add up to.
 *
 *   p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = random});
 *   while ((status = mprof_mem_next(d, &event)) != MPROF_END)
 *           if (status == MPROF_OK)
 *                   mprof_profile_add(p, &event);
 *   sums = mprof_profile_sums(p);
 *   nodes = mprof_profile_nodes(p, &n);
 *
 * Everything is counted in samples: bytes are estimated as SAMPLES / RATE * WORD_BYTES (struct mprof_mem_info), with a relative error of about
 * one by the square root of SAMPLES.  Events are taken in the order in which they come; of several domains they come in the order of time
 * only where the caller sorts them.
 *
 * Memory: 32 bytes for each object that lives, and with a tree 64 for each different stack and beginning of one, up to a limit.
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

struct mprof_profile_options {
	bool tree;
	uint64_t seed; /* as in struct mprof_mem_options */
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
	uint64_t repeated;     /* allocs of an id that lives: passed over */
};

/*
 * A beginning of stacks: the frames from the root (node 0, which has no code) down to CODE.  What is counted is of the allocations whose stack
 * ends here.
 */
struct mprof_profile_node {
	uint32_t parent;    /* MPROF_NONE for the root; a parent stands before its children */
	uint32_t code;	    /* index of the decoder's codes; MPROF_NONE for the root */
	uint32_t depth;	    /* frames */
	uint32_t truncated; /* allocations whose stack the writer cut here, or that had none: at the root */
	uint64_t allocs;
	uint64_t samples;
	uint64_t live; /* samples */
	uint64_t peak; /* samples that lived at the peak */
};

struct mprof_profile;

/* NULL without memory.  OPTIONS are copied. */
MPROF_API struct mprof_profile *mprof_profile_new(const struct mprof_profile_options *options);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_profile *mprof_profile_free(struct mprof_profile *p);

/* Add an event; MPROF_MEM_BEGIN forgets all before it.  MPROF_OK, or MPROF_NOMEM with nothing changed. */
MPROF_API enum mprof_status mprof_profile_add(struct mprof_profile *p, const struct mprof_mem_event *e);

/* Lent; stay true while events are added. */
MPROF_API const struct mprof_profile_sums *mprof_profile_sums(const struct mprof_profile *p);
/* The tree as it is now, N nodes; lent until the next event is added. */
MPROF_API const struct mprof_profile_node *mprof_profile_nodes(struct mprof_profile *p, uint32_t *n);

#ifdef __cplusplus
}
#endif

#endif
