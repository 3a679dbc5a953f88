/* What a person names where a verb takes a trace: an existing file, a capture's id, or a domain. */
#ifndef CTL_TRACE_SOURCE_H
#define CTL_TRACE_SOURCE_H

#include <stdbool.h>

#include "http.h"

enum trace_source_kind { SOURCE_STDIN, SOURCE_FILE, SOURCE_CAPTURE, SOURCE_DOMAIN };

struct trace_source {
	enum trace_source_kind kind;
	const char *name; /* without its prefix; borrowed from the argument */
};

/* The options that select part of a domain's or capture's trace; NULL where not given. */
struct selection {
	const char *last;
	const char *run;
	const char *stream;
	bool all; /* set by a verb: without STREAM, all of them side by side, where else one must be named */
};

/* The rows of a verb's option table for the selection S. */
#define SELECTION_OPTIONS(s)                                                \
	{"--last", NULL, &(s).last, NULL}, {"--run", NULL, &(s).run, NULL}, \
	{                                                                   \
		"--stream", NULL, &(s).stream, NULL                         \
	}

/*
 * What NAME means by itself: "-" and a file that exists where FILES are allowed, or by "file:", "capture:" or "domain:".  True where that
 * settles it; else target_ask() must look for a capture.
 */
bool trace_source_parse(struct trace_source *t, const char *name, bool files);
/* Settle by asking the daemon whether there is such a capture.  Returns an exit code, having said why. */
int trace_source_ask(struct trace_source *t, struct http *h);

/* The selection's values as they may be; returns an exit code, having said why. */
int selection_check(const struct selection *s, const char *verb);
/* The path of the target's trace with the selection, to be freed; NULL without memory.  WHAT is "trace" or "live". */
char *trace_source_path(const struct trace_source *t, struct http *h, const char *what, const struct selection *s);
/*
 * What the daemon says of it, of a guest with its newest thousand runs, into *JSON, to be decref'd.  Returns an exit code, having said why.
 */
int trace_source_json(const struct trace_source *t, struct http *h, json_t **json);
/* Is the selection possible for this kind?  Returns an exit code, having said why. */
int trace_source_check(const struct trace_source *t, const struct selection *s, const char *verb);

/* A file's name made of the target's and SUFFIX (".ctf"), for the current directory; to be freed, NULL without memory. */
char *trace_source_file_name(const struct trace_source *t, const char *suffix);

#endif
