/*
 * Fuzz scans of a recording that is in memory, while its bytes come. A scan that follows the bytes
 * must give the same result as a scan at the end. The curve must equal the time line that the
 * profile computes. A filter must select no more than all objects.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/flame.h>

#include "fuzz.h"
#include "scan.h"

#define POINTS 20u

struct input {
	const uint8_t *at, *end;
};

static uint8_t next(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static void finish(struct scan *p, uint64_t step)
{
	enum mprof_status r;

	while ((r = scan_step(p, step)) == MPROF_MORE)
		;
	require(r == MPROF_END);
}

static struct scan *make(const struct recording *k, struct scan_options options)
{
	struct scan *p;

	options.seed = 1;
	p = scan_new(k, &options);
	require(p != NULL);
	return p;
}

/* Add the other bytes of IN to K in pieces. After each piece let P scan it, in steps of STEP. */
static void follow(struct recording *k, struct scan *p, struct input *in, size_t piece, uint64_t step)
{
	while (in->at < in->end) {
		uint8_t *room = recording_room(k);
		size_t n = (size_t)(in->end - in->at);

		require(room != NULL);
		n = n < piece ? n : piece;
		n = n < recording_room_bytes(k) ? n : recording_room_bytes(k);
		memcpy(room, in->at, n);
		recording_came(k, n);
		in->at += n;
		finish(p, step);
	}
}

static const struct mprof_profile_sums *sums(const struct scan *p)
{
	return mprof_profile_sums(scan_profile(p));
}

static uint64_t samples(const struct scan *p)
{
	return sums(p)->samples[0] + sums(p)->samples[1] + sums(p)->samples[2];
}

/*
 * Compare the line of A, which followed the bytes, with the line of a new scan, which takes it from
 * its profile.
 */
static void check_line(const struct recording *k, const struct scan *a, uint64_t recording, uint64_t from,
		       uint64_t length)
{
	double ours[POINTS], theirs[POINTS];
	struct scan *b = make(
		k, (struct scan_options){
			   .recording = recording, .sort = true, .from = from, .length = length, .points = POINTS});

	finish(b, UINT64_MAX);
	scan_line(a, from, length, ours, POINTS);
	scan_line(b, from, length, theirs, POINTS);
	require(sums(a)->domains > 1 || memcmp(ours, theirs, sizeof(ours)) == 0);
	scan_free(b);
}

static void check_filter(const struct recording *k, const struct scan *all, uint64_t recording, struct input *in)
{
	struct mprof_mem_filter filter = {.heaps = next(in) % 8, .never_collected = next(in) & 1};
	struct scan *p;

	filter.live = (struct mprof_mem_range){.least = next(in), .has_least = true};
	filter.n_clauses = next(in) & 1;
	filter.clauses[0] = (struct mprof_mem_clause){.name = "i", .outside = next(in) & 1};
	p = make(k, (struct scan_options){.recording = recording,
					  .filter = &filter,
					  .last_us = sums(all)->last_us,
					  .sort = sums(all)->domains > 1});
	finish(p, 5000);
	require(samples(p) <= samples(all) && sums(p)->peak <= samples(p));
	require(scan_bytes(p) == recording_bytes(k));
	scan_free(p);
}

/* Check that the results of a scan name only codes that the scan's decoder knows. */
static void check_pictures(const struct scan *p)
{
	const struct mprof_mem *d = scan_decoder(p);
	struct mprof_profile *profile = scan_profile(p);
	struct mprof_flame *flame = mprof_flame_new(profile, d, &(struct mprof_flame_options){.sites = true});
	struct mprof_hotspots *hotspots = mprof_hotspots_new(profile, d, MPROF_WEIGHT_ALL);
	struct mprof_leaks *leaks = mprof_leaks_new(profile, d, scan_start(p), sums(p)->last_us);
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
	struct recording *k = recording_new();
	struct scan *grown, *whole;

	require(k != NULL);
	grown = make(k, (struct scan_options){.recording = recording, .grows = true});
	follow(k, grown, &in, piece, step);
	scan_end(grown);
	finish(grown, step);
	whole = make(k, (struct scan_options){.recording = recording});
	finish(whole, UINT64_MAX);
	require(memcmp(sums(grown), sums(whole), sizeof(*sums(whole))) == 0);
	require(scan_start(grown) == scan_start(whole));
	require(!scan_damage(grown, 0) == !scan_damage(whole, 0));
	check_pictures(whole);
	check_line(k, grown, recording, from, length);
	check_filter(k, whole, recording, &choice);
	scan_free(whole);
	scan_free(grown);
	recording_free(k);
	return 0;
}
