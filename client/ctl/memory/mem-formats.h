/*
 * The formats of `mem export`; and the names of functions in a memory profile, escaped for the
 * place that they are written to.
 */
#ifndef CTL_MEM_FORMATS_H
#define CTL_MEM_FORMATS_H

#include <mprof/flame.h>

#include "mem-load.h"
#include "output-writer.h"
#include "output.h"

/*
 * Return the name of a node of the flame graph: a function, a place of allocation, or a text for an
 * unknown stack. The name has *BYTES raw bytes and belongs to M.
 */
const char *mem_name(const struct mprof_mem *m, const struct mprof_flame_node *node, size_t *bytes);

/*
 * Write BYTES bytes at TEXT for the inside of an XML element or attribute. Markup is escaped, and
 * characters that XML forbids are replaced.
 */
void mem_put_xml(struct writer *out, const char *text, size_t bytes);
void mem_put_format(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The formats, mem_write_*(). Each writes a loaded profile and returns 0 or -errno. */

/*
 * Limits on formats that write each stack as a list of frames. The lists can be longer than the
 * profile by any factor. A list has at most the MEM_FRAMES_MAX innermost frames. After
 * MEM_FRAMES_ALL frames of all lists, a list has at most MEM_FRAMES_LATER.
 */
#define MEM_FRAMES_MAX	 4096u
#define MEM_FRAMES_LATER 64u
#define MEM_FRAMES_ALL	 (64u << 20)

struct mem_format_job {
	struct mem_load *l;
	const struct mem_filter *filter;
	struct output *out;
	uint64_t frames; /* number of frames in all lists so far */
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
