/*
 * Places (ranks of times), compared with sorting: times that are close together, equal times, and
 * times that are too large to be packed into one word with their thread's number.
 */
#include <stdlib.h>

#include "check.h"
#include "places.h"

#define N 3000u

static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 1) % below;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Return the number of different times before TIME. */
static uint32_t slow_place(const uint64_t *times, uint32_t n, uint64_t time)
{
	uint32_t i, place = 0;

	for (i = 1; i < n && times[i - 1] != time; i++)
		place += times[i] != times[i - 1];
	return place;
}

static struct mprof_thread threads[N];
static uint32_t asked[N];
static uint64_t times[2 * N];

static uint32_t wrong_places(const struct places *p, uint32_t n)
{
	uint32_t i, wrong = 0;

	for (i = 0; i < n; i++) {
		times[2 * i] = threads[asked[i]].start;
		times[2 * i + 1] = threads[asked[i]].end;
	}
	qsort(times, 2 * n, sizeof(times[0]), by_value);
	wrong += p->n != slow_place(times, 2 * n, times[2 * n - 1]) + 1;
	for (i = 0; i < n; i++) {
		wrong += places_life(p, asked[i])->start != slow_place(times, 2 * n, threads[asked[i]].start);
		wrong += places_life(p, asked[i])->end != slow_place(times, 2 * n, threads[asked[i]].end);
	}
	return wrong;
}

/*
 * Find the places of every other thread, and then of all threads but the first, which may be the
 * only root.
 */
static void compare_threads(void)
{
	struct mprof_model m = {0};
	struct grow spare = {0};
	struct places p;
	uint32_t i;

	m.arrays[MODEL_THREADS] = (struct grow){.items = threads, .n = N, .room = N};
	CHECK(places_init(&p, &m, &spare));
	places_find(&p, &m, asked, 0);
	CHECK_EQ_UINT(p.n, 0);
	for (i = 0; i < N / 2; i++)
		asked[i] = N - 1 - 2 * i;
	places_find(&p, &m, asked, N / 2);
	CHECK_EQ_UINT(wrong_places(&p, N / 2), 0);
	for (i = 0; i < N - 1; i++)
		asked[i] = N - 1 - i;
	places_find(&p, &m, asked, N - 1);
	CHECK_EQ_UINT(wrong_places(&p, N - 1), 0);
	CHECK(places_memory(&p) >= N * (sizeof(struct life) + 4 * sizeof(uint64_t)));
	places_deinit(&p);
}

/* Make N threads whose times are multiples of UNIT below RANGE, and compare. */
static void compare(uint64_t range, uint64_t unit)
{
	uint32_t i;

	for (i = 0; i < N; i++) {
		threads[i].start = draw(range / unit) * unit;
		threads[i].end = threads[i].start + draw((range - threads[i].start) / unit + 1) * unit;
	}
	compare_threads();
}

/* Nearly all threads are near two times that are far from each other. */
static void test_bursts(void)
{
	uint32_t i;

	for (i = 0; i < N; i++) {
		threads[i].start = (i % 2 ? UINT64_C(1) << 45 : 0) + draw(i % 100 ? 5000 : UINT64_C(1) << 44);
		threads[i].end = threads[i].start + draw(i % 50 ? 300 : UINT64_C(1) << 44);
	}
	compare_threads();
}

static void test_ranges(void)
{
	compare(1, 1);
	compare(40, 1);
	compare(100000, 1);
	compare(UINT64_C(1) << 40, 1);
	compare(UINT64_C(1) << 52, 1);
	compare(UINT64_C(1) << 60, 1);
	compare(MPROF_TIME_MAX, 1);
	compare(MPROF_TIME_MAX, UINT64_C(1) << 55);
	compare(MPROF_TIME_MAX, (UINT64_C(1) << 54) + 3);
}

int main(void)
{
	CHECK_RUN(test_ranges);
	CHECK_RUN(test_bursts);
	return check_done();
}
