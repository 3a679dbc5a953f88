/* Write slice events as records of the Fuchsia trace format. */
#ifndef CTL_FXT_H
#define CTL_FXT_H

#include <stdint.h>

#include "slices.h"
#include "texts.h"
#include "writer.h"

#define FXT_RECORD_WORDS 4095u /* the longest record */
#define FXT_THREADS	 255u  /* in the table */
struct fxt {
	struct writer *out;   /* borrowed */
	struct slice_ops ops; /* for slices_init() */
	struct texts strings;
	struct text_constants constants; /* numbers of constant strings */
	uint32_t threads[FXT_THREADS];	 /* the track at each index less 1; 0 = none */
	unsigned int n;			 /* words of the present record */
	uint64_t record[FXT_RECORD_WORDS];
};

/* Begin writing to OUT, which the caller keeps. Allocates nothing. */
void fxt_init(struct fxt *f, struct writer *out);
void fxt_deinit(struct fxt *f);

/* Write the head of the file; NAME, any bytes, is the provider's name. Return 0 or -errno. */
int fxt_begin(struct fxt *f, const char *name);

#endif
