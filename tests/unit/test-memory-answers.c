/* The answers about memory profiles as JSON: as mprofctl prints them, and as a page reads them. */
#include <mprof/hotspots-report.h>
#include <mprof/leaks-report.h>
#include <mprof/profile-diff.h>
#include <mprof/profile-report.h>

#include "mem-make.h"

struct text {
	char bytes[16384];
	size_t n;
};

static void put(void *context, const char *bytes, size_t n)
{
	struct text *t = context;

	CHECK(t->n + n < sizeof(t->bytes));
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
	t->bytes[t->n] = 0;
}

/* A profile, and the decoder from which it came. */
struct told {
	struct mprof_profile *profile;
	struct mprof_mem *mem;
};

/* f2 allocates 4 samples, f3 6, and f1 one below both; RATE is that of the stream. */
static struct told told_new(double rate)
{
	struct told t = {.profile = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5})};
	struct made m = {0};

	made_begin_at(&m, 2, rate);
	made_alloc(&m, 1, 4, MPROF_MEM_MAJOR, STACK(1, 2));
	made_alloc(&m, 2, 6, MPROF_MEM_MAJOR, STACK(1, 3));
	made_alloc(&m, 3, 1, MPROF_MEM_MAJOR, STACK(1, 2, 3, 2, 1));
	made_finish(&m);
	t.mem = made_read(&m, t.profile, NULL);
	made_free(&m);
	return t;
}

static void told_free(struct told *t)
{
	mprof_mem_free(t->mem);
	mprof_profile_free(t->profile);
}

static void write_hotspots(const struct told *t, bool page, struct text *text)
{
	struct mprof_hotspots *h = mprof_hotspots_new(t->profile, t->mem, MPROF_WEIGHT_ALL);
	struct mprof_json j = {.put = put, .context = text, .shown = page};

	text->n = 0;
	mprof_json_open(&j, NULL, '{');
	mprof_hotspots_write(&(struct mprof_hotspots_report){t->profile, t->mem, h, MPROF_WEIGHT_ALL, page}, &j);
	mprof_json_close(&j, '}');
	mprof_hotspots_free(h);
}

static void test_hotspots(void)
{
	static struct text text;
	struct told t = told_new(0.5);

	write_hotspots(&t, false, &text);
	CHECK_EQ_STR(
		text.bytes,
		"{\"samples\":11,\"samples_bytes\":176.0,\"n_functions\":3,\"objects\":3,\"peak_us\":3,\"functions\":["
		"{\"function\":\"f3\",\"file\":\"file3.ml\",\"self\":6,\"self_bytes\":96.0,\"total\":7,\"total_bytes\":"
		"112.0,\"error\":0.40824829046386307,\"places\":[\"3:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"function\":\"f1\",\"file\":\"file1.ml\",\"samples\":6,\"samples_bytes\":96.0,\"share\":0."
		"54545454545454541,\"telling\":false}]},"
		"{\"function\":\"f2\",\"file\":\"file2.ml\",\"self\":4,\"self_bytes\":64.0,\"total\":5,\"total_bytes\":"
		"80.0,\"error\":0.5,\"places\":[\"2:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"function\":\"f1\",\"file\":\"file1.ml\",\"samples\":4,\"samples_bytes\":64.0,\"share\":0."
		"36363636363636365,\"telling\":false}]},"
		"{\"function\":\"f1\",\"file\":\"file1.ml\",\"self\":1,\"self_bytes\":16.0,\"total\":11,\"total_"
		"bytes\":176.0,\"error\":1.0,\"places\":[\"1:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"function\":\"f3\",\"file\":\"file3.ml\",\"samples\":1,\"samples_bytes\":16.0,\"share\":0."
		"14285714285714285,\"telling\":true},"
		"{\"function\":\"f2\",\"file\":\"file2.ml\",\"samples\":1,\"samples_bytes\":16.0,\"share\":0."
		"20000000000000001,\"telling\":true}]}]}");
	write_hotspots(&t, true, &text);
	CHECK_EQ_STR(
		text.bytes,
		"{\"samples\":11,\"samples_bytes\":176.0,\"n_functions\":3,\"objects\":3,\"peak_us\":3,\"functions\":["
		"{\"function\":\"f3\",\"file\":\"file3.ml\",\"self\":6,\"self_bytes\":96.0,\"total\":7,\"total_bytes\":"
		"112.0,\"error\":0.40824829046386307,\"places\":[\"3:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"index\":2,\"direct_bytes\":96.0,\"samples\":6,\"samples_bytes\":96.0,\"share\":0.54545454545454541,"
		"\"telling\":false}]},"
		"{\"function\":\"f2\",\"file\":\"file2.ml\",\"self\":4,\"self_bytes\":64.0,\"total\":5,\"total_bytes\":"
		"80.0,\"error\":0.5,\"places\":[\"2:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"index\":2,\"direct_bytes\":64.0,\"samples\":4,\"samples_bytes\":64.0,\"share\":0.36363636363636365,"
		"\"telling\":false}]},"
		"{\"function\":\"f1\",\"file\":\"file1.ml\",\"self\":1,\"self_bytes\":16.0,\"total\":11,\"total_"
		"bytes\":176.0,\"error\":1.0,\"places\":[\"1:0-9\"],\"n_places\":1,"
		"\"callers\":["
		"{\"index\":1,\"direct_bytes\":16.0,\"samples\":1,\"samples_bytes\":16.0,\"share\":0.20000000000000001,"
		"\"telling\":true},"
		"{\"index\":0,\"direct_bytes\":0.0,\"samples\":1,\"samples_bytes\":16.0,\"share\":0.14285714285714285,"
		"\"telling\":true}]}]}");
	told_free(&t);
}

/* A stream may say any numbers of samples, whose sums are modulo 2^64. Each share is a number. */
static void test_wrapped(void)
{
	struct told t = {.profile = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5})};
	static struct text text;
	struct made m = {0};

	made_begin(&m, 2);
	made_alloc(&m, 1, UINT64_MAX, MPROF_MEM_MAJOR, STACK(1, 2));
	made_alloc(&m, 2, 1, MPROF_MEM_MAJOR, STACK(1, 3));
	made_finish(&m);
	t.mem = made_read(&m, t.profile, NULL);
	made_free(&m);
	for (int page = 0; page < 2; page++) {
		write_hotspots(&t, page, &text);
		CHECK(!page || strstr(text.bytes, "\"total\":0,"));
		CHECK(strstr(text.bytes, "\"share\":0.0,"));
		CHECK(!strstr(text.bytes, ":.") && !strstr(text.bytes, "null"));
	}
	told_free(&t);
}

static void write_leaks(const struct told *t, bool page, struct text *text)
{
	struct mprof_leaks *leaks = mprof_leaks_new(t->profile, t->mem, MADE_START, MADE_START + 8);
	struct mprof_json j = {.put = put, .context = text, .shown = page};
	uint32_t n;

	text->n = 0;
	mprof_json_open(&j, NULL, '{');
	mprof_leaks_write(
		&(struct mprof_leaks_report){t->profile, mprof_profile_nodes(t->profile, &n), t->mem, leaks, 8, page},
		&j);
	mprof_json_close(&j, '}');
	mprof_leaks_free(leaks);
}

/* f3 holds most, and what it holds was made in the third eighth of 8 microseconds. */
static void test_leaks(void)
{
	static struct text text, whole;
	struct told t = told_new(0.5);

	write_leaks(&t, false, &text);
	CHECK_EQ_STR(text.bytes,
		     "{\"seconds\":7.9999999999999996e-6,\"live\":11,\"live_bytes\":176.0,"
		     "\"holders\":["
		     "{\"live_bytes\":96.0,\"share\":0.54545454545454541,\"stack\":["
		     "{\"function\":\"f3\",\"file\":\"file3.ml\",\"line\":3},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1}]},"
		     "{\"live_bytes\":64.0,\"share\":0.36363636363636365,\"stack\":["
		     "{\"function\":\"f2\",\"file\":\"file2.ml\",\"line\":2},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1}]},"
		     "{\"live_bytes\":16.0,\"share\":0.090909090909090912,\"stack\":["
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1},"
		     "{\"function\":\"f2\",\"file\":\"file2.ml\",\"line\":2},"
		     "{\"function\":\"f3\",\"file\":\"file3.ml\",\"line\":3},"
		     "{\"function\":\"f2\",\"file\":\"file2.ml\",\"line\":2},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1}]}],"
		     "\"leaks\":["
		     "{\"sure\":\"possible\",\"live\":6,\"live_bytes\":96.0,\"growth\":6,\"growth_bytes\":96.0,\"bytes_"
		     "per_s\":16000000.0,\"error\":0.40824829046386307,\"steady\":1,\"allocated_steady\":1,\"allocated_"
		     "growth_bytes\":96.0,\"parts\":[0.0,0.0,96.0,0.0,0.0,0.0,0.0,0.0],\"stack_share\":1.0,\"stack\":["
		     "{\"function\":\"f3\",\"file\":\"file3.ml\",\"line\":3},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1}]},"
		     "{\"sure\":\"possible\",\"live\":4,\"live_bytes\":64.0,\"growth\":4,\"growth_bytes\":64.0,\"bytes_"
		     "per_s\":10666666.666666666,\"error\":0.5,\"steady\":1,\"allocated_steady\":1,\"allocated_growth_"
		     "bytes\":0.0,\"parts\":[0.0,64.0,0.0,0.0,0.0,0.0,0.0,0.0],\"stack_share\":1.0,\"stack\":["
		     "{\"function\":\"f2\",\"file\":\"file2.ml\",\"line\":2},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"line\":1}]}]}");
	write_leaks(&t, true, &whole);
	CHECK_EQ_STR(whole.bytes, text.bytes);
	told_free(&t);
}

/* A stack ends behind the code with which it has enough functions; code without a name has its address. */
static void test_deep_stack(void)
{
	struct mprof_profile *p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5});
	struct made m = {0};
	struct mprof_mem *d;
	struct mprof_leaks *leaks;
	struct mprof_stack_walk walk;
	struct mprof_frame frame;
	uint32_t n, frames = 0;

	made_begin(&m, 2);
	m.codes[20].locations = 0;
	m.codes[9].first_location = 30;
	m.codes[9].locations = 3;
	made_alloc(&m, 1, 4, MPROF_MEM_MAJOR, STACK(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	leaks = mprof_leaks_new(p, d, MADE_START, MADE_START + 8);
	walk = mprof_leaks_stack(&(struct mprof_leaks_report){p, mprof_profile_nodes(p, &n), d, leaks, 8, false},
				 mprof_leaks_list(leaks, &n));
	CHECK(mprof_stack_next(&walk, &frame));
	CHECK(!frame.file && frame.function_bytes == 4 && memcmp(frame.function, "$320", 4) == 0);
	while (++frames && mprof_stack_next(&walk, &frame))
		;
	/* 1 + 18 to 10 are 10 functions, and the code of 9 has three. */
	CHECK_EQ_UINT(frames, 13);
	CHECK(frame.function_bytes == 3 && memcmp(frame.function, "f30", 3) == 0);
	CHECK_EQ_UINT(frame.line, 30);
	mprof_leaks_free(leaks);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* The second run allocates the same in an eighth of the time: of f3, that is more than twice the error. */
static void test_diff(void)
{
	static struct text text;
	struct told a = told_new(0.5), b = told_new(0.5);
	struct mprof_profile_diff *d = mprof_profile_diff_new(
		(const struct mprof_profile_run[2]){{a.profile, a.mem, 2000000}, {b.profile, b.mem, 250000}});
	struct mprof_json j = {.put = put, .context = &text};

	mprof_json_open(&j, NULL, '{');
	mprof_profile_diff_write(d, &j);
	mprof_json_close(&j, '}');
	CHECK_EQ_STR(text.bytes,
		     "{\"bytes_per_s_a\":88.0,\"bytes_per_s_b\":704.0,\"functions\":["
		     "{\"function\":\"f3\",\"file\":\"file3.ml\",\"bytes_per_s_a\":48.0,\"bytes_per_s_b\":384.0,"
		     "\"grown_bytes_per_s\":336.0,\"error_bytes_per_s\":157.98734126505198,\"sure\":true,\"share_a\":0."
		     "54545454545454541,\"share_b\":0.54545454545454541,\"total_grown_bytes_per_s\":392.0},"
		     "{\"function\":\"f2\",\"file\":\"file2.ml\",\"bytes_per_s_a\":32.0,\"bytes_per_s_b\":256.0,"
		     "\"grown_bytes_per_s\":224.0,\"error_bytes_per_s\":128.99612397277679,\"sure\":false,\"share_a\":"
		     "0.36363636363636365,\"share_b\":0.36363636363636365,\"total_grown_bytes_per_s\":280.0},"
		     "{\"function\":\"f1\",\"file\":\"file1.ml\",\"bytes_per_s_a\":8.0,\"bytes_per_s_b\":64.0,\"grown_"
		     "bytes_per_s\":56.0,\"error_bytes_per_s\":64.498061986388393,\"sure\":false,\"share_a\":0."
		     "090909090909090912,\"share_b\":0.090909090909090912,\"total_grown_bytes_per_s\":616.0}]}");
	mprof_profile_diff_free(d);
	told_free(&a);
	told_free(&b);
}

static void write_profile(const struct mprof_profile_report *r, struct text *text)
{
	struct mprof_json j = {.put = put, .context = text};

	text->n = 0;
	mprof_json_open(&j, NULL, '{');
	mprof_profile_write(r, &j);
	mprof_json_close(&j, '}');
}

static void test_profile(void)
{
	static struct text text;
	struct told t = told_new(0.5);
	struct mprof_profile_report r = {.profile = t.profile, .mem = t.mem, .totals = *mprof_mem_totals(t.mem)};

	write_profile(&r, &text);
	CHECK_EQ_STR(text.bytes,
		     "{\"program\":\"p\",\"host\":\"h\",\"parameters\":\"\",\"context\":\"\",\"pid\":7,\"version\":2,"
		     "\"rate\":0.5,\"word_bytes\":8,\"start_us\":\"1795259273941809\",\"last_us\":\"1795259273941812\","
		     "\"allocs\":{\"minor\":0,\"major\":3,\"external\":0},\"samples\":{\"minor\":0,\"major\":11,"
		     "\"external\":0},\"promotes\":0,\"collects\":0,\"live_objects\":3,\"live_samples\":11,"
		     "\"peak_samples\":11,\"peak_objects\":3,\"peak_us\":3,\"max_words\":6,\"words\":11,\"unknown\":0,"
		     "\"damages\":0,\"truncated_stacks\":0,\"recordings\":1,\"sample_bytes\":16.0,\"allocated_bytes\":"
		     "176.0,\"live_bytes\":176.0,\"peak_bytes\":176.0,\"error\":0.30151134457776363,\"notes\":[]}");
	/* All that lacks is said; which of several recordings it is, only if nobody chose one. */
	r.totals = (struct mprof_mem_totals){
		.recordings = 2, .clock_steps = 1, .truncated = 3, .stackless = 1, .unnamed = 2};
	write_profile(&r, &text);
	CHECK_EQ_STR(
		strstr(text.bytes, "\"notes\""),
		"\"notes\":[\"2 recordings are joined here; this is the last of them.\","
		"\"The clock stepped back 1 time; later events have the latest time before the step.\","
		"\"The place of the allocation is missing in 3 stacks, which the writer cut.\","
		"\"The stack of 1 allocation is unknown, because earlier bytes were lost.\","
		"\"Names of functions or places are missing 2 times: a limit was reached, or bytes before them were "
		"damaged.\"]}");
	r.recording = 1;
	write_profile(&r, &text);
	CHECK(strstr(text.bytes, "\"notes\":[\"The clock"));
	told_free(&t);
}

/* A page asks before anything came. */
static void test_empty_profile(void)
{
	static struct text text;
	struct mprof_profile *p = mprof_profile_new(&(struct mprof_profile_options){.seed = 5});
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.seed = 5});

	write_profile(&(struct mprof_profile_report){.profile = p, .mem = d}, &text);
	CHECK(strstr(text.bytes, "{\"program\":\"\",\"host\":\"\",\"parameters\":\"\",\"context\":\"\",\"pid\":-1,"
				 "\"version\":0,\"rate\":0.0,\"word_bytes\":8,\"start_us\":\"0\",\"last_us\":\"0\""));
	CHECK(strstr(text.bytes, "\"error\":0.0,\"notes\":[]}"));
	mprof_mem_free(d);
	mprof_profile_free(p);
}

static void test_timeline(void)
{
	static struct text text;
	struct told t = told_new(0.5);
	struct mprof_json j = {.put = put, .context = &text};

	mprof_json_open(&j, NULL, '{');
	mprof_profile_write_timeline(&(struct mprof_profile_report){.profile = t.profile, .mem = t.mem},
				     (const uint64_t[2]){4, 11}, 2, 3, &j);
	mprof_json_close(&j, '}');
	CHECK_EQ_STR(text.bytes, "{\"start_us\":\"1795259273941809\",\"objects\":3,\"samples\":11,\"peak_samples\":11,"
				 "\"peak_bytes\":176.0,\"points\":[{\"ns\":\"1500\",\"samples\":4,\"bytes\":64.0},"
				 "{\"ns\":\"3000\",\"samples\":11,\"bytes\":176.0}]}");
	told_free(&t);
}

/* However seldom a stream says that it samples, amounts are numbers. */
static void test_tiny_rate(void)
{
	static struct text text;
	struct told t = told_new(2.3e-308);

	CHECK(mprof_mem_scale(t.mem) == MPROF_MEM_SCALE_MAX);
	write_hotspots(&t, false, &text);
	CHECK(strstr(text.bytes, "\"samples_bytes\":5.0728546202701267e19"));
	told_free(&t);
	t = told_new(0.001);
	CHECK(mprof_mem_scale(t.mem) == 8000);
	told_free(&t);
}

int main(void)
{
	CHECK_RUN(test_hotspots);
	CHECK_RUN(test_wrapped);
	CHECK_RUN(test_leaks);
	CHECK_RUN(test_deep_stack);
	CHECK_RUN(test_diff);
	CHECK_RUN(test_profile);
	CHECK_RUN(test_empty_profile);
	CHECK_RUN(test_timeline);
	CHECK_RUN(test_tiny_rate);
	return check_done();
}
