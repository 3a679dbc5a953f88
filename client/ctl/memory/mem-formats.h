/* The formats of `mem export`: each writes a loaded profile, and returns 0 or a -errno. */
#ifndef CTL_MEM_FORMATS_H
#define CTL_MEM_FORMATS_H

#include "mem-filter.h"
#include "mem-load.h"
#include "output.h"

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
