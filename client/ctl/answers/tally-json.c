/* The keys are an interface: docs/man/mprofctl.1 lists them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tally-json.h"
#include "text-json.h"

json_t *stats_name(const char *name)
{
	return text_json(name, strlen(name));
}

static json_t *label_json(const struct tally *t, uint32_t label)
{
	const char *text;
	size_t len;

	if (label == TEXT_NONE)
		return json_null();
	text = texts_get(&t->texts, label, &len);
	return text_json(text, len);
}

static json_t *number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *time_json(const struct tally *t, uint64_t ns)
{
	char text[24];

	if (!t->events)
		return json_null();
	snprintf(text, sizeof(text), "%" PRIu64, ns);
	return json_string(text);
}

static const char *type_name(size_t type)
{
	return mprof_thread_type_name(type < MPROF_THREAD_TYPES ? (uint8_t)type : MPROF_THREAD_UNKNOWN);
}

static json_t *events_json(const struct tally *t)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < MPROF_EVENT_IDS; i++)
		if (t->events_by_type[i])
			json_object_set_new(object, mprof_event_name((uint8_t)i), number(t->events_by_type[i]));
	return object;
}

static json_t *types_json(const struct tally *t)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < TALLY_TYPES; i++)
		if (t->threads_by_type[i])
			json_object_set_new(object, type_name(i), number(t->threads_by_type[i]));
	return object;
}

static json_t *rate_json(const struct tally_counter *c)
{
	if (c->last_ns <= c->first_ns)
		return json_null();
	return json_real(((double)c->last - (double)c->first) / (double)(c->last_ns - c->first_ns) * 1e9);
}

static json_t *counters_json(const struct tally *t)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = 0; i < t->counter_count; i++) {
		const struct tally_counter *c = &t->counters[i];
		json_t *name = c->samples ? label_json(t, c->name) : NULL;

		if (name)
			json_object_set_new(object, json_string_value(name),
					    json_pack("{sI sI sI sI sI so}", "first", (json_int_t)c->first, "last",
						      (json_int_t)c->last, "min", (json_int_t)c->min, "max",
						      (json_int_t)c->max, "samples", (json_int_t)c->samples,
						      "rate_per_s", rate_json(c)));
		json_decref(name);
	}
	return object;
}

static json_t *should_resolve_json(struct tally *t)
{
	json_t *array = json_array();
	struct roster *r = &t->roster;
	uint32_t i;

	for (i = 0; i < r->n; i++) {
		const struct roster_thread *thread = &r->list[i], *final;

		if (!(thread->flags & ROSTER_EXPECTED))
			continue;
		final = &r->list[roster_final(r, i)];
		json_array_append_new(
			array, json_pack("{sI so sb}", "thread", (json_int_t)thread->id, "label",
					 label_json(t, thread->label != TEXT_NONE ? thread->label : final->label),
					 "resolved", (final->flags & ROSTER_ENDED) != 0));
	}
	return array;
}

static json_t *busiest_json(const struct tally *t)
{
	struct roster_thread busiest[ROSTER_BUSIEST];
	size_t n = roster_busiest(&t->roster, busiest), i;
	json_t *array = json_array();

	for (i = 0; i < n; i++)
		json_array_append_new(array,
				      json_pack("{sI so ss so}", "thread", (json_int_t)busiest[i].id, "label",
						label_json(t, busiest[i].label), "type", type_name(busiest[i].type),
						"running_ns", number(busiest[i].running_ns)));
	return array;
}

static json_t *share_json(const struct tally *t)
{
	if (!t->events || t->last_ns <= t->first_ns)
		return json_null();
	return json_real((double)t->roster.sleeping_ns / (double)(t->last_ns - t->first_ns));
}

static uint64_t created(const struct tally *t)
{
	return t->events_by_type[MPROF_EVENT_creates];
}

json_t *tally_json(struct tally *t, const struct mprof_totals *totals, uint64_t bytes)
{
	json_t *object = json_object();

	json_object_set_new(object, "events", number(t->events));
	json_object_set_new(object, "events_by_type", events_json(t));
	json_object_set_new(object, "packets", number(totals->packets));
	json_object_set_new(object, "lost_packets", number(totals->lost_packets));
	json_object_set_new(object, "damages", number(totals->damages));
	json_object_set_new(object, "bytes", number(bytes));
	json_object_set_new(object, "first_ns", time_json(t, t->first_ns));
	json_object_set_new(object, "last_ns", time_json(t, t->last_ns));
	json_object_set_new(object, "threads", number(created(t) + t->roster.preexisting));
	json_object_set_new(object, "threads_by_type", types_json(t));
	json_object_set_new(object, "preexisting", number(t->roster.preexisting));
	json_object_set_new(object, "labels", number(t->labels));
	json_object_set_new(object, "counters", counters_json(t));
	json_object_set_new(object, "gcs", number(t->gcs));
	json_object_set_new(object, "gc_ns", number(t->gc_ns));
	json_object_set_new(object, "gc_longest_ns", number(t->gc_longest_ns));
	json_object_set_new(object, "should_resolve", should_resolve_json(t));
	json_object_set_new(object, "busiest", busiest_json(t));
	json_object_set_new(object, "sleeping_ns", number(t->roster.sleeping_ns));
	json_object_set_new(object, "sleeping_share", share_json(t));
	if (tally_truncated(t))
		json_object_set_new(object, "truncated", json_true());
	return object;
}
