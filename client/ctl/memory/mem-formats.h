/*
 * The formats of `mem export`, and names of a memory profile's functions, safe for the place they
 * are written to.
 */
#ifndef CTL_MEM_FORMATS_H
#define CTL_MEM_FORMATS_H

#include <mprof/flame.h>

#include "mem-load.h"
#include "output.h"
#include "writer.h"

/*
 * Return the name of a node: a function, a place of allocation, or a text for an unknown stack. The
 * raw bytes are lent, *BYTES of them.
 */
const char *mem_name(const struct mprof_mem *d, const struct mprof_flame_node *node, size_t *bytes);

/*
 * Write BYTES bytes at TEXT inside of an XML element or attribute, without markup and without
 * characters that XML forbids.
 */
void mem_put_xml(struct writer *out, const char *text, size_t bytes);
void mem_put_format(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The formats. Each writes a loaded profile and returns 0 or -errno. */

/*
 * Limits on stacks written as lists of frames, which can be longer than the profile by any factor.
 * A list has the MEM_FRAMES_MAX innermost frames; once MEM_FRAMES_ALL were written in all,
 * MEM_FRAMES_LATER.
 */
#define MEM_FRAMES_MAX	 4096u
#define MEM_FRAMES_LATER 64u
#define MEM_FRAMES_ALL	 (64u << 20)

struct mem_format_job {
	struct mem_load *l;
	const struct mem_filter *filter;
	struct output *out;
	uint64_t frames; /* written so far in lists */
	uint64_t cut;	 /* number of shortened stacks */
};

static inline uint32_t mem_frames_most(const struct mem_format_job *f)
{
	return f->frames < MEM_FRAMES_ALL ? MEM_FRAMES_MAX : MEM_FRAMES_LATER;
}

int mem_write_collapsed(struct mem_format_job *f);
int mem_write_speedscope(struct mem_format_job *f);
int mem_write_pprof(struct mem_format_job *f);
int mem_write_json(struct mem_format_job *f);

#endif
