/* The strings of a model: each text once, in one arena, named by a number. */
#ifndef TRACE_INTERN_H
#define TRACE_INTERN_H

#include <mprof/model.h>

#include "grow.h"
#include "map.h"

struct intern {
	struct grow list;  /* struct mprof_string */
	struct grow arena; /* char */
	struct map map;	   /* hash of the text to string; the next free key where two texts have one hash */
	uint64_t lost;	   /* texts that did not fit in an arena of 4 GiB */
};

void intern_init(struct intern *s, uint64_t seed);
void intern_deinit(struct intern *s);
/* The string with the BYTES bytes at TEXT, or MPROF_NONE without memory. */
uint32_t intern_add(struct intern *s, const char *text, size_t bytes);

static inline const struct mprof_string *intern_at(const struct intern *s, uint32_t i)
{
	return (const struct mprof_string *)s->list.items + i;
}

static inline const char *intern_text(const struct intern *s, uint32_t i)
{
	return (const char *)s->arena.items + intern_at(s, i)->offset;
}

#endif
