/* Write the answer about an area as JSON. Its keys are an interface: schema/answers/area.json lists them. */
#include <mprof/area-report.h>

#include "answer-json.h"

/* Return whether the hole of A can hide what a thread did in the area that is there. */
static bool hides_acts(const struct mprof_area *a)
{
	const struct mprof_coverage *c = mprof_area_coverage(a);

	return c->hole != MPROF_HOLE_NONE && !(c->hole == MPROF_HOLE_BEGIN && c->from == c->to);
}

/* Write a number that a hole can make 0: then null. */
static void put_number(const struct mprof_area *a, struct mprof_json *j, const char *key, uint64_t n)
{
	if (n || mprof_area_coverage(a)->hole == MPROF_HOLE_NONE)
		answer_put_count(j, key, n);
	else
		mprof_json_null(j, key);
}

/* Write NS, or null if it is not KNOWN. */
static void put_known(struct mprof_json *j, const char *key, uint64_t ns, bool known)
{
	if (known)
		mprof_json_time(j, key, ns);
	else
		mprof_json_null(j, key);
}

/*
 * Write SUMS of the time of threads. 0 is unknown where the hole can hide what threads did; and if these are ALL threads, a thread can be missing
 * that did not run.
 */
static void put_sums(const struct mprof_area *a, struct mprof_json *j, const struct mprof_area_sum sums[3], bool untold,
		     bool all)
{
	enum { ALIVE, RUNNING };
	static const char *const keys[3][2] = {
		{"alive_ns", "alive_longest_ns"},
		{"running_ns", "running_longest_ns"},
		{"waiting_ns", "waiting_longest_ns"},
	};

	for (uint32_t i = 0; i < 3; i++) {
		bool hole = all && i != RUNNING ? mprof_area_coverage(a)->hole != MPROF_HOLE_NONE : hides_acts(a);
		bool told = i == ALIVE || !untold;

		put_known(j, keys[i][0], sums[i].total_ns, told && (sums[i].total_ns || !hole));
		put_known(j, keys[i][1], sums[i].longest_ns, told && (sums[i].longest_ns || !hole));
	}
}

static void put_group(const struct answer_trace *t, const struct mprof_area *a, struct mprof_json *j, uint32_t group)
{
	const struct mprof_area_group *g = &mprof_area_groups(a)[group];

	mprof_json_open(j, NULL, '{');
	mprof_json_number(j, "group", group);
	answer_put_string(t, j, "label", g->label);
	mprof_json_word(j, "type", mprof_thread_type_name(g->type));
	mprof_json_number(j, "threads", g->threads);
	mprof_json_number(j, "first", g->first);
	put_sums(a, j, (const struct mprof_area_sum[]){g->alive, g->running, g->waiting}, g->untold, false);
	mprof_json_close(j, '}');
}

static void put_totals(const struct mprof_area *a, struct mprof_json *j)
{
	const struct mprof_area_totals *all = mprof_area_totals(a);

	mprof_json_open(j, "totals", '{');
	put_number(a, j, "groups", all->groups);
	put_number(a, j, "threads", all->threads);
	put_sums(a, j, (const struct mprof_area_sum[]){all->alive, all->running, all->waiting}, all->untold, true);
	if (all->untold)
		mprof_json_null(j, "waits");
	else
		put_number(a, j, "waits", all->waits);
	if (all->lost_packets || !hides_acts(a))
		answer_put_count(j, "lost_packets", all->lost_packets);
	else
		mprof_json_null(j, "lost_packets");
	mprof_json_close(j, '}');
}

/* Write how often threads waited how long, from the shortest to the longest wait. */
static void put_waits(const struct mprof_area *a, struct mprof_json *j)
{
	static const uint8_t parts[] = {1, 2, 5};
	const uint64_t *waits = mprof_area_waits(a);
	uint32_t first = 0, end = MPROF_AREA_WAITS;
	uint64_t ten = 1;

	while (end && !waits[end - 1])
		end--;
	while (first < end && !waits[first])
		first++;
	if (mprof_area_totals(a)->untold || (!end && mprof_area_coverage(a)->hole != MPROF_HOLE_NONE)) {
		mprof_json_null(j, "waits");
		return;
	}
	mprof_json_open(j, "waits", '[');
	for (uint32_t i = 0; i < end; i++) {
		if (i && i % 3 == 0)
			ten *= 10;
		if (i < first)
			continue;
		mprof_json_open(j, NULL, '{');
		mprof_json_time(j, "least_ns", parts[i % 3] * ten);
		answer_put_count(j, "waits", waits[i]);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

enum mprof_status mprof_area_write(const struct mprof_area_report *r, struct mprof_json *j)
{
	const struct answer_trace t = {.view = r->view, .streams = r->streams, .explanation = r->explanation};
	uint32_t n = mprof_area_list(r->area, r->key, r->descending, r->text, r->bytes);
	const uint32_t *order = mprof_area_order(r->area);

	mprof_json_open(j, "groups", '[');
	for (uint32_t i = 0; i < n && i < r->most; i++)
		put_group(&t, r->area, j, order[i]);
	mprof_json_close(j, ']');
	mprof_json_number(j, "listed", n);
	put_totals(r->area, j);
	put_waits(r->area, j);
	answer_put_coverage(&t, j, "coverage", mprof_area_coverage(r->area));
	return r->explanation ? answer_put_story(&t, j, "missing", mprof_explanation_area(r->explanation, r->area))
			      : MPROF_OK;
}

void mprof_area_write_threads(const struct mprof_area_report *r, uint32_t group, struct mprof_json *j)
{
	struct mprof_area_thread threads[MPROF_AREA_THREADS_MAX];
	uint32_t n = mprof_area_threads(r->area, group, threads, MPROF_AREA_THREADS_MAX);
	bool told = group >= mprof_area_totals(r->area)->groups || !mprof_area_groups(r->area)[group].untold;
	bool hides = hides_acts(r->area);

	mprof_json_open(j, "threads", '[');
	for (uint32_t i = 0; i < n; i++) {
		const struct mprof_thread *it = &r->view->threads[threads[i].thread];

		mprof_json_open(j, NULL, '{');
		mprof_json_number(j, "index", threads[i].thread);
		mprof_json_number(j, "thread", it->id);
		mprof_json_time(j, "start_ns", it->start);
		put_known(j, "alive_ns", threads[i].alive_ns, threads[i].alive_ns || !hides);
		put_known(j, "running_ns", threads[i].running_ns, told && (threads[i].running_ns || !hides));
		put_known(j, "waiting_ns", threads[i].waiting_ns, told && (threads[i].waiting_ns || !hides));
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}
