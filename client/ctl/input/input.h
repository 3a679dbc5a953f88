/*
 * Read the events of a trace that a person names: a file, standard input, a CTF directory, a
 * compressed file or tar of one, an s-expression log of 2014, a capture, or a domain.
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

/* The consumer stopped the reading. Nothing was reported. */
#define INPUT_REFUSED (-1)

struct input_stream {
	struct mprof_totals totals;
	uint64_t bytes; /* unpacked size of the stream */
};

struct input {
	const struct ctl *ctl;	   /* borrowed */
	const struct consumer *to; /* borrowed */
	struct consumer consumer;  /* in front of TO; notes a refusal */
	const char *name;	   /* for messages; borrowed */
	int refused;		   /* the error that TO returned */
	/* Totals of the reading: */
	unsigned int streams;
	struct input_stream *stream; /* one for each; owned */
	uint64_t damages;	     /* damage of all streams and of the archive that holds them */
};

/*
 * Read the trace OPERAND into CONSUMER, of a domain or capture only the part that S selects. With
 * FOLLOW read a domain's trace as it grows. VERB is for messages. Return an exit code (CTL_DAMAGED
 * if damage was skipped) or INPUT_REFUSED. The caller deinits IN in any case.
 */
int input_run(struct input *in, const struct ctl *ctl, const struct consumer *consumer, const char *operand,
	      const struct selection *s, bool follow, const char *verb);
void input_deinit(struct input *in);

/* The command line and the input of a verb that reads a trace to its end before it prints. */
struct trace_args {
	const struct ctl *ctl;
	const char *verb;
	struct operands left; /* the first names the trace */
	struct selection selection;
	struct period period;
	struct input in;
};

#define TRACE_ARGS_OWN_MAX 8

/*
 * Parse ARGV with the options --last, --run, --stream, --from, --to and the N_OWN (at most
 * TRACE_ARGS_OWN_MAX) of OWN. Allow at most MAX operands. Return an exit code. The caller deinits X
 * in any case.
 */
int trace_args_parse(struct trace_args *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		     size_t n_own, size_t max);
/*
 * Read the whole trace into CONSUMER, which refuses only for lack of memory. Return an exit code.
 */
int trace_args_read(struct trace_args *x, const struct consumer *consumer);
/* Return true if trace_args_read() with the exit code CODE has read a trace, damaged or not. */
bool trace_was_read(int code);
void trace_args_deinit(struct trace_args *x);

#endif
