/*
 * Count the events of a period. All events update the running thread and the values of the
 * counters, but only events of the period are counted.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "seed.h"
#include "tally.h"

#define MARKER	     "__should_resolve"
#define TEXTS_MAX    THREAD_STAT_NO_LABEL
#define TEXT_BYTES   (128u << 20)
#define THREADS_MAX  (4u << 20)
#define COUNTERS_MAX 65536u
#define AHEAD	     64u /* events whose strings are fetched into the cache in advance */

void tally_init(struct tally *t, unsigned int shares)
{
	*t = (struct tally){.to = UINT64_MAX};
	texts_init(&t->texts, TEXTS_MAX / shares, TEXT_BYTES / shares, seed_new(t));
	thread_stats_init(&t->thread_stats, THREADS_MAX / shares);
}

void tally_deinit(struct tally *t)
{
	texts_deinit(&t->texts);
	thread_stats_deinit(&t->thread_stats);
	free(t->labelled);
	free(t->counter_index);
	free(t->counters);
}

/*
 * Grow an array with items of SIZE bytes to hold item AT, and fill new items with FILL. Return
 * false without memory.
 */
static bool reach(void **array, uint32_t *room, uint32_t at, size_t size, int fill)
{
	uint32_t larger = *room ? *room : 64;
	void *grown;

	if (at < *room)
		return true;
	while (larger <= at)
		larger *= 2;
	grown = realloc(*array, larger * size);
	if (!grown)
		return false;
	memset((char *)grown + *room * size, fill, (larger - *room) * size);
	*array = grown;
	*room = larger;
	return true;
}

static void count_label(struct tally *t, uint32_t text)
{
	void *array = t->labelled;

	if (text == TEXT_NONE)
		return;
	t->failed = !reach(&array, &t->labelled_room, text, 1, 0) || t->failed;
	t->labelled = array;
	if (text >= t->labelled_room)
		return;
	t->labels += !t->labelled[text];
	t->labelled[text] = 1;
}

/* Return whether string I of T is TEXT. */
static bool is_text(const struct tally *t, uint32_t i, const char *text)
{
	size_t len;
	const char *it = texts_get(&t->texts, i, &len);

	return len == strlen(text) && !memcmp(it, text, len);
}

static struct tally_counter *counter_new(struct tally *t, uint32_t name)
{
	void *array = t->counters;
	bool there;

	if (t->counter_count == COUNTERS_MAX)
		return NULL;
	there = reach(&array, &t->counter_room, t->counter_count, sizeof(*t->counters), 0);
	t->counters = array;
	t->failed = t->failed || !there;
	if (!there)
		return NULL;
	t->counters[t->counter_count].name = name;
	t->counters[t->counter_count].losses =
		is_text(t, name, MPROF_COUNTER_DROPPED) || is_text(t, name, MPROF_COUNTER_LOST_WORDS);
	return &t->counters[t->counter_count++];
}

static struct tally_counter *counter_of(struct tally *t, uint32_t name)
{
	void *array = t->counter_index;
	struct tally_counter *c;
	bool there;

	if (name == TEXT_NONE)
		return NULL;
	there = reach(&array, &t->counter_index_room, name, sizeof(*t->counter_index), 0xff);
	t->counter_index = array;
	t->failed = t->failed || !there;
	if (!there)
		return NULL;
	if (t->counter_index[name] != UINT32_MAX)
		return &t->counters[t->counter_index[name]];
	c = counter_new(t, name);
	if (c)
		t->counter_index[name] = t->counter_count - 1;
	return c;
}

/* Return A + B, held at the limits of 64 bits. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t result;

	if (!__builtin_add_overflow(a, b, &result))
		return result;
	return b < 0 ? INT64_MIN : INT64_MAX;
}

/* Let E change the counter C: its value, and what E says of its kind. */
static void change_counter(struct tally_counter *c, const struct mprof_raw_event *e)
{
	bool increase = e->id == MPROF_EVENT_increase;

	if (!c->kind && e->type < MPROF_COUNTER_KINDS)
		c->kind = e->type;
	c->grows = !c->begun || (c->grows && increase && e->number >= 0);
	c->begun = true;
	/* A guest may give any amount, so the sum may wrap around. */
	if (increase && c->kind != MPROF_COUNTER_AMOUNT)
		c->value = (int64_t)((uint64_t)c->value + (uint64_t)e->number);
	else
		c->value = e->number;
}

static void count_sample(struct tally *t, const struct mprof_raw_event *e, uint32_t name, bool inside)
{
	struct tally_counter *c = counter_of(t, name);
	struct mprof_statistics_counter *r;
	int64_t before;

	if (!c) {
		t->refused++;
		return;
	}
	before = c->value;
	change_counter(c, e);
	if (c->losses && c->value > before)
		thread_stats_loss(&t->thread_stats);
	if (!inside)
		return;
	r = &c->range;
	if (!r->samples++) {
		r->first = r->min = r->max = c->value;
		r->first_ns = e->timestamp;
	}
	r->last = c->value;
	r->last_ns = e->timestamp;
	r->min = c->value < r->min ? c->value : r->min;
	r->max = c->value > r->max ? c->value : r->max;
	if (c->kind == MPROF_COUNTER_AMOUNT)
		r->sum = sum(r->sum, c->value);
}

static void count_gc(struct tally *t, uint64_t ns)
{
	t->gcs++;
	if (__builtin_add_overflow(t->gc_ns, ns, &t->gc_ns))
		t->gc_ns = UINT64_MAX;
	t->gc_longest_ns = ns > t->gc_longest_ns ? ns : t->gc_longest_ns;
}

/* Count an event of the period. */
static void count(struct tally *t, const struct mprof_raw_event *e, uint32_t text)
{
	t->events++;
	mprof_times_span_add(&t->span, e->timestamp);
	t->first_ns = t->span.first;
	t->last_ns = t->span.last;
	t->events_by_type[e->id]++;
	if (e->id == MPROF_EVENT_creates)
		t->threads_by_type[e->type < MPROF_THREAD_TYPES ? e->type : MPROF_THREAD_TYPES]++;
	else if (e->id == MPROF_EVENT_gc)
		count_gc(t, (uint64_t)e->number);
	else if (e->id == MPROF_EVENT_label)
		count_label(t, text);
}

static bool is_marker(const struct mprof_raw_event *e)
{
	return e->text_bytes == sizeof(MARKER) - 1 && memcmp(e->text, MARKER, sizeof(MARKER) - 1) == 0;
}

static bool is_sample(const struct mprof_raw_event *e)
{
	return e->id == MPROF_EVENT_counter || e->id == MPROF_EVENT_increase;
}

/* Return true if T stores the string of E: a label, or the name of a counter. */
static bool has_text(const struct mprof_raw_event *e)
{
	return e->id == MPROF_EVENT_label || is_sample(e);
}

/* Process event E. HASH is the hash of its string, if T stores that string. */
static void take(struct tally *t, const struct mprof_raw_event *e, uint64_t hash)
{
	bool inside = e->timestamp >= t->from && e->timestamp <= t->to;
	bool label = e->id == MPROF_EVENT_label;
	uint32_t text = has_text(e) ? texts_add_hashed(&t->texts, e->text, e->text_bytes, hash) : TEXT_NONE;

	if (is_sample(e))
		count_sample(t, e, text, inside);
	if (inside)
		count(t, e, text);
	t->seen_ns = e->timestamp > t->seen_ns ? e->timestamp : t->seen_ns;
	t->before_ns = e->timestamp;
	thread_stats_event(&t->thread_stats, e, label ? text : THREAD_STAT_NONE, label && is_marker(e));
}

/* Take E, which tells of the recorder or the system and is no event of the program. */
static void take_other(struct tally *t, const struct mprof_raw_event *e)
{
	uint32_t flags = (uint32_t)e->number >> 16;

	if (!mprof_event_is_recorder(e))
		return;
	t->declares = t->declared ? t->declares & flags : flags;
	t->declared = true;
}

void tally_events(struct tally *t, const struct mprof_event *events, size_t n)
{
	uint64_t hashes[AHEAD];
	size_t part;

	t->thread_stats.from = t->from;
	t->thread_stats.to = t->to;
	for (; n; events += part, n -= part) {
		part = n < AHEAD ? n : AHEAD;
		for (size_t i = 0; i < part; i++)
			if (has_text(&events[i].raw))
				hashes[i] = texts_prepare(&t->texts, events[i].raw.text, events[i].raw.text_bytes);
		for (size_t i = 0; i < part; i++) {
			if (mprof_event_is_program(&events[i].raw))
				take(t, &events[i].raw, has_text(&events[i].raw) ? hashes[i] : 0);
			else
				take_other(t, &events[i].raw);
		}
	}
	t->failed = t->failed || t->thread_stats.failed;
}

void tally_gap(struct tally *t)
{
	thread_stats_gap(&t->thread_stats, t->before_ns);
}

bool tally_tells_sleep(const struct tally *t)
{
	return t->thread_stats.slept || (t->thread_stats.ran && (t->declares & MPROF_WRITES_STOPS));
}

uint64_t tally_counted(const struct tally *t, const char *name)
{
	for (uint32_t i = 0; i < t->counter_count; i++)
		if (t->counters[i].losses && is_text(t, t->counters[i].name, name))
			return t->counters[i].value > 0 ? (uint64_t)t->counters[i].value : 0;
	return 0;
}

void tally_end(struct tally *t, bool went_back)
{
	/* Behind a step of the clock the latest time is not the one at which the trace ends. */
	thread_stats_end(&t->thread_stats, went_back ? t->before_ns : t->seen_ns);
}

/* Add string I of OTHER to T. Return its index in T. */
static uint32_t join_text(struct tally *t, const struct tally *other, uint32_t i)
{
	size_t len;
	const char *text = texts_get(&other->texts, i, &len);

	return texts_add(&t->texts, text, len);
}

/*
 * Add the counter FROM of OTHER to T. The first sample of the sum is the earlier of both, the
 * last sample the later.
 */
static void join_counter(struct tally *t, const struct tally *other, const struct tally_counter *from)
{
	const struct mprof_statistics_counter *other_range = &from->range;
	struct mprof_statistics_counter *r;
	struct tally_counter *c;

	if (!other_range->samples)
		return;
	c = counter_of(t, join_text(t, other, from->name));
	if (!c) {
		t->refused++;
		return;
	}
	c->several = c->several || c->range.samples || from->several;
	c->kind = !c->range.samples || c->kind == from->kind ? from->kind : MPROF_COUNTER_UNDECLARED;
	c->grows = from->grows;
	r = &c->range;
	if (!r->samples || other_range->first_ns < r->first_ns) {
		r->first = other_range->first;
		r->first_ns = other_range->first_ns;
	}
	if (!r->samples || other_range->last_ns >= r->last_ns) {
		r->last = other_range->last;
		r->last_ns = other_range->last_ns;
	}
	r->min = r->samples && r->min < other_range->min ? r->min : other_range->min;
	r->max = r->samples && r->max > other_range->max ? r->max : other_range->max;
	r->sum = sum(r->sum, other_range->sum);
	r->samples += other_range->samples;
}

static void join_counts(struct tally *t, const struct tally *other)
{
	for (size_t i = 0; i < MPROF_EVENT_IDS; i++)
		t->events_by_type[i] += other->events_by_type[i];
	for (size_t i = 0; i < TALLY_TYPES; i++)
		t->threads_by_type[i] += other->threads_by_type[i];
	t->thread_stats.preexisting += other->thread_stats.preexisting;
	t->thread_stats.untracked += other->thread_stats.untracked;
	t->refused += other->refused;
	t->texts.refused += other->texts.refused;
	t->gcs += other->gcs;
	if (__builtin_add_overflow(t->gc_ns, other->gc_ns, &t->gc_ns))
		t->gc_ns = UINT64_MAX;
	t->gc_longest_ns = other->gc_longest_ns > t->gc_longest_ns ? other->gc_longest_ns : t->gc_longest_ns;
}

void tally_join(struct tally *t, const struct tally *other)
{
	if (other->events) {
		t->first_ns = t->events && t->first_ns < other->first_ns ? t->first_ns : other->first_ns;
		t->last_ns = t->last_ns > other->last_ns ? t->last_ns : other->last_ns;
	}
	t->events += other->events;
	join_counts(t, other);
	for (uint32_t i = 0; i < other->texts.n && i < other->labelled_room; i++)
		if (other->labelled[i])
			count_label(t, join_text(t, other, i));
	for (uint32_t i = 0; i < other->counter_count; i++)
		join_counter(t, other, &other->counters[i]);
}

bool tally_truncated(const struct tally *t)
{
	return t->texts.refused || t->refused || t->thread_stats.untracked;
}
