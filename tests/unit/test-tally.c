/* Trace statistics, which need bounded memory: texts, ids, threads, counters. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "tally.h"

static void test_texts(void)
{
	struct texts t;
	char name[16];
	uint32_t i;
	size_t len;

	texts_init(&t, 1000, 5000, 1);
	for (i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		CHECK_EQ_UINT(texts_add(&t, name, strlen(name)), i);
	}
	for (i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		CHECK_EQ_UINT(texts_add(&t, name, strlen(name)), i);
		CHECK(memcmp(texts_get(&t, i, &len), name, strlen(name)) == 0 && len == strlen(name));
	}
	CHECK_EQ_UINT(texts_add(&t, "", 0), 900);
	CHECK_EQ_UINT(texts_add(&t, "a\0b", 3), 901);
	CHECK_EQ_UINT(texts_add(&t, "a\0c", 3), 902);
	CHECK_EQ_UINT(t.refused, 0);
	while (texts_add(&t, name, (size_t)snprintf(name, sizeof(name), "more%u", i++)) != TEXT_NONE)
		;
	CHECK_EQ_UINT(t.refused, 1);
	CHECK(t.n <= 1000 && t.used <= 5000);
	CHECK_EQ_UINT(texts_add(&t, "n7", 2), 7); /* a text that was added before keeps its number */
	texts_deinit(&t);
}

/*
 * Names of two words, chosen for a hash with constants that everyone knows: the second word would
 * cancel the effect of the first. The seed of the hash prevents this.
 */
static void test_crafted_texts(void)
{
	struct texts t, other;
	uint64_t word[2];
	uint32_t i, k, met = 0;

	texts_init(&t, 1000, 16000, 1);
	texts_init(&other, 1000, 16000, 3);
	for (i = 0; i < 1000; i++) {
		word[0] = i * 0x9e3779b97f4a7c15u;
		word[1] = (0x9e3779b97f4a7c15u ^ sizeof(word) ^ word[0]) * 0xff51afd7ed558ccdu;
		word[1] ^= word[1] >> 32;
		CHECK_EQ_UINT(texts_add(&t, (const char *)word, sizeof(word)), i);
		texts_add(&other, (const char *)word, sizeof(word));
		for (k = 0; k < i; k++)
			met += t.list[k].hash == t.list[i].hash;
	}
	CHECK_EQ_UINT(met, 0);
	CHECK(t.list[0].hash != other.list[0].hash);
	texts_deinit(&t);
	texts_deinit(&other);
}

/* Put ID into the index with NUMBER, and check that the index finds it. */
static void put_id(struct id_index *x, int64_t id, uint32_t number, bool created)
{
	CHECK(id_index_reserve(x, 1));
	id_index_put(x, id, number, created);
	CHECK_EQ_UINT(id_index_find(x, id), number);
}

/*
 * Ids that count up (an array holds them), ids before them, far behind them, and out of order (a
 * hash table holds these).
 */
static void test_ids(void)
{
	const int64_t first = 1000000;
	struct id_index x;
	uint32_t n = 0;

	id_index_init(&x, 7);
	CHECK_EQ_UINT(id_index_find(&x, 0), ID_INDEX_NONE);
	put_id(&x, 0, n++, false);
	put_id(&x, first + 50000, n++, false);
	for (int64_t id = first; id < first + 40000; id++)
		put_id(&x, id, n++, true);
	CHECK_EQ_UINT(x.hash_n, 2);
	put_id(&x, INT64_MIN, n++, true);
	put_id(&x, INT64_MAX, n++, true);
	put_id(&x, -1, n++, true);
	put_id(&x, first - 1, n++, true);
	CHECK_EQ_UINT(x.hash_n, 6);
	/* The array may have grown to this id by now. */
	CHECK_EQ_UINT(id_index_find(&x, first + 50000), 1);
	put_id(&x, first + 50001, n++, true);
	put_id(&x, first + 50000, n++, true);
	put_id(&x, 0, n++, true);
	for (int64_t id = 0; id < 40000; id++)
		CHECK_EQ_UINT(id_index_find(&x, first + id), (uint64_t)id + 2);
	CHECK_EQ_UINT(id_index_find(&x, first + 40000), ID_INDEX_NONE);
	id_index_clear(&x);
	CHECK_EQ_UINT(id_index_find(&x, 0), ID_INDEX_NONE);
	CHECK_EQ_UINT(id_index_find(&x, first), ID_INDEX_NONE);
	put_id(&x, first * 1000, 5, true); /* an id to which the program has counted since */
	CHECK_EQ_UINT(x.hash_n, 0);
	id_index_deinit(&x);
}

/* Ids in large steps. The index must not make an array that holds all ids in between. */
static void test_sparse_ids(void)
{
	struct id_index x;

	id_index_init(&x, 7);
	for (uint32_t i = 0; i < 20000; i++)
		put_id(&x, (int64_t)i * 1000003, i, true);
	CHECK(x.array_room <= 1u << 17 && x.hash_room <= 1u << 17);
	for (uint32_t i = 0; i < 20000; i++)
		CHECK_EQ_UINT(id_index_find(&x, (int64_t)i * 1000003), i);
	id_index_deinit(&x);
}

static void event(struct thread_stats *r, uint64_t ns, uint8_t id, int64_t context, int64_t number)
{
	struct mprof_raw_event e = {.timestamp = ns, .id = id, .context = context, .number = number, .type = 1};

	thread_stats_event(r, &e, THREAD_STAT_NONE, false);
}

/* Ids that would all collide in a hash table with constants that everyone knows. */
static void test_crafted_threads(void)
{
	uint32_t i, full = 0, most = 0;
	struct thread_stats r;

	thread_stats_init(&r, 4096);
	for (i = 1; i <= 2000; i++)
		event(&r, i, MPROF_EVENT_creates, 0, (int64_t)(i * 0xf1de83e19937733du));
	for (i = 0; i < r.ids.hash_room; i++) {
		full = r.ids.hash[i].number == ID_INDEX_NONE ? 0 : full + 1;
		most = full > most ? full : most;
	}
	CHECK(most > 0 && most < 1000);
	thread_stats_deinit(&r);
}

/* A guest creates and resolves threads for ever. A few threads stay and run. */
static void test_threads_are_forgotten(void)
{
	struct thread_stat busiest[THREAD_STATS_BUSIEST];
	struct thread_stats r;
	int64_t id;

	thread_stats_init(&r, 4096);
	event(&r, 0, MPROF_EVENT_switch, 0, 0);
	for (id = 1; id < 100000; id++) {
		uint64_t ns = (uint64_t)id * 100;

		event(&r, ns, MPROF_EVENT_creates, 0, id);
		event(&r, ns, MPROF_EVENT_switch, id, 0);
		/*
		 * Thread 500 runs longer than any other thread, and was forgotten long before the
		 * end.
		 */
		event(&r, ns + (id == 500 ? 50 : 10), MPROF_EVENT_switch, 0, 0);
		if (id % 1000)
			event(&r, ns + 60, MPROF_EVENT_fulfills, 0, id);
	}
	event(&r, 10000000, MPROF_EVENT_switch, -1, 0);
	thread_stats_end(&r, 10000100);
	CHECK(!r.failed && r.n <= 4096 && r.room <= 4096);
	CHECK_EQ_UINT(r.untracked, 0);
	CHECK(r.forgotten > 90000);
	CHECK_EQ_UINT(r.preexisting, 1);
	CHECK_EQ_UINT(r.sleeping_ns, 100);
	CHECK_EQ_UINT(thread_stats_busiest(&r, busiest), THREAD_STATS_BUSIEST);
	CHECK_EQ_INT(busiest[0].id, 0);
	CHECK_EQ_UINT(busiest[0].running_ns, 10000000 - 99999 * 10 - 40);
	CHECK_EQ_INT(busiest[1].id, 500);
	CHECK_EQ_UINT(busiest[1].running_ns, 50);
	thread_stats_deinit(&r);
}

/* If no thread ends, new threads are not tracked, and those tracked already go on. */
static void test_threads_that_stay(void)
{
	struct thread_stats r;
	int64_t id;

	thread_stats_init(&r, 1024);
	for (id = 1; id <= 5000; id++)
		event(&r, (uint64_t)id, MPROF_EVENT_creates, 1, id);
	CHECK_EQ_UINT(r.n, 1024);
	CHECK(r.untracked >= 5000 - 1024);
	event(&r, 6000, MPROF_EVENT_switch, 5, 0);
	event(&r, 6100, MPROF_EVENT_switch, 4999, 0); /* a thread that is not tracked */
	event(&r, 6200, MPROF_EVENT_switch, -1, 0);
	event(&r, 6300, MPROF_EVENT_becomes, 5, 4999);
	event(&r, 6300, MPROF_EVENT_becomes, 4999, 5);
	CHECK_EQ_UINT(r.list[4].running_ns + r.list[5].running_ns, 100);
	thread_stats_deinit(&r);
}

/* A thread that is not tracked runs while other threads are forgotten. */
static void test_unknown_runs(void)
{
	struct thread_stats r;
	int64_t id;

	thread_stats_init(&r, 16);
	for (id = 1; id <= 16; id++)
		event(&r, 1, MPROF_EVENT_creates, 1, id);
	event(&r, 2, MPROF_EVENT_switch, 100, 0);
	for (id = 1; id <= 16; id++)
		event(&r, 3, MPROF_EVENT_fulfills, id, id);
	for (id = 101; id <= 110; id++)
		event(&r, 4, MPROF_EVENT_creates, 1, id);
	event(&r, 5, MPROF_EVENT_switch, -1, 0);
	CHECK(r.forgotten > 0 && r.n <= 16);
	thread_stats_deinit(&r);
}

/*
 * The entry of the running thread moves when threads before it are forgotten. The run time still
 * goes to this thread.
 */
static void test_running_moves(void)
{
	struct thread_stats r;
	uint32_t i;
	int64_t id;

	thread_stats_init(&r, 16);
	for (id = 1; id <= 16; id++)
		event(&r, 1, MPROF_EVENT_creates, -1, id);
	for (id = 1; id <= 8; id++)
		event(&r, 2, MPROF_EVENT_fulfills, -1, id);
	event(&r, 10, MPROF_EVENT_switch, 12, 0);
	for (id = 17; id <= 24; id++)
		event(&r, 20, MPROF_EVENT_creates, -1, id);
	CHECK_EQ_UINT(r.forgotten, 8);
	event(&r, 110, MPROF_EVENT_switch, -1, 0);
	for (i = 0; i < r.n; i++)
		CHECK_EQ_UINT(r.list[i].running_ns, r.list[i].id == 12 ? 100 : 0);
	thread_stats_deinit(&r);
}

/* A thread that should resolve is not forgotten, and neither is the thread that it became. */
static void test_expected_stay(void)
{
	struct mprof_raw_event mark = {.timestamp = 2, .id = MPROF_EVENT_label, .context = 1};
	struct thread_stats r;
	uint32_t i, found = 0;
	int64_t id;

	thread_stats_init(&r, 1024);
	event(&r, 1, MPROF_EVENT_creates, 0, 1);
	thread_stats_event(&r, &mark, THREAD_STAT_NONE, true);
	for (id = 2; id < 20000; id++) {
		event(&r, (uint64_t)id, MPROF_EVENT_creates, 0, id);
		/* Every hundredth thread is the next one that thread 1, or its alias, becomes. */
		if (id % 100 == 0)
			event(&r, (uint64_t)id, MPROF_EVENT_becomes, 1, id);
		else
			event(&r, (uint64_t)id, MPROF_EVENT_fulfills, 0, id);
	}
	for (i = 0; i < r.n; i++) {
		if (!(r.list[i].flags & THREAD_STAT_EXPECTED))
			continue;
		found++;
		CHECK_EQ_INT(r.list[i].id, 1);
		CHECK_EQ_INT(r.list[thread_stats_alias(&r, i)].id, 19900);
		CHECK(!(r.list[thread_stats_alias(&r, i)].flags & THREAD_STAT_ENDED));
	}
	CHECK_EQ_UINT(found, 1);
	CHECK(r.forgotten > 18000);
	thread_stats_deinit(&r);
}

/*
 * The run interval of a thread ends when the thread resolves. If the thread becomes another, the
 * other thread continues the interval.
 */
static void test_running(void)
{
	struct thread_stats r;

	thread_stats_init(&r, 64);
	event(&r, 10, MPROF_EVENT_switch, 1, 0);
	event(&r, 20, MPROF_EVENT_fulfills, 1, 1);
	event(&r, 30, MPROF_EVENT_switch, 2, 0);
	event(&r, 40, MPROF_EVENT_becomes, 2, 3);
	event(&r, 45, MPROF_EVENT_read, 3, 1); /* thread 3 runs already */
	/* Thread 1 is resolved, so its number now means a new thread. */
	event(&r, 50, MPROF_EVENT_switch, 1, 0);
	event(&r, 60, MPROF_EVENT_switch, -1, 0);
	event(&r, 65, MPROF_EVENT_read, 1, -1); /* no thread begins to run */
	event(&r, 70, MPROF_EVENT_signal, 4, 1);
	event(&r, 80, MPROF_EVENT_signal_noswitch, 5, 1);
	thread_stats_end(&r, 90);
	CHECK_EQ_UINT(r.sleeping_ns, 10);
	CHECK_EQ_UINT(r.list[0].running_ns, 10);
	CHECK_EQ_UINT(r.list[1].running_ns, 10);
	CHECK_EQ_UINT(r.list[2].running_ns, 10);
	CHECK_EQ_INT(r.list[3].id, 4);
	CHECK_EQ_UINT(r.list[3].running_ns, 20);
	CHECK_EQ_UINT(r.preexisting, 5);
	thread_stats_deinit(&r);
}

static void tally_event(struct tally *t, const struct mprof_raw_event *e)
{
	const struct mprof_event event = {.raw = *e};

	tally_events(t, &event, 1);
}

static void test_counters(void)
{
	struct tally t;
	struct mprof_raw_event e = {.id = MPROF_EVENT_increase, .text = "c", .text_bytes = 1};

	tally_init(&t, 1);
	t.from = 10;
	t.to = 20;
	e.number = 5;
	tally_event(&t, &e);
	e.timestamp = 15;
	e.number = -2;
	tally_event(&t, &e);
	e.timestamp = 16;
	e.id = MPROF_EVENT_counter;
	e.number = 40;
	tally_event(&t, &e);
	e.timestamp = 30;
	tally_event(&t, &e);
	tally_end(&t, false);
	CHECK_EQ_UINT(t.events, 2);
	CHECK_EQ_UINT(t.counter_count, 1);
	CHECK_EQ_UINT(t.counters[0].range.samples, 2);
	CHECK_EQ_INT(t.counters[0].range.first, 3);
	CHECK_EQ_INT(t.counters[0].range.last, 40);
	CHECK_EQ_INT(t.counters[0].range.min, 3);
	CHECK_EQ_INT(t.counters[0].range.max, 40);
	CHECK(!tally_truncated(&t));
	tally_deinit(&t);
}

/* Add three samples of KIND to a new tally: 5 at 1 s, 9 at 2 s, 7 at 3 s. Each is an event ID. */
static void tally_kind(struct tally *t, uint8_t kind, uint8_t id)
{
	static const int64_t values[] = {5, 9, 7};
	struct mprof_raw_event e = {.id = id, .type = kind, .text = "c", .text_bytes = 1};

	tally_init(t, 1);
	for (unsigned i = 0; i < 3; i++) {
		e.timestamp = (i + 1) * UINT64_C(1000000000);
		e.number = values[i];
		tally_event(t, &e);
	}
	tally_end(t, false);
	CHECK_EQ_UINT(t->counter_count, 1);
	CHECK_EQ_INT(t->counters[0].kind, kind < MPROF_COUNTER_KINDS ? kind : MPROF_COUNTER_UNDECLARED);
}

static double rate_of(const struct tally *t)
{
	return mprof_statistics_rate(&t->counters[0].range, (enum mprof_counter_kind)t->counters[0].kind,
				     t->counters[0].grows);
}

/* The samples of an amount are summed, and only a total has a rate. */
static void test_kinds(void)
{
	struct tally t, other;

	tally_kind(&t, MPROF_COUNTER_AMOUNT, MPROF_EVENT_counter);
	tally_kind(&other, MPROF_COUNTER_AMOUNT, MPROF_EVENT_counter);
	CHECK_EQ_INT(t.counters[0].range.sum, 21);
	CHECK(isnan(rate_of(&t)));
	tally_join(&t, &other);
	CHECK_EQ_INT(t.counters[0].range.sum, 42);
	CHECK_EQ_INT(t.counters[0].kind, MPROF_COUNTER_AMOUNT);
	tally_deinit(&other);
	tally_deinit(&t);

	/* The amount of an `increase` is no change of a value. */
	tally_kind(&t, MPROF_COUNTER_AMOUNT, MPROF_EVENT_increase);
	CHECK_EQ_INT(t.counters[0].range.last, 7);
	CHECK_EQ_INT(t.counters[0].range.sum, 21);
	tally_deinit(&t);

	tally_kind(&t, MPROF_COUNTER_GAUGE, MPROF_EVENT_increase);
	CHECK_EQ_INT(t.counters[0].range.last, 21);
	CHECK_EQ_INT(t.counters[0].range.sum, 0);
	CHECK(isnan(rate_of(&t)));
	tally_deinit(&t);

	tally_kind(&t, MPROF_COUNTER_TOTAL, MPROF_EVENT_counter);
	CHECK(rate_of(&t) == 1.0);
	tally_deinit(&t);

	/* Without a declaration, only increases show that a counter counts something. */
	tally_kind(&t, MPROF_COUNTER_UNDECLARED, MPROF_EVENT_counter);
	CHECK(isnan(rate_of(&t)));
	tally_deinit(&t);
	tally_kind(&t, MPROF_COUNTER_KINDS, MPROF_EVENT_increase);
	CHECK(rate_of(&t) == 8.0);
	tally_deinit(&t);
}

/* A trace may have any number of counter names. */
static void test_many_counters(void)
{
	struct tally t;
	char name[16];
	struct mprof_raw_event e = {.id = MPROF_EVENT_counter, .text = name};
	int i;

	tally_init(&t, 1);
	for (i = 0; i < 70000; i++) {
		e.text_bytes = (size_t)snprintf(name, sizeof(name), "%d", i);
		tally_event(&t, &e);
	}
	CHECK_EQ_UINT(t.counter_count, 65536);
	CHECK_EQ_UINT(t.refused, 70000 - 65536);
	CHECK(tally_truncated(&t) && !t.failed);
	tally_deinit(&t);
}

int main(void)
{
	CHECK_RUN(test_texts);
	CHECK_RUN(test_crafted_texts);
	CHECK_RUN(test_ids);
	CHECK_RUN(test_sparse_ids);
	CHECK_RUN(test_crafted_threads);
	CHECK_RUN(test_threads_are_forgotten);
	CHECK_RUN(test_threads_that_stay);
	CHECK_RUN(test_unknown_runs);
	CHECK_RUN(test_running_moves);
	CHECK_RUN(test_expected_stay);
	CHECK_RUN(test_running);
	CHECK_RUN(test_counters);
	CHECK_RUN(test_kinds);
	CHECK_RUN(test_many_counters);
	return check_done();
}
