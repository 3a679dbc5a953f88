/* The API's information on a guest's clock and dom0's clock, for <mprof/clocks.h>. */
#ifndef CTL_CLOCKS_H
#define CTL_CLOCKS_H

#include <jansson.h>

#include <mprof/clocks.h>

#include "http.h"
#include "trace-source.h"

/* Add one packet of the route /packets. Call it in the order of the stream. */
void clocks_packet(struct mprof_clocks *c, const json_t *packet);

/*
 * Add all packets of the one stream that T and S select. Add none if there is no such guest. Return
 * an exit code.
 */
int clocks_read(struct mprof_clocks *c, struct http *h, const struct trace_source *t, const struct selection *s);

#endif
