/*
 * Fuzz profiles with events of any kinds, ids and stacks, which are made of the input's bytes. The
 * events go through a selection, a profile, call trees in both directions, hotspots, leaks and the
 * encoder. The results must agree with each other, and the encoded stream must decode to the same
 * events.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/flame.h>

#include "fuzz.h"
#include "mem-encode.h"

#define PLACES	   16u
#define FRAMES_MAX 40u
#define OUT_MAX	   (8u << 20)

struct input {
	const uint8_t *at, *end;
};

/* A stream that the encoder makes. Bytes of the input also choose its names. */
struct stream {
	uint8_t *bytes;
	size_t n;
	struct mprof_mem_code codes[PLACES];
	struct mprof_mem_location locations[PLACES * 2];
	uint8_t letters[PLACES];
};

static uint8_t next(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static int put(void *data, const void *bytes, size_t n)
{
	struct stream *s = data;

	require(s->n + n <= OUT_MAX);
	memcpy(s->bytes + s->n, bytes, n);
	s->n += n;
	return 0;
}

static const struct mprof_mem_code *code(void *names, uint32_t i)
{
	return &((struct stream *)names)->codes[i];
}

static const struct mprof_mem_location *location(void *names, uint32_t i)
{
	return &((struct stream *)names)->locations[i];
}

static const char *string(void *names, uint32_t i, size_t *bytes)
{
	struct stream *s = names;

	*bytes = s->letters[i % PLACES] ? 1 : 0;
	return (const char *)&s->letters[i % PLACES];
}

static void places_make(struct stream *s, struct input *in)
{
	for (uint32_t i = 0; i < PLACES * 2; i++)
		s->locations[i] = (struct mprof_mem_location){
			.file = next(in) % PLACES, .function = next(in) % PLACES, .line = i, .last = 3};
	for (uint32_t i = 0; i < PLACES; i++) {
		s->letters[i] = next(in);
		s->codes[i] = (struct mprof_mem_code){.code = i ? (uint64_t)next(in) << 32 | i : 0,
						      .first_location = i,
						      .locations = next(in) % 3,
						      .explained = true};
	}
}

static void event_add(struct mem_encoder *e, struct input *in, uint64_t *now)
{
	uint32_t stack[FRAMES_MAX];
	uint8_t what = next(in);
	struct mprof_mem_event event = {
		.kind = MPROF_MEM_ALLOC + what % 3, .source = what / 3 % 3, .stack = stack, .domain = what / 9 % 3};

	/* Each domain has a clock of its own. */
	*now += next(in);
	event.time_us = *now - (event.domain == 2 ? 100 : 0);
	event.id = mem_encoder_next_id(e) - next(in);
	event.samples = next(in) % 5;
	event.length = event.samples * next(in);
	if (what > 250)
		event.flags = what & 1 ? MPROF_MEM_TRUNCATED : MPROF_MEM_NO_STACK;
	if (event.kind == MPROF_MEM_ALLOC)
		event.frames = next(in) % FRAMES_MAX;
	for (uint32_t i = 0; i < event.frames; i++)
		stack[i] = next(in) % PLACES;
	require(mem_encoder_add(e, &event) == 0);
}

static void stream_make(struct stream *s, struct input *in)
{
	const struct mprof_mem_info info = {.rate = 0.5,
					    .start_us = 1000000,
					    .word_bytes = 8,
					    .version = 3,
					    .program = "",
					    .host = "",
					    .parameters = "",
					    .context = ""};
	const struct mem_encoder_ops ops = {
		.put = put, .code = code, .location = location, .string = string, .context = s, .names = s};
	struct mem_encoder *e;
	uint64_t now = info.start_us + 100;

	places_make(s, in);
	e = mem_encoder_new(&info, &ops);
	require(e != NULL);
	while (in->at < in->end)
		event_add(e, in, &now);
	require(mem_encoder_flush(e) == 0);
	mem_encoder_free(e);
}

static struct mprof_mem *read_all(const struct stream *s, struct mprof_profile *p, struct mprof_selection *selection)
{
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 1});
	struct mprof_mem_event e;
	enum mprof_status status;

	require(d != NULL);
	mprof_mem_feed(d, s->bytes, s->n);
	mprof_mem_finish(d);
	/* The decoder accepts all of the encoded stream, with any options. */
	while ((status = mprof_mem_next(d, &e)) != MPROF_END) {
		require(status == MPROF_OK);
		require(!selection || mprof_selection_add(selection, d, &e) == MPROF_OK);
		require(!p || mprof_profile_add(p, &e) == MPROF_OK);
	}
	require(!selection || mprof_selection_finish(selection) == MPROF_OK);
	require(!p || mprof_profile_finish(p) == MPROF_OK);
	return d;
}

static void check_flame(const struct mprof_flame *f, uint64_t all)
{
	uint32_t n;
	const struct mprof_flame_node *nodes = mprof_flame_nodes(f, &n);
	uint64_t selves = 0;

	require(nodes[0].total == all);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t below = nodes[i].self;

		selves += nodes[i].self;
		for (uint32_t k = nodes[i].first_child; k != MPROF_NONE; k = nodes[k].next_sibling)
			below += nodes[k].total;
		require(below == nodes[i].total);
	}
	require(selves == all);
}

static void check_profile(struct mprof_profile *p, const struct mprof_mem *d, enum mprof_weight weight, uint64_t all)
{
	struct mprof_flame *f =
		mprof_flame_new(p, d, &(struct mprof_flame_options){.weight = weight, .sites = all & 1});
	struct mprof_flame *turned = mprof_flame_callers(f, d);
	struct mprof_hotspots *h = mprof_hotspots_new(p, d, weight);
	uint32_t n, i;
	const struct mprof_hotspot *list = mprof_hotspots_list(h, &n);
	uint64_t selves = 0;

	check_flame(f, all);
	check_flame(turned, all);
	for (i = 0; i < n; i++) {
		require(list[i].self <= list[i].total && list[i].total <= all);
		selves += list[i].self;
	}
	/* The samples of events without a stack belong to no function. */
	require(selves <= all);
	mprof_hotspots_free(h);
	mprof_flame_free(turned);
	mprof_flame_free(f);
}

static void check_all(const struct stream *s, const struct mprof_selection *selection, uint64_t samples)
{
	const struct mprof_profile_options options = {.tree = true, .sort = true, .seed = 1, .selection = selection};
	struct mprof_profile *p = mprof_profile_new(&options);
	struct mprof_mem *d = read_all(s, p, NULL);
	const struct mprof_profile_sums *sums = mprof_profile_sums(p);
	uint64_t all = sums->samples[0] + sums->samples[1] + sums->samples[2], left = 0;
	struct mprof_leaks *leaks = mprof_leaks_new(p, d, 1000000, sums->last_us);
	uint32_t n, i;

	require(sums->live <= sums->peak && sums->peak <= all);
	require(!selection || all == samples);
	check_profile(p, d, MPROF_WEIGHT_ALL, all);
	check_profile(p, d, MPROF_WEIGHT_LIVE, sums->live);
	check_profile(p, d, MPROF_WEIGHT_PEAK, sums->peak);
	mprof_leaks_list(leaks, &n);
	for (i = 0; i < n; i++)
		left += mprof_leaks_list(leaks, &n)[i].live;
	require(left == sums->live);
	mprof_leaks_free(leaks);
	mprof_mem_free(d);
	mprof_profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct stream *s = calloc(1, sizeof(*s));
	struct mprof_mem_filter filter = {0};
	struct mprof_selection *selection;
	uint64_t objects, samples;

	require(s != NULL);
	s->bytes = malloc(OUT_MAX);
	require(s->bytes != NULL);
	if (size > 1 << 16)
		in.end = data + (1 << 16);
	filter.heaps = next(&in) % 8;
	filter.never_collected = next(&in) & 1;
	filter.bytes = (struct mprof_mem_range){.least = next(&in), .has_least = true};
	filter.lifetime = (struct mprof_mem_range){.most = next(&in) * 8u, .has_most = next(&in) & 1};
	filter.n_clauses = next(&in) % 2;
	filter.clauses[0] = (struct mprof_mem_clause){.name = "a", .whole = next(&in) & 1, .outside = next(&in) & 1};
	stream_make(s, &in);
	check_all(s, NULL, 0);
	selection = mprof_selection_new(&filter, 1000000 + size * 256, 1);
	require(selection != NULL);
	mprof_mem_free(read_all(s, NULL, selection));
	mprof_selection_count(selection, &objects, &samples);
	check_all(s, selection, samples);
	mprof_selection_free(selection);
	free(s->bytes);
	free(s);
	return 0;
}
