/*
 * Bands: times in which a stream sleeps, collects garbage, or lacks packets.
 *
 * From afar many bands are on one pixel. Each such pixel gets one mark, with the share of its time
 * that the bands take. The share is computed from stored sums over sixteen bands each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inttypes.h>

#include "scene-state.h"

#define STEP	 16u
#define FULL	 65535.0
#define THIN	 2.0  /* bands of a stream are not drawn if its rows are not higher than this, pixels */
#define NAME_TOP 14.0 /* pixels from the band's edge to the base line of its name */

static const enum mprof_mark_kind kinds[BANDS] = {MPROF_MARK_SLEEPING, MPROF_MARK_COLLECTION, MPROF_MARK_GAP,
						  MPROF_MARK_DURATION};
static const enum row_index_kind row_index_kinds[BANDS] = {ROW_INDEX_SLEEPING, ROW_INDEX_COLLECTIONS, ROW_INDEX_GAPS,
							   ROW_INDEX_PIECES};

static bool sum_up(struct band_sums *sums, const struct row_index *index)
{
	uint64_t sum = 0;

	sums->at = malloc(((size_t)index->n / STEP + 1) * sizeof(*sums->at));
	for (uint32_t i = 0; sums->at && i < index->n; i++) {
		if (i % STEP == 0)
			sums->at[i / STEP] = sum;
		sum += row_index_item_end(index, index->items[i]) - row_index_item_start(index, index->items[i]);
	}
	return sums->at != NULL;
}

bool bands_init(struct mprof_scene *s)
{
	for (unsigned i = 0; i < BANDS; i++)
		if (!row_index_init(&s->bands[i], s->view, row_index_kinds[i], NULL, NULL) ||
		    !sum_up(&s->sums[i], &s->bands[i]))
			return false;
	return true;
}

/* Return the total time of the items before place I. */
static uint64_t sum_to(const struct row_index *index, const struct band_sums *sums, uint32_t i)
{
	uint32_t k = i < index->n ? i / STEP * STEP : index->n ? (index->n - 1) / STEP * STEP : 0;
	uint64_t sum = index->n ? sums->at[k / STEP] : 0;

	for (; k < i; k++)
		sum += row_index_item_end(index, index->items[k]) - row_index_item_start(index, index->items[k]);
	return sum;
}

/* The bands of one kind and stream to draw, between the heights TOP and BOTTOM. */
struct strip {
	struct frame *f;
	struct row_index *l;
	const struct band_sums *sums;
	enum mprof_mark_kind kind;
	uint32_t stream;
	double top, bottom;
	uint32_t at, end; /* places */
	uint64_t drawn;	  /* time up to which bands were drawn, ns */
};

static void put(const struct strip *s, uint32_t item, double x0, double x1, double share)
{
	struct mprof_mark *mark = frame_mark(s->f, s->kind);

	if (!mark)
		return;
	mark->x0 = (float)frame_clip(s->f, x0);
	mark->x1 = (float)frame_clip(s->f, x1);
	mark->y0 = (float)s->top;
	mark->y1 = (float)s->bottom;
	mark->item = s->kind == MPROF_MARK_DURATION ? s->f->v->pieces[item].duration : item;
	mark->stream = s->stream < UINT8_MAX ? (uint8_t)s->stream : UINT8_MAX;
	mark->shade = (uint16_t)(fmin(fmax(share, 1 / FULL), 1) * FULL);
}

/*
 * Draw one mark for the bands that begin on the same pixel as the band at S->at, which is narrow
 * and begins at START. If the last of them reaches beyond the pixel, leave that band to the next
 * mark.
 */
static void put_pixel(struct strip *s, uint64_t start)
{
	double column = floor(frame_x(s->f, start)), x;
	uint64_t limit = frame_time(s->f, column + 1);
	uint32_t first = s->at, next = row_index_begins_after(s->l, 0, first + 1, s->end, limit ? limit - 1 : 0);

	if (next > first + 1 && frame_x(s->f, row_index_end(s->l, 0, next - 1)) > column + 2)
		next--;
	s->drawn = row_index_end(s->l, 0, next - 1);
	s->at = next;
	x = frame_x(s->f, s->drawn);
	if (x > column + 2) /* the bands overlap */
		put(s, row_index_item(s->l, 0, first), frame_x(s->f, start), x, 1);
	else
		put(s, row_index_item(s->l, 0, first), column, column + 1,
		    (double)(sum_to(s->l, s->sums, next) - sum_to(s->l, s->sums, first)) * s->f->scale);
}

static void draw_strip(struct strip *s)
{
	uint64_t start, end;

	s->drawn = 0;
	row_index_range(s->l, 0, s->stream, &s->at, &s->end);
	for (s->at = row_index_ends_from(s->l, 0, s->at, s->end, s->f->w.from); s->at < s->end && !s->f->failed;) {
		start = row_index_start(s->l, 0, s->at);
		end = row_index_end(s->l, 0, s->at);
		if (start > s->f->w.to || s->drawn > s->f->w.to)
			return;
		start = start > s->drawn ? start : s->drawn;
		if (end < start) {
			s->at = row_index_ends_from(s->l, 0, s->at, s->end, start);
		} else if (frame_width(s->f, start, end) < 1) {
			put_pixel(s, start);
		} else {
			put(s, row_index_item(s->l, 0, s->at), frame_x(s->f, start), frame_x(s->f, end), 1);
			s->drawn = end;
			s->at++;
		}
	}
}

static void draw_tail(struct frame *f, uint32_t stream, double top, double bottom)
{
	uint64_t from = f->s->tails ? f->s->tails[stream] : UINT64_MAX;
	struct mprof_mark *mark;

	if (from > f->w.to || from > f->v->streams[stream].end || f->v->streams[stream].end < f->w.from)
		return;
	mark = frame_mark(f, MPROF_MARK_TAIL);
	if (!mark)
		return;
	mark->x0 = (float)frame_clip(f, frame_x(f, from));
	mark->x1 = (float)frame_clip(f, frame_x(f, f->v->streams[stream].end));
	mark->y0 = (float)top;
	mark->y1 = (float)bottom;
	mark->item = stream;
	mark->stream = stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX;
	mark->shade = (uint16_t)FULL;
}

/*
 * Return the first stream from I on with a row after ROW; the number of streams if there is none.
 */
static uint32_t stream_behind(const struct frame *f, uint32_t i, double row)
{
	uint32_t to = f->v->n_streams, middle;

	while (i < to) {
		middle = i + (to - i) / 2;
		if (f->v->streams[middle].first_row + (double)f->v->streams[middle].rows <= row)
			i = middle + 1;
		else
			to = middle;
	}
	return i;
}

/* Store in *TOP and *BOTTOM the heights between which the rows of STREAM are drawn. */
static void extent(const struct frame *f, uint32_t stream, double *top, double *bottom)
{
	const struct mprof_model_stream *s = &f->v->streams[stream];

	*top = 0;
	*bottom = f->w.height;
	if (stream && s->first_row)
		*top = fisheye_y(&f->fisheye, fmin(s->first_row - 0.5, f->fisheye.last));
	if (stream + 1 < f->v->n_streams && s->first_row + s->rows < f->v->rows)
		*bottom = fisheye_y(&f->fisheye, fmax(s->first_row + s->rows - 0.5, 0));
}

void draw_bands(struct frame *f)
{
	struct strip strip = {.f = f};

	for (; strip.stream < f->v->n_streams && !f->failed; strip.stream++) {
		f->s->steps++;
		extent(f, strip.stream, &strip.top, &strip.bottom);
		if (strip.bottom - strip.top < THIN) {
			strip.stream = stream_behind(f, strip.stream, fisheye_row(&f->fisheye, strip.top + THIN));
			if (strip.stream >= f->v->n_streams)
				return;
			extent(f, strip.stream, &strip.top, &strip.bottom);
		}
		for (unsigned i = 0; i < BANDS_DURATION; i++) {
			strip.l = &f->s->bands[i];
			strip.sums = &f->s->sums[i];
			strip.kind = kinds[i];
			draw_strip(&strip);
		}
		draw_tail(f, strip.stream, strip.top, strip.bottom);
	}
}

static void name_band(struct frame *f, const struct mprof_mark *band)
{
	char text[64] = "sleeping";
	double left = fmaxf(band->x0, 0), right = fminf(band->x1, f->w.width);
	struct mprof_mark at = *band, *mark;
	size_t n;

	if (f->w.flags & MPROF_WINDOW_TRACKED && band->kind != MPROF_MARK_GAP)
		return;
	if (band->kind == MPROF_MARK_COLLECTION)
		snprintf(text, sizeof(text), "GC");
	else if (band->kind == MPROF_MARK_GAP && f->v->gaps[band->item].packets)
		snprintf(text, sizeof(text), "%" PRIu64 " packet%s missing", f->v->gaps[band->item].packets,
			 f->v->gaps[band->item].packets == 1 ? "" : "s");
	else if (band->kind == MPROF_MARK_GAP)
		snprintf(text, sizeof(text), "damaged: skipped");
	n = strlen(text);
	if (frame_letters(f, right - left) < n + 1 || band->y1 - band->y0 < NAME_TOP)
		return;
	mark = frame_mark(f, MPROF_MARK_BAND_NAME);
	if (!mark)
		return;
	mark->x0 = (float)left;
	mark->x1 = (float)right;
	mark->y0 = mark->y1 = (float)(at.y0 + NAME_TOP);
	mark->item = at.item;
	mark->stream = at.stream;
	frame_text(f, mark, text, n, (uint32_t)n);
}

/*
 * Append a name to each band that was drawn, if there is room. The bands are the first marks of the
 * picture.
 */
void draw_band_names(struct frame *f)
{
	uint32_t n = f->s->marks.n;

	for (uint32_t i = 0; i < n && !f->failed; i++) {
		struct mprof_mark band = ((struct mprof_mark *)f->s->marks.items)[i];

		if (band.kind == MPROF_MARK_TAIL)
			continue;
		if (band.kind > MPROF_MARK_GAP)
			return;
		name_band(f, &band);
	}
}

/* ---- a processor's track ---- */

#define NAME_HEIGHT 9.0 /* height of a name's letters, pixels */

/* Write the N bytes at TEXT, a part of a track's name, between LEFT and RIGHT, if all of it fits. */
static void put_track_text(struct frame *f, uint32_t stream, double left, double right, double base, const char *text,
			   size_t n)
{
	struct mprof_mark *mark;
	uint32_t letters;

	left = fmax(left, 0);
	right = fmin(right, f->w.width);
	letters = frame_text(f, NULL, text, n, UINT32_MAX);
	if (frame_letters(f, right - left) < (uint64_t)letters + 1)
		return;
	mark = frame_mark(f, MPROF_MARK_BAND_NAME);
	if (!mark)
		return;
	mark->x0 = (float)left;
	mark->x1 = (float)right;
	mark->y0 = mark->y1 = (float)base;
	mark->item = stream;
	mark->stream = stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX;
	frame_text(f, mark, text, n, letters);
}

static void put_track_name(struct frame *f, uint32_t stream, double left, double right, double base, const char *text)
{
	put_track_text(f, stream, left, right, base, text, strlen(text));
}

static const char *const band_words[BANDS] = {"sleeping", "GC", "missing"};

/* Write the name of BAND, which has KIND, between LEFT and its end. */
static void name_track_band(struct frame *f, uint32_t stream, const struct mprof_mark *band, unsigned kind, double left,
			    double base)
{
	const struct mprof_string *name;

	if (kind != BANDS_DURATION) {
		put_track_name(f, stream, left, band->x1, base, band_words[kind]);
		return;
	}
	name = &f->v->strings[f->v->durations[band->item].name];
	put_track_text(f, stream, left, band->x1, base, f->v->text + name->offset, name->bytes);
}

/*
 * Write names into a processor's track: to the bands of each kind, which are the marks from
 * AT[kind] up to AT[kind + 1], and to the times between LEFT and RIGHT in which the processor ran.
 */
static void name_track(struct frame *f, uint32_t stream, uint32_t *at, double left, double right, double base)
{
	uint32_t end[BANDS] = {at[1], at[2], at[3], at[4]};
	struct mprof_mark next = {0};
	unsigned kind;

	for (;;) {
		kind = BANDS;
		for (unsigned i = 0; i < BANDS; i++)
			if (at[i] < end[i] &&
			    (kind == BANDS || ((struct mprof_mark *)f->s->marks.items)[at[i]].x0 < next.x0)) {
				kind = i;
				next = ((struct mprof_mark *)f->s->marks.items)[at[i]];
			}
		if (kind == BANDS || f->failed)
			break;
		at[kind]++;
		put_track_name(f, stream, left, next.x0, base, "running");
		if (next.shade >= (uint32_t)FULL)
			name_track_band(f, stream, &next, kind, fmax(left, next.x0), base);
		left = fmax(left, next.x1);
	}
	put_track_name(f, stream, left, right, base, "running");
}

void draw_processor(struct frame *f, uint32_t stream, double top, double bottom)
{
	const struct mprof_model_stream *s = &f->v->streams[stream];
	struct strip strip = {.f = f, .stream = stream, .top = top, .bottom = bottom};
	uint32_t at[BANDS + 1];
	struct mprof_mark *mark;
	double left, right;

	if (!s->events || s->start > f->w.to || s->end < f->w.from)
		return;
	mark = frame_mark(f, MPROF_MARK_BUSY);
	if (!mark)
		return;
	left = frame_clip(f, frame_x(f, s->start));
	right = frame_clip(f, frame_x(f, s->end));
	*mark = (struct mprof_mark){.kind = MPROF_MARK_BUSY,
				    .x0 = (float)left,
				    .x1 = (float)right,
				    .y0 = (float)top,
				    .y1 = (float)bottom,
				    .item = stream,
				    .shade = (uint16_t)FULL,
				    .stream = stream < UINT8_MAX ? (uint8_t)stream : UINT8_MAX};
	for (unsigned i = 0; i < BANDS; i++) {
		at[i] = f->s->marks.n;
		strip.l = &f->s->bands[i];
		strip.sums = &f->s->sums[i];
		strip.kind = kinds[i];
		draw_strip(&strip);
	}
	at[BANDS] = f->s->marks.n;
	name_track(f, stream, at, left, right, (top + bottom + NAME_HEIGHT) / 2);
}

bool mprof_scene_tail(struct mprof_scene *s, uint32_t stream, uint64_t from_ns)
{
	if (stream >= s->view->n_streams)
		return false;
	if (!s->tails) {
		s->tails = malloc(s->view->n_streams * sizeof(*s->tails));
		if (!s->tails)
			return false;
		memset(s->tails, 0xff, s->view->n_streams * sizeof(*s->tails));
	}
	s->tails[stream] = from_ns;
	return true;
}
