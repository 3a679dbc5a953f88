/*
 * The file with the offset of the guest's clock beside a fetched trace, FILE.clock.json
 * (schema/clock.md).
 */
#ifndef CTL_CLOCK_FILE_H
#define CTL_CLOCK_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock-offset.h"

#define CLOCK_FILE_SUFFIX ".clock.json"

/* The content of the file. */
struct clock_file {
	const char *guest;   /* name on the command line; any bytes */
	const char *run;     /* decimal number; NULL = unknown */
	const char *stream;  /* decimal number; NULL = the only one */
	const char *fetched; /* HTTP date of the answer, by dom0's clock; NULL = unknown */
	uint64_t bytes;	     /* size of the trace in bytes */
	struct clock_offset offset;
};

/*
 * Return the text of the file. The caller frees it. Return NULL without memory.
 */
char *clock_file_text(const struct clock_file *f);

/*
 * Read the offset C from the file beside the trace TRACE, whose size is BYTES; 0 = unknown. The file
 * of a trace that was compressed since has the name without .gz, .xz or .zst. If there is no file,
 * or it is invalid, the offset is unknown; the latter is reported. Return an exit code.
 */
int clock_file_read(struct clock_offset *c, const char *trace, uint64_t bytes);

#endif
