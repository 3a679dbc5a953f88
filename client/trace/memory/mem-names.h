/* The two levels of names that a domain's location events refer to: the files named last, and of each the functions named last. */
#ifndef TRACE_MEM_NAMES_H
#define TRACE_MEM_NAMES_H

#include "mem-bytes.h"
#include "mem-codes.h"

#define MEM_NAMES_LEVEL 31u

struct mem_functions {
	uint32_t name[MEM_NAMES_LEVEL];
	uint32_t n;
};

struct mem_file {
	uint32_t name;
	struct mem_functions functions;
};

/* Zeroed it is empty. */
struct mem_names {
	struct mem_file *files[MEM_NAMES_LEVEL]; /* the one named last first; owned */
	uint32_t n;
};

enum mem_names_result {
	MEM_NAMES_OK = 0,
	MEM_NAMES_WRONG, /* this is not what a writer writes: the tables are not its any more */
	MEM_NAMES_NOMEM,
};

void mem_names_deinit(struct mem_names *names);
/* Take the body of a location event from B and explain its code. */
enum mem_names_result mem_names_read(struct mem_names *names, struct mem_bytes *b, struct mem_codes *codes);

#endif
