/* `mprofctl mem timeline`: show how many bytes lived at each of several points of time. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "json-whole.h"
#include "mem-load.h"
#include "mem.h"
#include "table.h"

#define POINTS	     450u
#define POINTS_MAX   100000u
#define POINTS_SHOWN 40u
#define BAR	     50u

/* Return the time of point I of the timeline, in nanoseconds since the start of the profile. */
static uint64_t point_ns(const struct mem_load *l, uint32_t i)
{
	return (uint64_t)((double)mem_load_length(l) * 1000 * (i + 1) / l->line_n + 0.5);
}

static json_t *timeline_json(const struct mem_load *l)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(l->profile);
	uint64_t objects = s->allocs[0] + s->allocs[1] + s->allocs[2];
	uint64_t samples = s->samples[0] + s->samples[1] + s->samples[2];
	double scale = mprof_mem_scale(l->in.decoder);
	json_t *points = json_array();

	for (uint32_t i = 0; i < l->line_n; i++)
		json_add_item(&points,
			      json_pack("{so sI sf}", "ns", json_sprintf("%" PRIu64, point_ns(l, i)), "samples",
					(json_int_t)l->line[i], "bytes", (double)l->line[i] * scale));
	return json_pack("{so sI sI sI sf so}", "start_us", json_sprintf("%" PRIu64, l->start_us), "objects",
			 (json_int_t)objects, "samples", (json_int_t)samples, "peak_samples", (json_int_t)s->peak,
			 "peak_bytes", (double)s->peak * scale, "points", points);
}

static int show(const struct mem_load *l)
{
	double scale = mprof_mem_scale(l->in.decoder);
	char span[SPAN_TEXT_MAX], bytes[32];
	uint64_t most = 1;

	for (uint32_t i = 0; i < l->line_n; i++)
		most = l->line[i] > most ? l->line[i] : most;
	for (uint32_t i = 0; i < l->line_n; i++) {
		bytes_text(mem_load_whole((double)l->line[i] * scale), bytes, sizeof(bytes));
		printf("%14s %10s ", span_text(point_ns(l, i), span, sizeof(span)), bytes);
		for (uint64_t k = 0; k < l->line[i] * BAR / most; k++)
			putchar('#');
		putchar('\n');
	}
	return stdout_verdict();
}

static int points_parse(const char *s, uint32_t *n)
{
	char *end;
	unsigned long value;

	if (!s)
		return CTL_OK;
	value = strtoul(s, &end, 10);
	if (s[0] < '0' || s[0] > '9' || *end || !value || value > POINTS_MAX)
		return say_usage("mem", "--points is not a number from 1 to %u: \"%s\"", POINTS_MAX, s);
	*n = (uint32_t)value;
	return CTL_OK;
}

int mem_timeline(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0};
	CLEANUP(freep) uint64_t *line = NULL;
	struct options o;
	uint32_t n = ctl->json ? POINTS : POINTS_SHOWN;
	struct operands left;
	json_t *json;
	int r = options_parse(ctl, argc, argv, &o, &left), printed;

	r = r ? r : mem_filter_parse(&f, &o);
	r = r ? r : points_parse(o.points, &n);
	if (r)
		return r;
	line = calloc(n, sizeof(*line));
	if (!line)
		return say_memory();
	r = mem_load(&l, left.at[0], &f, false, line, n);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	json = ctl->json ? timeline_json(&l) : NULL;
	printed = !ctl->json ? show(&l) : json ? json_print(json) : say_memory();
	json_decref(json);
	return printed ? printed : r;
}
