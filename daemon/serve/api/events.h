/* The bodies of /v1/events. */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "exchange.h"

#define EVENTS_MOST 128u /* at a time */

/* To be called about once a second: end the connection of a client that takes nothing. */
void events_tick(struct events *e);

#endif
