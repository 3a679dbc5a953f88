/* One line on a terminal that says how far a download is; nothing anywhere else. */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

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
