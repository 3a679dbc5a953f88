/* Threads without a counterpart, by type and label. */
#include <stdlib.h>

#include "diff-state.h"

struct loner {
	uint32_t label; /* common text, or MPROF_NONE */
	uint32_t thread;
	uint8_t type;
	uint8_t side;
};

static int compare_loners(const void *a, const void *b)
{
	const struct loner *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool list_loners(const struct diff_side *s, uint8_t side, struct grow *list)
{
	struct loner *l;
	uint32_t i;

	for (i = 0; i < s->view->n_threads; i++) {
		if (s->match[i] != MPROF_NONE || !diff_told(s, i))
			continue;
		l = grow_add(list, sizeof(*l));
		if (!l)
			return false;
		*l = (struct loner){
			.label = diff_shape(s, i), .thread = i, .type = diff_thread(s, i)->type, .side = side};
	}
	return true;
}

/* A kind of them, and what it is worth to be told. */
struct lone {
	struct mprof_diff_lone l;
	bool labelled;
};

static int compare_lone(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;
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

static bool join_loners(const struct loner *list, uint32_t n, struct grow *kinds)
{
	struct lone *kind = NULL;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!i || list[i].label != list[i - 1].label || list[i].type != list[i - 1].type) {
			kind = grow_add(kinds, sizeof(*kind));
			if (!kind)
				return false;
			*kind = (struct lone){.l = {.good = MPROF_NONE, .bad = MPROF_NONE},
					      .labelled = list[i].label != MPROF_NONE};
		}
		if (list[i].side == GOOD && !kind->l.good_n++)
			kind->l.good = list[i].thread;
		if (list[i].side == BAD && !kind->l.bad_n++)
			kind->l.bad = list[i].thread;
	}
	return true;
}

static bool tell_kinds(struct mprof_diff *d, struct grow *kinds)
{
	struct lone *list = kinds->items;
	struct mprof_diff_lone *told;
	uint32_t i;

	d->view.all_lone = kinds->n;
	if (kinds->n)
		qsort(list, kinds->n, sizeof(*list), compare_lone);
	for (i = 0; i < kinds->n && i < d->options.told; i++) {
		told = grow_add(&d->lone, sizeof(*told));
		if (!told)
			return false;
		*told = list[i].l;
	}
	return true;
}

bool diff_lone(struct mprof_diff *d)
{
	struct grow list = {0}, kinds = {0};
	bool fine = list_loners(&d->side[GOOD], GOOD, &list) && list_loners(&d->side[BAD], BAD, &list);

	if (fine && list.n)
		qsort(list.items, list.n, sizeof(struct loner), compare_loners);
	fine = fine && join_loners(list.items, list.n, &kinds) && tell_kinds(d, &kinds);
	grow_deinit(&list);
	grow_deinit(&kinds);
	return fine;
}
