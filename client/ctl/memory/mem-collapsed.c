/* Folded stacks: one line for each stack that allocates, `caller;callee SAMPLES`, as the usual scripts for flame graphs take them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mem-formats.h"
#include "mem-name.h"
#include "scope.h"
#include "writer.h"

SCOPED_DEFINE(struct mprof_flame, mprof_flame_free)

/* A function's name as a frame: those are told apart by semicolons, and lines end. */
static void put_frame(struct writer *out, const struct mprof_mem *d, const struct mprof_flame_node *node)
{
	size_t bytes;
	const char *name = mem_name(d, node, &bytes);

	while (bytes) {
		char *room = writer_room(out, 4096);
		size_t n = mprof_text_show(room, 4096, &name, &bytes);

		for (size_t i = 0; i < n; i++)
			room[i] = room[i] == ';' ? '_' : room[i];
		writer_advance(out, n);
	}
}

/* The stack that ends at PATH[DEPTH]. */
static void put_stack(struct mem_formatting *f, struct writer *out, const struct mprof_flame_node *nodes,
		      const uint32_t *path, uint32_t depth)
{
	uint32_t most = mem_frames_most(f), first = depth > most ? depth - most + 1 : 1;

	if (first > 1) {
		f->cut++;
		writer_put(out, "(...);", 6);
	}
	for (uint32_t i = first; i <= depth; i++) {
		if (i > first)
			writer_put(out, ";", 1);
		put_frame(out, f->l->in.decoder, &nodes[path[i]]);
	}
	f->frames += depth - first + 1;
	mem_put_format(out, "%s %" PRIu64 "\n", depth ? "" : "(no stack)", nodes[path[depth]].self);
}

static int put_all(struct mem_formatting *f, struct writer *out, const struct mprof_flame *flame)
{
	uint32_t n, most = 1, at = 0;
	const struct mprof_flame_node *nodes = mprof_flame_nodes(flame, &n);
	SCOPED(freep) uint32_t *path = NULL;

	for (uint32_t i = 0; i < n; i++)
		most = nodes[i].depth > most ? nodes[i].depth : most;
	path = malloc((most + 1u) * sizeof(*path));
	if (!path)
		return -ENOMEM;
	while (at != MPROF_NONE && !out->error) {
		path[nodes[at].depth] = at;
		if (nodes[at].self)
			put_stack(f, out, nodes, path, nodes[at].depth);
		if (nodes[at].first_child != MPROF_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		while (at != MPROF_NONE && nodes[at].next_sibling == MPROF_NONE)
			at = nodes[at].parent;
		at = at == MPROF_NONE ? at : nodes[at].next_sibling;
	}
	return writer_flush(out);
}

int mem_write_collapsed(struct mem_formatting *f)
{
	const struct mprof_flame_options options = {.hidden = f->filter->hidden, .n_hidden = f->filter->n_hidden};
	SCOPED(mprof_flame_freep)
	struct mprof_flame *flame = mprof_flame_new(f->l->profile, f->l->in.decoder, &options);
	SCOPED(writer_deinit) struct writer out = {0};

	if (!flame || !writer_init(&out, f->out->fd))
		return -ENOMEM;
	return put_all(f, &out, flame);
}
