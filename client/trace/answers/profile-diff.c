/* The difference of two memory profiles. Its keys are an interface: schema/answers/profile-diff.json and docs/man/mprofctl.1 list them. */
#include <mprof/profile-diff.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SURE 2.0 /* errors that a sure difference has at least */

struct side {
	double rate; /* bytes per second that one sample stands for */
	double all;  /* samples of all functions */
};

struct mprof_profile_diff {
	struct side sides[2];
	struct mprof_profile_change *list;
	uint32_t n;
};

static struct side side_of(const struct mprof_profile_run *run)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(run->profile);

	return (struct side){
		.rate = mprof_mem_scale(run->mem) / (run->length_us ? (double)run->length_us / 1e6 : 1.0),
		.all = (double)(s->samples[0] + s->samples[1] + s->samples[2]),
	};
}

/* Functions without a name are one, since codes of two runs have nothing in common. */
static void name(const struct mprof_mem *m, const struct mprof_hotspot *spot, struct mprof_profile_change *change)
{
	struct mprof_frame frame;

	change->file = "";
	change->function = "(functions without a name)";
	change->function_bytes = strlen(change->function);
	if (spot->name == MPROF_NONE && spot->code < MPROF_CODE_UNKNOWN)
		return;
	mprof_hotspot_frame(m, spot, &frame);
	change->function = frame.function;
	change->function_bytes = frame.function_bytes;
	if (frame.file) {
		change->file = frame.file;
		change->file_bytes = frame.file_bytes;
	}
}

static void add(struct mprof_profile_diff *d, const struct mprof_profile_run *run, const struct mprof_hotspots *h,
		uint32_t which)
{
	uint32_t n;
	const struct mprof_hotspot *list = mprof_hotspots_list(h, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct mprof_profile_change *change = &d->list[d->n++];

		name(run->mem, &list[i], change);
		change->self[which] = list[i].self;
		change->total[which] = list[i].total;
	}
}

static int text_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t n = a_bytes < b_bytes ? a_bytes : b_bytes;
	int r = n ? memcmp(a, b, n) : 0;

	return r ? r : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

static int name_compare(const void *a, const void *b)
{
	const struct mprof_profile_change *x = a, *y = b;
	int r = text_compare(x->function, x->function_bytes, y->function, y->function_bytes);

	return r ? r : text_compare(x->file, x->file_bytes, y->file, y->file_bytes);
}

/* Sort the list by names, and add up what has the same function and file. Leave out what allocates in neither run. */
static void join(struct mprof_profile_diff *d)
{
	struct mprof_profile_change *list = d->list;
	uint32_t kept = 0, n = d->n;

	if (n)
		qsort(list, n, sizeof(*list), name_compare);
	for (uint32_t i = 0; i < n; i++) {
		if (!kept || name_compare(&list[kept - 1], &list[i]) != 0) {
			list[kept++] = list[i];
			continue;
		}
		for (int k = 0; k < 2; k++) {
			list[kept - 1].self[k] += list[i].self[k];
			list[kept - 1].total[k] += list[i].total[k];
		}
	}
	d->n = 0;
	for (uint32_t i = 0; i < kept; i++)
		if (list[i].self[0] || list[i].self[1])
			list[d->n++] = list[i];
}

static double grown(const struct mprof_profile_diff *d, const uint64_t samples[2])
{
	return (double)samples[1] * d->sides[1].rate - (double)samples[0] * d->sides[0].rate;
}

/* A function with its difference while the list is sorted. */
struct ranked {
	struct mprof_profile_change change;
	double by;
	uint32_t was;
};

/* A comparison for qsort(): the larger difference first; of equal ones the lower name. */
static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->by > y->by || x->by < y->by)
		return x->by > y->by ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

/* Sort the list by differences. Return false without memory. */
static bool rank(struct mprof_profile_diff *d)
{
	struct ranked *ranked = malloc(((size_t)d->n + 1) * sizeof(*ranked));

	if (!ranked)
		return false;
	for (uint32_t i = 0; i < d->n; i++)
		ranked[i] = (struct ranked){d->list[i], fabs(grown(d, d->list[i].self)), i};
	if (d->n)
		qsort(ranked, d->n, sizeof(*ranked), ranked_compare);
	for (uint32_t i = 0; i < d->n; i++)
		d->list[i] = ranked[i].change;
	free(ranked);
	return true;
}

struct mprof_profile_diff *mprof_profile_diff_new(const struct mprof_profile_run runs[2])
{
	struct mprof_profile_diff *d = calloc(1, sizeof(*d));
	struct mprof_hotspots *h[2];
	uint32_t n[2] = {0};

	for (int k = 0; k < 2; k++) {
		h[k] = mprof_hotspots_new(runs[k].profile, runs[k].mem, MPROF_WEIGHT_ALL);
		if (h[k])
			mprof_hotspots_list(h[k], &n[k]);
	}
	if (d && h[0] && h[1])
		d->list = calloc((size_t)n[0] + n[1] + 1, sizeof(*d->list));
	for (uint32_t k = 0; d && d->list && k < 2; k++) {
		d->sides[k] = side_of(&runs[k]);
		add(d, &runs[k], h[k], k);
	}
	mprof_hotspots_free(h[0]);
	mprof_hotspots_free(h[1]);
	if (!d || !d->list)
		return mprof_profile_diff_free(d);
	join(d);
	return rank(d) ? d : mprof_profile_diff_free(d);
}

struct mprof_profile_diff *mprof_profile_diff_free(struct mprof_profile_diff *d)
{
	if (d)
		free(d->list);
	free(d);
	return NULL;
}

const struct mprof_profile_change *mprof_profile_diff_list(const struct mprof_profile_diff *d, uint32_t *n)
{
	*n = d->n;
	return d->list;
}

struct mprof_profile_rates mprof_profile_diff_ask(const struct mprof_profile_diff *d,
						  const struct mprof_profile_change *change)
{
	struct mprof_profile_rates r = {.grown = grown(d, change->self), .total_grown = grown(d, change->total)};
	double errors[2];

	for (int k = 0; k < 2; k++) {
		const struct side *s = &d->sides[k];

		r.bytes_per_s[k] = (double)change->self[k] * s->rate;
		r.share[k] = s->all > 0 ? (double)change->self[k] / s->all : 0;
		/* A run without samples of the function counts as one with a sample, since an estimate of 0 has an error, too. */
		errors[k] = sqrt((double)(change->self[k] ? change->self[k] : 1)) * s->rate;
	}
	r.error = sqrt(errors[0] * errors[0] + errors[1] * errors[1]);
	r.sure = fabs(r.grown) > SURE * r.error;
	return r;
}

double mprof_profile_diff_rate(const struct mprof_profile_diff *d, uint32_t which)
{
	return d->sides[which].all * d->sides[which].rate;
}

static void put_change(const struct mprof_profile_diff *d, struct mprof_json *j,
		       const struct mprof_profile_change *change)
{
	const struct mprof_profile_rates r = mprof_profile_diff_ask(d, change);

	mprof_json_open(j, NULL, '{');
	mprof_json_text(j, "function", change->function, change->function_bytes);
	mprof_json_text(j, "file", change->file, change->file_bytes);
	mprof_json_real(j, "bytes_per_s_a", r.bytes_per_s[0]);
	mprof_json_real(j, "bytes_per_s_b", r.bytes_per_s[1]);
	mprof_json_real(j, "grown_bytes_per_s", r.grown);
	mprof_json_real(j, "error_bytes_per_s", r.error);
	mprof_json_boolean(j, "sure", r.sure);
	mprof_json_real(j, "share_a", r.share[0]);
	mprof_json_real(j, "share_b", r.share[1]);
	mprof_json_real(j, "total_grown_bytes_per_s", r.total_grown);
	mprof_json_close(j, '}');
}

void mprof_profile_diff_write(const struct mprof_profile_diff *d, struct mprof_json *j)
{
	mprof_json_real(j, "bytes_per_s_a", mprof_profile_diff_rate(d, 0));
	mprof_json_real(j, "bytes_per_s_b", mprof_profile_diff_rate(d, 1));
	mprof_json_open(j, "functions", '[');
	for (uint32_t i = 0; i < d->n; i++)
		put_change(d, j, &d->list[i]);
	mprof_json_close(j, ']');
}
