/* The parts of a hub that its handlers share. */
#ifndef SERVE_FLEET_H
#define SERVE_FLEET_H

#include "workers.h"

struct copies;
struct feed;

/* Owned by struct hub_server. */
struct fleet {
	struct workers *workers;
	struct copies *copies;
	struct feed *feed;
};

#endif
