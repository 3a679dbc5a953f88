/* The bodies of /v1/events of a hub. */
#ifndef SERVE_HUB_EVENTS_H
#define SERVE_HUB_EVENTS_H

#include "exchange.h"

/* Disconnect E's client if it reads nothing. Call it about once a second. */
void hub_events_tick(struct events *e);

#endif
