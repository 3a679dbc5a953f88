/* `mprofctl mem timeline`: show how many bytes lived at each of several points of time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer-output.h"
#include "cleanup.h"
#include "mem-load.h"
#include "mem.h"
#include "table.h"

#define POINTS	     450u
#define POINTS_MAX   100000u
#define POINTS_SHOWN 40u
#define BAR	     50u

static int print(const struct mem_load *l)
{
	const struct mprof_profile_report r = mem_load_report(l);
	struct mprof_json j = answer_output(NULL);

	mprof_json_open(&j, NULL, '{');
	mprof_profile_write_timeline(&r, l->line, l->line_n, mem_load_length(l), &j);
	return answer_output_end(&j);
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
		printf("%14s %10s ",
		       span_text(mprof_profile_timeline_ns(mem_load_length(l), i, l->line_n), span, sizeof(span)),
		       bytes);
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
	printed = ctl->json ? print(&l) : show(&l);
	return printed ? printed : r;
}
