/*
 * `mprofctl mem flame`: draw a flame graph as an SVG with a small script for zoom and search. Any
 * browser opens the SVG.
 *
 * The picture leaves out frames narrower than 1 / PARTS of its width. If more than FRAMES_MAX
 * frames remain, that least width is doubled until the frames are few enough. The picture states
 * the limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "json.h"
#include "mem-flame-js.h"
#include "mem-formats.h"
#include "mem-load.h"
#include "mem.h"
#include "output.h"
#include "table.h"

#define WIDTH	    1200
#define ROW	    18
#define TOP	    60
#define BOTTOM	    30
#define LETTER	    6.6
#define PARTS	    10000u /* a frame has at least 1 / PARTS of all samples */
#define FRAMES_MAX  30000u
#define DEPTH_MAX   400u
#define TITLE_BYTES 200u

CLEANUP_DEFINE(struct mprof_flame, mprof_flame_free)

struct drawing {
	struct writer *out;
	const struct mprof_mem *d;
	const struct mprof_flame_node *nodes;
	const char *title;
	double scale;	 /* bytes per sample */
	uint64_t least;	 /* samples of the smallest frame drawn */
	uint32_t rows;	 /* number of rows, without the row of the root */
	uint32_t frames; /* number of frames drawn */
	bool callers;
};

/*
 * A position in the walk through all drawn frames. The walk visits a frame before its children, and
 * the heaviest of the siblings first.
 */
struct step {
	uint32_t at;
	/* By depth: samples to the left of the frame on the path to the node AT. */
	uint64_t left[DEPTH_MAX + 1];
};

/* Move S to the next frame with at least LEAST samples. Return false if there is no next frame. */
static bool step_next(struct step *s, const struct mprof_flame_node *nodes, uint64_t least)
{
	const struct mprof_flame_node *node = &nodes[s->at];
	uint32_t next = node->depth < DEPTH_MAX ? node->first_child : MPROF_NONE;

	if (next != MPROF_NONE && nodes[next].total >= least) {
		s->left[node->depth + 1] = s->left[node->depth];
		s->at = next;
		return true;
	}
	for (; node->parent != MPROF_NONE; node = &nodes[node->parent]) {
		next = node->next_sibling;
		/*
		 * Siblings are sorted by weight. If NEXT has too few samples, all its later
		 * siblings do, too.
		 */
		if (next != MPROF_NONE && nodes[next].total >= least) {
			s->left[node->depth] += node->total;
			s->at = next;
			return true;
		}
	}
	return false;
}

static void measure(struct drawing *d)
{
	d->least = d->nodes[0].total / PARTS;
	d->least = d->least ? d->least : 1;
	for (;; d->least *= 2) {
		struct step s = {0};

		d->frames = d->rows = 0;
		do {
			uint32_t depth = d->nodes[s.at].depth;

			d->frames++;
			d->rows = depth > d->rows ? depth : d->rows;
		} while (d->frames <= FRAMES_MAX && step_next(&s, d->nodes, d->least));
		if (d->frames <= FRAMES_MAX)
			return;
	}
}

static void put(struct writer *out, const char *text)
{
	writer_put(out, text, strlen(text));
}

/*
 * Write a warm colour that depends only on the name, so a function has the same colour in all
 * frames. A frame whose function is not KNOWN is written in another colour.
 */
static void put_colour(struct writer *out, const char *name, size_t bytes, bool known)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	if (known)
		mem_put_format(out, "#%02x%02x%02x", 225 + hash % 30, 130 + (hash >> 8) % 90, 70 + (hash >> 16) % 50);
	else
		put(out, "#bbb");
}

static void put_frame(struct drawing *d, const struct step *s, uint32_t height)
{
	const struct mprof_flame_node *node = &d->nodes[s->at];
	double all = (double)d->nodes[0].total, x = (double)s->left[node->depth] / all,
	       part = (double)node->total / all;
	uint32_t y = d->callers ? TOP + node->depth * ROW : height - BOTTOM - (node->depth + 1) * ROW;
	char total[32], self[32];
	size_t bytes;
	const char *name = mem_name(d->d, node, &bytes);

	bytes_text(mem_load_whole((double)node->total * d->scale), total, sizeof(total));
	bytes_text(mem_load_whole((double)node->self * d->scale), self, sizeof(self));
	mem_put_format(d->out,
		       "<g class=\"frame\" tabindex=\"0\" data-x=\"%.9g\" data-w=\"%.9g\" data-d=\"%u\"><title>", x,
		       part, node->depth);
	mem_put_xml(d->out, name, bytes);
	mem_put_format(d->out, "\n%s (%.2f%%), %" PRIu64 " samples; %s", total, 100 * part, node->total, self);
	put(d->out, d->callers ? " begins here" : " by itself");
	mem_put_format(d->out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
		       x * WIDTH, y, part * WIDTH > 0.8 ? part * WIDTH - 0.5 : 0.3, ROW - 1);
	put_colour(d->out, name, bytes, node->name != MPROF_NONE);
	mem_put_format(d->out, "\"/><text x=\"%.2f\" y=\"%u\">", x * WIDTH + 3, y + ROW - 5);
	/*
	 * If the name fits the frame, write it here. The script, which writes names after a zoom,
	 * may be disabled.
	 */
	if ((double)bytes * LETTER < part * WIDTH - 6)
		mem_put_xml(d->out, name, bytes);
	put(d->out, "</text></g>\n");
}

static void put_head(struct drawing *d, uint32_t height, const char *what)
{
	mem_put_format(
		d->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
		"width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" data-width=\"%d\" data-letter=\"%g\">\n<title>",
		WIDTH, height, WIDTH, height, WIDTH, LETTER);
	mem_put_xml(d->out, d->title, strnlen(d->title, TITLE_BYTES));
	put(d->out, "</title>\n<style>text{font:11px monospace;pointer-events:none}.frame{cursor:pointer}"
		    ".frame:hover rect,.frame:focus rect{stroke:#000}.frame:focus{outline:none}.hit rect{fill:#b25ce6}"
		    "#head{font:bold 16px sans-serif}#reset,#search{cursor:pointer;pointer-events:all;fill:#036}"
		    "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	mem_put_format(d->out, "<text id=\"head\" x=\"%d\" y=\"24\" text-anchor=\"middle\">", WIDTH / 2);
	mem_put_xml(d->out, d->title, strnlen(d->title, TITLE_BYTES));
	mem_put_format(d->out, "</text>\n<text x=\"3\" y=\"44\">%s</text>\n", what);
	mem_put_format(d->out,
		       "<text id=\"found\" x=\"%d\" y=\"44\" text-anchor=\"end\"/><text id=\"reset\" x=\"%d\" y=\"24\" "
		       "text-anchor=\"end\">reset zoom</text><text id=\"search\" x=\"%d\" y=\"24\" "
		       "text-anchor=\"end\">search</text>\n<text id=\"status\" x=\"3\" y=\"%u\"/>\n",
		       WIDTH - 3, WIDTH - 70, WIDTH - 3, height - 10);
}

static int draw(struct drawing *d)
{
	uint32_t height;
	char what[160], all[32], least[32];
	struct step s = {0};

	measure(d);
	height = TOP + BOTTOM + (d->rows + 1) * ROW;
	bytes_text(mem_load_whole((double)d->nodes[0].total * d->scale), all, sizeof(all));
	bytes_text(mem_load_whole((double)d->least * d->scale), least, sizeof(least));
	snprintf(what, sizeof(what), "%s, estimated from %" PRIu64 " samples; frames under %s are left out%s", all,
		 d->nodes[0].total, least, d->rows == DEPTH_MAX ? ", and what is deeper" : "");
	put_head(d, height, what);
	do
		put_frame(d, &s, height);
	while (!d->out->error && d->nodes[0].total && step_next(&s, d->nodes, d->least));
	put(d->out, "<script><![CDATA[\n");
	writer_put(d->out, mem_flame_js, sizeof(mem_flame_js));
	put(d->out, "]]></script>\n</svg>\n");
	return writer_flush(d->out);
}

/*
 * Return the tree to draw, which the caller frees. If CALLERS is true, its root is the allocations,
 * and children are callers. Return NULL without memory.
 */
static struct mprof_flame *flame_make(struct mem_load *l, const struct mem_filter *filter, bool callers)
{
	const struct mprof_flame_options options = {.hidden = filter->hidden, .n_hidden = filter->n_hidden};
	CLEANUP(mprof_flame_freep) struct mprof_flame *f = mprof_flame_new(l->profile, l->in.decoder, &options);
	struct mprof_flame *made = f;

	if (f && callers)
		return mprof_flame_callers(f, l->in.decoder);
	f = NULL;
	return made;
}

static int report(const struct ctl *ctl, const struct drawing *d, const struct output *out)
{
	json_t *json;
	int r;

	if (!out->path)
		return CTL_OK;
	if (!ctl->json) {
		printf("%s: %u frames; open it in a browser\n", out->path, d->frames);
		return stdout_verdict();
	}
	json = json_pack("{so sI sf}", "file", text_json(out->path, strlen(out->path)), "frames", (json_int_t)d->frames,
			 "bytes", (double)d->nodes[0].total * d->scale);
	r = json ? json_print(json) : say_memory();
	json_decref(json);
	return r;
}

static int flame_write(const struct ctl *ctl, struct mem_load *l, const struct mprof_flame *f, const char *title,
		       const char *file, bool callers)
{
	CLEANUP(output_close) struct output o = {.fd = -1};
	CLEANUP(writer_deinit) struct writer out = {0};
	struct drawing w = {
		.out = &out, .d = l->in.decoder, .scale = mprof_mem_scale(l->in.decoder), .callers = callers};
	uint32_t n;
	int r = output_open(&o, file ? file : "flame.svg", file ? OUTPUT_REPLACE : OUTPUT_NEW, "mem");

	if (r)
		return r;
	if (!writer_init(&out, o.fd))
		return say_memory();
	w.nodes = mprof_flame_nodes(f, &n);
	w.title = title ? title : mprof_mem_info(l->in.decoder)->program;
	r = draw(&w);
	if (r)
		return output_complain(&o, -r);
	r = output_commit(&o);
	return r ? r : report(ctl, &w, &o);
}

int mem_flame(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0};
	CLEANUP(mprof_flame_freep) struct mprof_flame *flame = NULL;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), written;

	r = r ? r : mem_filter_parse(&f, &o);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	flame = flame_make(&l, &f, o.callers);
	if (!flame)
		return say_memory();
	written = flame_write(ctl, &l, flame, o.title, o.output, o.callers);
	return written ? written : r;
}
