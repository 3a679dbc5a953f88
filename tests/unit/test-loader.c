/*
 * The loader, which makes a model of a trace's bytes: packets that it holds and sorts, packets that
 * are missing, and its counts and messages.
 */
#include <stdlib.h>

#include <mprof/explanation.h>
#include <mprof/statistics.h>

#include "check.h"
#include "loader.h"
#include "trace-make.h"

static struct make make;

/* Make N packets with the counts COUNTS. Each has one event of thread ID, at the time in TIMES. */
static void packets(const uint16_t *counts, const uint64_t *times, size_t n, int64_t id)
{
	size_t i;

	make.used = 0;
	for (i = 0; i < n; i++) {
		make_packet(&make);
		make_event(&make, times[i], MPROF_EVENT_label, id, 0, 0, "x");
		make_close(&make, counts[i], 20);
	}
}

static enum mprof_status feed(struct loader *l, uint32_t stream, size_t step)
{
	enum mprof_status status = MPROF_OK;
	size_t at, n;

	loader_expect(l, stream, make.used);
	for (at = 0; at < make.used && status == MPROF_OK; at += n) {
		n = make.used - at < step ? make.used - at : step;
		memcpy(loader_room(l, stream, n), make.bytes + at, n);
		status = loader_came(l, stream, n);
	}
	return status == MPROF_OK ? loader_end(l, stream) : status;
}

static struct loader *fresh(enum input_kind kind)
{
	struct loader *l = loader_new(&(struct mprof_model_options){.simplify = true});

	CHECK_EQ_UINT(loader_stream(l, &(struct mprof_model_source){0}, kind), 0);
	return l;
}

static const struct mprof_model_view *finish(struct loader *l)
{
	CHECK_EQ_INT(loader_finish(l), MPROF_OK);
	return mprof_model_view(loader_model(l));
}

static const uint16_t wrapped[] = {7, 8, 5, 6};
static const uint64_t wrapped_times[] = {70, 80, 50, 60};

/*
 * The packets of a wrapped ring's image are sorted, whatever pieces the image comes in. If the
 * input can be read twice, the loader returns MPROF_CORRUPT at the first reading.
 */
static void test_wrapped(void)
{
	const struct mprof_model_view *v;
	struct loader *l;
	size_t step;

	packets(wrapped, wrapped_times, 4, 1);
	for (step = 1; step < 100; step += 7) {
		l = fresh(INPUT_FILE);
		CHECK_EQ_INT(feed(l, 0, step), MPROF_OK);
		v = finish(l);
		CHECK_EQ_UINT(v->notes.late, 0);
		CHECK(v->streams[0].start == 50 && v->streams[0].end == 80);
		CHECK_EQ_UINT(v->n_gaps, 0);
		loader_free(l);
		l = fresh(INPUT_TWICE);
		CHECK_EQ_INT(feed(l, 0, step), MPROF_CORRUPT);
		loader_free(l);
	}
}

/*
 * Packets that come in order are decoded at once: the model has their events before the input ends.
 */
static void test_straight(void)
{
	static const uint16_t counts[] = {65534, 65535, 0, 1};
	static const uint64_t times[] = {1, 2, 3, 4};
	struct loader_counts c;
	struct loader *l;

	packets(counts, times, 4, 1);
	l = fresh(INPUT_TWICE);
	CHECK_EQ_INT(feed(l, 0, 9), MPROF_OK);
	loader_counts(l, 0, &c);
	CHECK(c.packets == 4 && c.lost_packets == 0 && c.bytes == make.used);
	CHECK_EQ_UINT(c.events_by_type[MPROF_EVENT_label], 4);
	CHECK_EQ_UINT(finish(l)->n_labels, 4);
	loader_free(l);
}

/* An input with more packets than a ring can have is not held, even if its counts go back. */
static void test_many(void)
{
	struct loader *l = fresh(INPUT_TWICE);
	size_t i;

	make.used = 0;
	for (i = 0; i < MPROF_RING_PACKETS_MAX + 2; i++) {
		make_packet(&make);
		make_event(&make, i, MPROF_EVENT_label, 1, 0, 0, "x");
		make_close(&make, (uint16_t)(i > MPROF_RING_PACKETS_MAX ? 3 : i), 0);
	}
	CHECK_EQ_INT(feed(l, 0, 1000), MPROF_OK);
	CHECK_EQ_UINT(finish(l)->n_labels, MPROF_RING_PACKETS_MAX + 2);
	loader_free(l);
}

/* Lost packets and damage become gaps of the model. Damage is also reported. */
static void test_missing(void)
{
	static const uint16_t counts[] = {1, 2, 6, 7};
	static const uint64_t times[] = {10, 20, 60, 70};
	const struct mprof_damage *damage;
	const struct mprof_model_view *v;
	struct loader *l = fresh(INPUT_FILE);
	uint32_t stream = 9;

	packets(counts, times, 4, 1);
	/* The last packet's event has an unknown id. */
	make.bytes[make.used / 4 * 3 + MPROF_PACKET_HEADER_BYTES + 8] = 99;
	CHECK_EQ_INT(feed(l, 0, 50), MPROF_OK);
	v = finish(l);
	CHECK_EQ_UINT(v->n_gaps, 2);
	CHECK(v->gaps[0].from == 20 && v->gaps[0].to == 60 && v->gaps[0].packets == 3);
	CHECK(v->gaps[1].from == 60 && v->gaps[1].packets == 0);
	damage = loader_damage(l, 0, &stream);
	CHECK(damage && damage->reason == MPROF_DAMAGE_UNKNOWN_ID && damage->id == 99 && stream == 0);
	CHECK(loader_damage(l, 1, &stream) == NULL);
	loader_free(l);
}

/*
 * Streams of the same guest are merged by time. The streams of another guest are independent of
 * them.
 */
static void test_streams(void)
{
	static const uint16_t counts[] = {1, 2, 3};
	static const uint64_t times[3][3] = {{10, 30, 50}, {20, 40, 60}, {1, 2, 3}};
	struct loader *l = loader_new(&(struct mprof_model_options){0});
	const struct mprof_model_view *v;
	uint32_t i;

	for (i = 0; i < 3; i++)
		CHECK_EQ_UINT(loader_stream(l, &(struct mprof_model_source){.guest = i / 2}, INPUT_SERVED), i);
	for (i = 3; i-- > 0;) {
		packets(counts, times[i], 3, 1);
		CHECK_EQ_INT(feed(l, i, 11), MPROF_OK);
	}
	v = finish(l);
	CHECK_EQ_UINT(v->n_labels, 9);
	CHECK_EQ_UINT(v->n_threads, 5); /* three roots, and thread 1 of each of the two guests */
	for (i = 3; i < 8; i++)
		CHECK(v->labels[i].time < v->labels[i + 1].time);
	CHECK_EQ_UINT(v->notes.late, 0);
	loader_free(l);
}

/* Load a trace in which thread 1 creates and resolves thread 2, and garbage is collected. */
static struct loader *story(void)
{
	struct loader *l = fresh(INPUT_FILE);

	make.used = 0;
	make_packet(&make);
	make_event(&make, 1000, MPROF_EVENT_switch, 1, 0, 0, NULL);
	make_event(&make, 1100, MPROF_EVENT_creates, 1, 2, MPROF_THREAD_Wait, NULL);
	make_event(&make, 1200, MPROF_EVENT_label, 2, 0, 0, "a \"b\" \xe2\x80\xae");
	make_event(&make, 1300, MPROF_EVENT_gc, 0, 50, 0, NULL);
	make_event(&make, 1400, MPROF_EVENT_counter, 1, 7, 0, "n");
	make_event(&make, 2500, MPROF_EVENT_fulfills, 1, 2, 0, NULL);
	make_event(&make, 3000, MPROF_EVENT_switch, -1, 0, 0, NULL);
	make_event(&make, 4000, MPROF_EVENT_switch, 1, 0, 0, NULL);
	make_close(&make, 1, 0);
	CHECK_EQ_INT(feed(l, 0, 1 << 20), MPROF_OK);
	return l;
}

static void test_numbers(void)
{
	struct loader *l = story();
	const struct mprof_model_view *v = finish(l);
	struct mprof_statistics *n = mprof_statistics_new(v, 0, UINT64_MAX);
	const struct mprof_statistics_totals *all = mprof_statistics_totals(n);

	CHECK(all->created == 1 && all->preexisting == 1 && all->threads_by_type[MPROF_THREAD_Wait] == 1);
	CHECK(all->collections == 1 && all->collecting_ns == 50 && all->longest_ns == 50 && all->labels == 1);
	CHECK(all->running_ns == 2000 && all->sleeping_ns == 1000 && all->first_ns == 1000 && all->last_ns == 4000);
	CHECK(all->busiest == 1 && v->threads[mprof_statistics_busiest(n)[0].thread].id == 1);
	CHECK(mprof_statistics_counters(n)[0].samples == 1 && mprof_statistics_counters(n)[0].last == 7);
	mprof_statistics_free(n);
	/* A range includes its two ends. Intervals are cut at them. */
	n = mprof_statistics_new(v, 1100, 1300);
	all = mprof_statistics_totals(n);
	CHECK(all->created == 1 && all->collections == 1 && all->running_ns == 200 && all->sleeping_ns == 0);
	CHECK_EQ_UINT(mprof_statistics_counters(n)[0].samples, 0);
	mprof_statistics_free(n);
	n = mprof_statistics_new(v, 1101, 1199);
	all = mprof_statistics_totals(n);
	CHECK(all->created == 0 && all->labels == 0 && all->running_ns == 98 && all->preexisting == 1);
	mprof_statistics_free(n);
	loader_free(l);
}

/*
 * Among threads with equal run times, those that come first are listed. A stream without events
 * does not change the trace's beginning.
 */
static void test_statistics_borders(void)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	struct mprof_raw_event e = {.id = MPROF_EVENT_switch};
	const struct mprof_model_view *v;
	struct mprof_statistics *n;
	uint32_t streams[2], i;

	for (i = 0; i < 2; i++)
		CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, &streams[i]), MPROF_OK);
	for (i = 0; i <= MPROF_STATISTICS_BUSIEST + 1; i++) {
		e.timestamp = 1000 + i * 10;
		e.context = i <= MPROF_STATISTICS_BUSIEST ? (int64_t)i : MPROF_THREAD_NONE;
		CHECK_EQ_INT(mprof_model_add(m, streams[0], &e), MPROF_OK);
	}
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	n = mprof_statistics_new(v, 0, UINT64_MAX);
	CHECK_EQ_UINT(mprof_statistics_totals(n)->busiest, MPROF_STATISTICS_BUSIEST);
	for (i = 0; i < MPROF_STATISTICS_BUSIEST; i++)
		CHECK_EQ_INT(v->threads[mprof_statistics_busiest(n)[i].thread].id, i);
	CHECK_EQ_UINT(mprof_statistics_totals(n)->first_ns, 1000);
	mprof_statistics_free(n);
	mprof_model_free(m);
}

/*
 * Return the explanation as one text with line breaks. Behind each name that is a link, the text
 * has the thread's index, as in `<5>`.
 */
static const char *told(const struct mprof_explanation *t)
{
	static char text[4096];
	uint32_t n, i, line = 0;
	const struct mprof_explanation_piece *p = mprof_explanation_pieces(t, &n);
	size_t used = 0;

	for (i = 0; i < n; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s", p[i].line == line ? "" : "\n",
					 (int)p[i].bytes, mprof_explanation_text(t) + p[i].offset);
		line = p[i].line;
		if (p[i].thread != MPROF_NONE)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "<%u>", p[i].thread);
	}
	return text;
}

static void test_explanation(void)
{
	struct loader *l = story();
	const struct mprof_model_view *v = finish(l);
	struct mprof_why *why = mprof_why_new(v);
	struct mprof_explanation *t = mprof_explanation_new(v, why, NULL);
	uint32_t n;

	CHECK_EQ_INT(mprof_explanation_thread(t, 2), MPROF_OK);
	CHECK_EQ_STR(told(t), "2 (Wait, \"a \"b\" \\xe2\\x80\\xae\")<2> was created by 1 (Unknown)<1> at +100 ns.\n"
			      "It never ran.\n"
			      "It was resolved by 1 (Unknown)<1> at +1.500 µs, 1.400 µs after its creation.");
	CHECK_EQ_INT(mprof_explanation_thread(t, 1), MPROF_OK);
	CHECK_EQ_STR(told(t), "1 (Unknown)<1> was there before the trace began.\n"
			      "At +1.500 µs it resolved 2 (Wait, \"a \"b\" \\xe2\\x80\\xae\")<2>.\n"
			      "It ran for 2.000 µs in 2 pieces, the longest of 2.000 µs.\n"
			      "It was not resolved; its further history is unknown.");
	CHECK_EQ_INT(mprof_explanation_last(t, 0), MPROF_OK);
	CHECK_EQ_STR(told(t), "last: 1 (Unknown)<1> ran from 0.000004000 to 0.000004000; the trace ends at "
			      "0.000004000");
	CHECK(mprof_explanation_pieces(t, &n)[3].time == 4000 &&
	      mprof_explanation_pieces(t, &n)[2].time == MPROF_EXPLANATION_UNTIMED);
	CHECK_EQ_INT(mprof_explanation_thread(t, 3), MPROF_CORRUPT);
	mprof_explanation_free(t);
	mprof_why_free(why);
	loader_free(l);
}

int main(void)
{
	CHECK_RUN(test_wrapped);
	CHECK_RUN(test_straight);
	CHECK_RUN(test_many);
	CHECK_RUN(test_missing);
	CHECK_RUN(test_streams);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_statistics_borders);
	CHECK_RUN(test_explanation);
	return check_done();
}
