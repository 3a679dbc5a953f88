/*
 * The fish-eye.
 *
 * Unlike a scroll bar, a fish-eye always shows how much there is above and below, and what happens
 * there.
 *
 * The curve is stretched to the picture's edges. With a focus near an edge this would also stretch
 * the rows at the focus; SCALE makes up for that.
 */
#include <math.h>
#include <string.h>

#include "scene-state.h"

#define MARGIN	30.0
#define EDGE	1e-6   /* part of the picture's height by which a height may be rounded */
#define HALFWAY 1000.0 /* distance of the focus from an edge, units, beyond which the edge matters less and less */

/*
 * With EQUAL times the room of a label for each row, rows are equally far apart; from CURVED times
 * down the curve is whole. Between the two it becomes flatter, so that a row more makes no jump.
 */
#define EQUAL  1.25
#define CURVED 1.0
#define FLAT   1e-4 /* one through the factor by which SCALE grows until rows are equally far apart */

static double project(const struct fisheye *f, double units)
{
	return tanh((units - f->focus) / (2 * f->scale));
}

double fisheye_place(const struct fisheye *f, double row)
{
	return f->shown ? shown_place(f->shown, row) : row;
}

/* Return how much of the curve is left, from 1 to FLAT. */
static double curve(const struct fisheye *f, const struct mprof_window *w)
{
	double room = f->end > 0 ? f->inner / f->end / (LABEL_ABOVE * w->letter_width) : EQUAL;

	if (!(w->flags & MPROF_WINDOW_DENSE))
		return 1;
	return fmin(fmax((EQUAL - room) / (EQUAL - CURVED), FLAT), 1);
}

void fisheye_init(struct fisheye *f, const struct mprof_window *w, uint32_t rows, const struct shown_rows *shown)
{
	double height, edge;

	f->shown = shown;
	f->last = rows ? rows - 1.0 : 0;
	f->end = shown ? shown->total - 1.0 : f->last;
	height = f->end * FISHEYE_ROW;
	f->focus = fisheye_place(f, fmin(fmax(w->focus, -1), f->last + 1)) * FISHEYE_ROW;
	edge = f->focus < height / 2 ? f->focus : height - f->focus;
	f->margin = fmin(MARGIN, w->height / 4.0);
	f->inner = w->height - 2 * f->margin;
	f->scale = w->height * (0.5 - 0.25 * tanh(edge / HALFWAY)) / curve(f, w);
	f->top = project(f, 0);
	f->range = project(f, height) - f->top;
}

double fisheye_at(const struct fisheye *f, double place)
{
	if (!(f->range > 0))
		return f->margin;
	return f->margin + f->inner * (project(f, place * FISHEYE_ROW) - f->top) / f->range;
}

double fisheye_y(const struct fisheye *f, double row)
{
	return fisheye_at(f, fisheye_place(f, row));
}

double fisheye_row(const struct fisheye *f, double y)
{
	double part = (y - f->margin) / f->inner, place;

	/* The rows behind all shown ones have no height. */
	if (part > 1 + EDGE)
		return f->last;
	if (!(part > 0))
		place = 0;
	else if (part >= 1)
		place = f->end;
	else
		place = fmin(fmax((2 * f->scale * atanh(f->top + part * f->range) + f->focus) / FISHEYE_ROW, 0),
			     f->end);
	return f->shown ? shown_row(f->shown, place) : place;
}

/* ---- frames ---- */

/* Convert times, rows and texts to pixels. */

#define TEXT_MAX 1024u /* only this many bytes of a text are used */

static double difference(uint64_t a, uint64_t b)
{
	return a >= b ? (double)(a - b) : -(double)(b - a);
}

double frame_x(const struct frame *f, uint64_t time)
{
	return difference(time, f->w.from) * f->scale;
}

double frame_clip(const struct frame *f, double x)
{
	double width = f->w.width;

	return x < -width ? -width : x > 2 * width ? 2 * width : x;
}

double frame_width(const struct frame *f, uint64_t from, uint64_t to)
{
	return difference(to, from) * f->scale;
}

uint64_t frame_time(const struct frame *f, double x)
{
	double ns = floor(x / f->scale);

	if (ns < 0)
		return -ns >= (double)f->w.from ? 0 : f->w.from - (uint64_t)-ns;
	if (ns >= (double)(MPROF_TIME_MAX - f->w.from))
		return MPROF_TIME_MAX;
	return f->w.from + (uint64_t)ns;
}

double frame_y(struct frame *f, uint32_t row)
{
	struct frame_row *known = &f->rows[row % FRAME_ROWS];

	if (known->row != row)
		*known = (struct frame_row){row, fisheye_y(&f->fisheye, row)};
	return known->y;
}

struct mprof_mark *frame_mark(struct frame *f, enum mprof_mark_kind kind)
{
	struct mprof_mark *mark = f->failed ? NULL : grow_add(&f->s->marks, sizeof(*mark));

	f->s->steps++;
	if (!mark) {
		f->failed = true;
		return NULL;
	}
	*mark = (struct mprof_mark){.kind = (uint8_t)kind};
	return mark;
}

uint8_t frame_stream(const struct frame *f, uint32_t thread)
{
	uint16_t stream = f->v->n_streams > 1 ? f->v->threads[thread].stream : 0;

	return stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX;
}

/*
 * Remove the escapes of quotes and backslashes from S of N bytes, because a picture shows these as
 * they are. Return the new length.
 */
static size_t unquote(char *s, size_t n)
{
	size_t out = 0;

	for (size_t in = 0; in < n; in++) {
		if (s[in] == '\\' && in + 1 < n && (s[in + 1] == '"' || s[in + 1] == '\\'))
			in++;
		s[out++] = s[in];
	}
	return out;
}

/* Return how many of the BYTES bytes of TEXT to take: at most N, without cutting a character. */
static size_t cut(const char *text, size_t bytes, size_t n)
{
	size_t back;

	if (bytes <= n)
		return bytes;
	for (back = 0; back < 4 && back < n && ((uint8_t)text[n - back] & 0xc0) == 0x80; back++) {
	}
	return back < 4 ? n - back : n;
}

static bool is_letter(char c)
{
	return ((uint8_t)c & 0xc0) != 0x80;
}

/*
 * Count the letters of TEXT, which has *BYTES bytes, but at most LETTERS. Return their number, and
 * store their length in *BYTES.
 */
static uint32_t count_letters(const char *text, size_t *bytes, uint32_t letters)
{
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < *bytes; i++) {
		if (!is_letter(text[i]))
			continue;
		if (n == letters)
			break;
		n++;
	}
	*bytes = i;
	return n;
}

uint32_t frame_text(struct frame *f, struct mprof_mark *mark, const char *text, size_t bytes, uint32_t letters)
{
	char safe[TEXT_MAX * MPROF_TEXT_FACTOR + 32];
	size_t left = cut(text, bytes, letters < TEXT_MAX / 4 ? letters * 4 : TEXT_MAX), n;
	uint32_t count;

	n = mprof_text_escape(safe, sizeof(safe), &text, &left);
	n = unquote(safe, n);
	count = count_letters(safe, &n, letters);
	if (!mark || f->failed || !grow_reserve(&f->s->text, 1, (uint32_t)n)) {
		f->failed = f->failed || mark;
		return count;
	}
	mark->text = f->s->text.n;
	mark->bytes = (uint16_t)n;
	if (n)
		memcpy((char *)f->s->text.items + f->s->text.n, safe, n);
	f->s->text.n += (uint32_t)n;
	f->s->steps += n;
	return count;
}

uint32_t frame_letters(const struct frame *f, double width)
{
	double letters = width / f->w.letter_width;

	return letters < 0 ? 0 : letters > TEXT_MAX ? TEXT_MAX : (uint32_t)letters;
}
