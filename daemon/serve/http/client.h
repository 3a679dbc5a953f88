/*
 * A client: its connection from accept to close.
 *
 * The server accepts connections itself and hands the sockets to libmicrohttpd, so that it controls
 * the limits, the deadlines and the evictions.
 */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "peer.h"

struct exchange;
struct listener;

enum client_phase {
	CLIENT_HEADER, /* connected; the first request header is not whole */
	CLIENT_IDLE,   /* answered; the next request header is not whole */
	CLIENT_BODY,   /* the header is whole, the body is not */
	CLIENT_ANSWER, /* the request is whole */
};

struct client {
	struct listener *listener;
	struct client *previous, *next; /* in the listener's list */
	struct exchange *exchange;	/* NULL = none; exchange_completed frees it */
	int fd;				/* libmicrohttpd owns it, and closes it after the client is freed */
	struct peer peer;
	enum client_phase phase;
	uint64_t since; /* begin of the phase, CLOCK_MONOTONIC ns */
	bool finished;	/* the client sent FIN */
	bool ended;	/* client_end shut the socket down */
	sd_event_source *hangup;
};

/* ---- Callbacks of libmicrohttpd; CONTEXT is the listener. ---- */

/*
 * Create or free the client *SOCKET_CONTEXT of a connection that was added or is about to be
 * closed.
 */
void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code);
/* Return the client of CONNECTION. */
struct client *client_of(struct MHD_Connection *connection);

/* ---- Clients of a listener. ---- */

/* Accept a bounded number of connections of L. Call it when the listening socket is ready. */
void clients_accept(struct listener *l);
/* Begin PHASE. */
void client_begin(struct client *c, enum client_phase phase);
/* Shut the socket of C down, both ways; libmicrohttpd closes it at its next run. */
void client_end(struct client *c);
/* End each client of L whose deadline has passed at NOW (CLOCK_MONOTONIC ns), and accept again. */
void clients_tick(struct listener *l, uint64_t now);
/*
 * End each client of L that has sent FIN and whose request is not whole. Call it after
 * libmicrohttpd has run.
 */
void clients_end_finished(struct listener *l);

#endif
