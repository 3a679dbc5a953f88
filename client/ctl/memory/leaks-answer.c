/*
 * `mprofctl mem leaks`: list what was allocated after the run's beginning and lives at the end, and who holds what lives.
 *
 * The times at which the live objects were allocated tell how sure a leak is. Without a leak, live
 * objects are of two kinds. The program made some at its beginning, to keep them; and the garbage
 * collector has not yet freed some of the newest. Live objects from the middle of the run suggest a
 * leak.
 *
 * The answer is libmprof's (<mprof/leaks-report.h>), which prints it as JSON; this file prints it as text.
 */
#include <inttypes.h>
#include <stdio.h>

#include <mprof/leaks-report.h>

#include "answer-output.h"
#include "cleanup.h"
#include "json.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX 10u

CLEANUP_DEFINE(struct mprof_leaks, mprof_leaks_free)

/* Print the next frame of WALK behind BEFORE. Return false after the last one. */
static bool put_frame(struct mprof_stack_walk *walk, const char *before)
{
	struct mprof_frame frame;

	if (!mprof_stack_next(walk, &frame))
		return false;
	fputs(before, stdout);
	print_text(frame.function, frame.function_bytes);
	if (frame.file_bytes) {
		printf(" (");
		print_text(frame.file, frame.file_bytes);
		printf(":%" PRIu32 ")", frame.line);
	}
	return true;
}

/* Print how much of LEAK was left over, and in what time. */
static void put_growth(const struct mprof_leak *leak, const struct mprof_leaks_entry *entry)
{
	char grown[32], rate[32], live[32];

	bytes_text(mem_load_whole(leak->growth ? entry->growth_bytes : entry->allocated_growth_bytes), grown,
		   sizeof(grown));
	bytes_text(mem_load_whole(entry->bytes_per_s), rate, sizeof(rate));
	bytes_text(mem_load_whole(entry->live_bytes), live, sizeof(live));
	printf("\n%s: ", entry->sure);
	if (leak->growth)
		printf("%s/s +-%.0f%%; %s of the run between its beginning and end are left, and %s in all\n", rate,
		       100 * entry->error, grown, live);
	else
		printf("%s of the allocations between the first and the last eighth are left, and %s in all\n", grown,
		       live);
}

static void put_leak(const struct mprof_leaks_report *r, const struct mprof_leak *leak)
{
	const struct mprof_leaks_entry entry = mprof_leaks_ask(r, leak);
	struct mprof_stack_walk walk = mprof_leaks_stack(r, leak);

	put_growth(leak, &entry);
	printf("  something is left of %" PRIu32 " of the first %u eighths of the run, of %" PRIu32
	       " by its allocations; %.0f%% of it was made by\n",
	       leak->steady, MPROF_LEAK_PARTS - 1, leak->allocated_steady, 100 * entry.stack_share);
	while (put_frame(&walk, "    "))
		printf("\n");
}

/* Print which functions hold what lives at the end, LIVE samples. */
static void put_holders(const struct mprof_leaks_report *r, uint64_t live)
{
	const struct mprof_leak *holders[MPROF_LEAKS_HOLDERS];
	uint32_t n = mprof_leaks_holders(r, holders);

	for (uint32_t i = 0; i < n; i++) {
		struct mprof_stack_walk walk = mprof_leaks_stack(r, holders[i]);

		printf("%s%.1f %% by ",
		       i ? ", " : "held: ", 100 * (live ? (double)holders[i]->live / (double)live : 0));
		if (!put_frame(&walk, ""))
			printf("(no stack)");
	}
	if (n)
		printf("\n");
}

static int show(const struct mprof_leaks_report *r)
{
	uint64_t samples = mprof_profile_sums(r->profile)->live;
	uint32_t n, leaks = 0, shown = 0;
	const struct mprof_leak *list = mprof_leaks_list(r->leaks, &n);
	char live[32];

	for (uint32_t i = 0; i < n; i++)
		leaks += list[i].sureness != MPROF_LEAK_NONE;
	bytes_text(mem_load_whole((double)samples * mprof_mem_scale(r->mem)), live, sizeof(live));
	printf("%s live at the end, estimated from %" PRIu64 " samples; ", live, samples);
	if (!samples)
		printf("without a sample no leak can be seen\n");
	else if (!leaks)
		printf("no place of allocation left enough of them between the run's first and last eighth to tell a "
		       "leak\n");
	else
		printf("%" PRIu32 " places of allocation may leak\n", leaks);
	put_holders(r, samples);
	for (uint32_t i = 0; i < n && shown < SHOWN_MAX; i++)
		if (list[i].sureness != MPROF_LEAK_NONE) {
			put_leak(r, &list[i]);
			shown++;
		}
	if (leaks > shown)
		printf("\nand %" PRIu32 " more; --json has them all\n", leaks - shown);
	return stdout_verdict();
}

static int print(const struct mem_load *l, bool json, const struct mem_answer *a)
{
	uint32_t n;
	CLEANUP(mprof_leaks_freep)
	struct mprof_leaks *leaks = mprof_leaks_new(l->profile, l->in.decoder, l->start_us, l->whole.last_us);
	const struct mprof_leaks_report r = {.profile = l->profile,
					     .nodes = mprof_profile_nodes(l->profile, &n),
					     .mem = l->in.decoder,
					     .leaks = leaks,
					     .length_us = mem_load_length(l)};
	struct mprof_json j = answer_output(NULL);

	(void)a;
	if (!leaks || !r.nodes)
		return say_memory();
	if (!json)
		return show(&r);
	mprof_json_open(&j, NULL, '{');
	mprof_leaks_write(&r, &j);
	return answer_output_end(&j);
}

int mem_leaks(const struct ctl *ctl, int argc, char **argv)
{
	return mem_answer_run(ctl, argc, argv, &(struct mem_answer){.print = print});
}
