/*
 * `mprofctl fetch` and `mprofctl follow`: download a trace into a file or a pipe.
 *
 * Beside a file they write the offset of the guest's clock to dom0's wall time (clock-file.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock-file.h"
#include "download.h"
#include "follow.h"
#include "options.h"
#include "output.h"
#include "stamp-clocks.h"
#include "trace-source.h"
#include "verbs.h"

struct fetch {
	struct output out;
	struct progress progress;
	const char *verb;
	const char *name;		  /* path of the file; borrowed */
	const struct trace_source *trace; /* borrowed */
	const struct selection *s;	  /* borrowed */
};

static int fetch_write(void *context, const uint8_t *bytes, size_t len)
{
	struct fetch *f = context;

	progress_add(&f->progress, len);
	return output_write(&f->out, bytes, len);
}

static int fetch_start_over(void *context)
{
	struct fetch *f = context;

	f->progress.bytes = 0;
	return output_start_over(&f->out);
}

static void fetch_deinit(struct fetch *f)
{
	output_close(&f->out);
}

/* Report the packets that the trace lacks, as the server's response headers announce them. */
static void report_losses(const struct download *d)
{
	if (d->lost && strcmp(d->lost, "0") != 0)
		say("note: %s packets of this trace are lost", d->lost);
	if (d->complete && strcmp(d->complete, "false") == 0)
		say("note: the capture is not complete: quotas deleted a part of it, or it was damaged on the disk");
	if (d->cut)
		say("note: an unproven tail was cut: %s", d->cut);
}

/*
 * Set S->run to the run of the trace that D downloaded, if the server named it: "?first=RUN.…". RUN
 * has CLOCKS_RUN_MAX bytes. Without this a run that begins meanwhile would give another clock.
 */
static void pin_run(const struct download *d, struct selection *s, char *run)
{
	const char *first = d->location ? strstr(d->location, "first=") : NULL;
	size_t n = first ? strspn(first + 6, "0123456789") : 0;

	if (s->run || !n || n >= CLOCKS_RUN_MAX)
		return;
	memcpy(run, first + 6, n);
	run[n] = 0;
	s->run = run;
}

/* Write TEXT to the file PATH, which is replaced. Return an exit code. */
static int write_file(const char *path, const char *text, const char *verb)
{
	CLEANUP(output_close) struct output out = {.fd = -1};
	int r = output_open(&out, path, OUTPUT_REPLACE, verb), error;

	if (r)
		return r;
	error = output_write(&out, text, strlen(text));
	if (!error)
		error = output_write(&out, "\n", 1);
	return error ? output_complain(&out, -error) : output_commit(&out);
}

/*
 * Write the offset of the clock beside the trace that is complete in FILE. T and S select the trace,
 * and CLOCK tells the rest of it. If the daemon does not tell the offset, write that it is unknown,
 * because the file of an earlier trace may be there. Return an exit code.
 */
static int clock_write(struct clock_file *clock, struct http *h, const struct trace_source *t,
		       const struct selection *s, const char *file, const char *verb)
{
	struct selection pinned = *s;
	char run[CLOCKS_RUN_MAX];
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *text = NULL;

	if (asprintf(&path, "%s" CLOCK_FILE_SUFFIX, file) < 0) {
		path = NULL;
		return say_memory();
	}
	if (clocks_offset(&clock->offset, h, t, &pinned, run) != CTL_OK)
		say("%s: the trace is complete, but its wall time is not known", file);
	clock->guest = t->name;
	clock->run = pinned.run;
	clock->stream = pinned.stream;
	text = clock_file_text(clock);
	return text ? write_file(path, text, verb) : say_memory();
}

static int fetch_clock(const struct fetch *f, struct http *h, const struct download *d)
{
	struct clock_file clock = {.fetched = d->date, .bytes = f->progress.bytes};
	struct selection s = *f->s;
	char run[CLOCKS_RUN_MAX];

	if (f->trace->kind == SOURCE_DOMAIN)
		pin_run(d, &s, run);
	return clock_write(&clock, h, f->trace, &s, f->name, f->verb);
}

static int fetch_run(struct fetch *f, struct http *h, const char *path)
{
	bool named = f->out.path && f->out.can_start_over;
	CLEANUP(download_deinit)
	struct download d = {
		.write = fetch_write,
		.start_over = f->out.can_start_over ? fetch_start_over : NULL,
		.context = f,
	};
	int r = download_run(&d, h, path);

	progress_done(&f->progress);
	if (r && d.refused)
		return output_complain(&f->out, -d.refused);
	if (r)
		return r;
	report_losses(&d);
	r = output_commit(&f->out);
	return r || !named ? r : fetch_clock(f, h, &d);
}

/*
 * Return the file name for the trace T of OPERAND: NAME.ctf, or HOST_NAME.ctf if the operand is
 * HOST/NAME. The caller frees it. Return NULL without memory.
 */
static char *default_name(const struct trace_source *t, const char *operand)
{
	struct trace_source whole = *t;

	if (strchr(operand, '/') && t->hosts.one)
		whole.name = operand;
	return trace_source_file_name(&whole, ".ctf");
}

int cmd_fetch(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(fetch_deinit) struct fetch f = {.out = {.fd = -1}};
	CLEANUP(freep) char *name = NULL;
	CLEANUP(freep) char *path = NULL;
	struct selection s;
	struct operands left;
	struct options o;
	struct trace_source t;
	const char *file;
	bool settled;
	int r = options_parse(ctl, argc, argv, &o, &left);

	s = selection_of(&o);
	file = o.output;
	r = r ? r : selection_check(&s, argv[0]);
	if (r)
		return r;
	settled = trace_source_parse(&t, &ctl->hosts, left.at[0], false);
	r = http_open(&h, &t.hosts);
	if (!r && !settled)
		r = trace_source_ask(&t, &h);
	r = r ? r : trace_source_check(&t, &s, argv[0]);
	if (r)
		return r;
	name = file ? strdup(file) : default_name(&t, left.at[0]);
	path = trace_source_path(&t, &h, "trace", &s);
	if (!name || !path || !http_catch_signals(&h))
		return say_memory();
	r = output_open(&f.out, name, file ? OUTPUT_REPLACE : OUTPUT_NEW, argv[0]);
	if (r)
		return r;
	progress_init(&f.progress, t.name);
	f.verb = argv[0];
	f.name = name;
	f.trace = &t;
	f.s = &s;
	r = fetch_run(&f, &h, path);
	if (r == CTL_OK && !file && f.progress.shown)
		say("wrote %s", name);
	return r;
}

struct followed {
	struct output out;
	uint64_t bytes;
};

static void followed_deinit(struct followed *f)
{
	output_close(&f->out);
}

static int follow_write(void *context, const uint8_t *bytes, size_t len)
{
	struct followed *f = context;

	f->bytes += len;
	return output_write(&f->out, bytes, len);
}

/*
 * Write the clock of RUN beside the file F. A new connection asks for it, because a signal may have
 * ended the one that followed. Return an exit code.
 */
static int follow_clock(const struct followed *f, const struct trace_source *t, const struct selection *s, uint64_t run)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct clock_file clock = {.bytes = f->bytes};
	struct selection pinned = *s;
	char number[CLOCKS_RUN_MAX];
	int r = http_open(&h, &t->hosts);

	snprintf(number, sizeof(number), "%" PRIu64, run);
	pinned.run = number;
	return r ? r : clock_write(&clock, &h, t, &pinned, f->out.path, "follow");
}

int cmd_follow(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(followed_deinit) struct followed f = {.out = {.fd = -1}};
	struct follow_ops ops = {.write = follow_write, .context = &f};
	struct selection s;
	struct operands left;
	struct options o;
	struct trace_source t;
	int r = options_parse(ctl, argc, argv, &o, &left);

	s = selection_of(&o);
	r = r ? r : selection_check(&s, argv[0]);
	if (r)
		return r;
	if (trace_source_parse(&t, &ctl->hosts, left.at[0], false) && t.kind == SOURCE_CAPTURE)
		return say_usage(argv[0], "a capture does not grow: fetch it, or follow a domain");
	r = trace_source_check(&t, &s, argv[0]);
	r = r ? r : http_open(&h, &t.hosts);
	r = r ? r : output_open(&f.out, o.output ? o.output : "-", OUTPUT_DIRECT, argv[0]);
	if (r)
		return r;
	if (!http_catch_signals(&h))
		return say_memory();
	r = follow_run(&h, &t, &s, &ops);
	if (ops.refused)
		return output_complain(&f.out, -ops.refused);
	if (r || !ops.run || !f.out.path || !f.out.can_start_over)
		return r;
	return follow_clock(&f, &t, &s, ops.run);
}
