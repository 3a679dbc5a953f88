/*
 * This file declares downloads of a whole HTTP body. A download resumes after a broken connection.
 */
#ifndef CTL_DOWNLOAD_H
#define CTL_DOWNLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http.h"

struct download {
	/*
	 * Take the next LEN bytes. Return 0, or another value to stop. Every byte is passed once
	 * and in order, except after start_over().
	 */
	int (*write)(void *context, const uint8_t *bytes, size_t len);
	/*
	 * Drop all bytes that write() took, because the body begins again. Return 0, or another
	 * value to stop. May be NULL if the bytes cannot be dropped.
	 */
	int (*start_over)(void *context);
	void *context;
	int refused; /* the value other than 0 that write() or start_over() returned */
	/*
	 * The headers Mprof-Cut, Mprof-Lost-Packets and Mprof-Complete of the first answer, for messages; NULL
	 * if absent; owned.
	 */
	char *cut;
	char *lost;
	char *complete;
	/*
	 * The header Date of the first answer, and the path of the fixed selection that the body is,
	 * if the server named one; NULL if absent; owned.
	 */
	char *date;
	char *location;
};

/*
 * Fetch the body of PATH. Return an exit code. If D->refused is set, return CTL_FAILED without a
 * message.
 */
int download_run(struct download *d, struct http *h, const char *path);
void download_deinit(struct download *d);

/*
 * Return the number of bytes that CUT, a header Mprof-Cut, says were cut; 0 if CUT is NULL or says no number.
 */
uint64_t download_cut_bytes(const char *cut);

/*
 * A line on a terminal that shows the progress of a download. If stderr is no terminal, the
 * functions do nothing.
 */
struct progress {
	bool shown; /* stderr is a terminal */
	uint64_t bytes;
	int64_t began_ms;
	int64_t drawn_ms;
	const char *name; /* borrowed */
};

void progress_init(struct progress *p, const char *name);
void progress_add(struct progress *p, uint64_t bytes);
/* Clear the line on the terminal. */
void progress_done(struct progress *p);

#endif
