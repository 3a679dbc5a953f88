/*
 * The periods of this host's clocks (archive/age.h), which the hub keeps, and what they say of stamps.
 *
 * A stamp may be wrong. The hub files an object in the month in which it was taken (schema/fleet/README.md), and this
 * host finds the same time by the same rule.
 */
#ifndef FORWARD_PERIODS_H
#define FORWARD_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

#include "age.h"
#include "hub.h"
#include "log.h"
#include "reader.h"

/* Zeroed, it knows nothing: then each stamp is right. */
struct periods {
	struct age age;	    /* as the archive had it */
	int64_t hub_offset; /* the hub's clock minus the age clock, ns */
	bool is_known;	    /* the hub has taken the periods, so HUB_OFFSET is known */
	uint64_t looked_at; /* when the archive was read last, CLOCK_MONOTONIC ns; 0 = never */
	struct log_limit refused;
};

void periods_deinit(struct periods *p);

/*
 * Read the periods, and send them to the hub if they have changed, or if ALWAYS. Return 0, also if the archive cannot
 * be read now, or if the hub does not take them; or HUB_E_LOST or HUB_E_STRANGER.
 */
int periods_send(struct periods *p, struct reader *r, struct hub *hub, bool always);
/* The same if the last call is some seconds ago. */
int periods_send_due(struct periods *p, struct reader *r, struct hub *hub);

/*
 * Return when something was taken that is stamped MONO and REAL, ns since 1970: REAL, unless it is known to be
 * wrong.
 */
uint64_t periods_taken(const struct periods *p, uint64_t mono, uint64_t real);
/* The same for a stamp of CLOCK_REALTIME alone. */
uint64_t periods_taken_real(const struct periods *p, uint64_t real);

#endif
