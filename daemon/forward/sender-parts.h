/* Functions that the files of the sender share. */
#ifndef FORWARD_SENDER_PARTS_H
#define FORWARD_SENDER_PARTS_H

#include <errno.h>
#include <string.h>

#include "sender.h"

#define BATCH_BYTES (8u << 20) /* bytes of a transaction of small captures, of a part of a large one, or of packets */
#define BATCH_NS    (60 * NS_PER_S) /* age of a transaction that ends; the hub ends those of 10 minutes */
#define ENDED	    (-ECANCELED)    /* result of a callback: a condition says why */

/* Begin a transaction of the hub. */
int sender_begin(struct sender *s);
/*
 * Wait until the rate allows BYTES more. If the open transaction would become older than BATCH_NS
 * meanwhile, commit it before, and begin another one. Return 0 or a hub_condition.
 */
int sender_pay(struct sender *s, uint64_t bytes);
/* Turn R, an error of the reader, into a result of sender_send(). Report damage to the collector. */
int sender_archive_failed(struct sender *s, int r);
/* Tell the collector that the hub has the row. Return 0 or SENDER_E_ARCHIVE. */
int sender_acknowledge(struct sender *s, const struct row *row, uint64_t sequence);
/* Act on R, the result of sending ROW, an OBJECT called ID: what never succeeds is over. */
int sender_settle(struct sender *s, const struct row *row, const char *object, int64_t id, uint64_t sequence, int r);
/* Log that an object is not sent, because it is older than what the hub keeps. */
void sender_log_past(struct sender *s, const char *object, int64_t id);

/* Return whether the hub takes nothing that was taken at TAKEN (CLOCK_REALTIME ns), because it is too old. */
bool sender_is_past(const struct sender *s, uint64_t taken);

/* Send a row that names a capture, and a row that names packets. As sender_send(). */
int send_capture_row(struct sender *s, const struct row *row);
int send_packet_rows(struct sender *s, const struct row *row);

#endif
