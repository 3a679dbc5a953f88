/* Print events as lines of text or JSON on a file descriptor. */
#ifndef CTL_DUMPER_H
#define CTL_DUMPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"
#include "output-writer.h"

struct filter;
struct timing;

struct dumper {
	struct writer out;
	struct consumer consumer; /* prints events; give it to the code that reads the trace */
	struct filter *filter;	  /* selects the events to print; NULL for all; borrowed */
	/* Names of the streams, printed with each event; NULL for a single stream; borrowed. */
	char *const *streams;
	bool json;
	struct timing *timing; /* shows times; NULL: the guest's own clock, as fast as possible; borrowed */
	bool begun;	       /* if TIMING: the first event was seen */
};

/* Begin printing to OUT_FD, as text or as JSON. Return false without memory. */
bool dumper_init(struct dumper *d, int out_fd, bool json);
void dumper_deinit(struct dumper *d);

#endif
