/*
 * Formats that a trace is exported to.
 *
 * A format is one `const struct exporter` in a file of its own, export-NAME.c, and one line in exporter.c.  What it needs of the command
 * line, of the input and of the output stands in a struct export_job: it opens nothing itself, and says nothing of failed writes.
 *
 * A format streams, or it needs the whole model.  One that streams gets the events inside of the period alone, from all streams merged by
 * time, through the sink that it sets up; its memory must not grow with the length of the trace.
 */
#ifndef CTL_EXPORTER_H
#define CTL_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"
#include "modeller.h"
#include "output-directory.h"
#include "time-filter.h"
#include "writer.h"

struct exporter;

#define EXPORT_OPTIONS_MAX 8

struct export_job {
	const struct exporter *exporter;
	const char *trace;	      /* its name, for titles and complaints; any bytes; borrowed */
	struct period *period;	      /* for a format that draws: whatever streams need not look at it; borrowed */
	struct writer *out;	      /* of a format that is one file: all goes there; borrowed */
	struct output_directory *dir; /* of a format that is a directory: its files are made in it; borrowed */
	void *state;		      /* the format's own */
	/* What was given of the exporter's own options, in their order; NULL where not. */
	const char *values[EXPORT_OPTIONS_MAX];
	uint64_t events; /* in finish(): that came */
};

/* An option that a format has beside those of all. */
struct export_option {
	const char *name; /* "--width"; takes a value */
};

struct exporter {
	const char *name;   /* as in --to */
	const char *what;   /* in a line of help; no full stop */
	const char *suffix; /* of the default name: ".json" */
	bool directory;
	bool all_streams; /* of a guest with several take all, unless one is named */
	bool tails;	  /* of one that draws: what was not proven is marked in it */
	/* NULL, or up to EXPORT_OPTIONS_MAX, the last one without a name.  Formats may share one of a name. */
	const struct export_option *options;
	/* Are the values of its options as they may be?  Before anything is opened.  Returns an exit code, having said why.  May be NULL. */
	int (*check)(const struct export_job *job, const char *verb);

	/* A format that streams: */

	/* Set up STATE and SINK; 0 or -errno, -ENOMEM without memory.  What is written before any event is written here. */
	int (*open)(struct export_job *job, struct consumer *consumer);
	/* All of the trace came, damaged or not: write what ends the file.  0 or -errno. */
	int (*finish)(struct export_job *job);
	/* Did what ended it with an error say why itself?  NULL = never. */
	bool (*told)(const struct export_job *job);
	/* Release STATE.  Called once, also after open() failed; STATE may be NULL. */
	void (*close)(struct export_job *job);

	/* Instead of those three, a format that needs the model: write all of it.  0, -errno, or an exit code, having said why. */
	int (*draw)(struct export_job *job, const struct modeller *m);
};

/* Number I of the formats, NULL behind the last. */
const struct exporter *exporter_at(size_t i);
/* The one of that name, or NULL, having said which there are. */
const struct exporter *exporter_find(const char *name, const char *verb);

/* A name for what is made of the trace OPERAND: in this directory, SUFFIX in place of its own; to be freed, NULL without memory. */
char *export_path(const char *operand, const char *suffix);

/* Each is defined in its file: */
extern const struct exporter export_chrome;
extern const struct exporter export_csv;
extern const struct exporter export_ctf;
extern const struct exporter export_fxt;
extern const struct exporter export_html;
extern const struct exporter export_json;
extern const struct exporter export_perfetto;
extern const struct exporter export_svg;

#endif
