/*
 * Match the threads of the two runs. Two matched threads are counterparts.
 *
 * Matching goes from the roots down. The children of two counterparts, in the order of their
 * creation, are aligned by levels. First threads with equal subtrees are matched. Between these,
 * threads with the same kin are matched, then threads with the same kin but for numbers in the
 * label, then threads of the same type whose labels do not contradict. The threads that are left
 * are then searched for elsewhere in the other run. diff-state.h defines kin and shape.
 *
 * Invariant: a thread is in the queue at most once, when it gets its counterpart, so each list of
 * children is aligned once.
 */
#include <stdlib.h>

#include "diff-state.h"
#include "map.h"

struct match_state {
	struct mprof_diff *d;
	uint32_t *queue; /* threads of the good run whose children are still to be matched */
	uint32_t queued, next;
	/* Scratch space; each array has an item for each thread: */
	uint32_t *list[2];
	uint64_t *keys[2];
	uint32_t *match;
};

/* Make GOOD and BAD counterparts, and put GOOD into the queue. */
void diff_pair(struct match_state *m, uint32_t good, uint32_t bad);
/*
 * Make the matched threads of the lists A and B counterparts, if diff_may_pair() allows it. MATCH
 * is that of diff_align().
 */
void diff_pair_matches(struct match_state *m, const uint32_t *a, uint32_t n_a, const uint32_t *b,
		       const uint32_t *match);
bool diff_may_pair(const struct mprof_diff *d, uint32_t good, uint32_t bad);
/* Return true if THREAD is *anonymous*: it existed before the trace and has no label. */
bool diff_is_anonymous(const struct diff_side *s, uint32_t thread);
/*
 * Match the children of all threads in the queue, also of threads that come into the queue
 * meanwhile. Return false without memory.
 */
bool diff_match_queue(struct match_state *m);
/*
 * Match each thread that has no counterpart with a thread anywhere in the other run. Return false
 * without memory.
 */
bool diff_match_left(struct match_state *m);

enum level { LEVEL_EXACT, LEVEL_KIN, LEVEL_SHAPE, LEVEL_TYPE, LEVELS };

void diff_pair(struct match_state *m, uint32_t good, uint32_t bad)
{
	m->d->side[GOOD].match[good] = bad;
	m->d->side[BAD].match[bad] = good;
	m->queue[m->queued++] = good;
}

static uint64_t key_at(const struct diff_side *s, enum level level, uint32_t thread)
{
	const struct mprof_thread *t = diff_thread(s, thread);
	uint64_t type;

	if (level == LEVEL_EXACT)
		return s->exact[thread];
	if (level == LEVEL_KIN)
		return s->kin[thread];
	type = t->type * 2u + (t->creator != MPROF_NONE && diff_thread(s, t->creator)->becomes == thread);
	return level == LEVEL_SHAPE ? type << 32 | diff_shape(s, thread) : type;
}

static void make_keys(struct match_state *m, int side, enum level level, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		m->keys[side][i] = key_at(&m->d->side[side], level, list[i]);
}

/*
 * Return true when GOOD and BAD may be counterparts: the shapes of their first labels are the same,
 * or one of them has no label. Threads with different labels are different threads.
 */
bool diff_may_pair(const struct mprof_diff *d, uint32_t good, uint32_t bad)
{
	uint32_t a = diff_shape(&d->side[GOOD], good), b = diff_shape(&d->side[BAD], bad);

	return a == b || a == MPROF_NONE || b == MPROF_NONE;
}

/* Move the threads of LIST that have no counterpart to the front of LIST. Return their number. */
static uint32_t keep_unmatched(const struct diff_side *s, uint32_t *list, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (s->match[list[i]] == MPROF_NONE)
			list[kept++] = list[i];
	return kept;
}

void diff_pair_matches(struct match_state *m, const uint32_t *a, uint32_t n_a, const uint32_t *b, const uint32_t *match)
{
	for (uint32_t i = 0; i < n_a; i++)
		if (match[i] != MPROF_NONE && diff_may_pair(m->d, a[i], b[match[i]]))
			diff_pair(m, a[i], b[match[i]]);
}

static bool match_lists(struct match_state *m, enum level level, uint32_t *a, uint32_t n_a, uint32_t *b, uint32_t n_b);

/*
 * MATCH divides the lists A and B into pieces between matched threads. Match each piece of A with
 * its piece of B, at the level after LEVEL. Return false without memory.
 */
static bool match_between(struct match_state *m, enum level level, uint32_t *a, uint32_t n_a, uint32_t *b, uint32_t n_b,
			  const uint32_t *match)
{
	uint32_t from_a = 0, from_b = 0;

	for (uint32_t i = 0; i <= n_a; i++) {
		if (i < n_a && match[i] == MPROF_NONE)
			continue;
		if (!match_lists(m, level, a + from_a, i - from_a, b + from_b, (i < n_a ? match[i] : n_b) - from_b))
			return false;
		from_a = i + 1;
		from_b = i < n_a ? match[i] + 1 : n_b;
	}
	return true;
}

static bool match_lists(struct match_state *m, enum level level, uint32_t *a, uint32_t n_a, uint32_t *b, uint32_t n_b)
{
	uint32_t *match = m->match + (a - m->list[GOOD]);
	bool ordered;

	if (!n_a || !n_b)
		return true;
	make_keys(m, GOOD, level, a, n_a);
	make_keys(m, BAD, level, b, n_b);
	if (!diff_align(m->keys[GOOD], n_a, m->keys[BAD], n_b, match, &ordered, &m->d->view.work))
		return false;
	diff_pair_matches(m, a, n_a, b, match);
	if (level + 1 == LEVELS)
		return true;
	if (ordered)
		return match_between(m, level + 1, a, n_a, b, n_b, match);
	n_a = keep_unmatched(&m->d->side[GOOD], a, n_a);
	n_b = keep_unmatched(&m->d->side[BAD], b, n_b);
	return match_lists(m, level + 1, a, n_a, b, n_b);
}

bool diff_is_anonymous(const struct diff_side *s, uint32_t thread)
{
	return (diff_thread(s, thread)->flags & MPROF_THREAD_PREEXISTING) && diff_label(s, thread) == MPROF_NONE;
}

static uint32_t list_children(struct match_state *m, int side, uint32_t thread, bool backwards)
{
	const struct diff_side *s = &m->d->side[side];
	const uint32_t *made;
	uint32_t n, kept = 0, child;

	made = buckets_of(&s->why->made, thread, &n);
	for (uint32_t i = 0; i < n; i++) {
		child = made[backwards ? n - 1 - i : i];
		if (!diff_is_anonymous(s, child))
			m->list[side][kept++] = child;
	}
	return keep_unmatched(s, m->list[side], kept);
}

/*
 * Match the children of GOOD and BAD that have the same kin, then those of the same shape, in any
 * order. Return false without memory.
 */
static bool match_moved(struct match_state *m, uint32_t good, uint32_t bad, bool backwards)
{
	uint32_t n_a, n_b;
	enum level level;

	for (level = LEVEL_KIN; level <= LEVEL_SHAPE; level++) {
		/* List the children again, because match_lists() moved threads within the lists. */
		n_a = list_children(m, GOOD, good, backwards);
		n_b = list_children(m, BAD, bad, backwards);
		if (!n_a || !n_b)
			return true;
		make_keys(m, GOOD, level, m->list[GOOD], n_a);
		make_keys(m, BAD, level, m->list[BAD], n_b);
		if (!diff_count_off(m->keys[GOOD], n_a, m->keys[BAD], n_b, false, m->match, &m->d->view.work))
			return false;
		diff_pair_matches(m, m->list[GOOD], n_a, m->list[BAD], m->match);
	}
	return true;
}

/*
 * Match the children of GOOD and its counterpart. If only one of the two existed before the trace,
 * the trace lacks that one's first children: then match from the last children on. Return false
 * without memory.
 */
static bool match_children(struct match_state *m, uint32_t good)
{
	const struct mprof_diff *d = m->d;
	uint32_t bad = d->side[GOOD].match[good], n_a, n_b;
	bool cut = (diff_thread(&d->side[GOOD], good)->flags ^ diff_thread(&d->side[BAD], bad)->flags) &
		   MPROF_THREAD_PREEXISTING;

	n_a = list_children(m, GOOD, good, cut);
	n_b = list_children(m, BAD, bad, cut);
	return match_lists(m, LEVEL_EXACT, m->list[GOOD], n_a, m->list[BAD], n_b) && match_moved(m, good, bad, cut);
}

bool diff_match_queue(struct match_state *m)
{
	while (m->next < m->queued)
		if (!match_children(m, m->queue[m->next++]))
			return false;
	return true;
}

static void match_roots(struct match_state *m)
{
	const struct mprof_model_view *good = m->d->side[GOOD].view, *bad = m->d->side[BAD].view;
	const uint32_t *streams = m->d->options.streams;
	uint32_t at;

	for (uint32_t i = 0; i < bad->n_streams; i++) {
		at = streams ? streams[i] : i;
		if (at < good->n_streams && m->d->side[GOOD].match[good->streams[at].root] == MPROF_NONE)
			diff_pair(m, good->streams[at].root, bad->streams[i].root);
	}
}

static bool match_init(struct match_state *m, struct mprof_diff *d)
{
	size_t good = (size_t)d->side[GOOD].view->n_threads + 1, bad = (size_t)d->side[BAD].view->n_threads + 1;

	*m = (struct match_state){.d = d};
	m->queue = malloc(good * sizeof(*m->queue));
	m->match = malloc(good * sizeof(*m->match));
	m->list[GOOD] = malloc(good * sizeof(**m->list));
	m->list[BAD] = malloc(bad * sizeof(**m->list));
	m->keys[GOOD] = malloc(good * sizeof(**m->keys));
	m->keys[BAD] = malloc(bad * sizeof(**m->keys));
	return m->queue && m->match && m->list[GOOD] && m->list[BAD] && m->keys[GOOD] && m->keys[BAD];
}

static void match_deinit(struct match_state *m)
{
	free(m->queue);
	free(m->match);
	free(m->list[GOOD]);
	free(m->list[BAD]);
	free(m->keys[GOOD]);
	free(m->keys[BAD]);
}

bool diff_match(struct mprof_diff *d)
{
	struct match_state m;
	bool fine = match_init(&m, d);

	if (fine)
		match_roots(&m);
	fine = fine && diff_match_queue(&m) && diff_match_left(&m);
	match_deinit(&m);
	return fine;
}

/* ---- threads without a counterpart ---- */

/*
 * Match the threads that have no counterpart yet with any thread of the other run, because a thread
 * can have another creator there, or one from before the trace. A *trait* is a property by which a
 * thread can be recognised. It only counts if both runs have it equally often.
 *
 * Anonymous threads are matched by their steps and by the threads that they create, and by their
 * order only at the end: in a wrapped ring they may be any thread.
 */

/* Traits of THREAD as a number; 0: it has no such trait. */
static uint64_t trait_exact(const struct diff_side *s, uint32_t thread)
{
	return diff_is_anonymous(s, thread) || diff_label(s, thread) != MPROF_NONE ||
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

/* Return the trait of an anonymous thread that is the shape of its first child with a label. */
static uint64_t trait_child(const struct diff_side *s, uint32_t thread)
{
	const uint32_t *made;
	uint32_t n;

	if (!diff_is_anonymous(s, thread))
		return 0;
	made = buckets_of(&s->why->made, thread, &n);
	for (uint32_t i = 0; i < n; i++)
		if (diff_label(s, made[i]) != MPROF_NONE)
			return trait_shape(s, made[i]);
	return 0;
}

static uint64_t trait_anonymous(const struct diff_side *s, uint32_t thread)
{
	return diff_is_anonymous(s, thread);
}

/*
 * List the threads of the run SIDE that have no counterpart and that have TRAIT, with their keys.
 * Return their number. The keys contain the stream, so threads are only matched within matched
 * streams.
 */
static uint32_t list_left(struct match_state *m, int side,
			  uint64_t (*trait)(const struct diff_side *s, uint32_t thread))
{
	const struct diff_side *s = &m->d->side[side];
	uint32_t n = 0, stream, root;
	uint64_t key;

	for (uint32_t i = 0; i < s->view->n_threads; i++) {
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

static bool match_left(struct match_state *m, uint64_t (*trait)(const struct diff_side *s, uint32_t thread))
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

/*
 * Match the creators of counterparts that have no counterparts themselves. This goes from the last
 * thread to the first, so the creators of the new counterparts are matched, too. Return false
 * without memory.
 */
static bool match_creators(struct match_state *m)
{
	const struct diff_side *g = &m->d->side[GOOD], *b = &m->d->side[BAD];
	uint32_t good, bad;

	for (uint32_t i = g->view->n_threads; i-- > 0;) {
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

bool diff_match_left(struct match_state *m)
{
	return match_left(m, trait_exact) && match_left(m, trait_child) && match_left(m, trait_kin) &&
	       match_left(m, trait_label) && match_creators(m) && match_left(m, trait_shape) && match_creators(m) &&
	       match_left(m, trait_anonymous);
}
