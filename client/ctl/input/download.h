/* A body of known end, fetched whole: over broken connections too. */
#ifndef CTL_DOWNLOAD_H
#define CTL_DOWNLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http.h"

struct download {
	/* The next bytes; 0, or anything else to end it.  Every byte comes once and in order, but for a new start. */
	int (*write)(void *data, const uint8_t *bytes, size_t len);
	/* Forget all bytes so far, the body begins again; 0, or anything else to end it.  NULL: that cannot be done. */
	int (*start_over)(void *data);
	void *data;
	int refused; /* what write() or start_over() returned, where it was not 0 */
	/* What the first answer said, for the person, as answer headers; owned. */
	char *cut;
	char *lost;
};

/*
 * Fetch PATH.  Returns an exit code, having said why; CTL_FAILED without a word where D->refused says why.
 */
int download_run(struct download *d, struct http *h, const char *path);
void download_deinit(struct download *d);

/* One line on a terminal that says how far a download is; nothing anywhere else. */

struct progress {
	bool shown; /* is stderr a terminal? */
	uint64_t bytes;
	int64_t began_ms;
	int64_t drawn_ms;
	const char *name; /* borrowed */
};

void progress_init(struct progress *p, const char *name);
void progress_add(struct progress *p, uint64_t bytes);
/* Wipe the line. */
void progress_done(struct progress *p);

#endif
