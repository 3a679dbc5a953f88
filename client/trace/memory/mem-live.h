/*
 * Live objects of a profile, by id.
 *
 * Most objects die young, and ids count up: an object is stored by its id in a ring of the latest
 * ones. An object that outlives the ring moves to a hash map. Any ids work; ids that do not count
 * up are slower.
 */
#ifndef TRACE_MEM_LIVE_H
#define TRACE_MEM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Half a cache line. */
struct mem_object {
	int64_t id;
	uint64_t samples;     /* never 0 for a live object; 0: removed */
	uint64_t made_us;     /* microseconds since the Unix epoch */
	uint32_t epoch;	      /* number of peaks before its allocation */
	uint32_t node : 24;   /* end of its stack, below MPROF_PROFILE_NODES_MAX */
	uint32_t source : 2;  /* enum mprof_mem_source */
	uint32_t minor : 1;   /* it is in the minor heap */
	uint32_t counted : 1; /* it counts as live */
};

#define MEM_NODE_MASK 0xffffffu

/* Fields that only a selection needs. */
struct mem_details {
	uint64_t promoted_us;
	uint64_t length;
	uint64_t number; /* number of allocs before it */
};

/*
 * Size of the ring: 128 KiB, which fits a cache, and more samples than a minor collection leaves.
 */
#define MEM_LIVE_YOUNG 4096u

struct mem_live_place;

struct mem_live {
	struct mem_object *young;	   /* MEM_LIVE_YOUNG of them, or NULL; samples 0: empty */
	struct mem_details *young_details; /* details of each, or NULL */
	/* Older objects: */
	struct mem_live_place *places;
	struct mem_object *objects;  /* USED of them, live ones and free ones with samples 0 */
	struct mem_details *details; /* details of each, or NULL */
	uint64_t seed;
	size_t n;
	size_t room; /* size of PLACES, a power of two, or 0 */
	uint32_t used, objects_room;
	uint32_t unused; /* first free object; its EPOCH is the next one */
	int64_t top;	 /* upper bound of the ids in here */
	bool detailed;
};

/* Make an empty set, with details when DETAILED. */
void mem_live_init(struct mem_live *live, uint64_t seed, bool detailed);
void mem_live_deinit(struct mem_live *live);
/*
 * Add an object with a new ID. Return its place, which the caller fills at once with that id and
 * samples above 0; valid until the next add or remove. Return NULL without memory, with nothing
 * changed.
 */
static inline struct mem_object *mem_live_add(struct mem_live *live, int64_t id);
/* Return the object ID, valid until the next add or remove, or NULL. */
static inline struct mem_object *mem_live_find(struct mem_live *live, int64_t id);
/* Remove OBJECT, a result of mem_live_find(). */
static inline void mem_live_remove(struct mem_live *live, struct mem_object *object);
/*
 * Return the details of a live OBJECT, valid as long as the object; the caller fills those of a new
 * one.
 */
struct mem_details *mem_live_details(const struct mem_live *live, const struct mem_object *object);
/* List all objects, unordered: items 0 up to mem_live_end(), NULL for an empty one. */
uint32_t mem_live_end(const struct mem_live *live);
const struct mem_object *mem_live_at(const struct mem_live *live, uint32_t i);

/* Free the place of ID in the ring. Return false without memory, with nothing changed. */
bool mem_live_make_free(struct mem_live *live, int64_t id);
struct mem_object *mem_live_find_old(struct mem_live *live, int64_t id);
void mem_live_remove_old(struct mem_live *live, struct mem_object *object);

/* Prefetch what adding (ADDED) or finding ID will touch. Results are the same without it. */
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
