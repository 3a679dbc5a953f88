/*
 * The forwarder's own state: the epoch of the hub that it last compared inventories with, in a file
 * that is replaced as a whole.
 */
#ifndef FORWARD_OWN_STATE_H
#define FORWARD_OWN_STATE_H

#include "hub.h"

/* Read the epoch from DIRECTORY into EPOCH; "" if there is none, or what is there is no epoch. */
void own_state_read(const char *directory, char epoch[HUB_UUID_BYTES]);
/* Write EPOCH. Return 0 or -errno. */
int own_state_write(const char *directory, const char *epoch);

#endif
