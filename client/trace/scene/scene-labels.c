/*
 * Texts of threads: labels above the line, the type below.
 *
 * A label is centred on its time if possible. It moves to the right of the previous label and to
 * the left of the next one's time, stays in the picture when its own time is left of the picture,
 * and is cut when it does not fit. If several labels are on one pixel, the first and the last of
 * them are shown.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

#define PAD	2.0 /* least distance from the start of a line to its text, pixels */
#define EDGE	4.0 /* least distance of a text from the picture's left edge, pixels */
#define TICK	6.0
#define BELOW	3.4 /* height that a label and a type need between two lines, in widths of a letter */
#define LETTERS 4u  /* a text cut to fewer letters is left out */
#define PLACED	48u /* most letters of a label whose place the painter decides (MPROF_WINDOW_TRACKED) */
#define SLACK	1.25

struct line {
	struct frame *f;
	uint32_t thread;
	const struct mprof_thread *t;
	double left, right; /* texts of the line lie between these x, pixels */
	uint32_t at, end;   /* places in the list of labels */
};

static uint32_t thread_of(const void *context, uint32_t item)
{
	return ((const struct mprof_model_view *)context)->labels[item].thread;
}

static uint64_t time_of(const void *context, uint32_t item)
{
	return ((const struct mprof_model_view *)context)->labels[item].time;
}

bool labels_init(struct mprof_scene *s)
{
	if (!scene_group(&s->labels,
			 &(struct scene_source){s->view, s->view->n_labels, s->view->n_threads, thread_of, time_of}))
		return false;
	free(s->labels.starts);
	s->labels.starts = NULL;
	return true;
}

static const struct mprof_label *label_at(const struct line *l, uint32_t place)
{
	l->f->s->steps++;
	return &l->f->v->labels[l->f->s->labels.items[place]];
}

/*
 * Return the first place from FROM up to, but not including, TO with a label of THREAD at TIME or
 * later, or with a label of a thread with a higher index; TO if there is none.
 */
static uint32_t label_from(const struct line *l, uint32_t from, uint32_t to, uint32_t thread, uint64_t time)
{
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		const struct mprof_label *label = label_at(l, middle);

		if (label->thread < thread || (label->thread == thread && label->time < time))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/*
 * Return the left end of a text of WIDTH pixels between LEFT and RIGHT, centred on X if possible.
 */
static double centre(double x, double width, double left, double right)
{
	return fmax(fmin(x - width / 2, right - width), left);
}

static void put_tick(const struct line *l, double x, double y)
{
	struct mprof_mark *mark = x >= 0 && x <= l->f->w.width ? frame_mark(l->f, MPROF_MARK_TICK) : NULL;

	if (!mark)
		return;
	mark->x0 = mark->x1 = (float)x;
	mark->y0 = (float)y;
	mark->y1 = (float)(y - TICK);
	mark->item = l->thread;
	mark->stream = frame_stream(l->f, l->thread);
}

/* Write a text between LEFT and RIGHT, centred on X if possible. Return the x of its right end. */
static double put_text(const struct line *l, enum mprof_mark_kind kind, double x, double left, double right,
		       const char *text, size_t bytes)
{
	uint32_t room = frame_letters(l->f, right - left), most, letters;
	bool placed = kind == MPROF_MARK_LABEL && l->f->w.flags & MPROF_WINDOW_TRACKED;
	struct mprof_mark *mark;
	double width, at;

	if (!room)
		return left;
	/* One letter more than fits shows that the text is longer. */
	most = placed && room < PLACED ? PLACED : room + 1;
	mark = frame_mark(l->f, kind);
	if (!mark)
		return left;
	letters = frame_text(l->f, mark, text, bytes, most);
	mark->shade = letters == most && frame_text(l->f, NULL, text, bytes, most + 1) > most;
	width = fmin(letters, room + 1) * (double)l->f->w.letter_width;
	at = centre(x, width, left, right);
	if (!letters || (letters > room && room < LETTERS && !placed)) {
		l->f->s->marks.n--;
		return left;
	}
	mark->x0 = (float)at;
	/* A painter's letters may be wider than the given average. */
	mark->x1 = (float)fmin(right, at + width * SLACK + l->f->w.letter_width);
	mark->y0 = mark->y1 = (float)frame_y(l->f, l->t->row);
	mark->item = l->thread;
	mark->stream = frame_stream(l->f, l->thread);
	return fmin(at + width, right);
}

/* Write label I, cut to about a kibibyte, as put_text() does. */
static double put_label(const struct line *l, uint32_t i, double x, double left, double right)
{
	char text[1100];
	size_t bytes = mprof_label_text(l->f->v, i, text, sizeof(text));

	return put_text(l, MPROF_MARK_LABEL, x, left, right, text, bytes < sizeof(text) ? bytes : sizeof(text) - 1);
}

static double put_string(const struct line *l, uint32_t string, double x, double left)
{
	const struct mprof_string *s = &l->f->v->strings[string];

	return put_text(l, MPROF_MARK_LABEL, x, left, l->right, s->bytes ? l->f->v->text + s->offset : "", s->bytes);
}

static void put_id(const struct line *l)
{
	double x = frame_x(l->f, l->t->start);
	char text[64];

	if (l->f->w.flags & MPROF_WINDOW_TRACKED && !(l->t->flags & MPROF_THREAD_PREEXISTING))
		snprintf(text, sizeof(text), "%s %" PRId64, mprof_thread_type_name(l->t->type), l->t->id);
	else
		snprintf(text, sizeof(text), "%" PRId64, l->t->id);
	put_tick(l, x, frame_y(l->f, l->t->row));
	put_text(l, MPROF_MARK_LABEL, x, l->left, l->right, text, strlen(text));
}

/* Return the place after the labels on the same pixel as the label at PLACE. */
static uint32_t pixel_end(const struct line *l, uint32_t place)
{
	double x = frame_x(l->f, label_at(l, place)->time);
	uint64_t end = frame_time(l->f, x + 1) + 1;

	return place + 1 < l->end && label_at(l, place + 1)->time >= end
		       ? place + 1
		       : label_from(l, place + 1, l->end, l->thread, end);
}

static double next_x(const struct line *l, uint32_t place, bool failure)
{
	if (place < l->end)
		return fmin(l->right, frame_x(l->f, label_at(l, place)->time));
	return failure ? fmin(l->right, frame_x(l->f, l->t->end)) : l->right;
}

/*
 * Write the labels on one pixel, at the places from FIRST up to, but not including, NEXT. A single
 * label is centred. If there are several, the first one ends before the second one's time, and the
 * last one begins at its own time. Return the x up to which there is text.
 */
static double put_cluster(const struct line *l, uint32_t first, uint32_t next, double left, double right)
{
	const uint32_t *items = l->f->s->labels.items;
	double x = frame_x(l->f, label_at(l, first)->time), last = frame_x(l->f, label_at(l, next - 1)->time);

	put_tick(l, x, frame_y(l->f, l->t->row));
	if (next - first == 1)
		return put_label(l, items[first], x, left, right);
	left = put_label(l, items[first], x, left, frame_x(l->f, label_at(l, first + 1)->time));
	return put_label(l, items[next - 1], last, fmax(left, last), right);
}

static void put_failure(const struct line *l, double left)
{
	double x = frame_x(l->f, l->t->end);

	put_tick(l, x, frame_y(l->f, l->t->row));
	put_string(l, l->t->failure, x, left);
}

static void put_labels(struct line *l)
{
	bool failure = l->t->failure != MPROF_NONE;
	uint32_t place = label_from(l, l->at, l->end, l->thread, l->f->w.from), next;
	double left = l->left;

	/* Begin with the last label before the picture: its text stays inside of the picture. */
	for (place -= place > l->at; place < l->end && !l->f->failed; place = next) {
		next = pixel_end(l, place);
		if (frame_x(l->f, label_at(l, place)->time) > l->f->w.width)
			return;
		left = put_cluster(l, place, next, left, next_x(l, next, failure));
	}
	if (failure)
		put_failure(l, left);
}

/* Set L to the line of THREAD, and compute where texts on it may be. */
static void line_init(struct line *l, struct frame *f, uint32_t thread)
{
	const struct mprof_thread *t = &f->v->threads[thread], *next;
	uint64_t end = t->end;

	if (t->becomes != MPROF_NONE) {
		next = &f->v->threads[t->becomes];
		/* The line goes on up to the texts of NEXT, the thread that this one becomes. */
		if (next->row == t->row)
			end = next->start;
	}
	*l = (struct line){.f = f, .thread = thread, .t = t};
	l->left = fmax(frame_x(f, t->start) + PAD, EDGE);
	l->right = fmin(frame_x(f, end), f->w.width);
	l->at = label_from(l, 0, f->s->labels.n, thread, 0);
	l->end = label_from(l, l->at, f->s->labels.n, thread, UINT64_MAX);
}

static void put_type(const struct line *l)
{
	const char *name = l->t->flags & MPROF_THREAD_PREEXISTING ? "preexisting" : mprof_thread_type_name(l->t->type);

	put_text(l, MPROF_MARK_TYPE, l->left, l->left, l->right, name, strlen(name));
}

/*
 * Return the distance, in pixels, between the row of T and the row BESIDE shown rows below it;
 * BESIDE may be negative.
 */
static double room(struct frame *f, const struct mprof_thread *t, int beside)
{
	double place = fisheye_place(&f->fisheye, t->row) + beside;

	if (place < 0 || place > f->fisheye.end)
		return f->fisheye.margin;
	return fabs(fisheye_at(&f->fisheye, place) - frame_y(f, t->row));
}

/*
 * Return true when there is room for the text of T, BELOW or above its line. Text above a thread
 * that should have resolved is always written, unless another such text, at the height *SAID, is
 * too near.
 */
static bool has_room(struct frame *f, const struct mprof_thread *t, bool below, double *said)
{
	double y = frame_y(f, t->row);

	if (room(f, t, below ? 1 : -1) >= (below ? BELOW : LABEL_ABOVE) * f->w.letter_width)
		return true;
	if (below || !(t->flags & MPROF_THREAD_NEVER_RESOLVED) || y - *said < LABEL_ABOVE * f->w.letter_width)
		return false;
	*said = y;
	return true;
}

static void draw_above(struct frame *f, struct line *l)
{
	if (room(f, l->t, -1) < LABEL_ABOVE * f->w.letter_width)
		put_failure(l, l->left);
	else if (l->at == l->end && l->t->failure == MPROF_NONE)
		put_id(l);
	else
		put_labels(l);
}

void draw_labels(struct frame *f)
{
	uint32_t n = f->s->named.n;
	double said = -INFINITY;
	struct line l;

	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n && !f->failed; i++) {
			uint32_t thread = ((uint32_t *)f->s->named.items)[i];

			if (!has_room(f, &f->v->threads[thread], pass, &said))
				continue;
			line_init(&l, f, thread);
			/*
			 * A thread without a label is named by its type, so the type is not
			 * repeated.
			 */
			if (pass && f->w.flags & MPROF_WINDOW_TRACKED && l.at == l.end && l.t->failure == MPROF_NONE)
				continue;
			if (pass)
				put_type(&l);
			else
				draw_above(f, &l);
		}
}
