/*
 * The text formats of `mem export`. Names of functions come from guests, so all names are escaped
 * for the format.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "mem-formats.h"
#include "output-writer.h"

/* Most bytes that one call of mem_put_format() writes. */
#define FORMAT_MAX 400u
/* Longest part of a name that is written; names from a guest can have any length. */
#define NAME_MAX_BYTES 4096u

const char *mem_name(const struct mprof_mem *m, const struct mprof_flame_node *node, size_t *bytes)
{
	const char *name = node->code == MPROF_CODE_TRUNCATED ? "(truncated stack)"
			   : node->code == MPROF_CODE_UNKNOWN ? "(unknown stack)"
							      : "all";

	if (node->name != MPROF_NONE)
		name = mprof_mem_string(m, node->name, bytes);
	else
		*bytes = strlen(name);
	if (*bytes > NAME_MAX_BYTES)
		*bytes = NAME_MAX_BYTES;
	return name;
}

void mem_put_xml(struct writer *out, const char *text, size_t bytes)
{
	char piece[512];

	while (bytes) {
		size_t n = mprof_text_show(piece, sizeof(piece), &text, &bytes);

		for (size_t i = 0; i < n; i++) {
			const char *entity = piece[i] == '&'	? "&amp;"
					     : piece[i] == '<'	? "&lt;"
					     : piece[i] == '>'	? "&gt;"
					     : piece[i] == '"'	? "&quot;"
					     : piece[i] == '\'' ? "&#39;"
								: NULL;

			writer_put(out, entity ? entity : piece + i, entity ? strlen(entity) : 1);
		}
	}
}

void mem_put_format(struct writer *out, const char *format, ...)
{
	char *at = writer_room(out, FORMAT_MAX);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(at, FORMAT_MAX, format, args);
	va_end(args);
	writer_advance(out, n < 0 ? 0 : (size_t)n < FORMAT_MAX ? (size_t)n : FORMAT_MAX - 1);
}

/*
 * The collapsed format, for the usual flame graph scripts. Each stack that allocates is a line
 * `caller;callee SAMPLES`.
 */

CLEANUP_DEFINE(struct mprof_flame, mprof_flame_free)

/*
 * Write the name of the node's function as a frame. Semicolons and newlines in the name are
 * replaced, because they separate frames and stacks in this format.
 */
static void put_frame(struct writer *out, const struct mprof_mem *m, const struct mprof_flame_node *node)
{
	size_t bytes;
	const char *name = mem_name(m, node, &bytes);

	while (bytes) {
		char *room = writer_room(out, 4096);
		size_t n = mprof_text_show(room, 4096, &name, &bytes);

		for (size_t i = 0; i < n; i++)
			room[i] = room[i] == ';' ? '_' : room[i];
		writer_advance(out, n);
	}
}

/*
 * Write the line's frames: the nodes PATH[1] (the outermost) to PATH[DEPTH]. If the stack
 * has too many frames, write only the innermost, behind "(...)".
 */
static void put_stack(struct mem_format_job *f, struct writer *out, const struct mprof_flame_node *nodes,
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

static int put_all(struct mem_format_job *f, struct writer *out, const struct mprof_flame *flame)
{
	uint32_t n, most = 1, at = 0;
	const struct mprof_flame_node *nodes = mprof_flame_nodes(flame, &n);
	CLEANUP(freep) uint32_t *path = NULL;

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

int mem_write_collapsed(struct mem_format_job *f)
{
	const struct mprof_flame_options options = {.hidden = f->filter->hidden, .n_hidden = f->filter->n_hidden};
	CLEANUP(mprof_flame_freep)
	struct mprof_flame *flame = mprof_flame_new(f->l->profile, f->l->in.decoder, &options);
	CLEANUP(writer_deinit) struct writer out = {0};

	if (!flame || !writer_init(&out, f->out->fd))
		return -ENOMEM;
	return put_all(f, &out, flame);
}

/* The JSON format, for programs: the profile's stacks as a tree, and a description of each code. */

static void put(struct writer *out, const char *text)
{
	writer_put(out, text, strlen(text));
}

static void put_string(struct writer *out, const struct mprof_mem *m, uint32_t i)
{
	size_t bytes;
	const char *text = mprof_mem_string(m, i, &bytes);

	put(out, "\"");
	write_json_text(out, text, bytes);
	put(out, "\"");
}

static void put_head(struct writer *out, const struct mem_load *l)
{
	const struct mprof_mem_info *info = mprof_mem_info(l->in.decoder);
	const struct mprof_profile_sums *s = mprof_profile_sums(l->profile);

	put(out, "{\"program\":\"");
	write_json_text(out, info->program, strlen(info->program));
	put(out, "\",\"context\":\"");
	write_json_text(out, info->context, strlen(info->context));
	mem_put_format(out,
		       "\",\"start_us\":\"%" PRIu64 "\",\"last_us\":\"%" PRIu64 "\",\"rate\":%.17g,\"word_bytes\":%u,",
		       info->start_us, l->whole.last_us, info->rate, info->word_bytes);
	mem_put_format(out,
		       "\"bytes_per_sample\":%.17g,\"samples\":%" PRIu64 ",\"live\":%" PRIu64 ",\"peak\":%" PRIu64
		       ",\"peak_us\":\"%" PRIu64 "\",\n",
		       mprof_mem_scale(l->in.decoder), s->samples[0] + s->samples[1] + s->samples[2], s->live, s->peak,
		       s->peak_us);
}

static void put_codes(struct writer *out, const struct mprof_mem *m)
{
	uint32_t n = mprof_mem_codes(m);

	put(out, "\"codes\":[");
	for (uint32_t i = 0; i < n && !out->error; i++) {
		const struct mprof_mem_code *code = mprof_mem_code(m, i);

		mem_put_format(out, "%s{\"code\":\"%" PRId64 "\",\"locations\":[", i ? ",\n" : "",
			       (int64_t)(code->code << 1) >> 1);
		for (uint32_t k = 0; k < code->locations; k++) {
			const struct mprof_mem_location *l = mprof_mem_location(m, code->first_location + k);

			put(out, k ? ",{\"function\":" : "{\"function\":");
			put_string(out, m, l->function);
			put(out, ",\"file\":");
			put_string(out, m, l->file);
			mem_put_format(out, ",\"line\":%u,\"first\":%u,\"last\":%u}", l->line, l->first, l->last);
		}
		put(out, "]}");
	}
	put(out, "],\n");
}

static void put_node(struct writer *out, const struct mprof_profile_node *node)
{
	if (node->parent == MPROF_NONE)
		put(out, "{\"parent\":null,");
	else
		mem_put_format(out, ",\n{\"parent\":%u,", node->parent);
	if (node->code < MPROF_CODE_UNKNOWN)
		mem_put_format(out, "\"code\":%u,", node->code);
	else
		mem_put_format(out, "\"code\":%s,",
			       node->code == MPROF_CODE_TRUNCATED ? "\"truncated\""
			       : node->code == MPROF_CODE_UNKNOWN ? "\"unknown\""
								  : "null");
	mem_put_format(out, "\"allocs\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"live\":%" PRIu64 ",\"peak\":%" PRIu64 "}",
		       node->allocs, node->samples, node->live, node->peak);
}

int mem_write_json(struct mem_format_job *f)
{
	CLEANUP(writer_deinit) struct writer out = {0};
	const struct mprof_profile_node *nodes;
	uint32_t n;

	nodes = mprof_profile_nodes(f->l->profile, &n);
	if (!nodes || !writer_init(&out, f->out->fd))
		return -ENOMEM;
	put_head(&out, f->l);
	put_codes(&out, f->l->in.decoder);
	put(&out, "\"nodes\":[");
	for (uint32_t i = 0; i < n && !out.error; i++)
		put_node(&out, &nodes[i]);
	put(&out, "]}\n");
	return writer_flush(&out);
}

/*
 * The speedscope format. One file holds three profiles: all allocated objects, the objects that
 * lived at the end, and those that lived at the peak.
 *
 * The profiles are of speedscope's type "evented", which has one event to open a node of the tree
 * and one to close it. So the file's size depends on the number of nodes and not on the depth of
 * the stacks.
 */
struct speedscope {
	struct mem_format_job *f;
	struct writer out;
	/*
	 * By the number of the string, with two more entries for the two kinds of unknown stacks:
	 * the number of the frame with that name, or MPROF_NONE if there is no frame yet.
	 */
	uint32_t *frame_of;
	uint32_t *frames; /* by the number of the frame: the number of its string */
	uint32_t n_frames, n_strings;
	double scale;
	bool begun; /* an event was written */
};

static void speedscope_deinit(struct speedscope *s)
{
	writer_deinit(&s->out);
	free(s->frame_of);
	free(s->frames);
}

static uint32_t frame_get(struct speedscope *s, const struct mprof_flame_node *node)
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

static void put_step(struct speedscope *s, char type, const struct mprof_flame_node *node, uint64_t samples)
{
	if (node->parent == MPROF_NONE)
		return;
	mem_put_format(&s->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%.0f}", s->begun ? ",\n" : "", type,
		       frame_get(s, node), (double)samples * s->scale);
	s->begun = true;
}

/* Write the samples from BEGIN to END, whose stacks have no frame, as those of an unknown stack. */
static void put_stackless(struct speedscope *s, uint64_t begin, uint64_t end)
{
	const struct mprof_flame_node unknown = {.parent = 0, .name = MPROF_NONE, .code = MPROF_CODE_UNKNOWN};

	if (begin == end)
		return;
	put_step(s, 'O', &unknown, begin);
	put_step(s, 'C', &unknown, end);
}

/*
 * Write the events of all nodes. A node opens where its first child opens, and stays open for its
 * total number of samples. ENDS has room for one number per depth; put_events() overwrites it.
 */
static void put_events(struct speedscope *s, const struct mprof_flame_node *nodes, uint64_t *ends)
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
			if (nodes[at].parent == MPROF_NONE)
				put_stackless(s, begin, ends[0]);
			begin = ends[nodes[at].depth];
			put_step(s, 'C', &nodes[at], begin);
			next = nodes[at].next_sibling;
			if (nodes[at].parent == MPROF_NONE)
				return;
		}
		at = next;
	}
}

static int put_profile(struct speedscope *s, const char *name, enum mprof_weight weight)
{
	const struct mem_filter *filter = s->f->filter;
	const struct mprof_flame_options options = {
		.weight = weight, .hidden = filter->hidden, .n_hidden = filter->n_hidden};
	CLEANUP(mprof_flame_freep)
	struct mprof_flame *flame = mprof_flame_new(s->f->l->profile, s->f->l->in.decoder, &options);
	CLEANUP(freep) uint64_t *ends = NULL;
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
	put(&s->out, "]}");
	return -s->out.error;
}

static void put_frames(struct speedscope *s)
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
		put(&s->out, i ? ",\n{\"name\":\"" : "{\"name\":\"");
		write_json_text(&s->out, name, bytes);
		put(&s->out, "\"}");
	}
}

int mem_write_speedscope(struct mem_format_job *f)
{
	const struct mprof_mem *d = f->l->in.decoder;
	CLEANUP(speedscope_deinit)
	struct speedscope s = {.f = f, .n_strings = mprof_mem_strings(d), .scale = mprof_mem_scale(f->l->in.decoder)};
	const char *program = mprof_mem_info(d)->program;
	size_t room = s.n_strings + 2u;
	int r;

	s.frame_of = malloc(room * sizeof(*s.frame_of));
	s.frames = malloc(room * sizeof(*s.frames));
	if (!s.frame_of || !s.frames || !writer_init(&s.out, f->out->fd))
		return -ENOMEM;
	memset(s.frame_of, 0xff, room * sizeof(*s.frame_of));
	put(&s.out, "{\"$schema\":\"https://www.speedscope.app/"
		    "file-format-schema.json\",\"exporter\":\"mprofctl\",\"name\":\"");
	write_json_text(&s.out, program, strlen(program));
	put(&s.out, "\",\"activeProfileIndex\":0,\"profiles\":[");
	r = put_profile(&s, "allocated", MPROF_WEIGHT_ALL);
	r = r ? r : put_profile(&s, "live at the end", MPROF_WEIGHT_LIVE);
	r = r ? r : put_profile(&s, "live at the peak", MPROF_WEIGHT_PEAK);
	if (r)
		return r;
	put(&s.out, "],\n\"shared\":{\"frames\":[");
	put_frames(&s);
	put(&s.out, "]}}\n");
	return writer_flush(&s.out);
}
