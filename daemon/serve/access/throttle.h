/*
 * Slow down a peer that sends wrong credentials or begins many TLS handshakes, and nobody else.
 *
 * Each peer has an allowance that refills with time. The table is bounded: if all places are taken,
 * the peer that was quiet for longest loses its place, and with it what it had used up.
 */
#ifndef SERVE_THROTTLE_H
#define SERVE_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer.h"

#define THROTTLE_PEERS	  1024u
#define THROTTLE_WRONG	  10u		 /* wrong credentials of a peer in a row that are answered 401 */
#define THROTTLE_WRONG_NS 1000000000ull	 /* one more is allowed after this time */
#define THROTTLE_LOG_NS	  10000000000ull /* at most one journal line for each peer in this time */

struct throttle_peer {
	struct peer peer;
	uint64_t seen; /* CLOCK_MONOTONIC ns of its last use; 0 = the place is free */
	/*
	 * Times up to which the allowances are used up: an event moves its time ahead by the time
	 * that it costs, and is refused if that is too far ahead of now.
	 */
	uint64_t wrong_until, handshakes_until;
	uint64_t logged;  /* when a line was logged last; 0 = never */
	uint32_t refused; /* wrong credentials since then */
};

/* A zeroed struct is empty and ready. */
struct throttle {
	struct throttle_peer peers[THROTTLE_PEERS];
};

/* Return whether PEER has used up its wrong credentials at NOW (CLOCK_MONOTONIC ns, as below). */
bool throttle_is_wrong(struct throttle *t, struct peer peer, uint64_t now);
/*
 * Count a wrong credential of PEER. Return the number of them to log now, with those that were not
 * logged before; 0: log nothing.
 */
uint32_t throttle_wrong(struct throttle *t, struct peer peer, uint64_t now);
/* Count a handshake of PEER, of which EACH_SECOND are allowed. Return false if it is too many. */
bool throttle_handshake(struct throttle *t, struct peer peer, uint32_t each_second, uint64_t now);
/*
 * Return the next peer with wrong credentials that a line is due for at NOW, and set *N to their
 * number; NULL: none. Call it about once a second until it returns NULL.
 */
const struct peer *throttle_due(struct throttle *t, uint64_t now, uint32_t *n);

#endif
