/*
 * Join what the rings of one program tell about its threads.
 *
 * An id can name several threads one after the other, and no ring has the order of the others' events. So an end in another
 * ring is that of a thread only if the rings have no two threads with its id.
 */
#include "shared-threads.h"

#include <stdlib.h>

#include "cleanup.h"
#include "id-index.h"
#include "seed.h"

/* All that the rings of a program tell about the threads with one id. */
struct shared_thread {
	uint32_t created; /* number of creations */
	bool ended;
	bool became; /* it goes on as another thread, whose end is its own */
	bool ran;
};

struct program {
	struct id_index ids;
	struct shared_thread *list; /* owned */
	uint32_t n, room;
	uint32_t rings;
	bool declares; /* its recorder says which kinds of events it writes: each thread that runs has a ring */
	bool lacks;    /* a ring lacks events */
	bool forgets;  /* a ring has forgotten threads that ended */
};

static void program_deinit(struct program *p)
{
	id_index_deinit(&p->ids);
	free(p->list);
}

/* Return the thread with the id ID in P, which is added if there is none, or NULL without memory. */
static struct shared_thread *thread_of(struct program *p, int64_t id)
{
	uint32_t i = id_index_find(&p->ids, id), room = p->room ? p->room * 2 : 64;
	struct shared_thread *list;

	if (i != ID_INDEX_NONE)
		return &p->list[i];
	if (p->n == p->room) {
		list = realloc(p->list, room * sizeof(*list));
		if (!list)
			return NULL;
		p->list = list;
		p->room = room;
	}
	if (!id_index_reserve(&p->ids, 1))
		return NULL;
	id_index_put(&p->ids, id, p->n, false);
	p->list[p->n] = (struct shared_thread){0};
	return &p->list[p->n++];
}

/* Add the threads of the ring T to P. Return false without memory. */
static bool add_ring(struct program *p, const struct tally *t)
{
	const struct thread_stats *s = &t->thread_stats;

	for (uint32_t i = 0; i < s->n; i++) {
		struct shared_thread *it = thread_of(p, s->list[i].id);

		if (!it)
			return false;
		it->created += s->list[i].type != MPROF_THREAD_UNKNOWN;
		it->became = it->became || s->list[i].alias != i;
		it->ended = it->ended || (s->list[i].alias == i && (s->list[i].flags & THREAD_STAT_ENDED));
		it->ran = it->ran || s->list[i].running_ns;
	}
	p->rings++;
	p->declares = p->declares || (t->declares & MPROF_DECLARES_KINDS);
	p->forgets = p->forgets || s->forgotten;
	return true;
}

/* Judge the threads of REPORT, a ring of P, that have no end in it. */
static void judge(const struct program *p, struct mprof_statistics_report *report)
{
	struct mprof_statistics_report_thread *list = (struct mprof_statistics_report_thread *)report->should_resolve;

	for (uint32_t i = 0; i < report->n_should_resolve; i++) {
		const struct shared_thread *it = &p->list[id_index_find(&p->ids, list[i].id)];

		if (list[i].resolved)
			continue;
		list[i].resolved = it->ended && it->created <= 1;
		list[i].unsure = !list[i].resolved && (list[i].unsure || it->ended || it->became || p->lacks ||
						       p->forgets || (p->declares && !it->ran));
	}
}

/* Judge the threads of the program GUEST of R. Return false without memory. */
static bool judge_program(const struct shared_rings *r, uint32_t guest, uint64_t *preexisting)
{
	CLEANUP(program_deinit) struct program p = {0};

	id_index_init(&p.ids, seed_new(&p));
	for (unsigned int i = 0; i < r->n; i++) {
		if (r->guests[i] != guest)
			continue;
		if (!add_ring(&p, &r->tallies[i]))
			return false;
		p.lacks = p.lacks || mprof_statistics_lacks(&r->reports[i]);
	}
	for (unsigned int i = 0; p.rings > 1 && i < r->n; i++)
		if (r->guests[i] == guest)
			judge(&p, &r->reports[i]);
	if (p.rings == 1 || p.forgets) {
		for (unsigned int i = 0; i < r->n; i++)
			*preexisting += r->guests[i] == guest ? r->tallies[i].thread_stats.preexisting : 0;
		return true;
	}
	for (uint32_t i = 0; i < p.n; i++)
		*preexisting += !p.list[i].created;
	return true;
}

/* Return whether ring I of R is the first one of its program. */
static bool is_first(const struct shared_rings *r, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (r->guests[k] == r->guests[i])
			return false;
	return true;
}

bool shared_threads_judge(const struct shared_rings *r, uint64_t *preexisting)
{
	*preexisting = 0;
	for (unsigned int i = 0; i < r->n; i++) {
		if (!r->guests)
			*preexisting += r->tallies[i].thread_stats.preexisting;
		else if (is_first(r, i) && !judge_program(r, r->guests[i], preexisting))
			return false;
	}
	return true;
}
