/*
 * The formats of `mprofctl export`.
 *
 * A format is one `const struct exporter` in a file of its own and a line in exporter.c. It gets
 * the command line, the input and the output in a struct export_job. It opens no files itself and
 * reports no failed writes.
 *
 * A format either streams or needs the whole model. A streaming format gets the events inside of
 * the period, from all streams merged by time, through the consumer that it sets up. Its memory
 * must not grow with the length of the trace.
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
	const char *trace; /* name for titles and messages; any bytes; borrowed */
	/* For a format that draws; a streaming format can ignore it; borrowed. */
	struct period *period;
	struct writer *out;	      /* output of a single-file format; borrowed */
	struct output_directory *dir; /* output of a directory format; borrowed */
	void *state;		      /* the format's own */
	/* Values of the format's own options, in their order; NULL if not given. */
	const char *values[EXPORT_OPTIONS_MAX];
	uint64_t events; /* number of events; valid in finish() */
};

/* An option of a format. */
struct export_option {
	const char *name; /* "--width"; takes a value */
};

struct exporter {
	const char *name;   /* for --to */
	const char *what;   /* description for the help, without a full stop */
	const char *suffix; /* suffix of the default name: ".json" */
	bool directory;
	bool all_streams; /* take all streams of a guest, unless the user names one */
	bool tails;	  /* draws unproven tails */
	/*
	 * NULL, or at most EXPORT_OPTIONS_MAX options and one without a name. Formats may share an
	 * option's name.
	 */
	const struct export_option *options;
	/* Check the options' values before anything is opened. Return an exit code. May be NULL. */
	int (*check)(const struct export_job *job, const char *verb);

	/* A streaming format: */

	/*
	 * Set up STATE and CONSUMER, and write what stands in front of the events. Return 0 or
	 * -errno.
	 */
	int (*open)(struct export_job *job, struct consumer *consumer);
	/*
	 * Write the end of the file behind the last event; the trace may be damaged. Return 0 or
	 * -errno.
	 */
	int (*finish)(struct export_job *job);
	/* Return true if the format itself reported its error. NULL = never. */
	bool (*reported)(const struct export_job *job);
	/* Release STATE, which may be NULL. Called once, also if open() failed. */
	void (*close)(struct export_job *job);

	/*
	 * For a format that needs the whole model; such a format has no open() and finish(). Write
	 * the whole output from the model M. Return 0, -errno, or an exit code after the format
	 * reported the error.
	 */
	int (*draw)(struct export_job *job, const struct modeller *m);
};

/* Return format number I, or NULL behind the last. */
const struct exporter *exporter_at(size_t i);
/* Return the format called NAME, or NULL after an error message that lists the formats. */
const struct exporter *exporter_find(const char *name, const char *verb);

/*
 * Return a file name for the output made of the trace OPERAND: in the current directory, with
 * SUFFIX instead of its own. The caller frees it. Return NULL without memory.
 */
char *export_path(const char *operand, const char *suffix);

/* Each is defined in its own file. */
extern const struct exporter export_chrome;
extern const struct exporter export_csv;
extern const struct exporter export_ctf;
extern const struct exporter export_fxt;
extern const struct exporter export_html;
extern const struct exporter export_json;
extern const struct exporter export_perfetto;
extern const struct exporter export_svg;

#endif
