/*
 * Have the rows of captures decoded to a file (decoded.h), so that their traces are sent without decoding.
 *
 * Copied are captures of guests that ended, one after the other, when the event loop has nothing else to do: what a
 * client gets of them, each row once. A new capture takes the place of the oldest rows; an older one takes only free
 * room. A capture that does not fit is not copied, or only its first streams are.
 */
#ifndef SERVE_COPYING_H
#define SERVE_COPYING_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "packet.h"

struct copying;

/*
 * Begin, with a file of at most MOST bytes in DIRECTORY, an open directory; SCRATCH has its rows from then on. EVENT,
 * READER and SCRATCH are borrowed. Return 0, with the object in *CP, or -errno.
 */
int copying_new(struct copying **cp, sd_event *event, struct reader *reader, struct scratch *scratch, int directory,
		uint64_t most);
/* End, and take the rows away from SCRATCH. Return NULL. */
struct copying *copying_free(struct copying *c);
CLEANUP_DEFINE(struct copying, copying_free)

/* Have CAPTURE copied in its turn, unless it was wanted lately, or too many wait. */
void copying_want(struct copying *c, int64_t capture);

#endif
