/*
 * The durations of a stream as a picture shows them: at each moment the innermost one, which began last
 * of those that had begun and not ended. So durations become pieces that do not overlap.
 */
#include <stdlib.h>

#include "model-state.h"

static const struct mprof_duration *duration_at(const struct mprof_model *m, uint32_t i)
{
	return (const struct mprof_duration *)m->arrays[MODEL_DURATIONS].items + i;
}

static uint64_t start_of(const struct mprof_duration *d)
{
	return d->time > d->duration_ns ? d->time - d->duration_ns : 0;
}

/* For the sort: a duration that encloses another one comes before it. */
struct key {
	uint64_t start, end;
	uint32_t stream, item;
};

static int compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->item < y->item ? 1 : -1; /* of equals the inner one ended first */
}

/* The durations of a stream that have begun, the innermost last, and the time up to which pieces are made. */
struct open {
	struct grow *pieces;
	const struct key **list;
	uint32_t n;
	uint64_t now;
};

/* The innermost duration lasts up to the time END, unless it ends before. Room was reserved. */
static void piece(struct open *o, uint64_t end)
{
	const struct key *top = o->list[o->n - 1];
	uint64_t to = top->end < end ? top->end : end;

	if (to <= o->now)
		return;
	*(struct mprof_piece *)grow_take(o->pieces, sizeof(struct mprof_piece)) =
		(struct mprof_piece){.start = o->now, .end = to, .duration = top->item, .stream = top->stream};
	o->now = to;
}

/* All durations that end before or at the time END have ended. */
static void close_to(struct open *o, uint64_t end)
{
	while (o->n && o->list[o->n - 1]->end <= end) {
		piece(o, end);
		o->n--;
	}
	if (o->n)
		piece(o, end);
}

static void sweep(struct open *o, const struct key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i && keys[i].stream != keys[i - 1].stream)
			close_to(o, UINT64_MAX);
		close_to(o, keys[i].start);
		o->now = keys[i].start;
		o->list[o->n++] = &keys[i];
	}
	close_to(o, UINT64_MAX);
}

bool model_durations(struct mprof_model *m)
{
	uint32_t n = m->arrays[MODEL_DURATIONS].n;
	struct key *keys = malloc(((size_t)n + 1) * sizeof(*keys));
	struct open open = {.pieces = &m->pieces, .list = malloc(((size_t)n + 1) * sizeof(*open.list))};
	/* Each duration begins a piece, and its end begins another one of what encloses it. */
	bool ok =
		keys && open.list && n < UINT32_MAX / 2 && grow_reserve(&m->pieces, sizeof(struct mprof_piece), 2 * n);

	if (ok) {
		m->pieces.n = 0;
		for (uint32_t i = 0; i < n; i++)
			keys[i] = (struct key){.start = start_of(duration_at(m, i)),
					       .end = duration_at(m, i)->time,
					       .stream = duration_at(m, i)->stream,
					       .item = i};
		qsort(keys, n, sizeof(*keys), compare);
		sweep(&open, keys, n);
	}
	free(keys);
	free(open.list);
	return ok;
}
