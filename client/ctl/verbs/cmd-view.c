/*
 * `mprofctl view`: show one or two traces or memory profiles in the viewer, without a server.
 *
 * The browser opens a single-file page (html.h), which has the data in it. Without -o the page is
 * in a directory that only the user can read, because a trace shows what a guest did.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "browser.h"
#include "cleanup.h"
#include "exporter.h"
#include "html.h"
#include "input.h"
#include "json.h"
#include "mem-page.h"
#include "options.h"
#include "output.h"
#include "table.h"
#include "time-filter.h"
#include "verbs.h"

#define TRACES_MAX 2

/* One trace or memory profile on the page. */
struct viewed {
	struct html_part part;
	struct timing timing;
	struct time_filter time_filter; /* passes only the events of the period to PART */
	struct input in;
	bool is_memory;
	struct mem_page memory; /* set if is_memory, instead of the other members */
};

struct view {
	const struct ctl *ctl;
	const char *verb;
	struct viewed traces[TRACES_MAX];
	size_t n;
	struct output out;
	struct writer writer;
	char *dir; /* temporary directory to remove, or NULL */
	int verdict;
};

static void view_deinit(struct view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		time_filter_deinit(&v->traces[i].time_filter);
		html_part_deinit(&v->traces[i].part);
		input_deinit(&v->traces[i].in);
		if (v->traces[i].is_memory)
			mem_page_deinit(&v->traces[i].memory);
	}
	writer_deinit(&v->writer);
	output_close(&v->out);
	if (v->dir)
		rmdir(v->dir);
	free(v->dir);
}

/* ---- reading the traces */

static int aside_failed(const struct viewed *v, int error)
{
	if (v->part.reported)
		return CTL_FAILED;
	if (error == -ENOMEM)
		return say_memory();
	say("cannot write a temporary file: %s; set TMPDIR to another directory", strerror(-error));
	return CTL_FAILED;
}

static int read_memory(struct view *v, const char *operand, const struct selection *s, const struct timing *timing)
{
	struct viewed *t = &v->traces[v->n];
	int r;

	if (s->last || s->run || s->stream || timing->period.from.given || timing->period.to.given)
		return say_usage(v->verb,
				 "%s is a memory profile: its page has the whole profile; select parts in the page",
				 operand);
	t->is_memory = true;
	v->n++;
	r = mem_page_read(&t->memory, operand, 0);
	v->verdict = r == CTL_DAMAGED ? r : v->verdict;
	return r == CTL_DAMAGED ? CTL_OK : r;
}

static int read_trace(struct view *v, const char *operand, const struct selection *s, const struct timing *timing)
{
	struct viewed *t = &v->traces[v->n];
	int r;

	if (!html_part_init(&t->part, html_name(operand)))
		return say_memory();
	v->n++;
	t->timing = *timing;
	t->timing.passed_on = true;
	t->in.timing = &t->timing;
	t->part.clock = &t->timing.clock;
	time_filter_init(&t->time_filter, &t->part.consumer, &t->timing.period);
	r = input_run(&t->in, v->ctl, &t->time_filter.consumer, operand, s, false, v->verb);
	if (r == INPUT_REFUSED)
		return aside_failed(t, t->in.refused);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	v->verdict = r == CTL_DAMAGED ? r : v->verdict;
	r = time_filter_end(&t->time_filter);
	r = r ? r : html_part_finish(&t->part);
	return r ? aside_failed(t, r) : CTL_OK;
}

/* ---- writing the page */

/*
 * Make a directory that only the user can read, and set V->dir to its path. Return the path of a
 * file in it, named after the trace OPERAND; the caller frees the path. Return NULL after an error
 * message.
 */
static char *private_path(struct view *v, const char *operand)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP(freep) char *name = export_path(operand, ".html");
	char *path = NULL;

	if (!name || asprintf(&v->dir, "%s/mprofctl.XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
		v->dir = NULL;
		say_memory();
		return NULL;
	}
	if (!mkdtemp(v->dir)) {
		say("cannot make a directory %s: %s; set TMPDIR to another directory", v->dir, strerror(errno));
		free(v->dir);
		v->dir = NULL;
		return NULL;
	}
	if (asprintf(&path, "%s/%s", v->dir, name) < 0) {
		say_memory();
		return NULL;
	}
	return path;
}

static int add(struct html *h, const struct viewed *v)
{
	return v->is_memory ? html_add_memory(h, html_name(v->memory.operand), v->memory.fd, 0) : html_add(h, &v->part);
}

static int write_page(struct view *v)
{
	struct html h;
	int r;

	if (!writer_init(&v->writer, v->out.fd))
		return say_memory();
	r = html_begin(&h, &v->writer);
	for (size_t i = 0; i < v->n && !r; i++)
		r = add(&h, &v->traces[i]);
	r = r ? r : html_end(&h);
	html_deinit(&h);
	if (r)
		return r == -ENOMEM ? say_memory() : output_complain(&v->out, -r);
	return output_commit(&v->out);
}

/* ---- opening the page */

static int report(const struct view *v, const char *path, bool opened)
{
	json_t *json;
	int r;

	if (v->ctl->json) {
		json = json_pack("{so sb}", "path", text_json(path, strlen(path)), "opened", opened);
		r = json ? json_print(json) : say_memory();
		json_decref(json);
		return r;
	}
	if (opened) {
		if (isatty(STDERR_FILENO))
			say("opened %s", path);
		return CTL_OK;
	}
	puts(path);
	say("no browser could be started: open this file in a browser, or name one in BROWSER");
	return fflush(stdout) == 0 ? CTL_OK : CTL_FAILED;
}

static int show(struct view *v, const char *file, const char *operand)
{
	CLEANUP(freep) char *path = file ? strdup(file) : private_path(v, operand);
	CLEANUP(freep) char *whole = NULL;
	int r;

	if (!path)
		return file ? say_memory() : CTL_FAILED;
	r = output_open(&v->out, path, file ? OUTPUT_REPLACE : OUTPUT_NEW, v->verb);
	r = r ? r : write_page(v);
	if (r)
		return r;
	free(v->dir); /* the page is complete, so view_deinit() must not remove the directory */
	v->dir = NULL;
	whole = realpath(path, NULL);
	return report(v, whole ? whole : path, whole && browser_open(whole));
}

int cmd_view(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(view_deinit) struct view v = {.ctl = ctl, .verb = argv[0], .out = {.fd = -1}};
	struct selection s;
	struct timing timing = {0};
	struct operands left;
	struct options o;
	const char *file;
	int r = options_parse(ctl, argc, argv, &o, &left);

	s = selection_of(&o);
	s.all = true;
	file = o.output;
	r = r ? r : timing_parse(&timing, &o, TIME_GUEST, argv[0]);
	if (r)
		return r;
	if (left.n == 2 && strcmp(left.at[0], "-") == 0 && strcmp(left.at[1], "-") == 0)
		return say_usage(argv[0], "%s: only one of the two can be standard input", argv[0]);
	if (file && strcmp(file, "-") == 0)
		return say_usage(
			argv[0],
			"%s: a browser opens files; `mprofctl export --to html -o -` writes to standard output",
			argv[0]);
	if (!html_possible())
		return CTL_FAILED;
	for (size_t i = 0; i < left.n && !r; i++)
		r = mem_page_is(left.at[i]) ? read_memory(&v, left.at[i], &s, &timing)
					    : read_trace(&v, left.at[i], &s, &timing);
	r = r ? r : show(&v, file, left.at[0]);
	return r ? r : v.verdict;
}
