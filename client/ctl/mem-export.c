/* `mprofctl mem export`: a memory profile for other programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mem-load.h"
#include "mem.h"
#include "near.h"
#include "scope.h"
#include "writer.h"

SCOPED_DEFINE(struct mprof_flame, mprof_flame_free)

/* A function's name as a frame of a folded stack: those are told apart by semicolons, and the count by a blank. */
static void put_frame(struct writer *out, const struct mprof_mem *d, const struct mprof_flame_node *node)
{
	const char *name = node->code == MPROF_CODE_TRUNCATED ? "(truncated stack)" : "(unknown stack)";
	size_t bytes = strlen(name);

	if (node->name != MPROF_NONE)
		name = mprof_mem_string(d, node->name, &bytes);
	while (bytes) {
		char *room = writer_room(out, 4096);
		size_t n = mprof_text_json(room, 4096, &name, &bytes);

		for (size_t i = 0; i < n; i++)
			room[i] = room[i] == ';' || room[i] == '\n' ? '_' : room[i];
		writer_advance(out, n);
	}
}

static void put_number(struct writer *out, uint64_t n)
{
	writer_advance(out, (size_t)snprintf(writer_room(out, 32), 32, " %" PRIu64 "\n", n));
}

/* Folded stacks: one line for each stack that allocates, `caller;callee SAMPLES`. */
static int put_collapsed(struct writer *out, const struct mprof_mem *d, const struct mprof_flame *f)
{
	uint32_t n, depth, most = 1, at = 0;
	const struct mprof_flame_node *nodes = mprof_flame_nodes(f, &n);
	uint32_t *path;

	for (uint32_t i = 0; i < n; i++)
		most = nodes[i].depth > most ? nodes[i].depth : most;
	path = malloc((most + 1u) * sizeof(*path));
	if (!path)
		return -ENOMEM;
	while (at != MPROF_NONE && !out->error) {
		depth = nodes[at].depth;
		path[depth] = at;
		for (uint32_t i = 1; nodes[at].self && i <= depth; i++) {
			if (i > 1)
				writer_put(out, ";", 1);
			put_frame(out, d, &nodes[path[i]]);
		}
		if (nodes[at].self)
			put_number(out, nodes[at].self);
		if (nodes[at].first_child != MPROF_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		while (at != MPROF_NONE && nodes[at].next_sibling == MPROF_NONE)
			at = nodes[at].parent;
		at = at == MPROF_NONE ? at : nodes[at].next_sibling;
	}
	free(path);
	return -out->error;
}

static int write_collapsed(struct mem_load *l, const struct mem_filter *filter)
{
	const struct mprof_flame_options options = {.hidden = filter->hidden, .n_hidden = filter->n_hidden};
	SCOPED(mprof_flame_freep) struct mprof_flame *f = mprof_flame_new(l->profile, l->in.decoder, &options);
	SCOPED(writer_deinit) struct writer out = {0};
	int r;

	if (!f || !writer_init(&out, STDOUT_FILENO))
		return say_memory();
	r = put_collapsed(&out, l->in.decoder, f);
	r = r ? r : writer_flush(&out);
	if (!r || r == -EPIPE)
		return CTL_OK;
	if (r == -ENOMEM)
		return say_memory();
	say("cannot write standard output: %s", strerror(-r));
	return CTL_FAILED;
}

static const struct {
	const char *name;
	int (*write)(struct mem_load *l, const struct mem_filter *f);
} formats[] = {
	{"collapsed", write_collapsed},
};

/* The format NAME, or -1, having said so. */
static int format_find(const char *name)
{
	struct near near = {.word = name};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return (int)i;
		near_offer(&near, formats[i].name);
	}
	if (near.best)
		say_usage("mem", "there is no format \"%s\"; did you mean %s?", name, near.best);
	else
		say_usage("mem", "there is no format \"%s\"", name);
	return -1;
}

int mem_export(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(mem_load_deinit) struct mem_load l = {.in = {.fd = -1}};
	SCOPED(mem_filter_deinit) struct mem_filter f = {0};
	struct mem_filter_options o = {0};
	const char *to = NULL;
	const struct option_def defs[] = {MEM_FILTER_OPTIONS(o), {"--to", NULL, &to, NULL}};
	struct operands left;
	int r = options_parse(argc, argv, defs, sizeof(defs) / sizeof(defs[0]), &left, 1, 1), format, written;

	(void)ctl;
	if (r)
		return r;
	if (!to)
		return say_usage("mem", "mem export: --to FORMAT is missing");
	format = format_find(to);
	if (format < 0)
		return CTL_USAGE;
	r = mem_filter_parse(&f, &o);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	written = formats[format].write(&l, &f);
	return written ? written : r;
}
