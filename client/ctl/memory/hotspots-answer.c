/*
 * `mprofctl mem hotspots`: list the functions that allocate, the places in them, and their callers.
 * `mprofctl mem peak` lists the same for the objects that lived at the peak.
 *
 * make() always builds the answer as JSON. The text for people is printed from that JSON.
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

#define SHOWN_MAX   20u
#define CALLERS_MAX 5u
/*
 * Limits for a caller that the text shows for a function. SHARE_MIN is the least share of the
 * caller in all samples, and also of the function's samples that come through the caller. PART_MIN
 * is the least part of the caller's samples that are the function's. That part must also be more
 * than PART_FACTOR times the function's share of all samples.
 */
#define SHARE_MIN   0.005
#define PART_MIN    0.10
#define PART_FACTOR 1.2

CLEANUP_DEFINE(struct mprof_hotspots, mprof_hotspots_free)

struct subject {
	const struct mprof_mem *d;
	double scale; /* bytes per sample */
	uint64_t all; /* samples of all functions */
	const struct mprof_hotspot *list;
	const struct mprof_hotspot_caller *callers;
	uint32_t n, n_callers;
	/* Make only the entries that the text shows; a profile can have millions of callers. */
	bool brief;
};

static json_t *name_json(const struct subject *s, uint32_t string)
{
	size_t bytes;
	const char *name;

	if (string == MPROF_NONE)
		return json_null();
	name = mprof_mem_string(s->d, string, &bytes);
	return text_json(name, bytes);
}

/*
 * Return the function of SPOT as a JSON object with the name of the function and of its file. The
 * caller decrefs the object.
 */
static json_t *spot_json(const struct subject *s, const struct mprof_hotspot *spot)
{
	char code[40];

	if (spot->name != MPROF_NONE)
		return json_pack("{so so}", "function", name_json(s, spot->name), "file", name_json(s, spot->file));
	if (spot->code == MPROF_CODE_TRUNCATED)
		return json_pack("{ss sn}", "function", "(truncated stack)", "file");
	if (spot->code == MPROF_CODE_UNKNOWN)
		return json_pack("{ss sn}", "function", "(unknown stack)", "file");
	snprintf(code, sizeof(code), "$%lld", (long long)(mprof_mem_code(s->d, spot->code)->code << 1) >> 1);
	return json_pack("{ss sn}", "function", code, "file");
}

static json_t *places_json(const struct subject *s, const struct mprof_hotspot *spot)
{
	json_t *list = json_array();

	for (size_t i = 0; i < 3 && spot->places[i] != MPROF_NONE; i++) {
		const struct mprof_mem_location *l = mprof_mem_location(s->d, spot->places[i]);

		json_add_item(&list, json_sprintf("%u:%u-%u", l->line, l->first, l->last));
	}
	return list;
}

static void add_numbers(const struct subject *s, json_t **object, const char *key, uint64_t samples)
{
	char bytes[24];

	snprintf(bytes, sizeof(bytes), "%s_bytes", key);
	json_add_member(object, key, json_integer((json_int_t)samples));
	json_add_member(object, bytes, json_real((double)samples * s->scale));
}

/*
 * Return true if CALLER is a cause of SPOT's allocations. SAMPLES is the number of SPOT's samples
 * that come through CALLER.
 */
static bool is_significant(const struct subject *s, const struct mprof_hotspot *spot,
			   const struct mprof_hotspot *caller, uint64_t samples)
{
	double all = (double)s->all, part = (double)samples / (double)caller->total;

	return part > fmax(PART_MIN, PART_FACTOR * (double)spot->self / all) && (double)samples > SHARE_MIN * all &&
	       (double)caller->total > SHARE_MIN * all;
}

static json_t *callers_json(const struct subject *s, const struct mprof_hotspot *spot)
{
	json_t *list = json_array();

	for (uint32_t i = spot->first_caller; list && i < spot->first_caller + spot->n_callers; i++) {
		const struct mprof_hotspot *by = &s->list[s->callers[i].caller];
		uint64_t samples = s->callers[i].samples;
		json_t *caller;

		if (s->brief && (json_array_size(list) == CALLERS_MAX || !is_significant(s, spot, by, samples)))
			continue;
		caller = spot_json(s, by);
		add_numbers(s, &caller, "samples", samples);
		json_add_member(&caller, "share", json_real((double)samples / (double)by->total));
		json_add_member(&caller, "telling", json_boolean(is_significant(s, spot, by, samples)));
		json_add_item(&list, caller);
	}
	return list;
}

static json_t *list_json(const struct subject *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < s->n && s->list[i].self && !(s->brief && i == SHOWN_MAX); i++) {
		json_t *spot = spot_json(s, &s->list[i]);

		add_numbers(s, &spot, "self", s->list[i].self);
		add_numbers(s, &spot, "total", s->list[i].total);
		json_add_member(&spot, "error", json_real(1 / sqrt((double)s->list[i].self)));
		json_add_member(&spot, "places", places_json(s, &s->list[i]));
		json_add_member(&spot, "n_places", json_integer(s->list[i].n_places));
		json_add_member(&spot, "callers", callers_json(s, &s->list[i]));
		json_add_item(&list, spot);
	}
	return list;
}

/* ---- text ---- */

static void put_place(const json_t *spot)
{
	const json_t *places = answer_get(spot, "places"), *place;
	const char *file = answer_string(spot, "file");
	size_t i;

	print_safe(answer_string(spot, "function"));
	if (!*file)
		return;
	printf(" (");
	print_safe(file);
	json_array_foreach(places, i, place)
	{
		printf("%s%s", i ? ", " : ":", json_string_value(place));
	}
	printf("%s)", answer_count(spot, "n_places") > 3 ? ", ..." : "");
}

static void put_spot(const json_t *spot, double all)
{
	const json_t *callers = answer_get(spot, "callers"), *caller;
	double self = json_real_value(answer_get(spot, "self_bytes"));
	double error = json_real_value(answer_get(spot, "error"));
	char bytes[32];
	size_t i;

	bytes_text((uint64_t)self, bytes, sizeof(bytes));
	printf("%10s +-%2.0f%% %5.1f%%  ", bytes, 100 * error, all > 0 ? 100 * self / all : 0);
	put_place(spot);
	printf("\n");
	json_array_foreach(callers, i, caller)
	{
		bytes_text((uint64_t)json_real_value(answer_get(caller, "samples_bytes")), bytes, sizeof(bytes));
		printf("%10s               via ", bytes);
		print_safe(answer_string(caller, "function"));
		printf(" (%.0f%% of what it is above)\n", 100 * json_real_value(answer_get(caller, "share")));
	}
}

static int show(const json_t *answer, const struct mem_answer *a)
{
	const json_t *list = answer_get(answer, "functions"), *spot;
	double all = json_real_value(answer_get(answer, "samples_bytes"));
	char bytes[32];
	size_t i;

	bytes_text((uint64_t)all, bytes, sizeof(bytes));
	printf("%s %s, estimated from %lld samples\n", bytes, a->what, (long long)answer_count(answer, "samples"));
	json_array_foreach(list, i, spot)
	{
		put_spot(spot, all);
	}
	if (answer_count(answer, "n_functions") > SHOWN_MAX)
		printf("and %lld functions more; --json has them all\n",
		       (long long)answer_count(answer, "n_functions") - SHOWN_MAX);
	return stdout_verdict();
}

static uint64_t objects(const struct mprof_profile_sums *s, enum mprof_weight weight)
{
	return weight == MPROF_WEIGHT_ALL    ? s->allocs[0] + s->allocs[1] + s->allocs[2]
	       : weight == MPROF_WEIGHT_LIVE ? s->live_objects
					     : s->peak_objects;
}

static json_t *answer_json(struct mem_load *l, bool brief, const struct mem_answer *a)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(l->profile);
	CLEANUP(mprof_hotspots_freep)
	struct mprof_hotspots *h = mprof_hotspots_new(l->profile, l->in.decoder, a->weight);
	struct subject t = {.d = l->in.decoder, .scale = mem_load_scale(l), .brief = brief};
	json_t *answer = json_object();
	uint32_t n = 0;

	if (!h || !answer)
		return json_decref(answer), NULL;
	t.list = mprof_hotspots_list(h, &t.n);
	t.callers = mprof_hotspots_callers(h, &t.n_callers);
	t.all = a->weight == MPROF_WEIGHT_ALL	 ? s->samples[0] + s->samples[1] + s->samples[2]
		: a->weight == MPROF_WEIGHT_LIVE ? s->live
						 : s->peak;
	while (n < t.n && t.list[n].self)
		n++;
	add_numbers(&t, &answer, "samples", t.all);
	json_add_member(&answer, "n_functions", json_integer(n));
	json_add_member(&answer, "objects", json_integer((json_int_t)objects(s, a->weight)));
	json_add_member(&answer, "peak_us", json_integer((json_int_t)(s->peak ? s->peak_us - l->start_us : 0)));
	json_add_member(&answer, "functions", list_json(&t));
	return answer;
}

int mem_hotspots(const struct ctl *ctl, int argc, char **argv)
{
	const struct mem_answer a = {answer_json, show, MPROF_WEIGHT_ALL, "allocated"};

	return mem_answer_run(ctl, argc, argv, &a);
}

int mem_peak(const struct ctl *ctl, int argc, char **argv)
{
	const struct mem_answer a = {answer_json, show, MPROF_WEIGHT_PEAK, "lived at the peak"};

	return mem_answer_run(ctl, argc, argv, &a);
}
