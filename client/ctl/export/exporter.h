/*
 * This file declares the formats of `mprofctl export`.
 *
 * A format is one `const struct exporter` in a file of its own and a line in exporter.c. The format
 * gets the command line, the input and the output in a struct export_job. A format opens no files
 * and does not report failed writes; its caller does both.
 *
 * A format either streams or needs the whole model. The consumer that a streaming format sets up in
 * open() gets the events inside of the period, from all streams merged by time. The memory of a
 * streaming format must not grow with the length of the trace.
 */
#ifndef CTL_EXPORTER_H
#define CTL_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock-offset.h"
#include "consumer.h"
#include "modeller.h"
#include "options.h"
#include "output-directory.h"
#include "output-writer.h"
#include "slices.h"
#include "time-filter.h"

struct exporter;

struct export_job {
	const struct exporter *exporter;
	const char *trace; /* name of the trace for titles and messages; any bytes; borrowed */
	/*
	 * The period of --from and --to, for a format with draw(). A streaming format gets only
	 * events inside of the period, so it can ignore this field. Borrowed.
	 */
	struct period *period;
	/* The offset of the trace's clock, for a format with WALL; valid in finish(). Borrowed. */
	const struct clock_offset *clock;
	struct writer *out;	       /* output of a format that writes one file; borrowed */
	struct output_directory *dir;  /* output of a format that writes a directory; borrowed */
	void *state;		       /* data of the format: open() allocates it, and close() frees it */
	const struct options *options; /* the command line; borrowed */
	uint64_t events;	       /* number of events that were passed to the format; valid in finish() */
};

struct exporter {
	const char *name;   /* name of the format, the value of --to */
	const char *what;   /* description for the help, without a full stop */
	const char *suffix; /* suffix of the default file name: ".json" */
	bool directory;
	/* Take all streams of a guest, unless the user names one. */
	bool all_streams;
	bool wall;  /* the output has the offset of the trace's clock */
	bool tails; /* the format draws the unproven tails of streams */
	/*
	 * Check the values of the options before any file is opened. Return an exit code. May be
	 * NULL.
	 */
	int (*check)(const struct export_job *job, const char *verb);

	/* A streaming format has open() and finish(). */

	/*
	 * Set up STATE and CONSUMER, and write the part of the file before the first event. Return
	 * 0 or -errno.
	 */
	int (*open)(struct export_job *job, struct consumer *consumer);
	/*
	 * Write the part of the file after the last event, also if the trace was damaged. Return 0
	 * or -errno.
	 */
	int (*finish)(struct export_job *job);
	/*
	 * Return true if the format itself has reported the error that it returned. NULL = it never
	 * does.
	 */
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

/* Return the format number I, from 0. Return NULL if I is past the last format. */
const struct exporter *exporter_at(size_t i);
/*
 * Return the format called NAME. If there is none, print an error message for VERB that lists the
 * formats, and return NULL.
 */
const struct exporter *exporter_find(const char *name, const char *verb);

/*
 * Return a default file name for the output made of the trace OPERAND: the last part of OPERAND,
 * with SUFFIX instead of its own suffix. The file is in the current directory. The caller frees the
 * name. Return NULL without memory.
 */
char *export_path(const char *operand, const char *suffix);

/* Print a message on stderr if some threads or counters of S were beyond the limits. */
void slices_report_refused(const struct slices *s);

/* The formats. Each is defined in a file of its own. */
extern const struct exporter export_chrome;
extern const struct exporter export_csv;
extern const struct exporter export_ctf;
extern const struct exporter export_fxt;
extern const struct exporter export_html;
extern const struct exporter export_json;
extern const struct exporter export_perfetto;
extern const struct exporter export_sqlite;
extern const struct exporter export_svg;

#endif
