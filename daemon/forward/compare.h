/* A hub that was restored has lost something: compare inventories, and have it sent again. */
#ifndef FORWARD_COMPARE_H
#define FORWARD_COMPARE_H

#include "collector.h"
#include "hub.h"
#include "reader.h"

/*
 * Ask the collector to send again each capture that the archive has and the hub has not, from the
 * month KEEPS_SINCE on, and the packets that the hub has not. *AGAIN: how many captures. Return 0, a
 * hub_condition, or SENDER_E_ARCHIVE.
 */
int compare_inventories(struct reader *r, struct hub *hub, struct collector_client *collector, const char *keeps_since,
			uint64_t *again);

#endif
