/*
 * Fuzz the statistics of a trace with any bytes, and with so little memory that threads are
 * forgotten and strings are left out. Each loop must end, and the output must be JSON.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "stats-answer.h"

/* The memory is divided by this number: 32 threads, and 32 strings of 1 KiB together, are left. */
#define SHARES 131072u

static void check(struct tally *t, const struct mprof_totals *totals, size_t size)
{
	json_t *json;
	char *text;
	uint32_t i;

	tally_end(t);
	require(!t->failed && t->thread_stats.n <= 32 && t->texts.n <= 32 && t->texts.used <= 1024);
	require(t->counter_count <= 32 && t->events <= size);
	for (i = 0; i < t->thread_stats.n; i++)
		require(thread_stats_alias(&t->thread_stats, i) < t->thread_stats.n);
	json = tally_json(t, totals, size);
	text = json ? json_dumps(json, 0) : NULL;
	require(text != NULL);
	free(text);
	json_decref(json);
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
