/* The objects of a profile that live, by id: a map from which most of what is put in is soon taken out. */
#ifndef TRACE_MEM_LIVE_H
#define TRACE_MEM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mem_object {
	int64_t id;
	uint64_t samples; /* never 0; 0: it is gone */
	uint64_t made_us; /* since the Unix epoch */
	uint64_t promoted_us;
	uint64_t length;
	uint64_t number; /* of allocs before it */
	uint32_t node;	 /* where its stack ends */
	uint32_t epoch;	 /* of the peak before which it was made */
	uint8_t source;	 /* enum mprof_mem_source */
	bool minor;	 /* in the minor heap */
	bool counted;	 /* it is one of those that live */
};

struct mem_live_place;

struct mem_live {
	struct mem_live_place *places;
	struct mem_object *objects; /* USED of them, those that live and those that did: with samples 0 */
	uint64_t seed;
	size_t n;
	size_t room; /* of PLACES, a power of two, or 0 */
	uint32_t used, objects_room;
	uint32_t unused; /* the first object that can be used again; its NODE is the next */
};

void mem_live_init(struct mem_live *live, uint64_t seed);
void mem_live_deinit(struct mem_live *live);
/* The object ID, lent until one is added or removed, or NULL. */
struct mem_object *mem_live_find(struct mem_live *live, int64_t id);
/* Room for one more; false without memory, with nothing changed. */
bool mem_live_reserve(struct mem_live *live);
/* Add one whose id is not there, and for which room was reserved. */
void mem_live_add(struct mem_live *live, const struct mem_object *object);
/* OBJECT is one that mem_live_find() returned. */
void mem_live_remove(struct mem_live *live, struct mem_object *object);

#endif
