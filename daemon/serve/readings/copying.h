/*
 * Have the rows of captures decoded to a file (decoded.h), so that their traces are sent without decoding.
 *
 * It copies captures of guests that ended, one at a time, when the event loop is idle. It copies each row that a client
 * would get, once. A new capture takes the place of the oldest rows; an older one takes only free room. A capture that does
 * not fit is not copied, or only its first streams are; of one with more than DECODED_ROWS_MOST rows only the first are.
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

/*
 * Have CAPTURE copied in its turn, unless it was wanted lately, or too many wait. If the archive is busy then, it is copied
 * when it is wanted again.
 */
void copying_want(struct copying *c, int64_t capture);

#endif
