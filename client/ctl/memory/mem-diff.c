/*
 * `mprofctl mem diff A B`: list the functions that allocate more bytes per second in profile B than
 * in profile A, and those that allocate fewer.
 *
 * The answer is libmprof's (<mprof/profile-diff.h>), which prints it as JSON; this file prints it as text.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <mprof/profile-diff.h>

#include "answer-output.h"
#include "cleanup.h"
#include "json.h"
#include "mem-load.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX 20u

CLEANUP_DEFINE(struct mprof_profile_diff, mprof_profile_diff_free)

static const char *rate_text(double rate, char *buf, size_t size)
{
	char bytes[24];

	bytes_text(mem_load_whole(fabs(rate)), bytes, sizeof(bytes));
	snprintf(buf, size, "%s%s/s", rate < 0 ? "-" : "+", bytes);
	return buf;
}

static void put_change(const struct mprof_profile_change *change, const struct mprof_profile_rates *rates)
{
	char by[32], error[32];

	printf("%14s +- %12s  %5.1f%% -> %5.1f%%  ", rate_text(rates->grown, by, sizeof(by)),
	       rate_text(rates->error, error, sizeof(error)) + 1, 100 * rates->share[0], 100 * rates->share[1]);
	print_text(change->function, change->function_bytes);
	if (change->file_bytes) {
		printf(" (");
		print_text(change->file, change->file_bytes);
		printf(")");
	}
	printf("\n");
}

static int show(const struct mprof_profile_diff *d)
{
	char a[32], b[32];
	uint32_t n, sure = 0;
	const struct mprof_profile_change *list = mprof_profile_diff_list(d, &n);

	rate_text(mprof_profile_diff_rate(d, 0), a, sizeof(a));
	rate_text(mprof_profile_diff_rate(d, 1), b, sizeof(b));
	printf("allocated: %s in the first, %s in the second\n", a + 1, b + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct mprof_profile_rates rates = mprof_profile_diff_ask(d, &list[i]);

		if (rates.sure && sure++ < SHOWN_MAX)
			put_change(&list[i], &rates);
	}
	if (!sure)
		printf("no function differs by more than chance explains\n");
	else if (sure > SHOWN_MAX)
		printf("and %" PRIu32 " functions more; --json has them all\n", sure - SHOWN_MAX);
	return stdout_verdict();
}

static struct mprof_profile_run run_of(const struct mem_load *l)
{
	return (struct mprof_profile_run){l->profile, l->in.decoder, mem_load_length(l)};
}

static int print(const struct mem_load *a, const struct mem_load *b, bool json)
{
	CLEANUP(mprof_profile_diff_freep)
	struct mprof_profile_diff *d = mprof_profile_diff_new((struct mprof_profile_run[2]){run_of(a), run_of(b)});
	struct mprof_json j = answer_output(NULL);

	if (!d)
		return say_memory();
	if (!json)
		return show(d);
	mprof_json_open(&j, NULL, '{');
	mprof_profile_diff_write(d, &j);
	return answer_output_end(&j);
}

int mem_diff(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_load_deinit) struct mem_load a = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_load_deinit) struct mem_load b = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0}, g = {0};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), second, printed;

	r = r ? r : mem_filter_parse(&f, &o);
	/*
	 * F and G have the same options. There are two filters because mem_load() stores the time
	 * of the profile's peak in its filter.
	 */
	r = r ? r : mem_filter_parse(&g, &o);
	r = r ? r : mem_load(&a, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	second = mem_load(&b, left.at[1], &g, true, NULL, 0);
	if (second != CTL_OK && second != CTL_DAMAGED)
		return second;
	printed = print(&a, &b, ctl->json);
	return printed ? printed : r ? r : second;
}
