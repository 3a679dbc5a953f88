/*
 * Compare what the host holds with what its hub holds, and have sent again what the hub lacks: the hub was
 * restored from a backup, or rows of the outbox were damaged or lost.
 */
#ifndef FORWARD_COMPARE_H
#define FORWARD_COMPARE_H

#include "collector-client.h"
#include "config.h"
#include "hub.h"
#include "periods.h"
#include "reader.h"

#define COMPARE_MONTHS	60u
#define COMPARE_REFUSED 1024u

/* The findings of earlier comparisons. Zero it and set CONFIG and PERIODS, which are borrowed. */
struct compare {
	const struct config *config;
	const struct periods *periods; /* of the clocks; borrowed */
	/* Sums of months of which the hub lacked nothing. */
	struct {
		struct hub_sum hub, mine;
	} seen[COMPARE_MONTHS];
	/* The newest captures that the hub refuses for good: they are not sent again by this process. */
	int64_t refused[COMPARE_REFUSED];
	size_t next_refused;
};

/* The hub refuses CAPTURE. */
void compare_refused(struct compare *c, int64_t capture);

struct compare_result {
	uint64_t captures; /* that are sent again */
	uint64_t streams;  /* some packets of which are sent again */
	uint64_t pieces;   /* of packets, that the hub has of the host, of all archives */
	bool has_sums;	   /* the hub knows sums, and with them PIECES */
};

/*
 * Ask the collector to send again each capture from the month KEEPS_SINCE on that the archive has, that is sent by the
 * policy of its guest, that does not wait to be sent, and that the hub has not. Return 0, a hub_condition, or
 * SENDER_E_ARCHIVE: the archive or the collector cannot be used now.
 */
int compare_captures(struct compare *c, struct reader *r, struct hub *hub, struct collector_client *collector,
		     const char *keeps_since, struct compare_result *result);
/*
 * Ask the collector to send again the packets that the hub has not, of guests whose packets are sent by their
 * policy, and count their streams in RESULT. The hub reads the keys of all packets of the host. Return as
 * compare_captures().
 */
int compare_all_packets(const struct compare *c, struct reader *r, struct hub *hub, struct collector_client *collector,
			struct compare_result *result);

#endif
