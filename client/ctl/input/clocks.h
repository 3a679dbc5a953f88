/* What the API says of how a guest's clock stands to dom0's; <mprof/clocks.h> draws the conclusions. */
#ifndef CTL_CLOCKS_H
#define CTL_CLOCKS_H

#include <jansson.h>

#include <mprof/clocks.h>

#include "http.h"
#include "trace-source.h"

/* What one packet of /packets says, in the order of one stream. */
void clocks_packet(struct mprof_clocks *c, const json_t *packet);

/* All packets of what T and S name, which is one stream; none where there is no such guest.  Returns an exit code, having said why. */
int clocks_read(struct mprof_clocks *c, struct http *h, const struct trace_source *t, const struct selection *s);

#endif
