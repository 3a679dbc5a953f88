/* Acts as records of the Fuchsia trace format. */
#ifndef CTL_FXT_H
#define CTL_FXT_H

#include <stdint.h>

#include "slices.h"
#include "texts.h"
#include "writer.h"

#define FXT_RECORD_WORDS 4095u /* the most that a record has */
#define FXT_THREADS	 255u  /* in the table */

struct fxt {
	struct writer *out;   /* borrowed */
	struct slice_ops ops; /* to be given to acts_init() */
	struct texts strings;
	uint32_t threads[FXT_THREADS]; /* tracks, by index less 1; 0 = none */
	unsigned int n;		       /* words of the record at hand */
	uint64_t record[FXT_RECORD_WORDS];
};

/* To OUT, which stays the caller's.  No memory is taken. */
void fxt_init(struct fxt *f, struct writer *out);
void fxt_deinit(struct fxt *f);

/* What a file begins with; NAME, any bytes, is the provider's.  0 or -errno. */
int fxt_begin(struct fxt *f, const char *name);

#endif
