/*
 * This file writes a trace as an SVG picture, drawn as the viewer draws. A script can make the
 * picture of a part of a trace again at any time, which a print of the page does not allow.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "ctl.h"
#include "exporter.h"
#include "svg.h"
#include "table.h"

#define WIDTH	     1400.0
#define HEIGHT	     900.0
#define PIXELS_MIN   100.0
#define PIXELS_MAX   16384.0
#define TRACK_HEIGHT 24.0f /* pixels of a stream's durations */
#define TRACKS_MAX   16u
#define MARGIN	     20.0 /* pixels on both sides of the trace if no period is given */

CLEANUP_DEFINE(struct mprof_scene, mprof_scene_free)

static bool number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && isfinite(*value);
}

static int check_pixels(const char *option, const char *text, const char *verb)
{
	double value;

	if (!text || (number(text, &value) && value >= PIXELS_MIN && value <= PIXELS_MAX))
		return CTL_OK;
	return say_usage(verb, "%s %s is not a number of pixels from %.0f to %.0f", option, text, PIXELS_MIN,
			 PIXELS_MAX);
}

static int svg_check(const struct export_job *job, const char *verb)
{
	const struct options *o = job->options;
	double row;
	int r = check_pixels("--width", o->width, verb);

	r = r ? r : check_pixels("--height", o->height, verb);
	if (r)
		return r;
	if (o->focus && o->thread)
		return say_usage(verb, "--focus and --thread exclude each other");
	if (o->focus && (!number(o->focus, &row) || row < 0))
		return say_usage(verb, "--focus %s is not the number of a row, counted from 0", o->focus);
	return CTL_OK;
}

static float pixels(const char *text, double otherwise)
{
	double value = otherwise;

	if (text)
		number(text, &value);
	return (float)value;
}

/*
 * Return the newest thread with the id NAME, or the first with a label that matches, or MPROF_NONE.
 */
static uint32_t find_thread(const struct modeller *m, const char *name)
{
	CLEANUP(freep) uint8_t *labelled = NULL;
	const struct mprof_model_view *v = m->view;
	char *end;
	long long id;

	errno = 0;
	id = strtoll(name, &end, 10);
	for (uint32_t i = v->n_threads; end != name && !*end && !errno && i-- > 0;)
		if (v->threads[i].id == id && !(v->threads[i].flags & MPROF_THREAD_ROOT))
			return i;
	labelled = modeller_labelled(m, name);
	for (uint32_t i = 0; labelled && i < v->n_threads; i++)
		if (labelled[i] && !(v->threads[i].flags & MPROF_THREAD_ROOT))
			return i;
	return MPROF_NONE;
}

/*
 * Set the window to the period of the command line. By default it is the time from the first to the
 * last event, with a margin.
 */
static void find_period(const struct export_job *job, const struct mprof_model_view *v, struct mprof_window *w)
{
	const struct period *p = job->period;
	uint64_t first = MPROF_TIME_MAX, last = 0, margin;

	for (uint32_t i = 0; i < v->n_streams; i++) {
		if (!v->streams[i].events)
			continue;
		first = v->streams[i].start < first ? v->streams[i].start : first;
		last = v->streams[i].end > last ? v->streams[i].end : last;
	}
	first = first < last ? first : last;
	margin = (uint64_t)((double)(last - first) * (MARGIN / fmax(w->width - 2 * MARGIN, 1))) + 1;
	w->from = p->from.given ? period_from(p) : first > margin ? first - margin : 0;
	w->to = p->to.given ? period_to(p) : last < MPROF_TIME_MAX - margin ? last + margin : MPROF_TIME_MAX;
	w->from = w->from < MPROF_TIME_MAX ? w->from : MPROF_TIME_MAX - 1;
	w->to = w->to < MPROF_TIME_MAX ? w->to : MPROF_TIME_MAX;
	w->to = w->to > w->from ? w->to : w->from + 1;
}

static int find_focus(const struct export_job *job, const struct modeller *m, struct mprof_scene *s,
		      struct mprof_window *w)
{
	const char *name = job->options->thread;
	uint32_t thread;

	if (job->options->focus)
		number(job->options->focus, &w->focus);
	if (!name)
		return CTL_OK;
	thread = find_thread(m, name);
	if (thread == MPROF_NONE) {
		say("there is no thread with the id or a label like \"%s\"", name);
		return CTL_NOT_FOUND;
	}
	mprof_scene_highlight_aliases(s, thread);
	w->focus = mprof_scene_focus(s, w, m->view->threads[thread].row, w->height / 2);
	return CTL_OK;
}

/* Describe the picture for screen readers. */
static void describe(const struct modeller *m, const struct mprof_window *w, bool durations, char *buf, size_t size)
{
	const struct mprof_model_view *v = m->view;
	uint32_t drawn = 0, failed = 0, never = 0, tails = 0, unseen = 0;
	char span[SPAN_TEXT_MAX];

	for (uint32_t i = 0; i < v->n_threads; i++) {
		const struct mprof_thread *t = &v->threads[i];

		if (t->flags & MPROF_THREAD_ROOT || t->end < w->from || t->start > w->to)
			continue;
		drawn++;
		never += t->flags & MPROF_THREAD_NEVER_RESOLVED ? 1 : 0;
		unseen += t->flags & MPROF_THREAD_END_UNSEEN ? 1 : 0;
		failed += t->failure != MPROF_NONE && !(t->flags & MPROF_THREAD_NEVER_RESOLVED);
	}
	for (uint32_t i = 0; m->tails && i < v->n_streams; i++)
		tails += m->tails[i] <= w->to && m->tails[i] <= v->streams[i].end && v->streams[i].end >= w->from;
	snprintf(buf, size,
		 "Time runs to the right: %s. %" PRIu32 " threads, each a horizontal line, white where it ran; %" PRIu32
		 " failed, %" PRIu32 " should have been resolved and never were%s (red).%s%s",
		 span_text(w->to - w->from, span, sizeof(span)), drawn, failed, never,
		 unseen ? ", unless events that the trace lacks did it" : "",
		 durations ? " The stripes at the top show the innermost duration of each moment." : "",
		 tails ? " The part with a hatched foot was not proven." : "");
}

/* Fill TRACKS with a stripe for each stream that has durations, in at most half of HEIGHT. Return their number. */
static uint32_t find_tracks(const struct mprof_model_view *v, float height, struct mprof_track *tracks)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_pieces && n < TRACKS_MAX && (float)(n + 1) * TRACK_HEIGHT < height / 2; i++) {
		uint32_t stream = v->pieces[i].stream;

		/* Pieces are sorted by stream. */
		if (n && tracks[n - 1].item == stream)
			continue;
		tracks[n] = (struct mprof_track){.kind = MPROF_TRACK_PROCESSOR,
						 .item = stream,
						 .top = (float)n * TRACK_HEIGHT,
						 .height = TRACK_HEIGHT};
		n++;
	}
	return n;
}

static int draw(struct export_job *job, const struct modeller *m, struct mprof_scene *s)
{
	struct mprof_window w = {
		.width = pixels(job->options->width, WIDTH),
		.height = pixels(job->options->height, HEIGHT),
		.letter_width = SVG_LETTER,
		.flags = MPROF_WINDOW_COUNTERS | MPROF_WINDOW_LABELS | MPROF_WINDOW_ARROWS,
	};
	CLEANUP(freep) char *name = printable(job->trace, strlen(job->trace));
	struct mprof_track tracks[TRACKS_MAX];
	struct mprof_picture picture;
	struct svg svg;
	char text[512];
	uint32_t n = find_tracks(m->view, w.height, tracks);
	float strip = (float)n * TRACK_HEIGHT;
	int r;

	if (!name)
		return -ENOMEM;
	w.height -= strip;
	find_period(job, m->view, &w);
	r = find_focus(job, m, s, &w);
	if (r)
		return r;
	if (mprof_scene_draw(s, &w, &picture) != MPROF_OK)
		return -ENOMEM;
	describe(m, &w, strip > 0, text, sizeof(text));
	svg = (struct svg){
		.out = job->out, .title = name, .description = text, .width = w.width, .height = w.height + strip};
	svg_begin(&svg);
	svg_picture(&svg, &picture, strip, w.height, true);
	if (strip > 0) {
		w.height = strip;
		if (mprof_scene_tracks(s, &w, tracks, n, &picture) != MPROF_OK)
			return -ENOMEM;
		svg_picture(&svg, &picture, 0, strip, false);
	}
	svg_end(&svg);
	return 0;
}

static int svg_draw(struct export_job *job, const struct modeller *m)
{
	CLEANUP(mprof_scene_freep) struct mprof_scene *s = mprof_scene_new(m->view);

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; m->tails && i < m->view->n_streams; i++)
		if (!mprof_scene_tail(s, i, m->tails[i]))
			return -ENOMEM;
	return draw(job, m, s);
}

const struct exporter export_svg = {
	.name = "svg",
	.what = "a picture, as the viewer draws it",
	.suffix = ".svg",
	.tails = true,
	.check = svg_check,
	.draw = svg_draw,
};
