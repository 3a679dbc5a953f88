/* The trace that an operand of the command line names: an existing file, a capture, or a domain. */
#ifndef CTL_TRACE_SOURCE_H
#define CTL_TRACE_SOURCE_H

#include <stdbool.h>

#include <mprof/runtime.h>

#include "api.h"
#include "http.h"
#include "options.h"

enum trace_source_kind { SOURCE_STDIN, SOURCE_FILE, SOURCE_CAPTURE, SOURCE_DOMAIN };

/* Do not copy it between trace_source_ask() and its last use: NAME may point to ID. */
struct trace_source {
	enum trace_source_kind kind;
	/* Name without HOST/ and the prefix ("file:", "capture:", "domain:"); points into the operand. */
	const char *name;
	struct hosts hosts;  /* the host of a capture or domain, as for http_open() */
	char id[API_ID_MAX]; /* the name, if trace_source_ask() has found another */
};

/* Values of the options that select a part of a domain's or capture's trace; NULL if not given. */
struct selection {
	const char *last;
	const char *run;
	const char *stream;
	const char *runtime; /* the runtime that numbered the ids of a ring file of OCaml, as --runtime names it */
	/*
	 * Set by the verb, for a guest with several streams and no --stream. If true, take all
	 * streams; if false, --stream is required.
	 */
	bool all;
};

/* Return the values of the options O. The verb sets ALL. */
struct selection selection_of(const struct options *o);

/*
 * Parse NAME into T: the prefix "file:", "capture:" or "domain:", or, if FILES is true, "-" or an
 * existing file. If it is no file, "HOST/" with a name of HOSTS stands before all that, and selects
 * that host. HOSTS may be NULL if the host does not matter. Return true if T->kind is now known.
 * Otherwise return false; trace_source_ask() then decides between a capture and a domain.
 */
bool trace_source_parse(struct trace_source *t, const struct hosts *hosts, const char *name, bool files);
/*
 * Decide whether T is a capture or a domain: ask the daemon whether a capture of that name exists.
 * HOST/GUEST is a guest of a hub, which has captures alone: T becomes its newest capture. Return an
 * exit code.
 */
int trace_source_ask(struct trace_source *t, struct http *h);

/*
 * The file T, which OPERAND names without a prefix, could not be used. If the daemon also has a
 * guest or a capture of that name, report that the file was taken, and how to name the other. Report
 * nothing if the daemon does not answer.
 */
void trace_source_other(const struct trace_source *t, const char *operand);

/* Check that the values of the selection are valid. Return an exit code. */
int selection_check(const struct selection *s, const char *verb);
/* Return the numbering that --runtime of S names; unknown without it. */
enum mprof_runtime_numbering selection_numbering(const struct selection *s);
/*
 * Return the URL path of T's route WHAT ("trace", "live", "packets"), with the selection S as its
 * query. The caller frees it. Return NULL without memory.
 */
char *trace_source_path(const struct trace_source *t, struct http *h, const char *what, const struct selection *s);
/*
 * Request the domain T with its newest 1,000 runs. Set *JSON to the answer, which the caller
 * decrefs. Return an exit code.
 */
int trace_source_json(const struct trace_source *t, struct http *h, json_t **json);
/* Check that the kind of T allows the selection S. Return an exit code. */
int trace_source_check(const struct trace_source *t, const struct selection *s, const char *verb);

/*
 * Return a file name for the current directory, made of T's name and SUFFIX (such as ".ctf"). The
 * caller frees it. Return NULL without memory.
 */
char *trace_source_file_name(const struct trace_source *t, const char *suffix);

#endif
