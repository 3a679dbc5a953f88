/*
 * Load a profile, and parse the options that select objects.
 *
 * The input is read several times, if needed. The first reading finds the end of the profile, its
 * peak and the number of its domains. If there are several domains, a second reading sorts their
 * events by time. With a filter another reading selects the objects. With a filter or a timeline a
 * last reading makes the profile. For all objects of one domain without a timeline the first
 * reading makes the profile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ctl.h"
#include "mem-input.h"
#include "mem-load.h"
#include "seed.h"

/*
 * How the values of options are written. A range is A..B, A.., ..B, or one value. A time must have
 * a unit (1.5s, 250ms). A size may have a unit (64, 4K, 1MB). Names are a list with commas. A name
 * matches all functions whose names contain it; with "=" in front it matches only the function of
 * exactly that name. A comma in a name is written with a backslash before it.
 */
struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}};
static const struct unit sizes[] = {{"", 1},	    {"B", 1},	     {"K", 1024},    {"KB", 1024},
				    {"M", 1 << 20}, {"MB", 1 << 20}, {"G", 1 << 30}, {"GB", 1 << 30}};

/*
 * Parse LEN bytes at S as a number with one of the N UNITS. Set *OUT to the number times the unit's
 * factor. Return false if the bytes are not such a number.
 */
static bool amount(const char *s, size_t len, const struct unit *units, size_t n, uint64_t *out)
{
	char text[40], *end;
	double value;
	size_t i;

	if (!len || len >= sizeof(text) || s[0] < '0' || s[0] > '9')
		return false;
	memcpy(text, s, len);
	text[len] = 0;
	if (strspn(text, "0123456789.") == 0 || strpbrk(text, "xXeEpP"))
		return false;
	value = strtod(text, &end);
	for (i = 0; i < n && strcmp(end, units[i].name) != 0; i++)
		;
	if (i == n || !(value * units[i].factor < 1e18))
		return false;
	*out = (uint64_t)(value * units[i].factor);
	return true;
}

static bool range(const char *s, const struct unit *units, size_t n, struct mprof_mem_range *r)
{
	const char *dots = strstr(s, "..");

	*r = (struct mprof_mem_range){0};
	if (!dots) {
		r->has_least = r->has_most = amount(s, strlen(s), units, n, &r->least);
		r->most = r->least;
		return r->has_least;
	}
	r->has_least = dots > s;
	r->has_most = dots[2] != 0;
	return (r->has_least || r->has_most) && (!r->has_least || amount(s, (size_t)(dots - s), units, n, &r->least)) &&
	       (!r->has_most || amount(dots + 2, strlen(dots + 2), units, n, &r->most)) &&
	       !(r->has_least && r->has_most && r->least > r->most);
}

static int time_range(const char *option, const char *s, struct mprof_mem_range *r)
{
	if (!s || range(s, times, ARRAY_SIZE(times), r))
		return CTL_OK;
	return say_usage(
		"mem",
		"%s is not a time: \"%s\"; write a range behind the start as 1.5s..2s, 250ms.. or ..10s, or one time",
		option, s);
}

int mem_filter_time(const char *option, const char *text, uint64_t *us)
{
	if (!text || amount(text, strlen(text), times, ARRAY_SIZE(times), us))
		return CTL_OK;
	return say_usage("mem", "%s is not a time: \"%s\"; write one behind the start as 1.5s or 250ms", option, text);
}

static int size_range(const char *s, struct mprof_mem_range *r)
{
	if (!s || range(s, sizes, ARRAY_SIZE(sizes), r))
		return CTL_OK;
	return say_usage("mem", "--size is not a size: \"%s\"; write bytes as 64..256, 1K.. or ..4MB", s);
}

static int heaps(const char *s, uint8_t *out)
{
	static const char *const names[] = {"minor", "major", "external"};
	size_t n, i;

	for (; s && *s; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		for (i = 0; i < 3 && (strlen(names[i]) != n || strncmp(s, names[i], n) != 0); i++)
			;
		if (i == 3)
			return say_usage("mem",
					 "--heap takes minor, major and external, with commas between, not \"%s\"", s);
		*out |= (uint8_t)(1u << i);
	}
	return CTL_OK;
}

/*
 * Copy the first name of the list S to *STORE, add a NUL, and move *STORE behind the NUL. The name
 * ends at a comma without a backslash, or at the end of S. Return the text behind the name.
 */
static const char *name_take(const char *s, char **store)
{
	for (; *s && *s != ','; s++) {
		if (*s == '\\' && (s[1] == ',' || s[1] == '\\'))
			s++;
		*(*store)++ = *s;
	}
	*(*store)++ = 0;
	return s + (*s == ',');
}

/*
 * Append the names of the list S to LIST, which has *N clauses. OPTION is for messages; OUTSIDE is
 * stored in each clause. The names are copied to *STORE, which moves behind the copies. Return an
 * exit code.
 */
static int clauses(const char *option, const char *s, char **store, struct mprof_mem_clause *list, unsigned int *n,
		   bool outside)
{
	while (s && *s) {
		bool whole = s[0] == '=';
		char *name = *store;

		if (*n == MPROF_MEM_CLAUSES_MAX)
			return say_usage("mem", "%s: there are more than %u names", option, MPROF_MEM_CLAUSES_MAX);
		s = name_take(s + whole, store);
		if (!*name)
			return say_usage("mem", "%s has an empty name", option);
		list[(*n)++] = (struct mprof_mem_clause){.name = name, .whole = whole, .outside = outside};
	}
	return CTL_OK;
}

static int names_parse(struct mem_filter *f, const struct options *o)
{
	size_t room = (o->inside ? strlen(o->inside) : 0) + (o->outside ? strlen(o->outside) : 0) +
		      (o->hide ? strlen(o->hide) : 0);
	unsigned int n = 0;
	char *store;
	int r;

	f->names = store = malloc(room + 8);
	if (!store)
		return say_memory();
	r = clauses("--inside", o->inside, &store, f->filter.clauses, &n, false);
	r = r ? r : clauses("--outside", o->outside, &store, f->filter.clauses, &n, true);
	f->filter.n_clauses = (uint8_t)n;
	return r ? r : clauses("--hide", o->hide, &store, f->hidden, &f->n_hidden, false);
}

int mem_filter_parse(struct mem_filter *f, const struct options *o)
{
	bool end = o->live && strcmp(o->live, "end") == 0, never = o->collected && strcmp(o->collected, "never") == 0;
	int r;

	*f = (struct mem_filter){0};
	f->at_peak = o->live && strcmp(o->live, "peak") == 0;
	f->filter.never_collected = end || never;
	r = mem_input_recording(o->recording, &f->recording);
	r = r ? r : time_range("--allocated", o->allocated, &f->filter.allocated);
	r = r ? r : time_range("--live", end || f->at_peak ? NULL : o->live, &f->filter.live);
	r = r ? r : time_range("--collected", never ? NULL : o->collected, &f->filter.collected);
	r = r ? r : time_range("--lifetime", o->lifetime, &f->filter.lifetime);
	r = r ? r : size_range(o->size, &f->filter.bytes);
	r = r ? r : heaps(o->heap, &f->filter.heaps);
	f->given =
		o->allocated || o->live || o->collected || o->size || o->lifetime || o->inside || o->outside || o->heap;
	return r ? r : names_parse(f, o);
}

void mem_filter_deinit(struct mem_filter *f)
{
	free(f->names);
	f->names = NULL;
}

static int add_selection(void *context, const struct mprof_mem *m, const struct mprof_mem_event *e)
{
	struct mem_load *l = context;

	return mprof_selection_add(l->selection, m, e) == MPROF_NOMEM ? -ENOMEM : 0;
}

/*
 * Return the exit code of a reading for which mem_input_run() returned R. The consumers here refuse
 * an event only without memory, which is reported.
 */
static int passed(struct mem_load *l, int r)
{
	return l->in.refused ? say_memory() : r;
}

static bool is_read(int r)
{
	return r == CTL_OK || r == CTL_DAMAGED;
}

/*
 * Read the input and make L->profile from the objects of L->selection. TREE: keep the call stacks.
 * SORT: take events in the order of time. SEED is for its hash tables. Return an exit code.
 */
static int run_profile(struct mem_load *l, bool tree, bool sort, uint64_t seed)
{
	const struct mprof_profile_options options = {
		.tree = tree, .sort = sort, .seed = seed, .selection = l->selection};
	struct mem_consumer consumer = {0};
	int r;

	mprof_profile_free(l->profile);
	consumer.profile = l->profile = mprof_profile_new(&options);
	if (!l->profile)
		return say_memory();
	if (l->line)
		mprof_profile_timeline(l->profile, l->start_us, mem_load_length(l), l->line, l->line_n);
	/*
	 * Decode stacks even if they are not needed: only the first reading reports damage, and
	 * this one may be the first.
	 */
	r = passed(l, mem_input_run(&l->in, &consumer, true));
	if (is_read(r))
		l->start_us = mprof_mem_info(l->in.decoder)->start_us;
	return is_read(r) && mprof_profile_finish(l->profile) ? say_memory() : r;
}

static int run_selection(struct mem_load *l, struct mem_filter *f, uint64_t seed)
{
	const struct mem_consumer consumer = {.event = add_selection, .context = l};
	struct mprof_mem_range *live = &f->filter.live;
	int r;

	if (f->at_peak) {
		live->least = live->most = l->whole.peak_us - l->start_us;
		live->has_least = live->has_most = true;
	}
	l->selection = mprof_selection_new(&f->filter, l->whole.last_us, seed);
	if (!l->selection)
		return say_memory();
	/*
	 * Decode stacks in each reading. The selection identifies an object by its number in the
	 * input. Without stacks the decoder would drop another number of damaged objects, and the
	 * numbers of the objects behind them would differ between readings.
	 */
	r = passed(l, mem_input_run(&l->in, &consumer, true));
	return is_read(r) && mprof_selection_finish(l->selection) ? say_memory() : r;
}

int mem_load(struct mem_load *l, const char *operand, struct mem_filter *f, bool tree, uint64_t *line, uint32_t line_n)
{
	uint64_t seed = seed_new(l);
	bool sort;
	int r;

	*l = (struct mem_load){.in = {.fd = -1, .hosts = l->in.hosts}};
	r = mem_input_open(&l->in, operand, true);
	l->in.recording = f->recording;
	r = r ? r : run_profile(l, tree && !f->given && !line, false, seed);
	if (!is_read(r))
		return r;
	l->whole = *mprof_profile_sums(l->profile);
	sort = l->whole.domains > 1;
	if (sort) {
		/*
		 * The first reading did not sort the events. With several domains their order in
		 * the file is not the order of time, which the peak and the end depend on.
		 */
		r = run_profile(l, tree && !f->given && !line, true, seed);
		if (is_read(r))
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

struct mprof_profile_report mem_load_report(const struct mem_load *l)
{
	return (struct mprof_profile_report){.profile = l->profile,
					     .mem = l->in.decoder,
					     .totals = *mprof_mem_totals(l->in.decoder),
					     .recording = l->in.recording};
}

uint64_t mem_load_length(const struct mem_load *l)
{
	return l->whole.last_us > l->start_us ? l->whole.last_us - l->start_us : 0;
}

uint64_t mem_load_whole(double amount)
{
	return amount < (double)INT64_MAX ? (uint64_t)amount : INT64_MAX;
}
