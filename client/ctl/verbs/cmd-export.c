/*
 * `mprofctl export`: write a trace in the format of another program.
 *
 * The output appears under its name only when it is complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "exporter.h"
#include "input.h"
#include "json-whole.h"
#include "json.h"
#include "options.h"
#include "output-directory.h"
#include "output.h"
#include "table.h"
#include "time-filter.h"
#include "verbs.h"

struct export
{
	const struct ctl *ctl;
	struct export_job job;
	struct timing timing;
	struct output out;
	struct output_directory dir;
	struct writer writer;
	struct modeller modeller;
	/* Passes only the events of the period to a format without draw(). */
	struct time_filter time_filter;
	bool opened; /* the exporter was opened, so its close() must be called */
	char *path;  /* path of the output; owned */
	struct options options;
};

static void export_deinit(struct export *x)
{
	if (x->opened && x->job.exporter->close)
		x->job.exporter->close(&x->job);
	modeller_deinit(&x->modeller);
	writer_deinit(&x->writer);
	output_close(&x->out);
	output_directory_close(&x->dir);
	time_filter_deinit(&x->time_filter);
	free(x->path);
}

/* ---- writing the output */

/*
 * Report that the format stopped with ERROR, a -errno of a failed write. Return an exit code. If
 * ERROR is not negative, it is an exit code that was reported already; return it.
 */
static int refusal(const struct export *x, int error)
{
	if (error >= 0)
		return error;
	if (x->job.exporter->reported && x->job.exporter->reported(&x->job))
		return CTL_FAILED;
	if (error == -ENOMEM)
		return say_memory();
	if (!x->job.exporter->directory)
		return output_complain(&x->out, -error);
	say("cannot write %s: %s", x->path, strerror(-error));
	return CTL_FAILED;
}

static int open_output(struct export *x, bool named, const char *verb)
{
	int r;

	if (x->job.exporter->directory) {
		r = output_directory_open(&x->dir, x->path, verb);
		x->job.dir = &x->dir;
		return r;
	}
	r = output_open(&x->out, x->path, named ? OUTPUT_REPLACE : OUTPUT_NEW, verb);
	if (r)
		return r;
	x->job.out = &x->writer;
	return writer_init(&x->writer, x->out.fd) ? CTL_OK : say_memory();
}

/*
 * Open the format, and set *CONSUMER to the consumer that takes the events: the modeller for a
 * format that draws the whole model, otherwise the format itself. Return an exit code.
 */
static int open_format(struct export *x, const struct consumer **consumer)
{
	struct consumer to = {0};
	int r;

	if (x->job.exporter->draw) {
		*consumer = &x->modeller.consumer;
		if (!modeller_init(&x->modeller, &x->timing.period, false))
			return say_memory();
		x->modeller.consumer.tail = x->job.exporter->tails ? modeller_tail : NULL;
		return CTL_OK;
	}
	x->opened = true;
	r = x->job.exporter->open(&x->job, &to);
	time_filter_init(&x->time_filter, &to, &x->timing.period);
	*consumer = &x->time_filter.consumer;
	return refusal(x, r);
}

/* Write the end of the output, after the last event. Return an exit code. */
static int finish(struct export *x)
{
	int r;

	if (x->job.exporter->draw) {
		if (!modeller_finish(&x->modeller))
			return say_memory();
		r = x->job.exporter->draw(&x->job, &x->modeller);
	} else {
		r = time_filter_end(&x->time_filter);
		x->job.events = x->time_filter.events;
		r = r ? r : x->job.exporter->finish(&x->job);
	}
	if (!r && x->job.out)
		r = writer_flush(x->job.out);
	if (r)
		return refusal(x, r);
	return x->job.exporter->directory ? output_directory_commit(&x->dir) : output_commit(&x->out);
}

/*
 * Report the path of the output. NAMED is true if the user chose the path. VERDICT is the exit code
 * so far. Return an exit code.
 */
static int report(const struct export *x, bool named, int verdict)
{
	json_t *json;
	int r;

	if (!x->job.exporter->directory && !x->out.path)
		return verdict;
	if (!x->ctl->json) {
		if (!named && isatty(STDERR_FILENO))
			say("wrote %s", x->path);
		return verdict;
	}
	json = json_pack("{ss so}", "format", x->job.exporter->name, "path", text_json(x->path, strlen(x->path)));
	if (!x->job.exporter->draw)
		json_add_member(&json, "events", json_integer((json_int_t)x->job.events));
	r = json ? json_print(json) : say_memory();
	json_decref(json);
	return r ? r : verdict;
}

static int run(struct export *x, const struct operands *left, const struct selection *s, const char *verb)
{
	CLEANUP(input_deinit) struct input in = {.timing = &x->timing};
	const struct consumer *consumer;
	int r = input_take_files(&in, left, left->n, verb), done;

	r = r ? r : open_format(x, &consumer);

	if (r)
		return r;
	r = input_run(&in, x->ctl, consumer, left->at[0], s, false, verb);
	if (r == INPUT_REFUSED)
		return refusal(x, in.refused);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	done = finish(x);
	return done ? done : r;
}

/* ---- the command line */

/* Report an option that another format has, and let the chosen format check its own. Return an exit code. */
static int take_own(struct export *x)
{
	const struct verb_row *verb = &verb_rows[x->ctl->verb];
	const struct exporter *e = x->job.exporter;

	for (size_t i = 0; i < verb->n_options; i++) {
		const struct option_row *row = &verb->options[i];

		if (row->of && strcmp(row->of, e->name) != 0 && option_value(&x->options, row))
			return say_usage(verb->name, "%s is not an option of the format %s", row->name, e->name);
	}
	x->job.options = &x->options;
	return e->check ? e->check(&x->job, verb->name) : CTL_OK;
}

/*
 * Return true if VALUE, the value of --to, is the name of a format. A time begins with a digit or
 * "+".
 */
static bool is_word(const char *value)
{
	return value && !(value[0] >= '0' && value[0] <= '9') && value[0] != '+';
}

/*
 * Remove `--to FORMAT` from ARGV and set *FORMAT to the name. `--to TIME`, the end of the period,
 * stays. Return the new ARGC.
 */
static int take_format(int argc, char **argv, const char **format)
{
	int i, n = 1;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--to") == 0 && i + 1 < argc && is_word(argv[i + 1]))
			*format = argv[++i];
		else if (strncmp(argv[i], "--to=", 5) == 0 && is_word(argv[i] + 5))
			*format = argv[i] + 5;
		else
			argv[n++] = argv[i];
	}
	for (; i < argc; i++)
		argv[n++] = argv[i];
	return n;
}

/* Parse the command line into X and LEFT. Choosing X->path is left to the caller. Return an exit code. */
static int parse(struct export *x, int argc, char **argv, struct operands *left)
{
	const char *format = NULL;
	int r;

	argc = take_format(argc, argv, &format);
	r = options_parse(x->ctl, argc, argv, &x->options, left);
	r = r ? r : timing_parse(&x->timing, &x->options, TIME_GUEST, argv[0]);
	if (!r && !format)
		r = say_usage(argv[0], "%s: name a format with --to", argv[0]);
	if (r)
		return r;
	x->job.exporter = exporter_find(format, argv[0]);
	return x->job.exporter ? take_own(x) : CTL_USAGE;
}

int cmd_export(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(export_deinit)
	struct export x = {.ctl = ctl, .out = {.fd = -1}, .dir = {.above = -1}};
	struct selection s;
	const char *file;
	struct operands left;
	int r = parse(&x, argc, argv, &left);

	if (r)
		return r;
	s = selection_of(&x.options);
	file = x.options.output;
	x.job.trace = left.at[0];
	s.all = x.job.exporter->all_streams;
	x.job.period = &x.timing.period;
	x.job.clock = &x.timing.clock;
	x.timing.passed_on = x.job.exporter->wall;
	x.path = file ? strdup(file) : export_path(left.at[0], x.job.exporter->suffix);
	if (!x.path)
		return say_memory();
	r = open_output(&x, file, argv[0]);
	r = r ? r : run(&x, &left, &s, argv[0]);
	return r == CTL_OK || r == CTL_DAMAGED ? report(&x, file, r) : r;
}
