/* What mem-flame.c (callers above) and mem-callers.c (allocators above) share: a tree of functions that grows. */
#ifndef TRACE_MEM_FLAME_H
#define TRACE_MEM_FLAME_H

#include <mprof/flame.h>

#include "grow.h"
#include "map.h"

struct mprof_flame {
	struct grow nodes; /* struct mprof_flame_node */
	uint64_t seed;	   /* the profile's, for maps */
};

static inline struct mprof_flame_node *mem_flame_at(const struct mprof_flame *f, uint32_t i)
{
	return (struct mprof_flame_node *)f->nodes.items + i;
}

/* What tells siblings apart: a name, a location, or a code without either. */
enum mem_flame_key { MEM_FLAME_NAME, MEM_FLAME_LOCATION, MEM_FLAME_CODE };

/* With a root alone; NULL without memory. */
struct mprof_flame *mem_flame_new(uint64_t seed);
/* The child of PARENT for VALUE, a new one where there is none; MPROF_NONE without memory.  MAP has the children of F. */
uint32_t mem_flame_child(struct mprof_flame *f, struct map *map, uint32_t parent, enum mem_flame_key kind,
			 uint32_t value);
/* Every node's own samples are there: add them up and put siblings in order.  False without memory. */
bool mem_flame_finish(struct mprof_flame *f, const struct mprof_mem *d);

#endif
