/*
 * `mprofctl mem leaks`: list what was allocated throughout the run and never freed.
 *
 * The times at which the live objects were allocated tell how sure a leak is. Without a leak, live
 * objects are of two kinds. The program made some at its beginning, to keep them; and the garbage
 * collector has not yet freed some of the newest. Live objects from the middle of the run suggest a
 * leak.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "json.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX  10u
#define FRAMES_MAX 12u
/*
 * Limits for a leak that is sure, for one that is likely, and for one that is reported at all.
 * *_PARTS is the least value of STEADY in struct mprof_leak: of so many parts of the run objects
 * live, not counting the last part. *_GROWTH is the least value of GROWTH: the live samples of all
 * parts but the first and the last.
 *
 * SURE_GROWTH is four samples for each of SURE_PARTS parts. With four samples on average, chance
 * leaves a given part empty in 2 of 100 runs.
 */
#define SURE_PARTS     (MPROF_LEAK_PARTS - 1)
#define SURE_GROWTH    28u
#define LIKELY_PARTS   (MPROF_LEAK_PARTS - 3)
#define LIKELY_GROWTH  8u
#define REPORTED_PARTS 3u

CLEANUP_DEFINE(struct mprof_leaks, mprof_leaks_free)

struct subject {
	const struct mprof_mem *d;
	const struct mprof_profile_node *nodes;
	double scale;
	double seconds; /* seconds of the run in which struct mprof_leak counts growth */
};

static const char *sureness(const struct mprof_leak *leak)
{
	if (leak->steady >= SURE_PARTS && leak->growth >= SURE_GROWTH)
		return "sure";
	return leak->steady >= LIKELY_PARTS && leak->growth >= LIKELY_GROWTH ? "likely" : "possible";
}

static json_t *location_json(const struct mprof_mem *m, const struct mprof_mem_location *l)
{
	size_t function_bytes, file_bytes;
	const char *function = mprof_mem_string(m, l->function, &function_bytes);
	const char *file = mprof_mem_string(m, l->file, &file_bytes);

	return json_pack("{so so si}", "function", text_json(function, function_bytes), "file",
			 text_json(file, file_bytes), "line", (int)l->line);
}

/*
 * Return the call stack of NODE as a JSON array, innermost frame first. The caller decrefs the
 * array.
 */
static json_t *stack_json(const struct subject *s, uint32_t node)
{
	json_t *list = json_array();

	for (; node != MPROF_NONE && json_array_size(list) < FRAMES_MAX; node = s->nodes[node].parent) {
		uint32_t i = s->nodes[node].code;
		const struct mprof_mem_code *code;

		if (i == MPROF_CODE_TRUNCATED || i == MPROF_CODE_UNKNOWN)
			json_array_append_new(
				list,
				json_pack("{ss sn}", "function",
					  i == MPROF_CODE_TRUNCATED ? "(truncated stack)" : "(unknown stack)", "file"));
		if (i >= MPROF_CODE_UNKNOWN)
			continue;
		code = mprof_mem_code(s->d, i);
		for (uint32_t k = code->locations; k-- > 0;)
			json_array_append_new(list,
					      location_json(s->d, mprof_mem_location(s->d, code->first_location + k)));
		if (!code->locations)
			json_array_append_new(list, json_pack("{so sn}", "function",
							      json_sprintf("$%lld", (long long)(code->code << 1) >> 1),
							      "file"));
	}
	return list;
}

static json_t *leak_json(const struct subject *s, const struct mprof_leak *leak)
{
	json_t *parts = json_array();
	double growth = (double)leak->growth * s->scale;

	for (size_t i = 0; i < MPROF_LEAK_PARTS; i++)
		json_array_append_new(parts, json_real((double)leak->parts[i] * s->scale));
	return json_pack("{ss sI sf sI sf sf sf si so sf so}", "sure", sureness(leak), "live", (json_int_t)leak->live,
			 "live_bytes", (double)leak->live * s->scale, "growth", (json_int_t)leak->growth,
			 "growth_bytes", growth, "bytes_per_s", growth / s->seconds, "error",
			 leak->growth ? 1 / sqrt((double)leak->growth) : 1.0, "steady", (int)leak->steady, "parts",
			 parts, "stack_share", (double)leak->at_node / (double)leak->live, "stack",
			 stack_json(s, leak->node));
}

static json_t *answer_json(struct mem_load *l, bool brief, const struct mem_answer *a)
{
	uint64_t length = l->whole.last_us - l->start_us;
	CLEANUP(mprof_leaks_freep)
	struct mprof_leaks *leaks = mprof_leaks_new(l->profile, l->in.decoder, l->start_us, l->whole.last_us);
	struct subject t = {.d = l->in.decoder, .scale = mem_load_scale(l)};
	const struct mprof_leak *list;
	json_t *found = json_array();
	uint32_t n = 0;

	(void)brief;
	(void)a;
	if (!leaks || !found)
		return json_decref(found), NULL;
	t.nodes = mprof_profile_nodes(l->profile, &n);
	t.seconds = length ? (double)length / 1e6 * (MPROF_LEAK_PARTS - 2) / MPROF_LEAK_PARTS : 1;
	list = mprof_leaks_list(leaks, &n);
	for (uint32_t i = 0; i < n; i++)
		if (list[i].steady >= REPORTED_PARTS && list[i].growth)
			json_array_append_new(found, leak_json(&t, &list[i]));
	return json_pack("{sf sI sf so}", "seconds", (double)length / 1e6, "live",
			 (json_int_t)mprof_profile_sums(l->profile)->live, "live_bytes",
			 (double)mprof_profile_sums(l->profile)->live * t.scale, "leaks", found);
}

/* ---- text ---- */

static void put_leak(const json_t *leak)
{
	const json_t *frame;
	char grown[32], rate[32], live[32];
	size_t i;

	bytes_text((uint64_t)json_real_value(answer_get(leak, "growth_bytes")), grown, sizeof(grown));
	bytes_text((uint64_t)json_real_value(answer_get(leak, "bytes_per_s")), rate, sizeof(rate));
	bytes_text((uint64_t)json_real_value(answer_get(leak, "live_bytes")), live, sizeof(live));
	printf("\n%s: %s/s +-%.0f%%; %s of the run between its beginning and end are left, and %s in all\n",
	       answer_string(leak, "sure"), rate, 100 * json_real_value(answer_get(leak, "error")), grown, live);
	printf("  something is left of %d of the first %u eighths of the run; %.0f%% of it was made by\n",
	       (int)answer_count(leak, "steady"), MPROF_LEAK_PARTS - 1,
	       100 * json_real_value(answer_get(leak, "stack_share")));
	json_array_foreach(answer_get(leak, "stack"), i, frame)
	{
		printf("    ");
		print_safe(answer_string(frame, "function"));
		if (*answer_string(frame, "file")) {
			printf(" (");
			print_safe(answer_string(frame, "file"));
			printf(":%lld)", (long long)answer_count(frame, "line"));
		}
		printf("\n");
	}
}

static int show(const json_t *answer, const struct mem_answer *a)
{
	const json_t *list = answer_get(answer, "leaks"), *leak;
	char live[32];
	size_t i;

	(void)a;
	bytes_text((uint64_t)json_real_value(answer_get(answer, "live_bytes")), live, sizeof(live));
	printf("%s live at the end, estimated from %lld samples; ", live, (long long)answer_count(answer, "live"));
	if (!json_array_size(list))
		printf("nothing grew throughout the run\n");
	else
		printf("%zu places of allocation may leak\n", json_array_size(list));
	json_array_foreach(list, i, leak)
	{
		if (i == SHOWN_MAX)
			break;
		put_leak(leak);
	}
	if (json_array_size(list) > SHOWN_MAX)
		printf("\nand %zu more; --json has them all\n", json_array_size(list) - SHOWN_MAX);
	return stdout_verdict();
}

int mem_leaks(const struct ctl *ctl, int argc, char **argv)
{
	const struct mem_answer a = {.make = answer_json, .show = show};

	return mem_answer_run(ctl, argc, argv, &a);
}
