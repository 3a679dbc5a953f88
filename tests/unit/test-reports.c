/*
 * Each answer that libmprof writes as JSON, while one allocation after the other fails: it returns an error, or is whole.
 * Nothing leaks (the sanitizer's run).
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/area-report.h>
#include <mprof/diff-report.h>
#include <mprof/hotspots-report.h>
#include <mprof/leaks-report.h>
#include <mprof/profile-diff.h>
#include <mprof/threads-report.h>
#include <mprof/why-report.h>

#include "line.h"
#include "mem-make.h"
#include "scarce.h"

#define COUNTS(t, thread, value, name) {t, MPROF_EVENT_counter, thread, value, 0, name}
#define IS(t, thread, ns, text)	       {t, MPROF_EVENT_extra, thread, ns, MPROF_EXTRA_STATE, text}

/* Thread 2 waits for 3; 4 waits for nothing and runs, as a sample says. */
#define STORY                                                                                                 \
	DOES(1, switch, 1, 0), SAYS(1, 1, "main"), CREATES(2, 1, 2, Task), SAYS(2, 2, "waits"), MARKS(2, 2),  \
		CREATES(3, 1, 3, Task), SAYS(3, 3, "answers"), CREATES(4, 1, 4, Task), DOES(5, switch, 2, 0), \
		DOES(6, try_read, 2, 3), DOES(7, switch, 4, 0), IS(8, 4, 3, "runs"), COUNTS(9, 4, 12, "count")

static const struct line good_lines[] = {
	STORY,
	DOES(20, fulfills, 3, 3),
	DOES(21, switch, 2, 0),
	DOES(22, read, 2, 3),
	DOES(23, fulfills, 2, 2),
	CREATES(24, 1, 5, Bind),
	SAYS(24, 5, "request 1"),
	CREATES(25, 1, 6, Bind),
	SAYS(25, 6, "request 22"),
	DOES(90, switch, 1, 0),
};
static const struct line bad_lines[] = {STORY, COUNTS(30, 4, 13, "count"), DOES(400, switch, 1, 0)};

/* The two traces and the memory profile, and the answer that is written. The text is not on the heap. */
struct trial {
	struct mprof_model *models[2];
	const struct mprof_model_view *good, *bad;
	struct mprof_profile *profile;
	struct mprof_mem *mem;
	char text[65536];
	size_t n;
	struct mprof_json json;
};

static void put(void *context, const char *text, size_t n)
{
	struct trial *t = context;

	if (t->n + n > sizeof(t->text))
		abort();
	memcpy(t->text + t->n, text, n);
	t->n += n;
}

static struct mprof_model *tell(const struct line *lines, size_t n)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	uint32_t stream;

	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, &stream), MPROF_OK);
	for (size_t i = 0; i < n; i++)
		line_add(m, 0, &lines[i]);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

static enum mprof_status write_why(struct trial *t)
{
	struct mprof_why *why = mprof_why_new(t->bad);
	struct mprof_waits *waits = why ? mprof_waits_new(t->bad, why) : NULL;
	struct mprof_explanation *e = waits ? mprof_explanation_new(t->bad, why, NULL) : NULL;
	struct mprof_why_report r = {.view = t->bad, .why = why, .waits = waits, .explanation = e};
	enum mprof_status status = MPROF_NOMEM;

	if (e) {
		r.asked = mprof_waits_groups(waits, &r.n);
		status = mprof_why_write(&r, &t->json);
	}
	mprof_explanation_free(e);
	mprof_waits_free(waits);
	mprof_why_free(why);
	return status;
}

/* The threads; or with ONE what a page shows of one. */
static enum mprof_status ask_threads(struct trial *t, bool one)
{
	struct mprof_why *why = mprof_why_new(t->bad);
	struct mprof_explanation *e = why ? mprof_explanation_new(t->bad, why, NULL) : NULL;
	struct mprof_threads_options options = {.why = why, .to = UINT64_MAX, .longest = 4};
	struct mprof_threads *threads = e ? mprof_threads_new(t->bad, &options) : NULL;
	enum mprof_status status = threads ? MPROF_OK : MPROF_NOMEM;

	if (threads && one)
		status = mprof_threads_write_one(threads, 2, e, &t->json);
	else if (threads)
		mprof_threads_write(threads, &t->json);
	mprof_threads_free(threads);
	mprof_explanation_free(e);
	mprof_why_free(why);
	return status;
}

static enum mprof_status write_threads(struct trial *t)
{
	return ask_threads(t, false);
}

static enum mprof_status write_thread(struct trial *t)
{
	return ask_threads(t, true);
}

/* The differences as mprofctl prints them, or with INDEXED as a page gets them. */
static enum mprof_status ask_diff(struct trial *t, bool indexed)
{
	struct mprof_diff_report r = {.runs = {{.view = t->good}, {.view = t->bad}}, .indexed = indexed};
	struct mprof_diff *d = mprof_diff_new(t->good, t->bad, &(struct mprof_diff_options){.seed = 1});
	enum mprof_status status = MPROF_NOMEM;

	r.diff = d;
	if (d)
		status = mprof_diff_write(&r, &t->json);
	mprof_diff_free(d);
	return status;
}

static enum mprof_status write_diff(struct trial *t)
{
	return ask_diff(t, false);
}

static enum mprof_status write_diff_page(struct trial *t)
{
	return ask_diff(t, true);
}

/* The groups of an area; or with THREADS the threads of one. */
static enum mprof_status ask_area(struct trial *t, bool threads)
{
	struct mprof_why *why = mprof_why_new(t->bad);
	struct mprof_explanation *e = why ? mprof_explanation_new(t->bad, why, NULL) : NULL;
	const struct mprof_area_place all = {0, UINT64_MAX, 0, UINT32_MAX};
	struct mprof_area *a = e ? mprof_area_new(t->bad, &all) : NULL;
	const struct mprof_area_report r = {
		.view = t->bad, .area = a, .explanation = e, .text = "", .most = UINT32_MAX};
	enum mprof_status status = a ? MPROF_OK : MPROF_NOMEM;

	if (a && threads)
		mprof_area_write_threads(&r, 0, &t->json);
	else if (a)
		status = mprof_area_write(&r, &t->json);
	mprof_area_free(a);
	mprof_explanation_free(e);
	mprof_why_free(why);
	return status;
}

static enum mprof_status write_area(struct trial *t)
{
	return ask_area(t, false);
}

static enum mprof_status write_area_threads(struct trial *t)
{
	return ask_area(t, true);
}

static enum mprof_status write_hotspots(struct trial *t)
{
	struct mprof_hotspots *h = mprof_hotspots_new(t->profile, t->mem, MPROF_WEIGHT_ALL);

	if (h)
		mprof_hotspots_write(&(struct mprof_hotspots_report){t->profile, t->mem, h, MPROF_WEIGHT_ALL, true},
				     &t->json);
	mprof_hotspots_free(h);
	return h ? MPROF_OK : MPROF_NOMEM;
}

static enum mprof_status write_leaks(struct trial *t)
{
	uint32_t n;
	struct mprof_leaks *leaks = mprof_leaks_new(t->profile, t->mem, MADE_START, MADE_START + 8);

	const struct mprof_profile_node *nodes = mprof_profile_nodes(t->profile, &n);

	if (leaks && nodes)
		mprof_leaks_write(&(struct mprof_leaks_report){t->profile, nodes, t->mem, leaks, 8, true}, &t->json);
	mprof_leaks_free(leaks);
	return leaks && nodes ? MPROF_OK : MPROF_NOMEM;
}

static enum mprof_status write_profile_diff(struct trial *t)
{
	const struct mprof_profile_run run = {t->profile, t->mem, 8};
	struct mprof_profile_diff *d = mprof_profile_diff_new((const struct mprof_profile_run[2]){run, run});

	if (d)
		mprof_profile_diff_write(d, &t->json);
	mprof_profile_diff_free(d);
	return d ? MPROF_OK : MPROF_NOMEM;
}

/* Write an answer with WRITE, while allocation FAILING fails; below 0: none. */
static enum mprof_status answer(struct trial *t, enum mprof_status (*write)(struct trial *), long failing)
{
	enum mprof_status status;

	t->n = 0;
	t->json = (struct mprof_json){.put = put, .context = t, .shown = true};
	mprof_json_open(&t->json, NULL, '{');
	fail_in = failing;
	status = write(t);
	if (status == MPROF_OK)
		mprof_json_close(&t->json, '}');
	return status;
}

static const struct {
	const char *name, *part; /* the answer has PART */
	enum mprof_status (*write)(struct trial *t);
	long least; /* allocations at least */
} reports[] = {
	{"why", "\"thread\":2,", write_why, 10},
	{"threads", "\"state\":\"runs\"", write_threads, 10},
	{"a thread", "\"story\":[[", write_thread, 10},
	{"diff", "\"label\":\"request #\"", write_diff, 30},
	{"diff for a page", "\"other_partings\":[", write_diff_page, 30},
	{"area", " would not be here", write_area, 10},
	{"the threads of an area", "\"threads\":[{\"index\":", write_area_threads, 5},
	{"hotspots", "\"function\":\"f3\",", write_hotspots, 10},
	{"leaks", "\"sure\":\"possible\",", write_leaks, 2},
	{"memory diff", "\"grown_bytes_per_s\":0.0,", write_profile_diff, 10},
};

static void try_report(struct trial *t, size_t i)
{
	static char whole[sizeof(t->text)];
	enum mprof_status status = MPROF_NOMEM;
	size_t n;
	long k;

	CHECK_EQ_INT(answer(t, reports[i].write, -1), MPROF_OK);
	n = t->n;
	memcpy(whole, t->text, n);
	whole[n] = 0;
	if (!CHECK(strstr(whole, reports[i].part)))
		fprintf(stderr, "%s: %s\n", reports[i].name, whole);
	for (k = 0; fail_in < 0; k++) {
		status = answer(t, reports[i].write, k);
		if (!CHECK(status == MPROF_NOMEM ||
			   (status == MPROF_OK && t->n == n && memcmp(whole, t->text, n) == 0)))
			fprintf(stderr, "%s: allocation %ld\n", reports[i].name, k);
	}
	fail_in = -1;
	CHECK_EQ_INT(status, MPROF_OK);
	CHECK(k > reports[i].least);
}

/* Give T a memory profile in which f3 allocates. */
static void allocate(struct trial *t)
{
	struct made m = {0};

	t->profile = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5});
	made_begin(&m, 2);
	made_alloc(&m, 2, 6, MPROF_MEM_MAJOR, STACK(1, 3));
	made_finish(&m);
	t->mem = made_read(&m, t->profile, NULL);
	made_free(&m);
}

static void test_reports(void)
{
	static struct trial t;

	t.models[0] = tell(good_lines, sizeof(good_lines) / sizeof(good_lines[0]));
	t.models[1] = tell(bad_lines, sizeof(bad_lines) / sizeof(bad_lines[0]));
	t.good = mprof_model_view(t.models[0]);
	t.bad = mprof_model_view(t.models[1]);
	allocate(&t);
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		try_report(&t, i);
	mprof_model_free(t.models[0]);
	mprof_model_free(t.models[1]);
	mprof_profile_free(t.profile);
	mprof_mem_free(t.mem);
}

int main(void)
{
	CHECK_RUN(test_reports);
	return check_done();
}
