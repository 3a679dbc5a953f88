/*
 * A client: its connection from accept to close.
 *
 * The server accepts by itself and hands the socket to libmicrohttpd, so that the limits, the deadlines and the choice of whom to
 * close for whom are here.
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
	CLIENT_HEADER, /* connected; its first request header is not whole */
	CLIENT_IDLE,   /* answered; its next request header is not whole */
	CLIENT_BODY,   /* the header is whole, the body is not */
	CLIENT_ANSWER, /* the request is whole */
};

struct client {
	struct listener *listener;
	struct client *previous, *next; /* the listener's */
	struct exchange *exchange;	/* NULL = none; freed by exchange_completed */
	int fd;				/* libmicrohttpd's, open for the life of this */
	struct peer peer;
	enum client_phase phase;
	uint64_t since; /* when the phase began, CLOCK_MONOTONIC ns */
	bool finished;	/* it sends nothing more: FIN came */
	bool ended;	/* shut down by client_end */
	sd_event_source *hangup;
};

/* ---- What libmicrohttpd calls; CONTEXT is the listener. ---- */

/* A connection was added or is about to be closed; *SOCKET_CONTEXT is its struct client. */
void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code);
/* Return the client of CONNECTION. */
struct client *client_of(struct MHD_Connection *connection);

/* ---- What the server does with clients. ---- */

/* Accept a bounded number of connections of L.  To be called when its listening socket is ready. */
void clients_accept(struct listener *l);
/* Begin PHASE. */
void client_begin(struct client *c, enum client_phase phase);
/* Shut the socket of C down, both ways; libmicrohttpd closes it when it runs next. */
void client_end(struct client *c);
/* End each client of L whose deadline has passed at NOW (CLOCK_MONOTONIC ns), and accept again. */
void clients_tick(struct listener *l, uint64_t now);
/* End each client of L that has sent FIN and whose request is not whole.  To be called after libmicrohttpd has run. */
void clients_end_finished(struct listener *l);

#endif
