/* Names of a memory profile's functions, safe for what they are written into. */
#ifndef CTL_MEM_FORMATS_H
#define CTL_MEM_FORMATS_H

#include <mprof/flame.h>

#include "mem-load.h"
#include "output.h"
#include "writer.h"

/* What a node is called: a function, a place of allocation, or what stands for a stack.  Raw bytes into *BYTES; lent. */
const char *mem_name(const struct mprof_mem *d, const struct mprof_flame_node *node, size_t *bytes);

/* Write BYTES bytes at TEXT inside of an element or attribute of XML: no byte of it is markup, and none is a character that XML forbids. */
void mem_put_xml(struct writer *out, const char *text, size_t bytes);
void mem_put_format(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The formats of `mem export`: each writes a loaded profile, and returns 0 or a -errno. */

/* Of a stack that is written as a list of frames so many, the innermost; fewer once so many were written in all: lists can be longer than what they
 * are made of by any factor. */
#define MEM_FRAMES_MAX	 4096u
#define MEM_FRAMES_LATER 64u
#define MEM_FRAMES_ALL	 (64u << 20)

struct mem_formatting {
	struct mem_load *l;
	const struct mem_filter *filter;
	struct output *out;
	uint64_t frames; /* written so far in lists */
	uint64_t cut;	 /* stacks of which frames were left out */
};

static inline uint32_t mem_frames_most(const struct mem_formatting *f)
{
	return f->frames < MEM_FRAMES_ALL ? MEM_FRAMES_MAX : MEM_FRAMES_LATER;
}

int mem_write_collapsed(struct mem_formatting *f);
int mem_write_speedscope(struct mem_formatting *f);
int mem_write_pprof(struct mem_formatting *f);
int mem_write_json(struct mem_formatting *f);

#endif
