/*
 * Counterparts of what was left over, elsewhere in the other run, because a thread may have another creator there, or one from before the
 * trace.  Only what both runs have as often is believed.
 *
 * Elders, of which nothing is known because they are from before the trace and have no label, are told by what they do and create, and by
 * their order only where all else failed: in a ring that has wrapped they may be anybody.
 */
#include "diff-match.h"
#include "map.h"

/* By what a thread that was left over can be found elsewhere.  0: by nothing. */
static uint64_t trait_exact(const struct diff_side *s, uint32_t thread)
{
	return diff_elder(s, thread) || diff_label(s, thread) != MPROF_NONE ||
			       s->why->made.start[thread] < s->why->made.start[thread + 1]
		       ? s->exact[thread]
		       : 0;
}

static uint64_t trait_kin(const struct diff_side *s, uint32_t thread)
{
	return diff_label(s, thread) == MPROF_NONE ? 0 : s->kin[thread];
}

static uint64_t trait_label(const struct diff_side *s, uint32_t thread)
{
	uint32_t label = diff_label(s, thread);

	return label == MPROF_NONE ? 0 : label + 1ull;
}

static uint64_t trait_shape(const struct diff_side *s, uint32_t thread)
{
	uint32_t shape = diff_shape(s, thread);

	return shape == MPROF_NONE ? 0 : (diff_thread(s, thread)->type + 1ull) << 32 | shape;
}

/* Of an elder, the first child that has a label. */
static uint64_t trait_child(const struct diff_side *s, uint32_t thread)
{
	const uint32_t *made;
	uint32_t n, i;

	if (!diff_elder(s, thread))
		return 0;
	made = buckets_of(&s->why->made, thread, &n);
	for (i = 0; i < n; i++)
		if (diff_label(s, made[i]) != MPROF_NONE)
			return trait_shape(s, made[i]);
	return 0;
}

static uint64_t trait_elder(const struct diff_side *s, uint32_t thread)
{
	return diff_elder(s, thread);
}

/* What is left of a run and has the trait, and its keys.  In another stream nobody is looked for. */
static uint32_t list_left(struct matching *m, int side, uint64_t (*trait)(const struct diff_side *s, uint32_t thread))
{
	const struct diff_side *s = &m->d->side[side];
	uint32_t i, n = 0, stream, root;
	uint64_t key;

	for (i = 0; i < s->view->n_threads; i++) {
		stream = diff_thread(s, i)->stream;
		root = s->view->streams[stream].root;
		key = s->match[i] == MPROF_NONE && s->match[root] != MPROF_NONE ? trait(s, i) : 0;
		if (!key)
			continue;
		if (side == BAD)
			stream = diff_thread(&m->d->side[GOOD], s->match[root])->stream;
		m->list[side][n] = i;
		m->keys[side][n++] = map_mix(key, m->d->options.seed + stream);
	}
	return n;
}

static bool match_left(struct matching *m, uint64_t (*trait)(const struct diff_side *s, uint32_t thread))
{
	uint32_t n_a = list_left(m, GOOD, trait), n_b = list_left(m, BAD, trait);

	if (!n_a || !n_b)
		return true;
	if (!diff_count_off(m->keys[GOOD], n_a, m->keys[BAD], n_b, true, m->match, &m->d->view.work))
		return false;
	diff_pair_matches(m, m->list[GOOD], n_a, m->list[BAD], m->match);
	return diff_match_queue(m);
}

static bool same_type(const struct mprof_thread *a, const struct mprof_thread *b)
{
	return a->type == b->type || a->type == MPROF_THREAD_UNKNOWN || b->type == MPROF_THREAD_UNKNOWN;
}

/* Those that created counterparts are counterparts, where they have none; from the last on, so that it goes up to the first creator. */
static bool match_creators(struct matching *m)
{
	const struct diff_side *g = &m->d->side[GOOD], *b = &m->d->side[BAD];
	uint32_t i, good, bad;

	for (i = g->view->n_threads; i-- > 0;) {
		if (g->match[i] == MPROF_NONE || diff_root(g, i))
			continue;
		good = diff_thread(g, i)->creator;
		bad = diff_thread(b, g->match[i])->creator;
		if (g->match[good] == MPROF_NONE && b->match[bad] == MPROF_NONE && !diff_root(g, good) &&
		    !diff_root(b, bad) && same_type(diff_thread(g, good), diff_thread(b, bad)) &&
		    diff_may_pair(m->d, good, bad))
			diff_pair(m, good, bad);
	}
	return diff_match_queue(m);
}

bool diff_match_left(struct matching *m)
{
	return match_left(m, trait_exact) && match_left(m, trait_child) && match_left(m, trait_kin) &&
	       match_left(m, trait_label) && match_creators(m) && match_left(m, trait_shape) && match_creators(m) &&
	       match_left(m, trait_elder);
}
