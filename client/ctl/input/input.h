/*
 * Read the events of a trace that the command line names. The trace is a file, standard input, a
 * CTF directory, a compressed file or tar of one of these, an s-expression log of 2014, a capture,
 * or a domain.
 */
#ifndef CTL_INPUT_H
#define CTL_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/runtime.h>

#include "consumer.h"
#include "ctl.h"
#include "options.h"
#include "timing.h"
#include "trace-source.h"

/* Result of input_run(): the consumer stopped the reading. No error was reported. */
#define INPUT_REFUSED (-1)

struct input_stream {
	struct mprof_totals totals;
	uint64_t bytes;	    /* size of the stream in bytes, unpacked */
	uint64_t cut_bytes; /* bytes of the unproven end that the daemon cut, because no event can be read in them */
};

struct input {
	const struct ctl *ctl;	   /* borrowed */
	const struct consumer *to; /* the caller's consumer; borrowed */
	struct consumer consumer;  /* passes all to TO and stores its error in REFUSED */
	const char *name;	   /* name of the trace for messages; borrowed */
	int refused;		   /* the -errno that TO returned; 0 = none */
	/*
	 * How the verb shows and reads times. Set before input_run() by the caller, which owns it;
	 * NULL = the verb needs no offset of the clock.
	 */
	struct timing *timing;
	/*
	 * Further files of one program, whose rings are one trace with that of the operand. Set before
	 * input_run() by input_take_files().
	 */
	const char *const *more;
	size_t n_more;
	enum mprof_runtime_numbering numbering; /* of ring files of OCaml, as the selection names it */
	/*
	 * Exit code of what ended the reading before the first event: the period's wall times, or the kind of
	 * the file; 0 = none.
	 */
	int unread;
	/* Totals, set when the reading ended. */
	unsigned int streams;
	struct input_stream *stream; /* array of STREAMS streams; owned */
	uint64_t damages;	     /* number of damaged places in all streams and in the archive file around them */
	uint64_t cut_bytes;	     /* sum over all streams */
};

/*
 * Read the trace OPERAND and pass its events to CONSUMER. S selects a part of a domain or capture.
 * With FOLLOW a domain's trace is read while it grows. If IN->timing needs the offset of the trace's
 * clock, find it and convert the period's wall times before the first event. VERB is for messages. Return an exit code
 * (CTL_DAMAGED if damage was skipped) or INPUT_REFUSED. The caller deinits IN in any case.
 */
int input_run(struct input *in, const struct ctl *ctl, const struct consumer *consumer, const char *operand,
	      const struct selection *s, bool follow, const char *verb);
void input_deinit(struct input *in);
/*
 * The first N of the operands LEFT, which the caller keeps, name one trace for IN: one operand, or
 * several files, which are rings of one program. Report an operand that is no file and not the only
 * one. Return an exit code.
 */
int input_take_files(struct input *in, const struct operands *left, size_t n, const char *verb);

/* The command line and the input of a verb that reads a whole trace before it prints anything. */
struct trace_args {
	const struct ctl *ctl;
	const char *verb;
	struct operands left; /* operands; the first one, or several that are files, name the trace */
	const char *rest;     /* the operand behind these; NULL = there is none */
	struct selection selection;
	struct timing timing;
	struct input in;
};

/*
 * Parse ARGV into T and O. An operand behind the trace, if the verb takes one, is no file. Return an exit
 * code. The caller deinits T in any case, and does not move it.
 */
int trace_args_parse(struct trace_args *t, const struct ctl *ctl, int argc, char **argv, struct options *o);
/*
 * Read the whole trace into CONSUMER. CONSUMER returns no other error than -ENOMEM. Return an exit
 * code.
 */
int trace_args_read(struct trace_args *t, const struct consumer *consumer);
/*
 * Return true if CODE, which trace_args_read() returned, means that a trace was read, damaged or
 * not.
 */
bool trace_was_read(int code);
void trace_args_deinit(struct trace_args *t);

#endif
