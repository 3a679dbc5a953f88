/*
 * Scans of a recording that is in memory: in one call, in steps, while the recording grows, with a
 * filter, in the order of time. heap.mjs checks real recordings.
 */
#include "curve.h"
#include "mem-make.h"
#include "scan.h"

#define POINTS 50u

/* ---- the curve alone */

static void test_curve(void)
{
	static uint64_t times[20000], lives[20000];
	struct curve c = {0};
	uint64_t time = 1000, live = 0;
	double line[POINTS];

	curve_line(&c, 0, 100, 2, line, POINTS);
	CHECK_EQ_INT((int64_t)line[POINTS - 1], 0);
	for (uint32_t i = 0; i < 20000; i++) {
		/*
		 * Some times are equal, some steps are small and some large, and values rise and
		 * fall.
		 */
		time += i % 3 ? i % 7 : i % 1000 ? 0 : 1u << 30;
		live = i % 5 ? live + i * 977 % 301 : live / 2;
		times[i] = time;
		lives[i] = live;
		CHECK(curve_add(&c, time, live));
	}
	CHECK(c.pieces.n > 1);
	for (uint32_t part = 0; part < 20; part++) {
		uint64_t from = part * 1000 * part * part, length = part % 2 ? time - from : part * 5000;

		curve_line(&c, from, length, 0.5, line, POINTS);
		for (uint32_t i = 0, k = 0; i < POINTS; i++) {
			while (k < 20000 && (times[k] <= from || (times[k] - from) * POINTS <= length * (i + 1)))
				k++;
			CHECK_EQ_INT((int64_t)(line[i] * 2), k ? (int64_t)lives[k - 1] : 0);
		}
	}
	curve_deinit(&c);
}

/* A stream may claim that an object has up to 2^64 - 1 samples. */
static void test_large_changes(void)
{
	static const uint64_t lives[] = {UINT64_MAX,	    5, 5 + (UINT64_C(1) << 63), 4,
					 UINT64_C(1) << 62, 0, UINT64_MAX - 1,		7};
	const uint32_t n = sizeof(lives) / sizeof(lives[0]);
	struct curve c = {0};
	double line[sizeof(lives) / sizeof(lives[0])];

	for (uint32_t i = 0; i < n; i++)
		CHECK(curve_add(&c, i + 1, lives[i]));
	curve_line(&c, 0, n, 1, line, n);
	for (uint32_t i = 0; i < n; i++)
		CHECK(line[i] == (double)lives[i]);
	curve_deinit(&c);
}

/* ---- scans */

/*
 * Make a stream of N objects of three places, of which most end. They belong to DOMAINS domains,
 * whose events are not in the order of time.
 */
static void make(struct made *m, uint32_t n, uint32_t domains)
{
	int64_t ids[8] = {0};

	made_begin(m, 3);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = i % 8, place = 1 + i % 3, stack[] = {1, 2 + place};
		struct mprof_mem_event e = {.kind = MPROF_MEM_ALLOC,
					    .time_us = MADE_START + 10 + i * 3 - (i / 40 % domains ? 500 : 0),
					    .length = 3 + i % 60,
					    .samples = 1 + i % 4,
					    .source = i % 10 ? MPROF_MEM_MINOR : MPROF_MEM_MAJOR,
					    .stack = stack,
					    .frames = 2,
					    .domain = (uint16_t)(i / 40 % domains)};

		if (ids[k]) {
			struct mprof_mem_event end = {
				.kind = MPROF_MEM_COLLECT, .time_us = e.time_us, .id = ids[k], .domain = e.domain};

			CHECK_EQ_INT(mem_encoder_add(m->encoder, &end), 0);
		}
		CHECK_EQ_INT(mem_encoder_add(m->encoder, &e), 0);
		ids[k] = i % 97 ? mem_encoder_next_id(m->encoder) - 1 : 0;
	}
	made_finish(m);
}

static void keep(struct recording *k, const uint8_t *bytes, size_t n)
{
	while (n) {
		uint8_t *room = recording_room(k);
		size_t some = recording_room_bytes(k);

		if (!CHECK(room != NULL && some > 0))
			return;
		some = some < n ? some : n;
		memcpy(room, bytes, some);
		recording_came(k, some);
		bytes += some;
		n -= some;
	}
}

static void finish(struct scan *p, uint64_t step)
{
	enum mprof_status r;

	while ((r = scan_step(p, step)) == MPROF_MORE)
		;
	CHECK_EQ_INT(r, MPROF_END);
}

static void check_same(const struct scan *a, const struct scan *b)
{
	double ours[POINTS], theirs[POINTS];

	CHECK(memcmp(mprof_profile_sums(scan_profile(a)), mprof_profile_sums(scan_profile(b)),
		     sizeof(struct mprof_profile_sums)) == 0);
	scan_line(a, 5, 9000, ours, POINTS);
	scan_line(b, 5, 9000, theirs, POINTS);
	CHECK(memcmp(ours, theirs, sizeof(ours)) == 0);
	CHECK_EQ_UINT(scan_start(a), scan_start(b));
}

static void test_steps(void)
{
	struct made m = {0};
	struct recording *k = recording_new();
	struct scan *whole, *steps, *grows;
	uint64_t line[POINTS];
	double ours[POINTS];
	struct mprof_profile *p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5});
	struct mprof_mem *d;

	make(&m, 40000, 1);
	CHECK(m.n > RECORDING_PIECE_BYTES / 2);
	grows = scan_new(k, &(struct scan_options){.seed = 5, .grows = true});
	for (size_t at = 0, n; at < m.n; at += n) {
		n = m.n - at < 7777 ? m.n - at : 7777;
		keep(k, m.bytes + at, n);
		finish(grows, 1000);
		CHECK_EQ_UINT(scan_bytes(grows), at + n);
	}
	CHECK_EQ_UINT(recording_bytes(k), m.n);
	scan_end(grows);
	finish(grows, 1000);
	whole = scan_new(k, &(struct scan_options){.seed = 5});
	finish(whole, UINT64_MAX);
	steps = scan_new(k, &(struct scan_options){.seed = 5});
	finish(steps, 1);
	check_same(whole, steps);
	check_same(whole, grows);
	CHECK(scan_damage(whole, 0) == NULL);
	mprof_profile_timeline(p, MADE_START + 5, 9000, line, POINTS);
	d = made_read(&m, p, NULL);
	CHECK_EQ_UINT(mprof_profile_sums(p)->live, mprof_profile_sums(scan_profile(whole))->live);
	scan_line(whole, 5, 9000, ours, POINTS);
	for (uint32_t i = 0; i < POINTS; i++)
		CHECK_EQ_INT((int64_t)ours[i], (int64_t)(line[i] * 8 * 1000));
	mprof_mem_free(d);
	mprof_profile_free(p);
	scan_free(steps);
	scan_free(whole);
	scan_free(grows);
	recording_free(k);
	made_free(&m);
}

/* A stream that ends inside a packet is damaged only if no more bytes come. */
static void test_cut(void)
{
	struct made m = {0};
	struct recording *k = recording_new();
	struct scan *p;

	make(&m, 100, 1);
	keep(k, m.bytes, m.n - 1);
	p = scan_new(k, &(struct scan_options){.seed = 5, .grows = true});
	finish(p, 99);
	CHECK(scan_damage(p, 0) == NULL);
	CHECK_EQ_UINT(mprof_profile_sums(scan_profile(p))->allocs[0], 0);
	scan_end(p);
	finish(p, 99);
	CHECK(scan_damage(p, 0) != NULL && scan_damage(p, 0)->reason == MPROF_MEM_DAMAGE_CUT);
	CHECK(scan_damage(p, 1) == NULL);
	scan_free(p);
	p = scan_new(k, &(struct scan_options){.seed = 5, .grows = true});
	finish(p, 99);
	keep(k, m.bytes + m.n - 1, 1);
	finish(p, 99);
	CHECK(mprof_profile_sums(scan_profile(p))->allocs[0] > 0);
	scan_free(p);
	recording_free(k);
	made_free(&m);
}

/* A filtered scan covers the bytes that the recording had when the scan began. */
static void test_filter(void)
{
	const struct mprof_mem_filter filter = {.heaps = MPROF_HEAP_MAJOR, .bytes = {.least = 100, .has_least = true}};
	struct made m = {0};
	struct recording *k = recording_new();
	const struct mprof_profile_sums *s;
	struct scan *p;
	uint64_t samples = 0, objects = 0;

	make(&m, 1000, 1);
	for (uint32_t i = 0; i < 1000; i += 10)
		if ((3 + i % 60) * 8 >= 100) {
			objects++;
			samples += 1 + i % 4;
		}
	keep(k, m.bytes, m.n);
	p = scan_new(k, &(struct scan_options){.seed = 5, .filter = &filter, .last_us = MADE_START + 4000});
	keep(k, m.bytes, m.n);
	finish(p, 100);
	s = mprof_profile_sums(scan_profile(p));
	CHECK_EQ_UINT(s->allocs[MPROF_MEM_MAJOR], objects);
	CHECK_EQ_UINT(s->samples[MPROF_MEM_MAJOR], samples);
	CHECK_EQ_UINT(s->samples[MPROF_MEM_MINOR], 0);
	CHECK_EQ_UINT(mprof_mem_totals(scan_decoder(p))->recordings, 1);
	CHECK_EQ_UINT(scan_bytes(p), m.n);
	scan_free(p);
	/*
	 * If the stream has two recordings, the scan uses the last one, or the one that its options
	 * name.
	 */
	p = scan_new(k, &(struct scan_options){.seed = 5});
	finish(p, 100);
	CHECK_EQ_UINT(mprof_mem_totals(scan_decoder(p))->recordings, 2);
	CHECK_EQ_UINT(mprof_profile_sums(scan_profile(p))->allocs[MPROF_MEM_MAJOR], 100);
	scan_free(p);
	p = scan_new(k, &(struct scan_options){.seed = 5, .recording = 3});
	finish(p, 100);
	CHECK(!mprof_mem_info(scan_decoder(p)));
	scan_free(p);
	recording_free(k);
	made_free(&m);
}

/*
 * The trace info of a second recording is damaged. The result is the first recording with its
 * names. Nothing behind it is counted.
 */
static void test_bad_begin(void)
{
	const struct mprof_flame_options all = {.weight = MPROF_WEIGHT_ALL};
	const double rate = 0.001;
	struct mprof_flame *flame;
	struct made m = {0};
	struct recording *k = recording_new();
	struct scan *p;
	uint8_t *at;
	uint32_t n;

	make(&m, 200, 1);
	keep(k, m.bytes, m.n);
	at = memmem(m.bytes, m.n, &rate, sizeof(rate));
	if (CHECK(at != NULL))
		memset(at, 0, sizeof(rate));
	keep(k, m.bytes, m.n);
	p = scan_new(k, &(struct scan_options){.seed = 5});
	finish(p, 1000);
	CHECK(scan_damage(p, 0) && scan_damage(p, 0)->reason == MPROF_MEM_DAMAGE_INFO);
	CHECK(scan_damage(p, 1) && scan_damage(p, 1)->reason == MPROF_MEM_DAMAGE_NO_INFO);
	CHECK_EQ_UINT(mprof_mem_totals(scan_decoder(p))->recordings, 2);
	CHECK(mprof_mem_info(scan_decoder(p)) != NULL);
	CHECK_EQ_UINT(mprof_profile_sums(scan_profile(p))->allocs[MPROF_MEM_MAJOR], 20);
	flame = mprof_flame_new(scan_profile(p), scan_decoder(p), &all);
	CHECK(flame && mprof_flame_nodes(flame, &n) && n == 5); /* the root, f1, f3, f4, f5 */
	mprof_flame_free(flame);
	scan_free(p);
	recording_free(k);
	made_free(&m);
}

/*
 * Events of several domains. A scan in the order of time gives the same line as
 * mprof_profile_timeline.
 */
static void test_sorted(void)
{
	struct made m = {0};
	struct recording *k = recording_new();
	struct mprof_profile *p =
		mprof_profile_new(&(struct mprof_profile_options){.tree = true, .sort = true, .seed = 5});
	struct scan *sorted, *line;
	uint64_t want[POINTS];
	double got[POINTS];
	struct mprof_mem *d;

	make(&m, 3000, 3);
	keep(k, m.bytes, m.n);
	d = made_read(&m, p, NULL);
	sorted = scan_new(k, &(struct scan_options){.seed = 5, .sort = true});
	finish(sorted, 500);
	CHECK(memcmp(mprof_profile_sums(scan_profile(sorted)), mprof_profile_sums(p),
		     sizeof(struct mprof_profile_sums)) == 0);
	mprof_mem_free(d);
	mprof_profile_free(p);
	p = mprof_profile_new(&(struct mprof_profile_options){.sort = true, .seed = 5});
	line = scan_new(k,
			&(struct scan_options){.seed = 5, .sort = true, .from = 100, .length = 8000, .points = POINTS});
	finish(line, 500);
	scan_line(line, 100, 8000, got, POINTS);
	mprof_profile_timeline(p, MADE_START + 100, 8000, want, POINTS);
	d = made_read(&m, p, NULL);
	for (uint32_t i = 0; i < POINTS; i++)
		CHECK_EQ_INT((int64_t)got[i], (int64_t)(want[i] * 8 * 1000));
	mprof_mem_free(d);
	mprof_profile_free(p);
	scan_free(line);
	scan_free(sorted);
	recording_free(k);
	made_free(&m);
}

int main(void)
{
	CHECK_RUN(test_curve);
	CHECK_RUN(test_large_changes);
	CHECK_RUN(test_steps);
	CHECK_RUN(test_cut);
	CHECK_RUN(test_filter);
	CHECK_RUN(test_bad_begin);
	CHECK_RUN(test_sorted);
	return check_done();
}
