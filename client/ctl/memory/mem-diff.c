/*
 * `mprofctl mem diff A B`: list the functions that allocate more bytes per second in profile B than
 * in profile A, and those that allocate fewer.
 *
 * Two runs of the same program also differ by chance. Each number is an estimate from samples and
 * has a statistical error. A difference is called sure if it is more than SURE times its error.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "json-whole.h"
#include "json.h"
#include "mem-load.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX 20u
#define SURE	  2.0

struct side {
	struct mem_load l;
	struct mprof_hotspots *hotspots;
	double rate; /* allocated bytes per second that one sample stands for */
	double all;  /* samples of all functions */
};

static void side_deinit(struct side *s)
{
	s->hotspots = mprof_hotspots_free(s->hotspots);
	mem_load_deinit(&s->l);
}

/* A function, with its samples in both profiles: [0] in profile A, [1] in profile B. */
struct row {
	const char *name, *file; /* borrowed from the decoders; without a NUL */
	size_t name_bytes, file_bytes;
	uint64_t self[2], total[2];
};

/* Load the profile OPERAND with the objects that F selects into S. Return an exit code. */
static int side_load(struct side *s, const char *operand, struct mem_filter *f)
{
	const struct mprof_profile_sums *sums;
	double seconds;
	int r = mem_load(&s->l, operand, f, true, NULL, 0);

	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	s->hotspots = mprof_hotspots_new(s->l.profile, s->l.in.decoder, MPROF_WEIGHT_ALL);
	if (!s->hotspots)
		return say_memory();
	sums = mprof_profile_sums(s->l.profile);
	seconds = (double)(s->l.whole.last_us - s->l.start_us) / 1e6;
	s->rate = mprof_mem_scale(s->l.in.decoder) / (seconds > 0 ? seconds : 1);
	s->all = (double)(sums->samples[0] + sums->samples[1] + sums->samples[2]);
	return r;
}

static void row_name(const struct side *s, const struct mprof_hotspot *spot, struct row *row)
{
	row->name = spot->code == MPROF_CODE_TRUNCATED ? "(truncated stack)"
		    : spot->code == MPROF_CODE_UNKNOWN ? "(unknown stack)"
						       : "(functions without a name)";
	row->name_bytes = strlen(row->name);
	row->file = "";
	if (spot->name == MPROF_NONE)
		return;
	row->name = mprof_mem_string(s->l.in.decoder, spot->name, &row->name_bytes);
	row->file = mprof_mem_string(s->l.in.decoder, spot->file, &row->file_bytes);
}

static void rows_add(const struct side *s, int which, struct row *rows, size_t *n)
{
	uint32_t spots;
	const struct mprof_hotspot *list = mprof_hotspots_list(s->hotspots, &spots);

	for (uint32_t i = 0; i < spots; i++) {
		struct row *row = &rows[(*n)++];

		row_name(s, &list[i], row);
		row->self[which] = list[i].self;
		row->total[which] = list[i].total;
	}
}

static int text_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t n = a_bytes < b_bytes ? a_bytes : b_bytes;
	int r = n ? memcmp(a, b, n) : 0;

	return r ? r : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = text_compare(x->name, x->name_bytes, y->name, y->name_bytes);

	return r ? r : text_compare(x->file, x->file_bytes, y->file, y->file_bytes);
}

/*
 * Sort the N rows, and add up the rows that have the same function and file. Return the number of
 * rows left.
 */
static size_t rows_join(struct row *rows, size_t n)
{
	size_t kept = 0;

	qsort(rows, n, sizeof(*rows), row_compare);
	for (size_t i = 0; i < n; i++) {
		if (kept && row_compare(&rows[kept - 1], &rows[i]) == 0) {
			for (int k = 0; k < 2; k++) {
				rows[kept - 1].self[k] += rows[i].self[k];
				rows[kept - 1].total[k] += rows[i].total[k];
			}
			continue;
		}
		rows[kept++] = rows[i];
	}
	return kept;
}

static double grown(const struct side sides[2], const uint64_t samples[2])
{
	return (double)samples[1] * sides[1].rate - (double)samples[0] * sides[0].rate;
}

static double error_of(const struct side sides[2], const uint64_t samples[2])
{
	/*
	 * Treat a profile without samples of the function as if it had one, because an estimate of 0
	 * has an error, too.
	 */
	double a = sqrt((double)(samples[0] ? samples[0] : 1)) * sides[0].rate;
	double b = sqrt((double)(samples[1] ? samples[1] : 1)) * sides[1].rate;

	return sqrt(a * a + b * b);
}

static double share(const struct side *s, uint64_t samples)
{
	return s->all > 0 ? (double)samples / s->all : 0;
}

static json_t *row_json(const struct side sides[2], const struct row *row)
{
	double by = grown(sides, row->self), error = error_of(sides, row->self);

	return json_pack("{so so sf sf sf sf sb sf sf sf}", "function", text_json(row->name, row->name_bytes), "file",
			 text_json(row->file, row->file_bytes), "bytes_per_s_a", (double)row->self[0] * sides[0].rate,
			 "bytes_per_s_b", (double)row->self[1] * sides[1].rate, "grown_bytes_per_s", by,
			 "error_bytes_per_s", error, "sure", fabs(by) > SURE * error, "share_a",
			 share(&sides[0], row->self[0]), "share_b", share(&sides[1], row->self[1]),
			 "total_grown_bytes_per_s", grown(sides, row->total));
}

struct ranked {
	const struct row *row;
	double by;
};

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (fabs(x->by) != fabs(y->by))
		return fabs(x->by) > fabs(y->by) ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static json_t *rows_json(const struct side sides[2], const struct row *rows, size_t n)
{
	CLEANUP(freep) struct ranked *ranked = calloc(n + 1, sizeof(*ranked));
	json_t *list = ranked ? json_array() : NULL;

	if (!list)
		return NULL;
	for (size_t i = 0; i < n; i++)
		ranked[i] = (struct ranked){.row = &rows[i], .by = grown(sides, rows[i].self)};
	qsort(ranked, n, sizeof(*ranked), ranked_compare);
	for (size_t i = 0; i < n; i++)
		if (ranked[i].row->self[0] || ranked[i].row->self[1])
			json_add_item(&list, row_json(sides, ranked[i].row));
	return list;
}

static json_t *answer_json(const struct side sides[2])
{
	uint32_t a, b;
	CLEANUP(freep) struct row *rows = NULL;
	size_t n = 0;
	json_t *list;

	mprof_hotspots_list(sides[0].hotspots, &a);
	mprof_hotspots_list(sides[1].hotspots, &b);
	rows = calloc((size_t)a + b + 1, sizeof(*rows));
	if (!rows)
		return NULL;
	rows_add(&sides[0], 0, rows, &n);
	rows_add(&sides[1], 1, rows, &n);
	list = rows_json(sides, rows, rows_join(rows, n));
	if (!list)
		return NULL;
	return json_pack("{sf sf so}", "bytes_per_s_a", sides[0].all * sides[0].rate, "bytes_per_s_b",
			 sides[1].all * sides[1].rate, "functions", list);
}

/* ---- text ---- */

static const char *rate_text(double rate, char *buf, size_t size)
{
	char bytes[24];

	bytes_text((uint64_t)fabs(rate), bytes, sizeof(bytes));
	snprintf(buf, size, "%s%s/s", rate < 0 ? "-" : "+", bytes);
	return buf;
}

static void put_row(const json_t *row)
{
	char by[32], error[32];

	printf("%14s +- %12s  %5.1f%% -> %5.1f%%  ",
	       rate_text(json_real_value(answer_get(row, "grown_bytes_per_s")), by, sizeof(by)),
	       rate_text(json_real_value(answer_get(row, "error_bytes_per_s")), error, sizeof(error)) + 1,
	       100 * json_real_value(answer_get(row, "share_a")), 100 * json_real_value(answer_get(row, "share_b")));
	print_safe(answer_string(row, "function"));
	if (*answer_string(row, "file")) {
		printf(" (");
		print_safe(answer_string(row, "file"));
		printf(")");
	}
	printf("\n");
}

static int show(const json_t *answer)
{
	const json_t *row;
	char a[32], b[32];
	size_t i, shown = 0, sure = 0;

	rate_text(json_real_value(answer_get(answer, "bytes_per_s_a")), a, sizeof(a));
	rate_text(json_real_value(answer_get(answer, "bytes_per_s_b")), b, sizeof(b));
	printf("allocated: %s in the first, %s in the second\n", a + 1, b + 1);
	json_array_foreach(answer_get(answer, "functions"), i, row)
	{
		if (!json_is_true(answer_get(row, "sure")))
			continue;
		if (sure++ < SHOWN_MAX) {
			put_row(row);
			shown++;
		}
	}
	if (!sure)
		printf("no function differs by more than chance explains\n");
	else if (sure > shown)
		printf("and %zu functions more; --json has them all\n", sure - shown);
	return stdout_verdict();
}

int mem_diff(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(side_deinit) struct side a = {.l = {.in = {.fd = -1, .hosts = ctl->hosts}}};
	CLEANUP(side_deinit) struct side b = {.l = {.in = {.fd = -1, .hosts = ctl->hosts}}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0}, g = {0};
	struct options o;
	struct operands left;
	json_t *answer;
	int r = options_parse(ctl, argc, argv, &o, &left), second, printed;

	r = r ? r : mem_filter_parse(&f, &o);
	/*
	 * F and G have the same options. There are two filters because mem_load() stores the time
	 * of the profile's peak in its filter.
	 */
	r = r ? r : mem_filter_parse(&g, &o);
	r = r ? r : side_load(&a, left.at[0], &f);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	second = side_load(&b, left.at[1], &g);
	if (second != CTL_OK && second != CTL_DAMAGED)
		return second;
	answer = answer_json((const struct side[2]){a, b});
	if (!answer)
		return say_memory();
	printed = ctl->json ? json_print(answer) : show(answer);
	json_decref(answer);
	return printed ? printed : r ? r : second;
}
