/*
 * The forwarder's own state, in files that are replaced as a whole: the epoch of the hub that it last compared
 * inventories with; how many pieces of packets that hub had; and the part of a memory profile that it sends
 * with a capture, because the profile of a running guest grows, and a capture must be the same at each attempt.
 */
#ifndef FORWARD_OWN_STATE_H
#define FORWARD_OWN_STATE_H

#include "hub.h"

/*
 * Read the epoch from DIRECTORY into EPOCH; "" if there is none, or what is there is no epoch. Return whether
 * there is a file: without one this program has compared nothing before.
 */
bool own_state_read(const char *directory, char epoch[HUB_UUID_BYTES]);
/* Write EPOCH. Return 0 or -errno. */
int own_state_write(const char *directory, const char *epoch);

/*
 * Read the number of pieces of packets that the hub is known to have of months from KEEPS_SINCE on. Return false if
 * it is not known.
 */
bool own_state_pieces_read(const char *directory, char keeps_since[HUB_MONTH_BYTES], uint64_t *pieces);
/* Write that number. Return 0 or -errno. */
int own_state_pieces_write(const char *directory, const char *keeps_since, uint64_t pieces);

/* Read the part that was chosen for CAPTURE. Return false if the last one was chosen for another capture. */
bool own_state_memory_read(const char *directory, int64_t capture, struct memory_part *memory);
/* Write the part that is chosen for CAPTURE. Return 0 or -errno. */
int own_state_memory_write(const char *directory, int64_t capture, const struct memory_part *memory);

#endif
