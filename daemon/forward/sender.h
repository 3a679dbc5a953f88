/* Send one row of the outbox to the hub. */
#ifndef FORWARD_SENDER_H
#define FORWARD_SENDER_H

#include "collector-client.h"
#include "compare.h"
#include "head.h"
#include "hub.h"
#include "log.h"
#include "memtraces-reader.h"
#include "periods.h"
#include "reader.h"

/* Wait until the time UNTIL (CLOCK_MONOTONIC ns). */
typedef void sender_wait(void *context, uint64_t until);

struct sender {
	struct reader *r; /* borrowed, as the next two */
	struct hub *hub;
	struct collector_client *collector;
	const struct periods *periods;	    /* of the clocks; borrowed */
	struct compare *compare;	    /* gets the captures that the hub refuses; borrowed */
	const char *state;		    /* of the archives, borrowed */
	const char *own;		    /* directory of own-state.h, borrowed */
	struct memtraces_reader *memtraces; /* owned, as PIECES */
	struct pieces *pieces;
	int64_t damaged;	/* recording that cannot be read: it is not sent; 0 = none */
	bool declared;		/* mprofd has declared damage that the last step met */
	sender_wait *wait;	/* how to wait for the rate */
	void *context;		/* of WAIT, borrowed */
	uint64_t rate;		/* bytes per second; 0 = no limit */
	uint64_t paid;		/* time until which the rate is used up, CLOCK_MONOTONIC ns */
	uint64_t began;		/* when the open transaction began, CLOCK_MONOTONIC ns */
	struct forwarded total; /* what the hub has acknowledged, and the collector knows it */
	struct log_limit refused, past, unread, wrong;
	/* The first month that the hub takes, as it said in hello; older objects are not sent. */
	char keeps_since[HUB_MONTH_BYTES];
	/* The run that the hub knows, with its month and its number of streams. */
	int64_t run;
	char run_month[MONTH_BYTES];
	size_t run_streams;
	bool run_checked; /* that was compared with the archive in this transaction */
};

/* The outbox's row to send, with its own copies of the texts. */
struct row {
	struct reader_outbox outbox; /* its KIND and REASON are NULL */
	char kind[16], reason[16];
};

/*
 * Prepare S, in which the caller has set R, STATE, OWN, HUB, COLLECTOR, PERIODS, COMPARE, WAIT, CONTEXT and
 * RATE. Return 0 or -ENOMEM.
 */
int sender_init(struct sender *s);
void sender_deinit(struct sender *s);
/* Tell mprofd of the damage that the reader met last, and set S->declared. Return false if it met none. */
bool sender_tell_damage(struct sender *s);
/* Forget what the hub knows, because the connection is another one. */
void sender_forget(struct sender *s);

/*
 * Send ROW, and tell the collector what the hub has acknowledged. If ROW is a stream's, send only some
 * of its packets, so that a capture that comes meanwhile need not wait. Return 0, also if the hub or
 * the archive will never have the row's bytes, which is logged; a hub_condition; or
 * SENDER_E_ARCHIVE: the archive or the collector cannot be used now, as the log says.
 */
enum { SENDER_E_ARCHIVE = 64 };
int sender_send(struct sender *s, const struct row *row);

#define SENDER_TOGETHER COLLECTOR_SENT_MAX
/*
 * Send the first of N ROWS that are small captures, in one transaction, and tell the collector. *SENT is their
 * number; 0: they cannot be sent together, so send the first one by itself. Return as sender_send(); a hub_condition
 * but HUB_E_LOST counts as 0, because sender_send() finds out which capture it is about.
 */
int sender_send_together(struct sender *s, const struct row *const *rows, size_t n, size_t *sent);

#endif
