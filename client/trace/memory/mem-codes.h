/* The codes of a trace's stacks, which are addresses, as small numbers, with what the stream tells of them. */
#ifndef TRACE_MEM_CODES_H
#define TRACE_MEM_CODES_H

#include <mprof/memtrace.h>

#include "grow.h"
#include "intern.h"
#include "map.h"

/* Past these nothing more is kept: a stream must not decide how much memory it takes. */
#define MEM_CODES_MAX	  (1u << 21)
#define MEM_LOCATIONS_MAX (1u << 21)
#define MEM_NAMES_MAX	  (64u << 20) /* bytes */

struct mem_codes {
	struct grow list;      /* struct mprof_mem_code; 0 is the code 0 that caches begin with */
	struct grow locations; /* struct mprof_mem_location */
	struct map map;	       /* code to index */
	struct intern names;
	uint64_t unnamed; /* what came past the limits */
};

/* False without memory; deinit it in any case. */
bool mem_codes_init(struct mem_codes *codes, uint64_t seed);
void mem_codes_deinit(struct mem_codes *codes);

/* The index of CODE, a new one where it was not met; past the limit that of code 0.  MPROF_NONE without memory. */
uint32_t mem_codes_index(struct mem_codes *codes, uint64_t code);
/* The string with BYTES bytes at TEXT; past the limit that of "?".  MPROF_NONE without memory. */
uint32_t mem_codes_name(struct mem_codes *codes, const char *text, size_t bytes);
/* What N locations CODE stands for.  What was told of it first stays.  False without memory. */
bool mem_codes_explain(struct mem_codes *codes, uint64_t code, const struct mprof_mem_location *list, uint32_t n);

#endif
