/* Read pairs of a guest's time and dom0's time from the API, for <mprof/clocks.h>. */
#ifndef CTL_CLOCKS_H
#define CTL_CLOCKS_H

#include <jansson.h>

#include <mprof/clocks.h>

#include "http.h"
#include "trace-source.h"

/*
 * Add the times of PACKET, one packet of the answer to the route /packets. Call it in the order of
 * the stream.
 */
void clocks_packet(struct mprof_clocks *c, const json_t *packet);

/*
 * Add the times of all packets of the stream that T and S select. If there is no such guest, add
 * nothing and return CTL_OK. Return an exit code.
 */
int clocks_read(struct mprof_clocks *c, struct http *h, const struct trace_source *t, const struct selection *s);

#endif
