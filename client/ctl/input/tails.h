/* From when on a stream of the daemon's was not proven: what was copied when its guest had stopped, and of which the server kept what holds. */
#ifndef CTL_TAILS_H
#define CTL_TAILS_H

#include "remote-streams.h"
#include "sink.h"

/*
 * Tell TO, if it wants to know, of each stream of X with a tail, counted as S selects them, the guest's time of the first event in it; nothing of one whose
 * tail hung on what was deleted.  At most two short requests a stream, and none where there can be no tail.  An exit code, having said why, or what TO
 * returned.
 */
int tails_tell(const struct remote *x, struct http *h, const struct selection *s, const struct sink *to);

#endif
