/* Write the answer of `stats` as JSON. Its keys are an interface: schema/answers/stats.json and docs/man/mprofctl.1 list them. */
#include <mprof/statistics-report.h>

#include <math.h>
#include <string.h>

#include "answer-json.h"

uint64_t mprof_statistics_events(const struct mprof_statistics_report *r)
{
	uint64_t events = 0;

	for (size_t i = 0; i < MPROF_EVENT_IDS; i++)
		events += r->all.events_by_type[i];
	return events;
}

bool mprof_statistics_lacks(const struct mprof_statistics_report *r)
{
	return r->lost_packets || r->damages || r->all.dropped_events || r->all.lost_words;
}

double mprof_statistics_share(const struct mprof_statistics_report *r)
{
	const struct mprof_statistics_totals *all = &r->all;

	if (r->several || !all->tells_sleep || mprof_statistics_lacks(r) || r->clock_back_ns ||
	    all->last_ns <= all->first_ns || all->sleeping_ns > all->last_ns - all->first_ns)
		return (double)NAN;
	return (double)all->sleeping_ns / (double)(all->last_ns - all->first_ns);
}

double mprof_statistics_report_rate(const struct mprof_statistics_report *r,
				    const struct mprof_statistics_report_counter *c)
{
	return r->clock_back_ns ? (double)NAN : c->range.rate_per_s;
}

const char *mprof_statistics_type_name(uint8_t type)
{
	return mprof_thread_type_name(type < MPROF_THREAD_TYPES ? type : MPROF_THREAD_UNKNOWN);
}

static void put_real(struct mprof_json *j, const char *key, double value)
{
	if (isnan(value))
		mprof_json_null(j, key);
	else
		mprof_json_real(j, key, value);
}

static void put_end(struct mprof_json *j, const char *key, uint64_t ns, bool known)
{
	if (known)
		mprof_json_time(j, key, ns);
	else
		mprof_json_null(j, key);
}

static void put_label(struct mprof_json *j, const struct mprof_statistics_report_thread *t)
{
	if (t->label)
		mprof_json_text(j, "label", t->label, t->label_bytes);
	else
		mprof_json_null(j, "label");
}

/* Write the N COUNTS but those of 0 as an object. NAME names them. */
static void put_counts(struct mprof_json *j, const char *key, const uint64_t *counts, size_t n,
		       const char *(*name)(uint8_t))
{
	mprof_json_open(j, key, '{');
	for (size_t i = 0; i < n; i++)
		if (counts[i])
			answer_put_count(j, name((uint8_t)i), counts[i]);
	mprof_json_close(j, '}');
}

static void put_counters(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	mprof_json_open(j, "counters", '{');
	for (uint32_t i = 0; i < r->n_counters; i++) {
		const struct mprof_statistics_report_counter *c = &r->counters[i];

		mprof_json_open_named(j, c->of, c->name, c->name_bytes);
		mprof_json_number(j, "first", c->range.first);
		mprof_json_number(j, "last", c->range.last);
		mprof_json_number(j, "min", c->range.min);
		mprof_json_number(j, "max", c->range.max);
		answer_put_count(j, "samples", c->range.samples);
		mprof_json_word(j, "kind", mprof_counter_kind_name(c->kind));
		put_real(j, "rate_per_s", mprof_statistics_report_rate(r, c));
		if (c->kind == MPROF_COUNTER_AMOUNT)
			mprof_json_number(j, "sum", c->range.sum);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, '}');
}

/* Open the object of T in R, and write the members that all threads of an answer have. */
static void open_thread(const struct mprof_statistics_report *r, struct mprof_json *j,
			const struct mprof_statistics_report_thread *t)
{
	mprof_json_open(j, NULL, '{');
	if (r->indexed) {
		mprof_json_number(j, "index", t->index);
		mprof_json_word(j, "of", t->of);
	}
	mprof_json_number(j, "thread", t->id);
	put_label(j, t);
}

static void put_should_resolve(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	mprof_json_open(j, "should_resolve", '[');
	for (uint32_t i = 0; i < r->n_should_resolve; i++) {
		open_thread(r, j, &r->should_resolve[i]);
		if (r->should_resolve[i].unsure)
			mprof_json_null(j, "resolved");
		else
			mprof_json_boolean(j, "resolved", r->should_resolve[i].resolved);
		if (!r->indexed && r->should_resolve[i].of)
			mprof_json_word(j, "stream", r->should_resolve[i].of);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

static void put_busiest(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	mprof_json_open(j, "busiest", '[');
	for (uint32_t i = 0; i < r->n_busiest; i++) {
		open_thread(r, j, &r->busiest[i]);
		mprof_json_word(j, "type", mprof_statistics_type_name(r->busiest[i].type));
		answer_put_count(j, "running_ns", r->busiest[i].running_ns);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}

/* Write what only one stream has, or all streams as one: which threads ran, and for how long. */
static void put_running(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	if (r->summed)
		return;
	put_busiest(r, j);
	if (r->indexed)
		answer_put_count(j, "running_ns", r->all.running_ns);
	if (r->all.tells_sleep && !r->clock_back_ns)
		answer_put_count(j, "sleeping_ns", r->all.sleeping_ns);
	else
		mprof_json_null(j, "sleeping_ns");
	put_real(j, "sleeping_share", mprof_statistics_share(r));
}

static void put_head(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	uint64_t events = mprof_statistics_events(r);
	bool spans = r->indexed ? r->all.first_ns <= r->all.last_ns : events > 0;

	answer_put_count(j, "events", events);
	put_counts(j, "events_by_type", r->all.events_by_type, MPROF_EVENT_IDS, mprof_event_name);
	answer_put_count(j, "packets", r->packets);
	answer_put_count(j, "lost_packets", r->lost_packets);
	answer_put_count(j, "damages", r->damages);
	answer_put_count(j, "unknown_texts", r->unknown_texts);
	answer_put_count(j, "skipped_extras", r->skipped_extras);
	answer_put_count(j, "unproven_events", r->unproven_events);
	answer_put_count(j, "dropped_events", r->all.dropped_events);
	answer_put_count(j, "lost_words", r->all.lost_words);
	answer_put_count(j, "clock_back_ns", r->clock_back_ns);
	answer_put_count(j, "bytes", r->bytes);
	put_end(j, "first_ns", r->all.first_ns, spans);
	put_end(j, "last_ns", r->all.last_ns, spans);
}

static void put_members(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	put_head(r, j);
	answer_put_count(j, "threads", r->all.created + r->all.preexisting);
	put_counts(j, "threads_by_type", r->all.threads_by_type, MPROF_STATISTICS_TYPES, mprof_statistics_type_name);
	answer_put_count(j, "preexisting", r->all.preexisting);
	answer_put_count(j, "labels", r->all.labels);
	put_counters(r, j);
	answer_put_count(j, "gcs", r->all.collections);
	answer_put_count(j, "gc_ns", r->all.collecting_ns);
	answer_put_count(j, "gc_longest_ns", r->all.longest_ns);
	put_should_resolve(r, j);
	put_running(r, j);
	if (r->truncated)
		mprof_json_boolean(j, "truncated", true);
	answer_put_count(j, "cut_bytes", r->cut_bytes);
	if (r->stream)
		mprof_json_word(j, "stream", r->stream);
}

void mprof_statistics_write(const struct mprof_statistics_report *r, struct mprof_json *j)
{
	put_members(r, j);
	if (!r->n_streams)
		return;
	mprof_json_open(j, "streams", '[');
	for (uint32_t i = 0; i < r->n_streams; i++) {
		mprof_json_open(j, NULL, '{');
		put_members(&r->streams[i], j);
		mprof_json_close(j, '}');
	}
	mprof_json_close(j, ']');
}
