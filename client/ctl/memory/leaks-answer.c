/*
 * `mprofctl mem leaks`: list what was allocated after the run's beginning and never freed, and who holds what lives.
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
#include "json-whole.h"
#include "json.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX   10u
#define FRAMES_MAX  12u
#define HOLDERS_MAX 3u /* functions that hold most of what lives at the end */

CLEANUP_DEFINE(struct mprof_leaks, mprof_leaks_free)

struct subject {
	const struct mprof_mem *d;
	const struct mprof_profile_node *nodes;
	double scale;
	double seconds; /* seconds of the run in which struct mprof_leak counts growth */
};

static const char *const surenesses[] = {
	[MPROF_LEAK_NONE] = "none",
	[MPROF_LEAK_POSSIBLE] = "possible",
	[MPROF_LEAK_LIKELY] = "likely",
	[MPROF_LEAK_SURE] = "sure",
};

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
			json_add_item(&list,
				      json_pack("{ss sn}", "function",
						i == MPROF_CODE_TRUNCATED ? "(truncated stack)" : "(unknown stack)",
						"file"));
		if (i >= MPROF_CODE_UNKNOWN)
			continue;
		code = mprof_mem_code(s->d, i);
		for (uint32_t k = code->locations; k-- > 0;)
			json_add_item(&list, location_json(s->d, mprof_mem_location(s->d, code->first_location + k)));
		if (!code->locations)
			json_add_item(&list,
				      json_pack("{so sn}", "function",
						json_sprintf("$%lld", (long long)(code->code << 1) >> 1), "file"));
	}
	return list;
}

static json_t *leak_json(const struct subject *s, const struct mprof_leak *leak)
{
	json_t *parts = json_array();
	double growth = (double)leak->growth * s->scale;

	for (size_t i = 0; i < MPROF_LEAK_PARTS; i++)
		json_add_item(&parts, json_real((double)leak->parts[i] * s->scale));
	return json_pack("{ss sI sf sI sf sf sf si si sf so sf so}", "sure", surenesses[leak->sureness], "live",
			 (json_int_t)leak->live, "live_bytes", (double)leak->live * s->scale, "growth",
			 (json_int_t)leak->growth, "growth_bytes", growth, "bytes_per_s", growth / s->seconds, "error",
			 leak->growth ? 1 / sqrt((double)leak->growth) : 1.0, "steady", (int)leak->steady,
			 "allocated_steady", (int)leak->allocated_steady, "allocated_growth_bytes",
			 (double)leak->allocated_growth * s->scale, "parts", parts, "stack_share",
			 (double)leak->at_node / (double)leak->live, "stack", stack_json(s, leak->node));
}

/*
 * Return the codes that hold most of the live samples, as an array of at most HOLDERS_MAX items, the largest first. LIVE
 * are all live samples. The caller decrefs the array.
 */
static json_t *holders_json(const struct subject *s, const struct mprof_leak *list, uint32_t n, uint64_t live)
{
	const struct mprof_leak *best[HOLDERS_MAX];
	json_t *array = json_array();
	uint32_t used = 0, at;

	for (uint32_t i = 0; i < n; i++) {
		for (at = used; at && best[at - 1]->live < list[i].live; at--)
			if (at < HOLDERS_MAX)
				best[at] = best[at - 1];
		if (at < HOLDERS_MAX && list[i].live)
			best[at] = &list[i];
		used += used < HOLDERS_MAX && list[i].live;
	}
	for (uint32_t i = 0; i < used; i++)
		json_add_item(&array, json_pack("{sf sf so}", "live_bytes", (double)best[i]->live * s->scale, "share",
						live ? (double)best[i]->live / (double)live : 0.0, "stack",
						stack_json(s, best[i]->node)));
	return array;
}

static json_t *answer_json(const struct mem_load *l)
{
	uint64_t length = l->whole.last_us - l->start_us;
	CLEANUP(mprof_leaks_freep)
	struct mprof_leaks *leaks = mprof_leaks_new(l->profile, l->in.decoder, l->start_us, l->whole.last_us);
	struct subject t = {.d = l->in.decoder, .scale = mprof_mem_scale(l->in.decoder)};
	const struct mprof_leak *list;
	json_t *found = json_array();
	uint32_t n = 0;

	if (!leaks || !found)
		return json_decref(found), NULL;
	t.nodes = mprof_profile_nodes(l->profile, &n);
	t.seconds = length ? (double)length / 1e6 * (MPROF_LEAK_PARTS - 2) / MPROF_LEAK_PARTS : 1;
	list = mprof_leaks_list(leaks, &n);
	for (uint32_t i = 0; i < n; i++)
		if (list[i].sureness != MPROF_LEAK_NONE)
			json_add_item(&found, leak_json(&t, &list[i]));
	return json_pack("{sf sI sf so so}", "seconds", (double)length / 1e6, "live",
			 (json_int_t)mprof_profile_sums(l->profile)->live, "live_bytes",
			 (double)mprof_profile_sums(l->profile)->live * t.scale, "holders",
			 holders_json(&t, list, n, mprof_profile_sums(l->profile)->live), "leaks", found);
}

/* ---- text ---- */

static void put_frame(const json_t *frame)
{
	print_safe(answer_string(frame, "function"));
	if (*answer_string(frame, "file")) {
		printf(" (");
		print_safe(answer_string(frame, "file"));
		printf(":%lld)", (long long)answer_count(frame, "line"));
	}
}

/* Print how much of LEAK was left over, and in what time. */
static void put_growth(const json_t *leak)
{
	char grown[32], rate[32], live[32];
	bool by_time = answer_count(leak, "growth") > 0;

	bytes_text((uint64_t)json_real_value(answer_get(leak, by_time ? "growth_bytes" : "allocated_growth_bytes")),
		   grown, sizeof(grown));
	bytes_text((uint64_t)json_real_value(answer_get(leak, "bytes_per_s")), rate, sizeof(rate));
	bytes_text((uint64_t)json_real_value(answer_get(leak, "live_bytes")), live, sizeof(live));
	printf("\n%s: ", answer_string(leak, "sure"));
	if (by_time)
		printf("%s/s +-%.0f%%; %s of the run between its beginning and end are left, and %s in all\n", rate,
		       100 * json_real_value(answer_get(leak, "error")), grown, live);
	else
		printf("%s of the allocations between the first and the last eighth are left, and %s in all\n", grown,
		       live);
}

static void put_leak(const json_t *leak)
{
	const json_t *frame;
	size_t i;

	put_growth(leak);
	printf("  something is left of %d of the first %u eighths of the run, of %d by its allocations; %.0f%% of it "
	       "was "
	       "made by\n",
	       (int)answer_count(leak, "steady"), MPROF_LEAK_PARTS - 1, (int)answer_count(leak, "allocated_steady"),
	       100 * json_real_value(answer_get(leak, "stack_share")));
	json_array_foreach(answer_get(leak, "stack"), i, frame)
	{
		printf("    ");
		put_frame(frame);
		printf("\n");
	}
}

/* Print which functions hold what lives at the end. */
static void put_holders(const json_t *list)
{
	const json_t *holder, *frame;
	size_t i;

	json_array_foreach(list, i, holder)
	{
		frame = json_array_get(answer_get(holder, "stack"), 0);
		printf("%s%.1f %% by ", i ? ", " : "held: ", 100 * json_real_value(answer_get(holder, "share")));
		if (frame)
			put_frame(frame);
		else
			printf("(no stack)");
	}
	if (json_array_size(list))
		printf("\n");
}

static int show(const json_t *answer)
{
	const json_t *list = answer_get(answer, "leaks"), *leak;
	char live[32];
	size_t i;

	bytes_text((uint64_t)json_real_value(answer_get(answer, "live_bytes")), live, sizeof(live));
	printf("%s live at the end, estimated from %lld samples; ", live, (long long)answer_count(answer, "live"));
	if (!json_array_size(list))
		printf("no place of allocation shows growth between the run's first and last eighth\n");
	else
		printf("%zu places of allocation may leak\n", json_array_size(list));
	put_holders(answer_get(answer, "holders"));
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

static int print(const struct mem_load *l, bool json, const struct mem_answer *a)
{
	CLEANUP(json_decrefp) json_t *answer = answer_json(l);

	(void)a;
	if (!answer)
		return say_memory();
	return json ? json_print(answer) : show(answer);
}

int mem_leaks(const struct ctl *ctl, int argc, char **argv)
{
	return mem_answer_run(ctl, argc, argv, &(struct mem_answer){.print = print});
}
