/*
 * How a guest's clock stands to dom0's, as far as the stamps of its archived packets say.
 *
 * Nothing is copied before it happened, so each copy bounds the offset from above.  From below it is bounded by what had not been there: an event
 * that was copied at one look was not there four looks before, as long as the collector kept up.  Where that is not known there is no
 * bound from below.
 */
#ifndef CTL_CLOCKS_H
#define CTL_CLOCKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <mprof/model.h>

#include "http.h"
#include "target.h"

#define CLOCKS_LOOKS 5u /* one, and four before it */

/* Dom0's two clocks at one moment. */
struct clocks_stamp {
	uint64_t mono, real; /* ns */
	uint64_t sequence;   /* of the packet that was copied then */
	uint64_t offset;     /* a chunk's end in it */
};

struct clocks {
	struct mprof_clock mono, real;		 /* from the guest's clock to either of dom0's */
	struct clocks_stamp looks[CLOCKS_LOOKS]; /* the newest that are surely different, the oldest first */
	unsigned int n_looks;
	struct clocks_stamp latest; /* the newest stamp */
	uint64_t stamps;	    /* that were seen */
	bool stepped;		    /* the guest's clock went back; what is known is known since then */
};

/* What one packet of /packets says.  To be called in the order of one stream; clocks_stream() before another stream of the same guest. */
void clocks_packet(struct clocks *c, const json_t *packet);
void clocks_stream(struct clocks *c);

/* All packets of what T and S name, which is one stream; none where there is no such guest.  Returns an exit code, having said why. */
int clocks_read(struct clocks *c, struct http *h, const struct target *t, const struct selection *s);

/*
 * The offset to dom0's monotonic clock, or with REALTIME to its other one: *OFFSET is to be added, and the true one is at most *UNCERTAINTY
 * below it, UINT64_MAX where that is not known.  False, with offset 0, where nothing is known.
 */
bool clocks_offset(const struct clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty);

#endif
