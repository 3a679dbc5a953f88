/* Threads without a counterpart, by type and label. */
#include <stdlib.h>

#include "diff-state.h"

struct unmatched {
	uint32_t label; /* number of the text of its first label, or MPROF_NONE */
	uint32_t thread;
	uint8_t type;
	uint8_t side;
};

static int compare_unmatched(const void *a, const void *b)
{
	const struct unmatched *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool list_unmatched(const struct diff_side *s, uint8_t side, struct grow *list)
{
	struct unmatched *l;

	for (uint32_t i = 0; i < s->view->n_threads; i++) {
		if (s->match[i] != MPROF_NONE || !diff_is_reported(s, i))
			continue;
		l = grow_add(list, sizeof(*l));
		if (!l)
			return false;
		*l = (struct unmatched){
			.label = diff_shape(s, i), .thread = i, .type = diff_thread(s, i)->type, .side = side};
	}
	return true;
}

/* Threads of one type and first label, for sorting. */
struct unmatched_kind {
	struct mprof_diff_unmatched l;
	bool labelled;
};

static int compare_kinds(const void *a, const void *b)
{
	const struct unmatched_kind *x = a, *y = b;
	uint32_t more_x = x->l.good_n > x->l.bad_n ? x->l.good_n - x->l.bad_n : x->l.bad_n - x->l.good_n;
	uint32_t more_y = y->l.good_n > y->l.bad_n ? y->l.good_n - y->l.bad_n : y->l.bad_n - y->l.good_n;

	if (x->labelled != y->labelled)
		return x->labelled ? -1 : 1;
	if (more_x != more_y)
		return more_x > more_y ? -1 : 1;
	if (x->l.good != y->l.good)
		return x->l.good < y->l.good ? -1 : 1;
	return x->l.bad < y->l.bad ? -1 : x->l.bad > y->l.bad;
}

static bool join_unmatched(const struct unmatched *list, uint32_t n, struct grow *kinds)
{
	struct unmatched_kind *kind = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (!i || list[i].label != list[i - 1].label || list[i].type != list[i - 1].type) {
			kind = grow_add(kinds, sizeof(*kind));
			if (!kind)
				return false;
			*kind = (struct unmatched_kind){.l = {.good = MPROF_NONE, .bad = MPROF_NONE},
							.labelled = list[i].label != MPROF_NONE};
		}
		if (list[i].side == GOOD && !kind->l.good_n++)
			kind->l.good = list[i].thread;
		if (list[i].side == BAD && !kind->l.bad_n++)
			kind->l.bad = list[i].thread;
	}
	return true;
}

static bool report_kinds(struct mprof_diff *d, struct grow *kinds)
{
	struct unmatched_kind *list = kinds->items;
	struct mprof_diff_unmatched *item;

	d->view.all_unmatched = kinds->n;
	if (kinds->n)
		qsort(list, kinds->n, sizeof(*list), compare_kinds);
	for (uint32_t i = 0; i < kinds->n && i < d->options.results_max; i++) {
		item = grow_add(&d->unmatched, sizeof(*item));
		if (!item)
			return false;
		*item = list[i].l;
	}
	return true;
}

bool diff_unmatched(struct mprof_diff *d)
{
	struct grow list = {0}, kinds = {0};
	bool fine = list_unmatched(&d->side[GOOD], GOOD, &list) && list_unmatched(&d->side[BAD], BAD, &list);

	if (fine && list.n)
		qsort(list.items, list.n, sizeof(struct unmatched), compare_unmatched);
	fine = fine && join_unmatched(list.items, list.n, &kinds) && report_kinds(d, &kinds);
	grow_deinit(&list);
	grow_deinit(&kinds);
	return fine;
}
