/* The rate at which a stream is archived. */
#ifndef BODY_RATE_H
#define BODY_RATE_H

#include "reader.h"

#define RATE_SECONDS 10u

/*
 * Set *RATE to the content bytes per second that were copied from a stream in the RATE_SECONDS
 * before NOW (CLOCK_REALTIME ns). NEWEST is the stream's newest packet. Return what the reader
 * returns.
 */
int rate_of_stream(struct reader *r, int64_t stream, const struct reader_packet *newest, uint64_t now, uint64_t *rate);

#endif
