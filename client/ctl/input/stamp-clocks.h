/* Read pairs of a guest's time and dom0's time from the API, for <mprof/clocks.h>. */
#ifndef CTL_CLOCKS_H
#define CTL_CLOCKS_H

#include <jansson.h>

#include <mprof/clocks.h>

#include "clock-offset.h"
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

/*
 * Improve C, the estimate of the clock of stream NUMBER of CAPTURE, which the daemon describes. A
 * capture can be too short to give the offset a lower bound. In that case read more of the capture's
 * run, if the daemon still has it. Return an exit code.
 */
int clocks_read_run(struct mprof_clocks *c, struct http *h, const json_t *capture, int64_t number);

#define CLOCKS_RUN_MAX 24u /* bytes that hold the number of a run */

/*
 * Estimate the offset C of the clock of T, a domain or a capture, from the packets that S selects.
 * For a domain without a run in S, write the number of the latest run to RUN (CLOCKS_RUN_MAX bytes)
 * and set S->run to RUN, so that the trace is read of the same run. RUN must live as long as S. If there
 * is no such guest, or its packets have no stamps, the offset is unknown. Return an exit code.
 */
int clocks_offset(struct clock_offset *c, struct http *h, const struct trace_source *t, struct selection *s, char *run);

#endif
