/* Keep slices with both ends, sort them by their begin, and lay them onto lanes. */
#include "whole-slices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "write-all.h"

#define PIECE_BYTES (64u << 10) /* bytes of a run in memory while runs are merged */

/* A sorted part of the temporary file: FROM to TO. While runs are merged, PIECE has the next bytes. */
struct whole_run {
	uint64_t from, to;
	uint8_t *piece;
	size_t at, n, room;
};

static size_t bytes_of(const struct whole_slice *w)
{
	return (sizeof(*w) + w->name_bytes + 7) & ~(size_t)7;
}

static const char *name_of(const struct whole_slice *w)
{
	return (const char *)(w + 1);
}

/*
 * Return less than 0 if A comes before B: an enclosing slice comes first, and of two alike the one that was
 * recorded last.
 */
static int order(const struct whole_slice *a, const struct whole_slice *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->number > b->number ? -1 : a->number < b->number;
}

static int order_places(const void *a, const void *b)
{
	const uintptr_t *x = a, *y = b;

	return order((const void *)*x, (const void *)*y);
}

/* Sort the slices. From now on ARENA stays where it is: no slice is added before N is 0 again. */
static void sort(struct whole_slices *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->places[i] += (uintptr_t)s->arena;
	if (s->n)
		qsort(s->places, s->n, sizeof(*s->places), order_places);
}

/* Return slice I, after sort(). */
static const struct whole_slice *slice_at(const struct whole_slices *s, uint32_t i)
{
	return (const void *)s->places[i];
}

/* ---- keep */

/* Write the slices in memory to the temporary file, sorted, as one run. Return 0 or -errno. */
static int spill(struct whole_slices *s)
{
	struct whole_run *runs = reallocarray(s->runs, s->n_runs + 1, sizeof(*runs));
	CLEANUP(freep) uint8_t *piece = malloc(PIECE_BYTES);
	size_t n = 0;

	if (runs)
		s->runs = runs;
	if (!runs || !piece)
		return -ENOMEM;
	if (s->spool < 0)
		s->spool = s->open();
	if (s->spool < 0)
		return s->spool;
	sort(s);
	runs[s->n_runs] = (struct whole_run){.from = s->spooled};
	for (uint32_t i = 0; i < s->n; i++) {
		const struct whole_slice *w = slice_at(s, i);
		size_t bytes = bytes_of(w);
		int r = 0;

		if (n + bytes > PIECE_BYTES) {
			r = write_all(s->spool, piece, n);
			n = 0;
		}
		if (r)
			return r;
		if (bytes > PIECE_BYTES) {
			r = write_all(s->spool, w, bytes);
		} else {
			memcpy(piece + n, w, bytes);
			n += bytes;
		}
		if (r)
			return r;
		s->spooled += bytes;
	}
	runs[s->n_runs++].to = s->spooled;
	s->n = 0;
	s->used = 0;
	return write_all(s->spool, piece, n);
}

/* Make room for BYTES more bytes and one more place. Return 0 or -ENOMEM. */
static int reserve(struct whole_slices *s, size_t bytes)
{
	size_t room = s->room ? s->room : 64u << 10;
	uint8_t *arena;
	uintptr_t *places;

	while (room < s->used + bytes)
		room *= 2;
	if (room != s->room) {
		arena = realloc(s->arena, room);
		if (!arena)
			return -ENOMEM;
		s->arena = arena;
		s->room = room;
	}
	if (s->n < s->places_room)
		return 0;
	places = reallocarray(s->places, s->places_room ? 2 * s->places_room : 1024, sizeof(*places));
	if (!places)
		return -ENOMEM;
	s->places = places;
	s->places_room = s->places_room ? 2 * s->places_room : 1024;
	return 0;
}

int whole_slices_add(struct whole_slices *s, const struct whole_slice *w, const char *name)
{
	size_t bytes = bytes_of(w), most = s->most ? s->most : s->open ? WHOLE_BYTES_MAX : WHOLE_HELD_MAX;
	struct whole_slice *copy;
	int r = 0;

	if (s->n && s->used + bytes > most)
		r = s->open ? spill(s) : -ENOMEM;
	r = r ? r : reserve(s, bytes);
	if (r)
		return r;
	copy = (void *)(s->arena + s->used);
	memset((uint8_t *)copy + bytes - 8, 0, 8);
	*copy = *w;
	copy->number = s->number++;
	if (w->name_bytes)
		memcpy(copy + 1, name, w->name_bytes);
	s->places[s->n++] = s->used;
	s->used += bytes;
	return 0;
}

/* ---- read sorted */

/* Read on in the run R until PIECE has at least N bytes. Return 0 or -errno; -EIO if the file is shorter. */
static int fill(const struct whole_slices *s, struct whole_run *r, size_t n)
{
	size_t left = r->n - r->at, want;
	ssize_t got;

	if (left >= n)
		return 0;
	if (r->room < n) {
		uint8_t *piece = realloc(r->piece, n > PIECE_BYTES ? n : PIECE_BYTES);

		if (!piece)
			return -ENOMEM;
		r->piece = piece;
		r->room = n > PIECE_BYTES ? n : PIECE_BYTES;
	}
	memmove(r->piece, r->piece + r->at, left);
	for (r->at = 0, r->n = left; r->n < n; r->n += (size_t)got, r->from += (uint64_t)got) {
		want = r->room - r->n < r->to - r->from ? r->room - r->n : (size_t)(r->to - r->from);
		got = want ? pread(s->spool, r->piece + r->n, want, (off_t)r->from) : 0;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
	}
	return 0;
}

/*
 * Set *W to the next slice of the run R; to NULL at its end. It is valid until the run is read on. Return 0 or
 * -errno.
 */
static int run_next(const struct whole_slices *s, struct whole_run *r, const struct whole_slice **w)
{
	int error;

	*w = NULL;
	if (r->at == r->n && r->from == r->to)
		return 0;
	error = fill(s, r, sizeof(**w));
	if (!error)
		error = fill(s, r, bytes_of((const void *)(r->piece + r->at)));
	if (!error)
		*w = (const void *)(r->piece + r->at);
	return error;
}

/* All slices in their order: those in memory, and those of the runs. */
struct walk {
	struct whole_slices *s;
	uint32_t i; /* next one in memory */
};

/*
 * Set *W to the first of the slices that are left; to NULL at the end. It is valid until walk_pass(). *RUN is
 * the run that it is of, or NULL for one in memory. Return 0 or -errno.
 */
static int walk_first(const struct walk *walk, const struct whole_slice **w, struct whole_run **run)
{
	*w = walk->i < walk->s->n ? slice_at(walk->s, walk->i) : NULL;
	*run = NULL;
	for (size_t i = 0; i < walk->s->n_runs; i++) {
		const struct whole_slice *next;
		int r = run_next(walk->s, &walk->s->runs[i], &next);

		if (r)
			return r;
		if (next && (!*w || order(next, *w) < 0)) {
			*w = next;
			*run = &walk->s->runs[i];
		}
	}
	return 0;
}

static void walk_pass(struct walk *walk, const struct whole_slice *w, struct whole_run *run)
{
	if (run)
		run->at += bytes_of(w);
	else
		walk->i++;
}

/* ---- lay */

struct lane {
	uint64_t *ends; /* ends of the slices that are open, the innermost last; owned */
	uint32_t n, room;
};

struct lanes {
	const struct whole_ops *ops;
	uint32_t group;
	unsigned int n;
	struct lane list[WHOLE_LANES_MAX];
};

/* End the slices of LANE that end at TIME or earlier. Return 0 or what OPS returned. */
static int end_until(struct lanes *l, unsigned int lane, uint64_t time)
{
	struct lane *x = &l->list[lane];
	int r = 0;

	while (!r && x->n && x->ends[x->n - 1] <= time)
		r = l->ops->end(l->ops->context, l->group, lane, x->ends[--x->n]);
	return r;
}

/* Return whether a slice that ends at END may lie on the lane LANE, whose open slices all end later than it begins. */
static bool fits(const struct lane *lane, uint64_t end)
{
	return !lane->n || (lane->ends[lane->n - 1] >= end && lane->n < WHOLE_DEPTH_MAX);
}

static int push(struct lane *lane, uint64_t end)
{
	if (lane->n == lane->room) {
		uint64_t *ends = reallocarray(lane->ends, lane->room ? 2 * lane->room : 16, sizeof(*ends));

		if (!ends)
			return -ENOMEM;
		lane->ends = ends;
		lane->room = lane->room ? 2 * lane->room : 16;
	}
	lane->ends[lane->n++] = end;
	return 0;
}

/* Lay W onto the first lane where it fits, else onto the last one, cut. Return 0, -errno, or what OPS returned. */
static int lay(struct lanes *l, const struct whole_slice *w)
{
	struct whole_place place = {.slice = w, .name = name_of(w), .end = w->end};
	int r = 0;

	for (; place.lane < l->n; place.lane++) {
		r = end_until(l, place.lane, w->start);
		if (r || fits(&l->list[place.lane], w->end))
			break;
	}
	if (!r && place.lane == l->n && l->n < WHOLE_LANES_MAX)
		l->n++;
	if (!r && place.lane == WHOLE_LANES_MAX) {
		struct lane *last = &l->list[--place.lane];

		if (last->n == WHOLE_DEPTH_MAX) { /* its innermost slice ends here, because no more fit inside */
			r = l->ops->end(l->ops->context, l->group, place.lane, w->start);
			last->n--;
		}
		place.end = last->n && last->ends[last->n - 1] < w->end ? last->ends[last->n - 1] : w->end;
	}
	r = r ? r : push(&l->list[place.lane], place.end);
	return r ? r : l->ops->begin(l->ops->context, &place);
}

static int end_all(struct lanes *l)
{
	int r = 0;

	for (unsigned int i = 0; i < l->n && !r; i++)
		r = end_until(l, i, UINT64_MAX);
	l->n = 0;
	return r;
}

int whole_slices_lay(struct whole_slices *s, const struct whole_ops *ops)
{
	CLEANUP(freep) struct lanes *l = calloc(1, sizeof(*l));
	struct walk k = {.s = s};
	const struct whole_slice *w;
	struct whole_run *run;
	int r;

	if (!l)
		return -ENOMEM;
	l->ops = ops;
	sort(s);
	while ((r = walk_first(&k, &w, &run)) == 0 && w) {
		if (w->group != l->group)
			r = end_all(l);
		l->group = w->group;
		r = r ? r : lay(l, w);
		if (r)
			break;
		walk_pass(&k, w, run);
	}
	r = r ? r : end_all(l);
	for (unsigned int i = 0; i < ARRAY_SIZE(l->list); i++)
		free(l->list[i].ends);
	whole_slices_deinit(s);
	return r;
}

void whole_slices_deinit(struct whole_slices *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		free(s->runs[i].piece);
	free(s->runs);
	free(s->arena);
	free(s->places);
	if (s->spool >= 0)
		close(s->spool);
	*s = (struct whole_slices){.spool = -1, .open = s->open, .most = s->most};
}
