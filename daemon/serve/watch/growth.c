/*
 * Compare the streams of running guests with the last scan. Both lists are in the same order, so
 * they are merged. sorted-difference.c does the same for entries whose content fits into one
 * fingerprint.
 */
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "growth.h"
#include "row-json.h"

enum { PACKETS, BYTES, RATE, LOST, SKIPPED, GAPS, COUNTERS };
static const char *const names[COUNTERS] = {"packets", "bytes", "rate", "lost_packets", "skipped_packets", "gaps"};

struct grown {
	int64_t run, number;
	int64_t counters[COUNTERS];
};

void growth_deinit(struct growth *g)
{
	free(g->runs);
	free(g->last);
	free(g->next);
	*g = (struct growth){0};
}

void growth_reset(struct growth *g)
{
	g->n_runs = 0;
}

int growth_add_run(struct growth *g, int64_t run)
{
	size_t capacity = g->runs_capacity ? 2 * g->runs_capacity : 64;

	if (g->n_runs == g->runs_capacity) {
		int64_t *runs = realloc(g->runs, capacity * sizeof(*runs));

		if (!runs)
			return -ENOMEM;
		g->runs = runs;
		g->runs_capacity = capacity;
	}
	g->runs[g->n_runs++] = run;
	return 0;
}

void growth_begin(struct growth *g)
{
	g->at = g->at_last = g->n_next = 0;
	g->rates = false;
}

static struct grown grown_of(json_t *stream)
{
	struct grown s = {.run = json_integer_value(json_object_get(stream, "run")),
			  .number = json_integer_value(json_object_get(stream, "stream"))};

	for (size_t i = 0; i < COUNTERS; i++)
		s.counters[i] = json_integer_value(json_object_get(stream, names[i]));
	return s;
}

/* Return the counters of stream GROWN in the last scan, or NULL if the last scan did not have GROWN. */
static const struct grown *grown_before(struct growth *g, const struct grown *grown)
{
	const struct grown *l;

	for (; g->at_last < g->n_last; g->at_last++) {
		l = &g->last[g->at_last];
		if (l->run == grown->run && l->number == grown->number)
			return l;
		if (l->run > grown->run || (l->run == grown->run && l->number > grown->number))
			break;
	}
	return NULL;
}

static int growth_keep(struct growth *g, const struct grown *grown)
{
	size_t capacity = g->next_capacity ? 2 * g->next_capacity : 64;

	if (g->n_next == g->next_capacity) {
		struct grown *next = realloc(g->next, capacity * sizeof(*next));

		if (!next)
			return -ENOMEM;
		g->next = next;
		g->next_capacity = capacity;
	}
	g->next[g->n_next++] = *grown;
	g->rates |= grown->counters[RATE] != 0;
	return 0;
}

static int growth_compare(struct growth *g, const char *guest, json_t *stream, growth_call *call, void *context)
{
	struct grown now = grown_of(stream), before = {0};
	const struct grown *l = grown_before(g, &now);
	bool differs = false;

	if (l)
		before = *l;
	for (size_t i = 0; i < COUNTERS; i++)
		differs |= now.counters[i] != before.counters[i];
	if (growth_keep(g, &now) < 0)
		return -ENOMEM;
	if (!differs)
		return 0;
	return call(context, guest, stream,
		    now.counters[LOST] > before.counters[LOST] || now.counters[SKIPPED] > before.counters[SKIPPED]);
}

static void growth_end(struct growth *g)
{
	free(g->last);
	g->last = g->next;
	g->n_last = g->n_next;
	g->next = NULL;
	g->n_next = g->next_capacity = 0;
	growth_reset(g);
}

static int take_name(void *context, const struct archive_run *run)
{
	char **name = context;

	*name = strdup(run->name);
	return *name ? 0 : -ENOMEM;
}

/*
 * Scan the streams of the next run, in one transaction: a guest that gets another name meanwhile
 * must not have counters of the one name and the other name.
 */
static int growth_run(struct growth *g, struct reader *r, growth_call *call, void *context)
{
	CLEANUP(json_unrefp) json_t *streams = json_array();
	CLEANUP(freep) char *guest = NULL;
	json_t *stream;
	size_t i;
	int rc = streams ? reader_begin(r) : -ENOMEM;

	if (rc == 0)
		rc = reader_run(r, g->runs[g->at], take_name, &guest);
	if (rc == 0)
		rc = json_streams(r, g->runs[g->at], streams);
	if (rc == 0 || rc == ARCHIVE_E_ABSENT)
		g->at++;
	json_array_foreach(streams, i, stream)
	{
		if (rc == 0)
			rc = growth_compare(g, guest, stream, call, context);
	}
	reader_end(r);
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

int growth_step(struct growth *g, struct reader *r, uint64_t ns, growth_call *call, void *context)
{
	uint64_t until = clock_mono() + ns;
	int rc = 0;

	while (rc == 0 && g->at < g->n_runs && clock_mono() < until)
		rc = growth_run(g, r, call, context);
	if (rc != 0 || g->at < g->n_runs)
		return rc;
	growth_end(g);
	return GROWTH_DONE;
}
