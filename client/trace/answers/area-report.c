/* Write the answer about an area as JSON. Its keys are an interface: schema/answers/area.json lists them. */
#include <mprof/area-report.h>

#include "answer-json.h"

static void put_count(struct mprof_json *j, const char *key, uint64_t n)
{
	mprof_json_number(j, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void put_sums(struct mprof_json *j, const struct mprof_area_sum *alive, const struct mprof_area_sum *running,
		     const struct mprof_area_sum *waiting)
{
	mprof_json_time(j, "alive_ns", alive->total_ns);
	mprof_json_time(j, "alive_longest_ns", alive->longest_ns);
	mprof_json_time(j, "running_ns", running->total_ns);
	mprof_json_time(j, "running_longest_ns", running->longest_ns);
	mprof_json_time(j, "waiting_ns", waiting->total_ns);
	mprof_json_time(j, "waiting_longest_ns", waiting->longest_ns);
}

static void put_group(const struct answer_trace *t, struct mprof_json *j, const struct mprof_area_group *g,
		      uint32_t group)
{
	mprof_json_open(j, NULL, '{');
	mprof_json_number(j, "group", group);
	answer_put_string(t, j, "label", g->label);
	mprof_json_word(j, "type", mprof_thread_type_name(g->type));
	mprof_json_number(j, "threads", g->threads);
	mprof_json_number(j, "first", g->first);
	put_sums(j, &g->alive, &g->running, &g->waiting);
	mprof_json_close(j, '}');
}

static void put_totals(struct mprof_json *j, const struct mprof_area_totals *all)
{
	mprof_json_open(j, "totals", '{');
	mprof_json_number(j, "groups", all->groups);
	mprof_json_number(j, "threads", all->threads);
	put_sums(j, &all->alive, &all->running, &all->waiting);
	put_count(j, "waits", all->waits);
	put_count(j, "lost_packets", all->lost_packets);
	mprof_json_close(j, '}');
}

/* Write how often threads waited how long, from the shortest to the longest wait. */
static void put_waits(struct mprof_json *j, const uint64_t *waits)
{
	static const uint8_t parts[] = {1, 2, 5};
	uint32_t first = 0, end = MPROF_AREA_WAITS;
	uint64_t ten = 1;

	while (end && !waits[end - 1])
		end--;
	while (first < end && !waits[first])
		first++;
	mprof_json_open(j, "waits", '[');
	for (uint32_t i = 0; i < end; i++) {
		if (i && i % 3 == 0)
			ten *= 10;
		if (i < first)
			continue;
		mprof_json_open(j, NULL, '{');
		mprof_json_time(j, "least_ns", parts[i % 3] * ten);
		put_count(j, "waits", waits[i]);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

void mprof_area_write(const struct mprof_area_report *r, struct mprof_json *j)
{
	const struct answer_trace t = {.view = r->view};
	uint32_t n = mprof_area_list(r->area, r->key, r->descending, r->text, r->bytes);
	const struct mprof_area_group *groups = mprof_area_groups(r->area);
	const uint32_t *order = mprof_area_order(r->area);

	mprof_json_open(j, "groups", '[');
	for (uint32_t i = 0; i < n && i < r->most; i++)
		put_group(&t, j, &groups[order[i]], order[i]);
	mprof_json_close(j, ']');
	mprof_json_number(j, "listed", n);
	put_totals(j, mprof_area_totals(r->area));
	put_waits(j, mprof_area_waits(r->area));
}

void mprof_area_write_threads(const struct mprof_area_report *r, uint32_t group, struct mprof_json *j)
{
	struct mprof_area_thread threads[MPROF_AREA_THREADS_MAX];
	uint32_t n = mprof_area_threads(r->area, group, threads, MPROF_AREA_THREADS_MAX);

	mprof_json_open(j, "threads", '[');
	for (uint32_t i = 0; i < n; i++) {
		const struct mprof_thread *it = &r->view->threads[threads[i].thread];

		mprof_json_open(j, NULL, '{');
		mprof_json_number(j, "index", threads[i].thread);
		mprof_json_number(j, "thread", it->id);
		mprof_json_time(j, "start_ns", it->start);
		mprof_json_time(j, "alive_ns", threads[i].alive_ns);
		mprof_json_time(j, "running_ns", threads[i].running_ns);
		mprof_json_time(j, "waiting_ns", threads[i].waiting_ns);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}
