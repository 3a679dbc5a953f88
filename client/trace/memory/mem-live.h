/*
 * Live objects of a profile, by id.
 *
 * Most objects die young, and ids count up. So an object is first stored in a ring of the latest
 * MEM_LIVE_YOUNG objects, by its id. An object that outlives the ring is moved to a hash map. Ids
 * that do not count up work as well, but are slower.
 */
#ifndef TRACE_MEM_LIVE_H
#define TRACE_MEM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Half a cache line is the size of an object. */
struct mem_object {
	int64_t id;
	uint64_t samples;     /* samples of the object; 0: the object was removed */
	uint64_t made_us;     /* time of its allocation, microseconds since the Unix epoch */
	uint32_t epoch;	      /* epoch of the tree (mem-tree.h) at its allocation */
	uint32_t node : 24;   /* node of the tree at which its stack ends, below MPROF_PROFILE_NODES_MAX */
	uint32_t source : 2;  /* enum mprof_mem_source */
	uint32_t minor : 1;   /* the object is in the minor heap */
	uint32_t counted : 1; /* the object is part of the sum of live samples */
};

#define MEM_NODE_MASK 0xffffffu

/* Fields that only a selection needs. */
struct mem_details {
	uint64_t promoted_us;
	uint64_t length;
	uint64_t number; /* number of allocs before the object's */
};

/*
 * Number of objects in the ring: 128 KiB, which fits a cache. A minor collection leaves fewer
 * samples than that.
 */
#define MEM_LIVE_YOUNG 4096u

struct mem_live_place;

struct mem_live {
	/* The ring: MEM_LIVE_YOUNG objects, or NULL; an item with samples 0 is free. */
	struct mem_object *young;
	struct mem_details *young_details; /* details of each object of YOUNG, or NULL */
	/* Older objects: */
	struct mem_live_place *places;
	struct mem_object *objects;  /* USED objects; an item with samples 0 is free */
	struct mem_details *details; /* details of each of OBJECTS, or NULL */
	uint64_t seed;
	size_t n;
	size_t room; /* size of PLACES, a power of two, or 0 */
	uint32_t used, objects_room;
	uint32_t unused; /* index of the first free object; EPOCH of a free object is the index of the next one */
	int64_t top;	 /* upper bound of the ids of older objects */
	bool detailed;
};

/*
 * Make an empty set. With DETAILED each object has a struct mem_details. SEED is that of struct
 * mprof_mem_options.
 */
void mem_live_init(struct mem_live *live, uint64_t seed, bool detailed);
void mem_live_deinit(struct mem_live *live);
/*
 * Add an object with an ID that no live object has. Return the place for it, valid until the next
 * add or remove; the caller at once sets its id to ID and its samples to more than 0. Return NULL
 * without memory, with nothing changed.
 */
static inline struct mem_object *mem_live_add(struct mem_live *live, int64_t id);
/* Return the live object ID, valid until the next add or remove, or NULL if there is none. */
static inline struct mem_object *mem_live_find(struct mem_live *live, int64_t id);
/* Remove OBJECT, a result of mem_live_find(). */
static inline void mem_live_remove(struct mem_live *live, struct mem_object *object);
/*
 * Return the details of OBJECT, which must be live. They are valid as long as the object; the
 * caller fills in those of a new object.
 */
struct mem_details *mem_live_details(const struct mem_live *live, const struct mem_object *object);
/*
 * All objects in any order are mem_live_at() of the indices below mem_live_end(); it returns NULL
 * for an item that is free.
 */
uint32_t mem_live_end(const struct mem_live *live);
const struct mem_object *mem_live_at(const struct mem_live *live, uint32_t i);

/*
 * Make the place of ID in the ring free, by moving the object there to the hash map. Return false
 * without memory, with nothing changed.
 */
bool mem_live_make_free(struct mem_live *live, int64_t id);
struct mem_object *mem_live_find_old(struct mem_live *live, int64_t id);
void mem_live_remove_old(struct mem_live *live, struct mem_object *object);

/*
 * Prefetch the memory that adding (ADDED) or finding the object ID will read. Results are the same
 * without this call.
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
