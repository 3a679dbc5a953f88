/* Find threads by label, failure and id. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/*
 * The text to find, and for each prefix the length of its longest border (Knuth, Morris and Pratt).
 */
struct needle {
	char *text;
	uint32_t *borders;
	size_t bytes;
};

static bool needle_init(struct needle *n, const char *text, size_t bytes)
{
	size_t k = 0;

	*n = (struct needle){malloc(bytes + 1), malloc((bytes + 1) * sizeof(*n->borders)), bytes};
	if (!n->text || !n->borders)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		n->text[i] = lower(text[i]);
		while (i && k && n->text[k] != n->text[i])
			k = n->borders[k - 1];
		k += i && n->text[k] == n->text[i];
		n->borders[i] = (uint32_t)k;
	}
	return true;
}

static void needle_deinit(struct needle *n)
{
	free(n->text);
	free(n->borders);
}

static bool matches(const struct needle *n, const char *text, size_t bytes)
{
	size_t k = 0;

	for (size_t i = 0; i < bytes && k < n->bytes; i++) {
		char c = lower(text[i]);

		while (k && n->text[k] != c)
			k = n->borders[k - 1];
		k += n->text[k] == c;
	}
	return k == n->bytes;
}

struct search {
	const struct mprof_model_view *v;
	struct needle needle;
	uint8_t *strings; /* for each string: 1 if it contains the needle, else 0 */
	uint64_t *when;	  /* time of each thread's first match; UINT64_MAX without one */
};

static void see(struct search *s, uint32_t thread, uint64_t time)
{
	if (time < s->when[thread])
		s->when[thread] = time;
}

static void search_labels(struct search *s)
{
	const struct mprof_model_view *v = s->v;
	char text[128];

	for (uint32_t i = 0; i < v->n_strings; i++)
		s->strings[i] = matches(&s->needle, v->strings[i].bytes ? v->text + v->strings[i].offset : "",
					v->strings[i].bytes);
	for (uint32_t i = 0; i < v->n_labels; i++) {
		const struct mprof_label *label = &v->labels[i];
		size_t bytes = label->sample != MPROF_NONE && !s->strings[label->text]
				       ? mprof_label_text(v, i, text, sizeof(text))
				       : 0;

		if (s->strings[label->text] || (bytes && matches(&s->needle, text, strnlen(text, sizeof(text)))))
			see(s, label->thread, label->time);
	}
}

static void search_threads(struct search *s)
{
	const struct mprof_thread *t = s->v->threads;
	char text[24];

	for (uint32_t i = 0; i < s->v->n_threads; i++) {
		if (t[i].failure != MPROF_NONE && s->strings[t[i].failure])
			see(s, i, t[i].end);
		snprintf(text, sizeof(text), "%" PRId64, t[i].id);
		if (matches(&s->needle, text, strlen(text)))
			see(s, i, t[i].start);
		if (t[i].flags & MPROF_THREAD_ROOT)
			s->when[i] = UINT64_MAX;
	}
}

static uint32_t group_of(const void *context, uint32_t item)
{
	return ((const struct search *)context)->when[item] == UINT64_MAX ? UINT32_MAX : 0;
}

static uint64_t time_of(const void *context, uint32_t item)
{
	return ((const struct search *)context)->when[item];
}

static bool run(struct search *s, struct scene_groups *found, const char *text, size_t bytes)
{
	s->strings = calloc((size_t)s->v->n_strings + 1, 1);
	s->when = malloc(((size_t)s->v->n_threads + 1) * sizeof(*s->when));
	if (!needle_init(&s->needle, text, bytes) || !s->strings || !s->when)
		return false;
	memset(s->when, 0xff, s->v->n_threads * sizeof(*s->when));
	if (bytes) {
		search_labels(s);
		search_threads(s);
	}
	return scene_group(found, &(struct scene_source){s, s->v->n_threads, 1, group_of, time_of});
}

enum mprof_status mprof_scene_find(struct mprof_scene *s, const char *text, size_t bytes, const uint32_t **threads,
				   uint32_t *n)
{
	struct search search = {.v = s->view};
	struct scene_groups found = {0};
	bool ok = bytes < UINT32_MAX && run(&search, &found, text, bytes);

	needle_deinit(&search.needle);
	free(search.strings);
	free(search.when);
	free(found.starts);
	free(s->found);
	s->found = found.items;
	*threads = s->found;
	*n = found.n;
	return ok ? MPROF_OK : MPROF_NOMEM;
}

/* ---- by place ---- */

/* Find the thread near a point of the picture, and convert between rows and heights. */

#define HALVINGS 60

struct near {
	struct frame *f;
	uint64_t time; /* time at the point, ns */
	double y;
	double reach;
	double best; /* smallest distance so far, pixels */
	uint32_t thread;
};

/*
 * Return the horizontal distance, in pixels, from the point to the nearest piece of BLOCK. Store
 * that piece in *PIECE.
 */
static double nearest(struct near *n, struct row_index *index, unsigned level, uint32_t block, uint32_t *piece)
{
	uint32_t from, to, at;
	double best = INFINITY, x;

	row_index_range(index, level, block, &from, &to);
	at = row_index_ends_from(index, level, from, to, n->time);
	*piece = at;
	if (at < to)
		best = fmax(frame_width(n->f, n->time, row_index_start(index, level, at)), 0);
	if (at > from) {
		x = frame_width(n->f, row_index_end(index, level, at - 1), n->time);
		*piece = x < best ? at - 1 : at;
		best = fmin(best, x);
	}
	return best;
}

/*
 * Find the row of GROUP with the piece nearest to the point in time, by going down from block to
 * block. Remember that piece's thread if it is nearer than the best one so far.
 */
static void look(struct near *n, struct row_index *index, const struct row_group *group)
{
	uint32_t block = group->block, piece, child, best_child;
	unsigned level = group->level;
	double x = nearest(n, index, level, block, &piece), its, distance = hypot(x, group->y - n->y);

	if (distance >= n->best || distance > n->reach)
		return;
	for (; level; level--) {
		x = INFINITY;
		best_child = block << ROW_INDEX_SHIFT;
		for (uint32_t i = 0; i < 1u << ROW_INDEX_SHIFT; i++) {
			child = (block << ROW_INDEX_SHIFT) + i;
			if (child >= (level > 1 ? index->levels[level - 1].blocks : index->rows))
				break;
			its = nearest(n, index, level - 1, child, &piece);
			if (its < x) {
				x = its;
				best_child = child;
			}
		}
		block = best_child;
	}
	x = nearest(n, index, 0, block, &piece);
	distance = hypot(x, group->y - n->y);
	if (distance < n->best && distance <= n->reach) {
		n->best = distance;
		n->thread = row_index_item(index, 0, piece);
	}
}

uint32_t mprof_scene_near(struct mprof_scene *s, const struct mprof_window *window, float x, float y, float reach)
{
	struct near n = {.y = y, .reach = reach, .best = INFINITY, .thread = MPROF_NONE};
	const struct row_group *groups;
	struct frame f;

	if (!(reach >= 0) || !isfinite(x) || !isfinite(y) || !frame_init(&f, s, window) || !frame_group_rows(&f))
		return MPROF_NONE;
	n.f = &f;
	n.time = frame_time(&f, x);
	groups = s->groups.items;
	for (uint32_t i = 0; i < s->groups.n; i++) {
		if (fabs((double)groups[i].y - y) > reach)
			continue;
		if (s->threads.n)
			look(&n, &s->threads, &groups[i]);
		if (s->failed.n)
			look(&n, &s->failed, &groups[i]);
	}
	return n.thread;
}

float mprof_scene_y(struct mprof_scene *s, const struct mprof_window *window, double row)
{
	struct fisheye fisheye;

	fisheye_init(&fisheye, window, s->view->rows, shown_rows(s, window));
	return (float)fisheye_y(&fisheye, fmin(fmax(row, 0), fisheye.last));
}

double mprof_scene_row(struct mprof_scene *s, const struct mprof_window *window, float y)
{
	struct fisheye fisheye;

	fisheye_init(&fisheye, window, s->view->rows, shown_rows(s, window));
	return fisheye_row(&fisheye, y);
}

double mprof_scene_focus(struct mprof_scene *s, const struct mprof_window *window, double row, float y)
{
	struct mprof_window w = *window;
	const struct shown_rows *shown = shown_rows(s, window);
	double low = 0, high = s->view->rows ? s->view->rows - 1.0 : 0;
	struct fisheye fisheye;

	/*
	 * Find the focus by bisection: the farther down the focus is, the farther up the row is
	 * drawn.
	 */
	for (int i = 0; i < HALVINGS; i++) {
		w.focus = (low + high) / 2;
		fisheye_init(&fisheye, &w, s->view->rows, shown);
		if (fisheye_y(&fisheye, row) > y)
			low = w.focus;
		else
			high = w.focus;
	}
	return (low + high) / 2;
}
