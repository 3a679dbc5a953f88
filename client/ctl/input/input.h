/*
 * A trace that a person names, from wherever it is to the events: a file, standard input, a CTF directory, a compressed file or a tar of
 * one, an old log of s-expressions, a capture, a domain.
 */
#ifndef CTL_INPUT_H
#define CTL_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"
#include "ctl.h"
#include "options.h"
#include "time-filter.h"
#include "trace-source.h"

/* The sink ended it; nothing was said. */
#define INPUT_REFUSED (-1)

struct input_stream {
	struct mprof_totals totals;
	uint64_t bytes; /* of the stream, unpacked */
};

struct input {
	const struct ctl *ctl;	   /* borrowed */
	const struct consumer *to; /* borrowed */
	struct consumer consumer;  /* in front of TO: remembers that it refused */
	const char *name;	   /* for complaints; borrowed */
	int refused;		   /* what TO returned */
	/* What was read: */
	unsigned int streams;
	struct input_stream *stream; /* each; owned */
	uint64_t damages;	     /* of all, and of what they were packed in */
};

/*
 * Read the trace that OPERAND names, and of a domain or capture what S selects, into SINK; with FOLLOW a domain's as it grows.  VERB is
 * for hints.  Returns an exit code, having said why (CTL_DAMAGED where damage was passed over), or INPUT_REFUSED.  Deinit in any case.
 */
int input_run(struct input *in, const struct ctl *ctl, const struct consumer *consumer, const char *operand,
	      const struct selection *s, bool follow, const char *verb);
void input_deinit(struct input *in);

/* What the verbs share that read a trace to its end and then tell of it: their command line, and the reading. */

struct trace_args {
	const struct ctl *ctl;
	const char *verb;
	struct operands left; /* the first one names the trace */
	struct selection selection;
	struct period period;
	struct input in;
};

#define TRACE_ARGS_OWN_MAX 8

/*
 * Take apart ARGV, whose options are --last, --run, --stream, --from, --to and the N_OWN of OWN, up to READING_OWN_MAX; up to MAX operands are left.
 * Returns an exit code, having said why.  Deinit in any case.
 */
int trace_args_parse(struct trace_args *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		     size_t n_own, size_t max);
/* Read all of the trace into SINK, which refuses for lack of memory alone.  Returns an exit code, having said why. */
int trace_args_read(struct trace_args *x, const struct consumer *consumer);
/* After an exit code of reading_run(): is there a trace to tell of, damaged or not? */
bool trace_was_read(int code);
void trace_args_deinit(struct trace_args *x);

#endif
