/*
 * Fuzz the pictures of any model in any window. The first bytes say how many streams there are, and
 * what the window is. The other bytes are events of a few bytes each. Marks must be inside the
 * picture or cut near its edge, refer to items that exist, and have printable texts. The numbers of
 * marks and steps must be limited by the size of the picture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz-input.h"
#include "scene-state.h"

static uint64_t number(struct input *in, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | take(in);
	return value;
}

static void add_event(struct mprof_model *m, struct input *in, uint32_t streams)
{
	static const char *const texts[] = {"__should_resolve",	   "a label", "n#1", "n#2", "", "\x1b[2J",
					    "\xf0\x9f\x90\xab\xff"};
	uint8_t kind = take(in);
	uint32_t stream = streams > 1 ? take(in) % streams : 0;
	struct mprof_raw_event e = {.id = kind % MPROF_EVENT_IDS};

	in->time += (uint64_t)(kind / 32) * (kind / 32);
	e.timestamp = kind == 255 ? number(in, 8) : in->time;
	e.context = take(in) % 40 - 1;
	e.number = e.id == MPROF_EVENT_counter || e.id == MPROF_EVENT_gc ? (int64_t)number(in, kind & 32 ? 8 : 1)
									 : take(in) % 40 - 1;
	e.type = e.id == MPROF_EVENT_creates ? take(in) % 22 : 0;
	if (e.id == MPROF_EVENT_label || e.id == MPROF_EVENT_fails || e.id == MPROF_EVENT_increase ||
	    e.id == MPROF_EVENT_counter) {
		e.text = texts[take(in) % (sizeof(texts) / sizeof(texts[0]))];
		e.text_bytes = strlen(e.text);
	}
	require(mprof_model_add(m, stream, &e) == MPROF_OK);
	if (e.id == MPROF_EVENT_gc && e.number % 4 == 0)
		require(mprof_model_gap(m, stream, (uint64_t)e.number) == MPROF_OK);
}

/* Return the number of items in the model to which a mark of the kind KIND may refer. */
static uint32_t items(const struct mprof_model_view *v, uint8_t kind)
{
	switch (kind) {
	case MPROF_MARK_SLEEPING:
	case MPROF_MARK_RUNNING:
		return v->n_activations;
	case MPROF_MARK_COLLECTION:
		return v->n_collections;
	case MPROF_MARK_GAP:
		return v->n_gaps;
	case MPROF_MARK_TAIL:
		return v->n_streams;
	case MPROF_MARK_GRID:
		return 2;
	case MPROF_MARK_RESOLVE:
	case MPROF_MARK_READ:
	case MPROF_MARK_READ_FAILED:
	case MPROF_MARK_TRY_READ:
	case MPROF_MARK_SIGNAL:
		return v->n_interactions;
	case MPROF_MARK_COUNTER:
	case MPROF_MARK_COUNTER_NAME:
	case MPROF_MARK_LANE:
	case MPROF_MARK_ENVELOPE:
		return v->n_counters;
	case MPROF_MARK_DURATION:
		return v->n_durations;
	case MPROF_MARK_BUSY:
		return v->n_streams;
	case MPROF_MARK_BAND_NAME:
		return UINT32_MAX;
	default:
		return v->n_threads;
	}
}

static void check_mark(const struct mprof_model_view *v, const struct mprof_window *w, const struct mprof_picture *p,
		       const struct mprof_mark *m)
{
	float edge = w->width * 2.01f + 1;
	uint32_t i;

	require(m->kind < MPROF_MARK_KINDS && m->item < items(v, m->kind));
	require(fabsf(m->x0) <= edge && fabsf(m->x1) <= edge && m->x1 >= m->x0);
	require(m->y0 >= -w->height - 16 && m->y0 <= 2 * w->height + 400 && isfinite(m->y1));
	require(m->text <= p->text_bytes && m->bytes <= p->text_bytes - m->text);
	require(mprof_text_is_utf8(m->bytes ? p->text + m->text : "", m->bytes));
	for (i = 0; i < m->bytes; i++)
		require((uint8_t)p->text[m->text + i] >= 0x20 && p->text[m->text + i] != 0x7f);
}

static void check_picture(struct mprof_scene *s, const struct mprof_model_view *v, const struct mprof_window *w)
{
	uint64_t pixels = ((uint64_t)w->width + 1) * ((uint64_t)w->height + 1);
	struct mprof_picture p;
	uint32_t i;

	require(mprof_scene_draw(s, w, &p) == MPROF_OK);
	require(s->steps < 2000 * ((uint64_t)w->width + (uint64_t)w->height + 10) + 40 * pixels);
	for (i = 0; i < p.n_marks; i++)
		check_mark(v, w, &p, &p.marks[i]);
	i = mprof_scene_near(s, w, w->width / 3, w->height / 3, 50);
	require(i == MPROF_NONE || (i < v->n_threads && v->threads[i].row != MPROF_NONE));
}

static void check_tracks(struct mprof_scene *s, const struct mprof_model_view *v, const struct mprof_window *w)
{
	const struct mprof_track tracks[] = {{MPROF_TRACK_PROCESSOR, 0, 1, 9},
					     {MPROF_TRACK_PROCESSOR, 1, 9, w->height},
					     {MPROF_TRACK_COUNTER, 0, 0, w->height},
					     {MPROF_TRACK_COUNTER, 1, w->height / 2, 1}};
	struct mprof_picture p;

	require(mprof_scene_tracks(s, w, tracks, sizeof(tracks) / sizeof(*tracks), &p) == MPROF_OK);
	for (uint32_t i = 0; i < p.n_marks; i++)
		check_mark(v, w, &p, &p.marks[i]);
}

/* Draw with each condition of a filter, and with rows of no height; then without a filter. */
static void check_filter(struct mprof_scene *s, const struct mprof_model_view *v, struct mprof_window w, uint32_t any)
{
	const struct mprof_thread_filter filters[] = {{.depends = any % 8},
						      {.depends = MPROF_NONE, .label = "*A*", .bytes = any % 4},
						      {.depends = MPROF_NONE, .types = any | 1, .unresolved = any & 1}};

	w.flags |= MPROF_WINDOW_DENSE;
	for (uint32_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		require(mprof_scene_filter(s, &filters[i]) == MPROF_OK);
		check_picture(s, v, &w);
	}
	require(mprof_scene_filter(s, NULL) == MPROF_OK);
	check_picture(s, v, &w);
}

static void look(struct mprof_scene *s, const struct mprof_model_view *v, struct input in)
{
	struct mprof_window w = {.letter_width = 7, .flags = 7};
	uint32_t parts[16], n;
	const uint32_t *found;

	w.width = (float)(1 + number(&in, 1) * 3);
	w.height = (float)(1 + number(&in, 1) * 2);
	w.focus = (double)take(&in) - 4;
	w.from = v->n_streams && v->streams[0].start > 100 ? v->streams[0].start - take(&in) : 0;
	w.to = w.from + 1 + (number(&in, 3) >> take(&in) % 24);
	if (w.to > MPROF_TIME_MAX)
		return;
	check_picture(s, v, &w);
	mprof_scene_highlight_aliases(s, take(&in));
	mprof_scene_counter(s, take(&in) % 4, take(&in) & 1);
	mprof_scene_tail(s, 0, w.from + take(&in));
	check_picture(s, v, &w);
	check_tracks(s, v, &w);
	check_filter(s, v, w, take(&in));
	w.from = 0;
	w.to = MPROF_TIME_MAX;
	check_picture(s, v, &w);
	check_tracks(s, v, &w);
	mprof_scene_density(s, w.from, w.to, parts, 16);
	require(mprof_scene_find(s, "A", 1, &found, &n) == MPROF_OK && n <= v->n_threads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size, 1000}, window;
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 3});
	uint32_t streams = 1 + take(&in) % 3, i, got;
	struct mprof_scene *s;

	require(m != NULL);
	for (i = 0; i < streams; i++)
		require(mprof_model_stream(m, &(struct mprof_model_source){.guest = i}, &got) == MPROF_OK);
	window = in;
	in.p += in.left < 13 ? in.left : 13;
	in.left -= in.left < 13 ? in.left : 13;
	while (in.left)
		add_event(m, &in, streams);
	require(mprof_model_finish(m) == MPROF_OK);
	s = mprof_scene_new(mprof_model_view(m));
	require(s != NULL);
	look(s, mprof_model_view(m), window);
	mprof_scene_free(s);
	mprof_model_free(m);
	return 0;
}
