/*
 * A client: one connection, from accept to close. The server accepts connections itself and passes
 * the sockets to libmicrohttpd, because libmicrohttpd's own limits, deadlines and evictions do not
 * suffice.
 */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "access.h"

struct exchange;
struct listener;

enum client_phase {
	CLIENT_HEADER, /* connected, and the first request header is not complete */
	CLIENT_IDLE,   /* the last request was answered, and the next request header is not complete */
	CLIENT_BODY,   /* the header is complete, the body is not */
	CLIENT_ANSWER, /* the request is complete */
};

enum client_handshake {
	HANDSHAKE_NONE, /* without TLS, or the first request line has come */
	HANDSHAKE_RUNS,
	HANDSHAKE_SUSPENDED, /* libmicrohttpd does not run it until its socket is ready */
};

struct client {
	struct listener *listener;
	struct MHD_Connection *connection; /* NULL = libmicrohttpd has not announced it */
	struct client *previous, *next;	   /* in the listener's list */
	struct exchange *exchange;	   /* the current request; NULL = none; exchange_completed() frees it */
	int fd;				   /* owned by libmicrohttpd, which closes it after the client is freed */
	ino_t inode;			   /* of the socket; FD has another one if libmicrohttpd closed the socket */
	struct peer peer;
	enum client_phase phase;
	uint64_t since;		     /* begin of PHASE, CLOCK_MONOTONIC ns */
	struct tls_generation *tls;  /* a reference; NULL = no TLS */
	struct kept_verdict verdict; /* on its certificate */
	enum client_handshake handshake;
	bool identified; /* a request on it had credentials, or there is no access control */
	bool finished;	 /* the client sent FIN */
	bool ended;	 /* client_end() was called */
	bool closed;	 /* its connection is closed; EXCHANGE still refers to it */
	sd_event_source *hangup;
};

/* ---- Callbacks of libmicrohttpd. CONTEXT is the listener. ---- */

/*
 * libmicrohttpd calls this when it has added a connection, or is about to close it. Give the
 * connection to its client, or free the client.
 */
void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code);

/* ---- Clients of a listener. ---- */

/* Return the client of CONNECTION, which belongs to L; NULL = there is none, so its requests must be refused. */
struct client *client_of(struct listener *l, struct MHD_Connection *connection);
/*
 * Accept connections of L that wait, a limited number of them. Call it when the listening socket is
 * readable.
 */
void clients_accept(struct listener *l);
/*
 * Pass FD, a connected socket, to L as the client PEER. ADDRESS (BYTES bytes) is its address. L owns
 * FD, also if that fails.
 */
void client_add(struct listener *l, int fd, struct peer peer, const struct sockaddr_storage *address, socklen_t bytes);
/*
 * Add FD, a connection to L from ADDRESS (BYTES bytes), as a client, or refuse it. L owns FD. Call it as
 * clients_accept().
 */
void client_place(struct listener *l, int fd, const struct sockaddr_storage *address, socklen_t bytes);
/*
 * Answer STATUS and the sentence DETAIL on FD if that does not block, and close FD. L serves it. Over TLS
 * there is no answer, since there was no handshake.
 */
void client_refuse(struct listener *l, int fd, unsigned status, const char *detail);
/*
 * libmicrohttpd of L has logged something. If it has found that the header of a request is wrong, answer 400
 * and end the client: 0.9.75 would answer a Content-Length that it cannot parse with two headers.
 */
void clients_refuse_malformed(struct listener *l);
/* Return the TLS session of CONNECTION, or NULL. */
gnutls_session_t client_session(struct MHD_Connection *connection);
/* Set the phase of C to PHASE, which begins now. */
void client_begin(struct client *c, enum client_phase phase);
/* The exchange of C has ended. C waits for the next request, or is freed if its connection is closed. */
void client_answered(struct client *c);
/*
 * Shut down the socket of C for reading and writing, now or when libmicrohttpd announces it.
 * libmicrohttpd closes the socket when it runs next.
 */
void client_end(struct client *c);
/*
 * End each client of L whose deadline is before NOW (CLOCK_MONOTONIC ns), and watch the listening
 * socket again.
 */
void clients_tick(struct listener *l, uint64_t now);
/*
 * End each client of L that has sent FIN while its request is incomplete. Call it after
 * libmicrohttpd has run.
 */
void clients_end_finished(struct listener *l);
/* Free each client of L whose socket libmicrohttpd closed before it announced the connection. */
void clients_drop_lost(struct listener *l);
/* Free all clients of L, whose daemon has stopped. */
void clients_drop_all(struct listener *l);

/* ---- handshake.c ---- */

/* The handshake of C begins, or its first request line has come. */
void handshake_begin(struct client *c);
void handshake_end(struct client *c);
/* Let libmicrohttpd run the handshake of C, if it is suspended. */
void handshake_resume(struct client *c);
/* Suspend the handshakes of L that wait for their client. Call it after libmicrohttpd has run. */
void handshakes_suspend(struct listener *l);
/* Resume all handshakes of L. No connection may be suspended when its daemon is stopped. */
void handshakes_resume(struct listener *l);

#endif
