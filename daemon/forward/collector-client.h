/*
 * The collector's control socket, as a client that waits for each answer (schema/control.md). It
 * connects when it is needed; the collector may be absent.
 */
#ifndef FORWARD_COLLECTOR_H
#define FORWARD_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

struct collector_client;

/* RUN is the directory of the socket. Return 0 or -ENOMEM. */
int collector_new(struct collector_client **cp, const char *run);
struct collector_client *collector_free(struct collector_client *c);
CLEANUP_DEFINE(struct collector_client, collector_free)

/*
 * Each call below returns 0; -ENOENT if the collector does not know what is named; or another -errno
 * if the collector is absent, does not answer or cannot do it now.
 */

/* The hub has row ID of the outbox: of a stream up to SEQUENCE, of a loss PACKETS and BYTES. */
int collector_sent(struct collector_client *c, int64_t id, uint64_t sequence, uint64_t packets, uint64_t bytes);
#define COLLECTOR_SENT_MAX 32u
/*
 * The hub has N rows (at most COLLECTOR_SENT_MAX), the captures with these IDS of the outbox. The collector commits
 * them together. A row that it does not know is no error.
 */
int collector_sent_captures(struct collector_client *c, const int64_t *ids, size_t n);
/* The hub has lost CAPTURE. */
int collector_send_again(struct collector_client *c, int64_t capture);
/* The hub has lost packets of STREAM from FIRST to LAST, perhaps not all of them. */
int collector_send_packets_again(struct collector_client *c, int64_t stream, uint64_t first, uint64_t last);
/* The reader has met damage there; or, if TABLE is not NULL, in row SEQUENCE of this table. */
int collector_damaged(struct collector_client *c, const char *table, int64_t stream, uint64_t sequence,
		      int64_t capture);

/* Acknowledged by the hub since the program began. */
struct forwarded {
	bool connected;
	uint64_t captures, packets, bytes, refused;
	uint64_t compared; /* comparisons with the hub */
	uint64_t again;	   /* captures, and streams with packets, that the hub lacked */
};
int collector_report(struct collector_client *c, const struct forwarded *forwarded);

/* Wait until a commit was made, at most for MS milliseconds. */
void collector_wait(struct collector_client *c, unsigned ms);

#endif
