/* `mprofctl mem export`: a memory profile for other programs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mem-formats.h"
#include "mem-page.h"
#include "mem.h"
#include "near.h"
#include "scope.h"

static const struct {
	const char *name;
	int (*write)(struct mem_formatting *f);
	bool hides; /* --hide means something in it */
} formats[] = {
	{"collapsed", mem_write_collapsed, true},
	{"html", NULL, false}, /* mem-page.h: all of it, not a profile of it */
	{"json", mem_write_json, false},
	{"pprof", mem_write_pprof, false},
	{"speedscope", mem_write_speedscope, true},
};

/* The format NAME, or -1, having said so. */
static int format_find(const char *name)
{
	struct near near = {.word = name};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return (int)i;
		near_offer(&near, formats[i].name);
	}
	if (near.best)
		say_usage("mem", "there is no format \"%s\"; did you mean %s?", name, near.best);
	else
		say_usage("mem", "there is no format \"%s\": it takes collapsed, html, json, pprof and speedscope",
			  name);
	return -1;
}

/* Returns an exit code, having said why. */
static int write_to(struct mem_load *l, const struct mem_filter *filter, int format, const char *file)
{
	SCOPED(output_close) struct output out = {.fd = -1};
	struct mem_formatting f = {.l = l, .filter = filter, .out = &out};
	int r;

	/* Lines of text may go to a terminal too. */
	if (file)
		r = output_open(&out, file, OUTPUT_REPLACE, "mem");
	else if (formats[format].write == mem_write_pprof)
		r = output_open(&out, "-", OUTPUT_REPLACE, "mem");
	else
		r = (out.fd = STDOUT_FILENO, CTL_OK);
	if (r)
		return r;
	r = formats[format].write(&f);
	if (r == -ENOMEM)
		return say_memory();
	if (r)
		return output_complain(&out, -r);
	if (f.cut)
		say("%s: of %llu stacks only the %u innermost frames or fewer were written", l->in.name,
		    (unsigned long long)f.cut, MEM_FRAMES_MAX);
	return output_commit(&out);
}

int mem_export(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .host = ctl->host}};
	SCOPED(mem_filter_deinit) struct mem_filter f = {0};
	struct mem_filter_options o = {0};
	const char *to = NULL, *file = NULL;
	const struct option_def defs[] = {
		MEM_FILTER_OPTIONS(o), MEM_HIDE_OPTION(o), {"--to", NULL, &to, NULL}, {"--output", "-o", &file, NULL}};
	struct operands left;
	int r = options_parse(argc, argv, defs, sizeof(defs) / sizeof(defs[0]), &left, 1, 1), format, written;

	if (r)
		return r;
	if (!to)
		return say_usage(
			"mem",
			"mem export: --to FORMAT is missing; it takes collapsed, html, json, pprof and speedscope");
	format = format_find(to);
	if (format < 0)
		return CTL_USAGE;
	if (o.hide && !formats[format].hides)
		return say_usage("mem", "--hide means nothing in the format %s, which has all frames",
				 formats[format].name);
	r = mem_filter_parse(&f, &o);
	if (!r && !formats[format].write)
		return f.given ? say_usage("mem",
					   "the page of the format html has all of a profile: filters are chosen there")
			       : mem_page_export(ctl->host, left.at[0], f.recording, file);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	written = write_to(&l, &f, format, file);
	return written ? written : r;
}
