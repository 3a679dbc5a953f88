/*
 * Codes, the addresses in a recording's stacks: each different code gets a small number, its index,
 * and has its locations.
 */
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

/*
 * Bytes of a memtrace packet, which may end anywhere. All integers are little-endian and unaligned.
 * The format is that of OCaml's memtrace library.
 */
/* Bytes not read yet. */
struct mem_bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static inline bool mem_has(const struct mem_bytes *b, size_t n)
{
	return (size_t)(b->end - b->at) >= n;
}

/*
 * Read the format's variable-length integer of one, three, five or nine bytes; the one of five
 * bytes is signed. Return false when the bytes end inside it.
 */
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

/*
 * Limits, because a stream must not decide how much memory it takes. Codes, locations and names
 * past the limits are counted in UNNAMED.
 */
#define MEM_CODES_MAX	  (1u << 21)
#define MEM_LOCATIONS_MAX (1u << 21)
#define MEM_NAMES_MAX	  (64u << 20) /* bytes */

struct mem_codes {
	/* struct mprof_mem_code; item 0 is code 0, the initial content of the caches */
	struct grow list;
	struct grow locations; /* struct mprof_mem_location */
	struct map map;	       /* from code to its index in LIST */
	struct intern names;
	uint64_t unnamed; /* codes, locations and names past the limits */
};

/*
 * Make an empty table. SEED is that of struct mprof_mem_options. Return false without memory. Call
 * mem_codes_deinit() in any case.
 */
bool mem_codes_init(struct mem_codes *codes, uint64_t seed);
void mem_codes_deinit(struct mem_codes *codes);

/*
 * Return the index of CODE, and add CODE if it is new. Return 0 for a new code past the limit, or
 * MPROF_NONE without memory.
 */
uint32_t mem_codes_index(struct mem_codes *codes, uint64_t code);
/*
 * Return the string that is the BYTES bytes at TEXT, and add it if it is new. Return the string "?"
 * for a new text past the limit, or MPROF_NONE without memory.
 */
uint32_t mem_codes_name(struct mem_codes *codes, const char *text, size_t bytes);
/*
 * Set the N locations of CODE to LIST, unless CODE has locations already. Return false without
 * memory.
 */
bool mem_codes_explain(struct mem_codes *codes, uint64_t code, const struct mprof_mem_location *list, uint32_t n);

/* ---- names ---- */

/*
 * Move-to-front tables of a domain's location events: recent files, and for each file its recent
 * functions.
 */
#define MEM_NAMES_LEVEL 31u

struct mem_functions {
	uint32_t name[MEM_NAMES_LEVEL];
	uint32_t n;
};

struct mem_file {
	uint32_t name;
	struct mem_functions functions;
};

/* Zeroed: an empty table. */
struct mem_names {
	struct mem_file *files[MEM_NAMES_LEVEL]; /* most recently used first; owned */
	uint32_t n;
};

enum mem_names_result {
	MEM_NAMES_OK = 0,
	MEM_NAMES_WRONG, /* the bytes are not what a writer writes: the tables differ from the writer's */
	MEM_NAMES_NOMEM,
};

void mem_names_deinit(struct mem_names *names);
/* Read the body of a location event from B and set the locations of the event's code. */
enum mem_names_result mem_names_read(struct mem_names *names, struct mem_bytes *b, struct mem_codes *codes);

#endif
