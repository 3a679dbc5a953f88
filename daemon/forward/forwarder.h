/* The loop: connect to the hub, and send the outbox. */
#ifndef FORWARD_FORWARDER_H
#define FORWARD_FORWARDER_H

#include <stddef.h>

#include "config.h"

struct forwarder_options {
	const char *state; /* directory of the archive */
	const char *run;   /* directory of the collector's control socket */
	const char *own;   /* directory of this program's own state */
};

/*
 * Send the outbox until the process is killed, which may happen at any time. Return the exit code with
 * a sentence in SENTENCE (SIZE bytes) if it cannot begin: 2 if CONFIG is wrong, else 1.
 */
int forwarder_run(const struct config *config, const struct forwarder_options *options, char *sentence, size_t size);

#endif
