/* All streams of a guest or a capture, side by side. */
#ifndef CTL_REMOTE_STREAMS_H
#define CTL_REMOTE_STREAMS_H

#include "lanes.h"
#include "target.h"

/*
 * Where T, of which S selects, has several streams, download each, and add it to L; where it has one, or none, L stays empty.  0, -errno, or an exit
 * code, having said why.
 */
int remote_streams(struct lanes *l, struct http *h, const struct target *t, const struct selection *s);

#endif
