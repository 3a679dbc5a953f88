/* The answers about memory profiles as JSON: as mprofctl prints them, and as a page reads them. */
#include <mprof/hotspots-report.h>

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
	CHECK_RUN(test_tiny_rate);
	return check_done();
}
