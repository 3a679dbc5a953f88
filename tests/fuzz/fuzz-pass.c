/*
 * A recording that is kept, as its bytes come: whatever they are, a pass that follows them says what one at the end does, the curve says what the
 * profile's own time line does, and a filter selects no more than there is.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/flame.h>

#include "fuzz.h"
#include "pass.h"

#define POINTS 20u

struct input {
	const uint8_t *at, *end;
};

static uint8_t next(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static void finish(struct pass *p, uint64_t step)
{
	enum mprof_status r;

	while ((r = pass_step(p, step)) == MPROF_MORE)
		;
	require(r == MPROF_END);
}

static struct pass *make(const struct kept *k, struct pass_options options)
{
	struct pass *p;

	options.seed = 1;
	p = pass_new(k, &options);
	require(p != NULL);
	return p;
}

/* Keep what is left of IN in pieces, P beside it. */
static void follow(struct kept *k, struct pass *p, struct input *in, size_t piece, uint64_t step)
{
	while (in->at < in->end) {
		uint8_t *room = kept_room(k);
		size_t n = (size_t)(in->end - in->at);

		require(room != NULL);
		n = n < piece ? n : piece;
		n = n < kept_room_bytes(k) ? n : kept_room_bytes(k);
		memcpy(room, in->at, n);
		kept_came(k, n);
		in->at += n;
		finish(p, step);
	}
}

static const struct mprof_profile_sums *sums(const struct pass *p)
{
	return mprof_profile_sums(pass_profile(p));
}

static uint64_t samples(const struct pass *p)
{
	return sums(p)->samples[0] + sums(p)->samples[1] + sums(p)->samples[2];
}

/* The line of A, that followed, beside that of a pass that has it from the profile. */
static void check_line(const struct kept *k, const struct pass *a, uint64_t recording, uint64_t from, uint64_t length)
{
	double ours[POINTS], theirs[POINTS];
	struct pass *b = make(
		k, (struct pass_options){
			   .recording = recording, .sort = true, .from = from, .length = length, .points = POINTS});

	finish(b, UINT64_MAX);
	pass_line(a, from, length, ours, POINTS);
	pass_line(b, from, length, theirs, POINTS);
	require(sums(a)->domains > 1 || memcmp(ours, theirs, sizeof(ours)) == 0);
	pass_free(b);
}

static void check_filter(const struct kept *k, const struct pass *all, uint64_t recording, struct input *in)
{
	struct mprof_mem_filter filter = {.heaps = next(in) % 8, .never_collected = next(in) & 1};
	struct pass *p;

	filter.live = (struct mprof_mem_range){.least = next(in), .has_least = true};
	filter.n_clauses = next(in) & 1;
	filter.clauses[0] = (struct mprof_mem_clause){.name = "i", .outside = next(in) & 1};
	p = make(k, (struct pass_options){.recording = recording,
					  .filter = &filter,
					  .last_us = sums(all)->last_us,
					  .sort = sums(all)->domains > 1});
	finish(p, 5000);
	require(samples(p) <= samples(all) && sums(p)->peak <= samples(p));
	require(pass_bytes(p) == kept_bytes(k));
	pass_free(p);
}

/* What is shown of a pass names nothing that its decoder does not know. */
static void check_pictures(const struct pass *p)
{
	const struct mprof_mem *d = pass_decoder(p);
	struct mprof_profile *profile = pass_profile(p);
	struct mprof_flame *flame = mprof_flame_new(profile, d, &(struct mprof_flame_options){.sites = true});
	struct mprof_hotspots *hotspots = mprof_hotspots_new(profile, d, MPROF_WEIGHT_ALL);
	struct mprof_leaks *leaks = mprof_leaks_new(profile, d, pass_start(p), sums(p)->last_us);
	const struct mprof_leak *list;
	uint32_t n;

	require(flame && hotspots && leaks);
	list = mprof_leaks_list(leaks, &n);
	for (uint32_t i = 0; i < n; i++)
		require(list[i].code >= MPROF_CODE_UNKNOWN || list[i].code < mprof_mem_codes(d));
	mprof_flame_free(flame);
	mprof_hotspots_free(hotspots);
	mprof_leaks_free(leaks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size}, choice = {data, data + (size < 8 ? size : 8)};
	size_t piece = 1 + next(&in) * 64u;
	uint64_t step = 1 + next(&in) * 16u, recording = next(&in) % 3, from = next(&in), length = next(&in) * 1024u;
	struct kept *k = kept_new();
	struct pass *grown, *whole;

	require(k != NULL);
	grown = make(k, (struct pass_options){.recording = recording, .grows = true});
	follow(k, grown, &in, piece, step);
	pass_end(grown);
	finish(grown, step);
	whole = make(k, (struct pass_options){.recording = recording});
	finish(whole, UINT64_MAX);
	require(memcmp(sums(grown), sums(whole), sizeof(*sums(whole))) == 0);
	require(pass_start(grown) == pass_start(whole));
	require(!pass_damage(grown, 0) == !pass_damage(whole, 0));
	check_pictures(whole);
	check_line(k, grown, recording, from, length);
	check_filter(k, whole, recording, &choice);
	pass_free(whole);
	pass_free(grown);
	kept_free(k);
	return 0;
}
