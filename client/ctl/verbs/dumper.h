/* Events as lines, text or JSON, on a file descriptor. */
#ifndef CTL_DUMPER_H
#define CTL_DUMPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"
#include "writer.h"

struct filter;

struct dumper {
	struct writer out;
	struct consumer consumer; /* for whatever reads the trace */
	struct filter *filter;	  /* NULL = every event; borrowed */
	/* Of a trace of several streams each line names its own; NULL = there is one. */
	char *const *streams;
	bool json;
};

/* Lines go to OUT_FD; false without memory. */
bool dumper_init(struct dumper *d, int out_fd, bool json);
void dumper_deinit(struct dumper *d);

#endif
