/*
 * A profile for speedscope: three in one file, of what was allocated, lived at the end, and lived at the peak.
 *
 * They are "evented" ones, where each function is opened and closed once: the file is as large as the tree, whatever the depth of its stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem-formats.h"
#include "mem-name.h"
#include "scope.h"
#include "write-json.h"
#include "writer.h"

SCOPED_DEFINE(struct mprof_flame, mprof_flame_free)

struct scoping {
	struct mem_formatting *f;
	struct writer out;
	uint32_t *frame_of; /* of each string, and of the two stacks that are none: its frame, or MPROF_NONE */
	uint32_t *frames;   /* the strings of the frames so far */
	uint32_t n_frames, n_strings;
	double scale;
	bool begun; /* an event was written */
};

static void scoping_deinit(struct scoping *s)
{
	writer_deinit(&s->out);
	free(s->frame_of);
	free(s->frames);
}

static void put(struct scoping *s, const char *text)
{
	writer_put(&s->out, text, strlen(text));
}

static uint32_t frame_get(struct scoping *s, const struct mprof_flame_node *node)
{
	uint32_t string = node->name != MPROF_NONE	       ? node->name
			  : node->code == MPROF_CODE_TRUNCATED ? s->n_strings
							       : s->n_strings + 1;

	if (s->frame_of[string] == MPROF_NONE) {
		s->frames[s->n_frames] = string;
		s->frame_of[string] = s->n_frames++;
	}
	return s->frame_of[string];
}

static void put_step(struct scoping *s, char type, const struct mprof_flame_node *node, uint64_t samples)
{
	if (node->parent == MPROF_NONE)
		return;
	mem_put_format(&s->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%.0f}", s->begun ? ",\n" : "", type,
		       frame_get(s, node), (double)samples * s->scale);
	s->begun = true;
}

/* Each node is open from where its first child begins to that and its total. */
static void put_events(struct scoping *s, const struct mprof_flame_node *nodes, uint64_t *ends)
{
	uint32_t at = 0, next;
	uint64_t begin = 0;

	for (;;) {
		put_step(s, 'O', &nodes[at], begin);
		ends[nodes[at].depth] = begin + nodes[at].total;
		if (nodes[at].first_child != MPROF_NONE) {
			at = nodes[at].first_child;
			continue;
		}
		for (next = MPROF_NONE; next == MPROF_NONE; at = nodes[at].parent) {
			begin = ends[nodes[at].depth];
			put_step(s, 'C', &nodes[at], begin);
			next = nodes[at].next_sibling;
			if (nodes[at].parent == MPROF_NONE)
				return;
		}
		at = next;
	}
}

static int put_profile(struct scoping *s, const char *name, enum mprof_weight weight)
{
	const struct mem_filter *filter = s->f->filter;
	const struct mprof_flame_options options = {
		.weight = weight, .hidden = filter->hidden, .n_hidden = filter->n_hidden};
	SCOPED(mprof_flame_freep)
	struct mprof_flame *flame = mprof_flame_new(s->f->l->profile, s->f->l->in.decoder, &options);
	SCOPED(freep) uint64_t *ends = NULL;
	const struct mprof_flame_node *nodes;
	uint32_t n, most = 0;

	if (!flame)
		return -ENOMEM;
	nodes = mprof_flame_nodes(flame, &n);
	for (uint32_t i = 0; i < n; i++)
		most = nodes[i].depth > most ? nodes[i].depth : most;
	ends = calloc(most + 1u, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	mem_put_format(&s->out,
		       "%s{\"type\":\"evented\",\"name\":\"%s\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%.0f,"
		       "\"events\":[",
		       weight == MPROF_WEIGHT_ALL ? "" : ",\n", name, (double)nodes[0].total * s->scale);
	s->begun = false;
	put_events(s, nodes, ends);
	put(s, "]}");
	return -s->out.error;
}

static void put_frames(struct scoping *s)
{
	for (uint32_t i = 0; i < s->n_frames; i++) {
		struct mprof_flame_node node = {.name = s->frames[i], .code = MPROF_NONE};
		const char *name;
		size_t bytes;

		if (s->frames[i] >= s->n_strings) {
			node.name = MPROF_NONE;
			node.code = s->frames[i] == s->n_strings ? MPROF_CODE_TRUNCATED : MPROF_CODE_UNKNOWN;
		}
		name = mem_name(s->f->l->in.decoder, &node, &bytes);
		put(s, i ? ",\n{\"name\":\"" : "{\"name\":\"");
		write_json_text(&s->out, name, bytes);
		put(s, "\"}");
	}
}

int mem_write_speedscope(struct mem_formatting *f)
{
	const struct mprof_mem *d = f->l->in.decoder;
	SCOPED(scoping_deinit)
	struct scoping s = {.f = f, .n_strings = mprof_mem_strings(d), .scale = mem_load_scale(f->l)};
	const char *program = mprof_mem_info(d)->program;
	size_t room = s.n_strings + 2u;
	int r;

	s.frame_of = malloc(room * sizeof(*s.frame_of));
	s.frames = malloc(room * sizeof(*s.frames));
	if (!s.frame_of || !s.frames || !writer_init(&s.out, f->out->fd))
		return -ENOMEM;
	memset(s.frame_of, 0xff, room * sizeof(*s.frame_of));
	put(&s, "{\"$schema\":\"https://www.speedscope.app/"
		"file-format-schema.json\",\"exporter\":\"mprofctl\",\"name\":\"");
	write_json_text(&s.out, program, strlen(program));
	put(&s, "\",\"activeProfileIndex\":0,\"profiles\":[");
	r = put_profile(&s, "allocated", MPROF_WEIGHT_ALL);
	r = r ? r : put_profile(&s, "live at the end", MPROF_WEIGHT_LIVE);
	r = r ? r : put_profile(&s, "live at the peak", MPROF_WEIGHT_PEAK);
	if (r)
		return r;
	put(&s, "],\n\"shared\":{\"frames\":[");
	put_frames(&s);
	put(&s, "]}}\n");
	return writer_flush(&s.out);
}
