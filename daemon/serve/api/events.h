/* The bodies of /v1/events. */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "exchange.h"

#define EVENTS_MOST 128u /* bodies at a time, at most */

/*
 * Keep the watch running, and disconnect E's client if it reads nothing. Call it about once a
 * second.
 */
void events_tick(struct events *e);

#endif
