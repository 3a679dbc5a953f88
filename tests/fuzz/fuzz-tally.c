/*
 * Fuzz the statistics of a trace with any bytes, and with so little memory that threads are
 * forgotten and strings are left out. Each loop must end, and the output must be JSON.
 */
#include <jansson.h>

#include "fuzz.h"
#include "stats-answer.h"

/* The memory is divided by this number: 32 threads, and 32 strings of 1 KiB together, are left. */
#define SHARES 131072u

static void put(void *context, const char *text, size_t n)
{
	require(fwrite(text, 1, n, context) == n);
}

/* Check that the report of T is JSON. Two names that are no UTF-8 can give one key. */
static void check_report(struct tally *t, const struct input_stream *source)
{
	struct mprof_statistics_report report;
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	struct mprof_json j = {.put = put, .context = f};
	json_t *json;

	require(f && report_tally(&report, t, source));
	mprof_json_open(&j, NULL, '{');
	mprof_statistics_write(&report, &j);
	mprof_json_close(&j, '}');
	require(fclose(f) == 0);
	json = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
	require(json != NULL);
	json_decref(json);
	free(text);
	report_deinit(&report);
}

static void check(struct tally *t, const struct mprof_totals *totals, size_t size)
{
	const struct input_stream source = {.totals = *totals, .bytes = size};
	uint32_t i;

	tally_end(t, size % 2 != 0);
	require(!t->failed && t->thread_stats.n <= 32 && t->texts.n <= 32 && t->texts.used <= 1024);
	require(t->counter_count <= 32 && t->events <= size);
	for (i = 0; i < t->thread_stats.n; i++)
		require(thread_stats_alias(&t->thread_stats, i) < t->thread_stats.n);
	check_report(t, &source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event events[16];
	enum mprof_status status = MPROF_OK;
	struct tally t;
	size_t n;

	require(d != NULL);
	tally_init(&t, SHARES);
	t.from = size ? data[0] * 8u : 0;
	mprof_decoder_feed(d, data, size);
	mprof_decoder_finish(d);
	while (status != MPROF_END) {
		n = mprof_decoder_batch(d, events, 16, &status);
		tally_events(&t, events, n);
	}
	check(&t, mprof_decoder_totals(d), size);
	tally_deinit(&t);
	mprof_decoder_free(d);
	return 0;
}
