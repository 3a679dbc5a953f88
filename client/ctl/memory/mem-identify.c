/* `mprofctl mem identify`: show a memory profile's description of itself, and its totals. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "answer-output.h"
#include "cleanup.h"
#include "json.h"
#include "mem-load.h"
#include "mem.h"
#include "options.h"
#include "table.h"

/*
 * Write BYTES to BUF with about three digits and a unit, as "812 kB", "1.1 GB", " 64 kB". Return
 * BUF.
 */
static const char *short_bytes(double bytes, char buf[32])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	size_t unit = 0;

	while (bytes >= 1000 && unit < 4) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, 32, unit && bytes < 10 ? "%3.1f %s" : "%3.0f %s", bytes, units[unit]);
	return buf;
}

static void put_text(const char *before, const char *text, const char *behind)
{
	CLEANUP(freep) char *safe = printable(text, strlen(text));

	printf("%s%s%s", before, safe ? safe : "?", behind);
}

static void put_info(const struct mem_input *in, const struct mprof_mem_info *info)
{
	char bytes[32], date[64] = "?";
	time_t start = (time_t)(info->start_us / 1000000);
	struct tm tm;

	if (gmtime_r(&start, &tm)) {
		size_t n = strftime(date, sizeof(date), "%a %b ", &tm);

		n += (size_t)snprintf(date + n, sizeof(date) - n, "%d ", tm.tm_mday);
		strftime(date + n, sizeof(date) - n, "%H:%M:%S %Y UTC", &tm);
	}
	put_text("Trace file ", in->name, "");
	printf(" (%s)\n", short_bytes((double)(in->file_bytes ? in->file_bytes : in->bytes), bytes));
	put_text("   of ", info->program, "\n");
	printf("   at %s\n", date);
	put_text("   on host ", info->host, "");
	printf(" (%u-bit), pid %" PRId64 ", sample rate %.1e\n", info->word_bytes * 8, info->pid, info->rate);
	put_text("   with OCaml GC params ", info->parameters, "\n");
	if (*info->context)
		put_text("   with context: ", info->context, "\n");
}

/* Return which part of WHOLE PART is, in percent; 0 of nothing. */
static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_sums(const struct mprof_mem *mem, const struct mprof_profile_sums *s)
{
	const struct mprof_mem_info *info = mprof_mem_info(mem);
	double seconds = (double)(s->last_us - info->start_us) / 1e6, sample = mprof_mem_scale(mem);
	uint64_t direct = s->samples[MPROF_MEM_MAJOR] + s->samples[MPROF_MEM_EXTERNAL];
	uint64_t allocs = s->allocs[0] + s->allocs[1] + s->allocs[2];
	uint64_t all = direct + s->samples[MPROF_MEM_MINOR];
	char a[32], b[32], c[32];

	printf("Trace statistics:\n");
	if (!s->last_us) {
		printf("   no event\n");
		return;
	}
	if (seconds <= 0) {
		printf("   %" PRIu64 " allocation%s sampled; %s, so there is no rate\n", allocs,
		       allocs == 1 ? " was" : "s were",
		       mprof_mem_totals(mem)->clock_steps ? "the clock went back" : "all came at the start");
		return;
	}
	printf("   Minor: %s/s allocations, %.1f%% promoted\n",
	       short_bytes((double)s->samples[MPROF_MEM_MINOR] * sample / seconds, a),
	       share(s->promoted, s->samples[MPROF_MEM_MINOR]));
	printf("   Major: %s/s allocations (%s/s direct), %s/s collections\n",
	       short_bytes((double)(direct + s->promoted) * sample / seconds, a),
	       short_bytes((double)direct * sample / seconds, b),
	       short_bytes((double)s->collected_major * sample / seconds, c));
	printf("   Sizes (by word): %.0f%% <= 4w, %.0f%% <= 16w, %.0f%% <= 256w. Max: %s\n", share(s->small[0], all),
	       share(s->small[1], all), share(s->small[2], all),
	       short_bytes((double)s->max_length * info->word_bytes, a));
	printf("   Runtime: %.3f s\n", seconds);
}

/* Report what the recording lacks, but for what every verb reports of it (mem-input.c). */
static void report_notes(const struct mem_input *in, const struct mprof_profile_report *r)
{
	char note[MPROF_PROFILE_NOTE_MAX];

	for (uint32_t i = MPROF_PROFILE_TRUNCATED; i < MPROF_PROFILE_NOTES; i++)
		if (mprof_profile_note(r, i, note))
			say("note: %s: %s", in->name, note);
}

static int show(const struct mem_load *l, const struct mprof_profile_report *r)
{
	report_notes(&l->in, r);
	put_info(&l->in, mprof_mem_info(l->in.decoder));
	put_sums(l->in.decoder, &l->whole);
	return stdout_verdict();
}

static int print(const struct mprof_profile_report *r)
{
	struct mprof_json j = answer_output(NULL);

	mprof_json_open(&j, NULL, '{');
	mprof_profile_write(r, &j);
	return answer_output_end(&j);
}

int mem_identify(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	struct mem_filter all = {0};
	struct options o;
	struct operands left;
	struct mprof_profile_report report;
	int r = options_parse(ctl, argc, argv, &o, &left), printed;

	r = r ? r : mem_input_recording(o.recording, &all.recording);
	if (r)
		return r;
	r = mem_load(&l, left.at[0], &all, false, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	report = mem_load_report(&l);
	printed = ctl->json ? print(&report) : show(&l, &report);
	return printed ? printed : r;
}
