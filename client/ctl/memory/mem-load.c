/*
 * Up to three times through the input: for its end, its peak and how many domains it has; for the objects that a filter means; and for the profile.
 * Where all objects are wanted and no timeline, once is enough.
 */
#include "mem-load.h"

#include <errno.h>

#include "seed.h"

#define SCALE_MAX 0x1p62 /* bytes: nobody has so much memory, but a stream may state any rate */

static int add_selection(void *data, const struct mprof_mem *d, const struct mprof_mem_event *e)
{
	struct mem_load *l = data;

	return mprof_selection_add(l->selection, d, e) == MPROF_NOMEM ? -ENOMEM : 0;
}

/* The exit code of a pass that returned R. */
static int passed(struct mem_load *l, int r)
{
	return l->in.refused ? say_memory() : r;
}

static bool is_read(int r)
{
	return r == CTL_OK || r == CTL_DAMAGED;
}

/* Once through it for a profile. */
static int run_profile(struct mem_load *l, bool tree, bool sort, uint64_t seed)
{
	const struct mprof_profile_options options = {
		.tree = tree, .sort = sort, .seed = seed, .selection = l->selection};
	struct mem_sink sink = {0};
	int r;

	mprof_profile_free(l->profile);
	sink.profile = l->profile = mprof_profile_new(&options);
	if (!l->profile)
		return say_memory();
	if (l->line)
		mprof_profile_timeline(l->profile, l->start_us, l->whole.last_us - l->start_us, l->line, l->line_n);
	/* With stacks in any case: the first time tells what is damaged of them. */
	r = passed(l, mem_input_run(&l->in, &sink, true));
	if (is_read(r))
		l->start_us = mprof_mem_info(l->in.decoder)->start_us;
	return is_read(r) && mprof_profile_finish(l->profile) ? say_memory() : r;
}

static int run_selection(struct mem_load *l, struct mem_filter *f, uint64_t seed)
{
	const struct mem_sink sink = {.event = add_selection, .data = l};
	struct mprof_mem_range *live = &f->filter.live;
	int r;

	if (f->at_peak) {
		live->least = live->most = l->whole.peak_us - l->start_us;
		live->has_least = live->has_most = true;
	}
	l->selection = mprof_selection_new(&f->filter, l->whole.last_us, seed);
	if (!l->selection)
		return say_memory();
	/* With stacks in any case: objects are known by their number, and without them more or fewer are kept of what is damaged. */
	r = passed(l, mem_input_run(&l->in, &sink, true));
	return is_read(r) && mprof_selection_finish(l->selection) ? say_memory() : r;
}

int mem_load(struct mem_load *l, const char *operand, struct mem_filter *f, bool tree, uint64_t *line, uint32_t line_n)
{
	uint64_t seed = seed_new(l);
	bool sort;
	int r;

	*l = (struct mem_load){.in = {.fd = -1, .host = l->in.host}};
	r = mem_input_open(&l->in, operand, true);
	l->in.recording = f->recording;
	r = r ? r : run_profile(l, tree && !f->given && !line, false, seed);
	if (!is_read(r))
		return r;
	l->whole = *mprof_profile_sums(l->profile);
	sort = l->whole.domains > 1;
	if (sort) {
		/* Peak and end are only right in the order of time. */
		r = run_profile(l, tree && !f->given && !line, true, seed);
		l->whole = *mprof_profile_sums(l->profile);
	}
	if (is_read(r) && f->given)
		r = run_selection(l, f, seed);
	l->line = line;
	l->line_n = line_n;
	if (is_read(r) && (f->given || line))
		r = run_profile(l, tree, sort, seed);
	return r;
}

void mem_load_deinit(struct mem_load *l)
{
	l->profile = mprof_profile_free(l->profile);
	l->selection = mprof_selection_free(l->selection);
	mem_input_close(&l->in);
}

double mem_load_scale(const struct mem_load *l)
{
	const struct mprof_mem_info *info = mprof_mem_info(l->in.decoder);

	double scale = info->word_bytes / info->rate;

	return scale < SCALE_MAX ? scale : SCALE_MAX;
}

uint64_t mem_load_whole(double amount)
{
	return amount < (double)INT64_MAX ? (uint64_t)amount : INT64_MAX;
}
