/* The rate at which a stream is archived. */
#ifndef SERVE_RATE_H
#define SERVE_RATE_H

#include "reader.h"

#define RATE_SECONDS 10u

/*
 * Return in *RATE the content bytes of a stream that were copied in the RATE_SECONDS before NOW
 * (CLOCK_REALTIME ns), for each second. NEWEST is its newest packet. Return what the reader
 * returns.
 */
int rate_of_stream(struct reader *r, int64_t stream, const struct reader_packet *newest, uint64_t now, uint64_t *rate);

#endif
