/* The codes of a trace's stacks, which are addresses, as small numbers, with what the stream tells of them. */
#ifndef TRACE_MEM_CODES_H
#define TRACE_MEM_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/bytes.h>
#include <mprof/memtrace.h>

#include "grow.h"
#include "map.h"

/* ---- bytes ---- */

/* Reading private bytes of a memtrace packet, which may end anywhere.  All integers are little-endian, nothing is aligned. */
/* What is left of a piece of bytes. */
struct mem_bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static inline bool mem_has(const struct mem_bytes *b, size_t n)
{
	return (size_t)(b->end - b->at) >= n;
}

/* The format's number of one, three, five or nine bytes; four of them are signed.  False where it does not end. */
static inline bool mem_vint(struct mem_bytes *b, uint64_t *value)
{
	uint8_t first;

	if (!mem_has(b, 1))
		return false;
	first = *b->at++;
	if (first < 253) {
		*value = first;
		return true;
	}
	if (!mem_has(b, first == 253 ? 2 : first == 254 ? 4 : 8))
		return false;
	if (first == 253) {
		*value = mprof_load16(b->at);
		b->at += 2;
	} else if (first == 254) {
		*value = (uint64_t)(int64_t)(int32_t)mprof_load32(b->at);
		b->at += 4;
	} else {
		*value = mprof_load64(b->at);
		b->at += 8;
	}
	return true;
}

/* ---- codes ---- */

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

/* ---- names ---- */

/* The two levels of names that a domain's location events refer to: the files named last, and of each the functions named last. */
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
