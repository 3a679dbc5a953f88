/* Times out of order: one damaged time is corrected, wherever the batches are cut; a clock that goes back is told. */
#include <mprof/times.h>

#include <stdlib.h>

#include "check.h"

#define EVENTS 60u
#define GAP    1000000u /* ns between two events */
#define START  1000000000u

struct seen {
	uint64_t times[EVENTS];
	uint32_t n;
	struct mprof_times_found found;
};

static uint64_t time_of(uint32_t i)
{
	return START + (uint64_t)i * GAP;
}

/* Pass the EVENTS events with TIMES to a check, in batches of BATCH. Each has its number as its text. */
static struct seen pass(const uint64_t *times, uint32_t batch)
{
	struct mprof_times *t = mprof_times_new();
	struct mprof_event events[EVENTS + 1];
	char texts[EVENTS][8];
	struct seen seen = {0};
	size_t n, total = 0;

	for (uint32_t from = 0; from <= EVENTS; from += batch) {
		n = from < EVENTS ? (EVENTS - from < batch ? EVENTS - from : batch) : 0;
		for (uint32_t i = 0; i < n; i++) {
			snprintf(texts[from + i], sizeof(texts[0]), "%u", from + i);
			events[i] = (struct mprof_event){.offset = from + i,
							 .raw = {.timestamp = times[from + i],
								 .text = texts[from + i],
								 .text_bytes = strlen(texts[from + i])}};
		}
		n = mprof_times_check(t, events, n);
		/* The bytes of a text may be used again now, unless the event was given out. */
		for (uint32_t i = 0; i < n; i++, total++) {
			CHECK_EQ_UINT(events[i].offset, total);
			CHECK_EQ_UINT(strtoul(events[i].raw.text, NULL, 10), total);
			seen.times[seen.n++] = events[i].raw.timestamp;
		}
		memset(texts, 'x', sizeof(texts));
	}
	n = mprof_times_end(t, events, true);
	if (n) {
		CHECK_EQ_UINT(strtoul(events[0].raw.text, NULL, 10), total);
		seen.times[seen.n++] = events[0].raw.timestamp;
	}
	CHECK_EQ_UINT(seen.n, EVENTS);
	seen.found = *mprof_times_found(t);
	mprof_times_free(t);
	return seen;
}

/* Each bit of each event's time is flipped: nothing lies outside of what the others allow by more than a minute. */
static void test_flips(void)
{
	uint64_t times[EVENTS];

	for (uint32_t at = 0; at < EVENTS; at++) {
		for (uint32_t bit = 0; bit < 64; bit++) {
			struct seen whole, cut;

			for (uint32_t i = 0; i < EVENTS; i++)
				times[i] = time_of(i) ^ (i == at ? 1ull << bit : 0);
			whole = pass(times, EVENTS);
			cut = pass(times, 1 + at % 7);
			/* At an end there is one neighbour, and a step of less than 100 days may be one of the clock. */
			if (bit > 36 && at && at + 1 < EVENTS) {
				CHECK_EQ_UINT(whole.found.faults, 1);
				CHECK_EQ_UINT(whole.found.fault_offset, at);
				CHECK_EQ_UINT(whole.found.steps, 0);
				CHECK(memcmp(&whole, &cut, sizeof(whole)) == 0);
			}
			if (bit > 53)
				CHECK_EQ_UINT(whole.found.faults, 1);
			for (uint32_t i = 0; i < EVENTS && (bit > 53 || (at && at + 1 < EVENTS)); i++)
				CHECK(whole.times[i] < time_of(EVENTS) + 2 * MPROF_TIMES_AWAY_NS);
		}
	}
}

/* A clock that goes back, or forward, by any amount is no damage, and no time is changed. */
static void test_steps(void)
{
	uint64_t times[EVENTS];

	for (uint32_t at = 2; at < EVENTS - 1; at += 5) {
		for (uint64_t step = 10 * GAP; step < 1ull << 60; step *= 3) {
			struct seen back, forth;

			for (uint32_t i = 0; i < EVENTS; i++)
				times[i] = (1ull << 61) + time_of(i) - (i >= at ? step : 0);
			back = pass(times, 1 + at % 9);
			CHECK(memcmp(times, back.times, sizeof(times)) == 0);
			CHECK_EQ_UINT(back.found.faults, 0);
			CHECK_EQ_UINT(back.found.steps, 1);
			CHECK_EQ_UINT(back.found.step_ns, times[at - 1]);
			CHECK_EQ_UINT(back.found.back_ns, step - GAP);
			for (uint32_t i = 0; i < EVENTS; i++)
				times[i] = time_of(i) + (i >= at ? step : 0);
			forth = pass(times, 1 + at % 9);
			CHECK(memcmp(times, forth.times, sizeof(times)) == 0);
			CHECK_EQ_UINT(forth.found.faults + forth.found.steps, 0);
		}
	}
}

/* Several writers: events that are a little early are in order. */
static void test_writers(void)
{
	uint64_t times[EVENTS];
	struct seen seen;

	for (uint32_t i = 0; i < EVENTS; i++)
		times[i] = time_of(i) - (i % 3 ? 0 : 3 * GAP / 2);
	seen = pass(times, 7);
	CHECK(memcmp(times, seen.times, sizeof(times)) == 0);
	CHECK_EQ_UINT(seen.found.faults + seen.found.steps, 0);
}

int main(void)
{
	CHECK_RUN(test_flips);
	CHECK_RUN(test_steps);
	CHECK_RUN(test_writers);
	return check_done();
}
