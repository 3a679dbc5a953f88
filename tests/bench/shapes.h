/* Shapes of traces that are expensive to load, one event at a time, for model-load. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/trace.h>

struct shape {
	const char *name;
	uint32_t events; /* events of each thread */
	/* Make event K of thread I, of N threads. Its text goes to TEXT, which has 32 bytes. */
	void (*event)(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text);
};

/* Return the shape with the name NAME, or NULL. */
const struct shape *shape_find(const char *name);

#endif
