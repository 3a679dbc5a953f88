/*
 * The objects of a profile that live, by id.
 *
 * Most objects die young, and ids are counted: an object stands where its id says, in a ring of the latest ones.  Who lives longer than the ring is
 * long moves to a map, of which most ends know nothing.  Any ids are right; those that do not count up are only slower.
 */
#ifndef TRACE_MEM_LIVE_H
#define TRACE_MEM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Half a line of the cache. */
struct mem_object {
	int64_t id;
	uint64_t samples;     /* never 0; 0: it is gone */
	uint64_t made_us;     /* since the Unix epoch */
	uint32_t epoch;	      /* of the peak before which it was made */
	uint32_t node : 24;   /* where its stack ends: below MPROF_PROFILE_NODES_MAX */
	uint32_t source : 2;  /* enum mprof_mem_source */
	uint32_t minor : 1;   /* in the minor heap */
	uint32_t counted : 1; /* it is one of those that live */
};

#define MEM_NODE_MASK 0xffffffu

/* What only some ask for. */
struct mem_details {
	uint64_t promoted_us;
	uint64_t length;
	uint64_t number; /* of allocs before it, or another one */
};

/* Of the ring: 128 KiB, which a cache holds, and more than what a minor collection leaves of samples. */
#define MEM_LIVE_YOUNG 4096u

struct mem_live_place;

struct mem_live {
	struct mem_object *young;	   /* MEM_LIVE_YOUNG of them, or NULL: those with samples 0 are none */
	struct mem_details *young_details; /* of each, or NULL */
	/* Those that are older: */
	struct mem_live_place *places;
	struct mem_object *objects;  /* USED of them, those that live and those that did: with samples 0 */
	struct mem_details *details; /* of each, or NULL */
	uint64_t seed;
	size_t n;
	size_t room; /* of PLACES, a power of two, or 0 */
	uint32_t used, objects_room;
	uint32_t unused; /* the first object that can be used again; its EPOCH is the next */
	int64_t top;	 /* no id here is above it */
	bool detailed;
};

/* With room for details where DETAILED. */
void mem_live_init(struct mem_live *live, uint64_t seed, bool detailed);
void mem_live_deinit(struct mem_live *live);
/*
 * Add one whose id is not there.  Returns where it stands, lent until the next one is added or removed, for the caller to fill in at once, with the same
 * id and samples that are not 0; NULL without memory, with nothing changed.
 */
static inline struct mem_object *mem_live_add(struct mem_live *live, int64_t id);
/* The object ID, lent until one is added or removed, or NULL. */
static inline struct mem_object *mem_live_find(struct mem_live *live, int64_t id);
/* OBJECT is one that mem_live_find() returned. */
static inline void mem_live_remove(struct mem_live *live, struct mem_object *object);
/* Those of OBJECT, which lives, lent for as long as that; of a new one they are to be filled in. */
struct mem_details *mem_live_details(const struct mem_live *live, const struct mem_object *object);
/* All of them, in no order: objects from 0 up to mem_live_end(), NULL where there is none. */
uint32_t mem_live_end(const struct mem_live *live);
const struct mem_object *mem_live_at(const struct mem_live *live, uint32_t i);

/* Make the place of ID in the ring free; false without memory, with nothing changed. */
bool mem_live_make_free(struct mem_live *live, int64_t id);
struct mem_object *mem_live_find_old(struct mem_live *live, int64_t id);
void mem_live_remove_old(struct mem_live *live, struct mem_object *object);

/*
 * ID will be added soon, or else looked for: let what it takes come into the cache meanwhile.  What is found is right with it and without.
 */
static inline void mem_live_prefetch(const struct mem_live *live, int64_t id, bool added);
void mem_live_prefetch_old(const struct mem_live *live, int64_t id);

static inline struct mem_object *mem_live_place(const struct mem_live *live, int64_t id)
{
	return &live->young[(uint64_t)id % MEM_LIVE_YOUNG];
}

static inline struct mem_object *mem_live_add(struct mem_live *live, int64_t id)
{
	if ((!live->young || mem_live_place(live, id)->samples) && !mem_live_make_free(live, id))
		return NULL;
	return mem_live_place(live, id);
}

static inline struct mem_object *mem_live_find(struct mem_live *live, int64_t id)
{
	struct mem_object *object;

	if (live->young) {
		object = mem_live_place(live, id);
		if (object->id == id && object->samples)
			return object;
	}
	return live->n && id <= live->top ? mem_live_find_old(live, id) : NULL;
}

static inline void mem_live_remove(struct mem_live *live, struct mem_object *object)
{
	if (object != mem_live_place(live, object->id)) {
		mem_live_remove_old(live, object);
		return;
	}
	object->samples = 0;
}

static inline void mem_live_prefetch(const struct mem_live *live, int64_t id, bool added)
{
	const struct mem_object *object;

	if (!live->n)
		return;
	object = mem_live_place(live, id);
	if (added && object->samples)
		mem_live_prefetch_old(live, object->id);
	else if (!added && object->id != id)
		mem_live_prefetch_old(live, id);
}

#endif
