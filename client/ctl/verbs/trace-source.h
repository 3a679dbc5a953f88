/* The trace that an operand names: an existing file, a capture, or a domain. */
#ifndef CTL_TRACE_SOURCE_H
#define CTL_TRACE_SOURCE_H

#include <stdbool.h>

#include "http.h"

enum trace_source_kind { SOURCE_STDIN, SOURCE_FILE, SOURCE_CAPTURE, SOURCE_DOMAIN };

struct trace_source {
	enum trace_source_kind kind;
	const char *name; /* without its prefix; borrowed from the operand */
};

/* The options that select part of a domain's or capture's trace; NULL if not given. */
struct selection {
	const char *last;
	const char *run;
	const char *stream;
	/*
	 * Set by a verb: without STREAM take all streams; otherwise a guest with several streams
	 * needs STREAM.
	 */
	bool all;
};

/* The option table's rows for the selection S. */
#define SELECTION_OPTIONS(s)                                                \
	{"--last", NULL, &(s).last, NULL}, {"--run", NULL, &(s).run, NULL}, \
	{                                                                   \
		"--stream", NULL, &(s).stream, NULL                         \
	}

/*
 * Parse NAME: "-" or an existing file if FILES are allowed, or a prefix "file:", "capture:" or
 * "domain:". Return true if that decides the kind. On false call trace_source_ask() to look for a
 * capture.
 */
bool trace_source_parse(struct trace_source *t, const char *name, bool files);
/* Decide the kind by asking the daemon whether the capture exists. Return an exit code. */
int trace_source_ask(struct trace_source *t, struct http *h);

/* Check the values of the selection. Return an exit code. */
int selection_check(const struct selection *s, const char *verb);
/*
 * Return the path of the route WHAT ("trace", "live", "packets") of T with the selection S. The
 * caller frees it. Return NULL without memory.
 */
char *trace_source_path(const struct trace_source *t, struct http *h, const char *what, const struct selection *s);
/*
 * Ask the daemon for T, a domain with its newest 1,000 runs. Set *JSON, which the caller decrefs.
 * Return an exit code.
 */
int trace_source_json(const struct trace_source *t, struct http *h, json_t **json);
/* Check that the selection suits the kind of T. Return an exit code. */
int trace_source_check(const struct trace_source *t, const struct selection *s, const char *verb);

/*
 * Return a file name for the current directory, made of T's name and SUFFIX (".ctf"). The caller
 * frees it. Return NULL without memory.
 */
char *trace_source_file_name(const struct trace_source *t, const char *suffix);

#endif
