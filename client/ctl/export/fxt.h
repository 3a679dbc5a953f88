/* Write slice events as records of the Fuchsia trace format. */
#ifndef CTL_FXT_H
#define CTL_FXT_H

#include <stdint.h>

#include "output-writer.h"
#include "slices.h"
#include "texts.h"

#define FXT_RECORD_WORDS 4095u /* greatest length of a record in 8-byte words */
#define FXT_THREADS	 255u  /* number of entries of the format's thread table */
struct fxt {
	struct writer *out;   /* output; borrowed */
	struct slice_ops ops; /* functions that write slice events; pass it to slices_init() */
	struct texts strings;
	struct text_constants constants; /* numbers of constant strings */
	uint32_t threads[FXT_THREADS];	 /* thread table of the format: the track of index I + 1; 0 = free */
	unsigned int n;			 /* words in the record that is being written */
	uint64_t record[FXT_RECORD_WORDS];
};

/* Begin writing to OUT. The caller keeps the ownership of OUT. No memory is allocated. */
void fxt_init(struct fxt *f, struct writer *out);
void fxt_deinit(struct fxt *f);

/*
 * Write the head of the file. NAME (any bytes) becomes the name of the trace's provider. Return 0
 * or -errno.
 */
int fxt_begin(struct fxt *f, const char *name);

#endif
