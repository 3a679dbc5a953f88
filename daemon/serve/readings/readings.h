/*
 * Readings: the results of the readers of this host's captures (schema/reading.md).
 *
 * Each capture is read once: when it was made and no longer changes, or when somebody asks for it. One reader runs at a
 * time, as a process without rights (daemon/reading). Readings are kept in memory and in a cache of files, by a key of
 * the capture's rows, so a reading never belongs to other rows. Nothing waits for a reader.
 *
 * Memory: READINGS_MOST readings of 7 KiB, and the tails' ends (tail-ends.h).
 */
#ifndef SERVE_READINGS_H
#define SERVE_READINGS_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "packet.h"
#include "reading-result.h"

#define READINGS_MOST 512u

struct readings;

/* Called when there is a new reading, of CAPTURE. */
typedef void readings_notify(void *context, int64_t capture);

/*
 * Create the readings of READER's archive; their tails' ends go to SCRATCH. CACHE is the directory for files;
 * NULL = none. DECODED is the most bytes of decoded rows in CACHE (copying.h); 0 = none. EVENT, READER, SCRATCH
 * and CONTEXT are borrowed. Return 0, with the readings in *RP, or -errno.
 */
int readings_new(struct readings **rp, sd_event *event, struct reader *reader, struct scratch *scratch,
		 const char *cache, uint64_t decoded, readings_notify *notify, void *context);
/* End the reader that runs, and free all. Return NULL. */
struct readings *readings_free(struct readings *r);
CLEANUP_DEFINE(struct readings, readings_free)

/* Look for captures that are new and no longer change. Call it about once a second. */
void readings_tick(struct readings *r);
/*
 * Return the reading of CAPTURE, borrowed until the next call, and remember the ends of its tails. NULL: there is none
 * yet. With WANTED the capture is read soon, in its turn; if its reader was ended, by a limit or by a machine without memory, it is
 * read again, the later the more often that has happened.
 */
const struct reading_result *readings_find(struct readings *r, int64_t capture, bool wanted);

struct readings_counts {
	uint64_t read, failed; /* captures that a reader has read, and could not read */
	uint64_t refused;      /* captures that were wanted while too many waited */
	uint64_t ns;	       /* that readers took, by the clock */
	uint64_t cache_bytes;  /* of files */
	unsigned waiting;
};
struct readings_counts readings_counts(const struct readings *r);

#endif
