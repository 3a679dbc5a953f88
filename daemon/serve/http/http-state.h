/* The state of the HTTP part, and the functions that its files share. */
#ifndef SERVE_HTTP_STATE_H
#define SERVE_HTTP_STATE_H

#include "http-server.h"
#include "log.h"
#include "network.h"
#include "response-cache.h"

#define LISTENERS_MAX 16u
#define PROXIES_MAX   64u

struct listener {
	struct http *http;
	int fd; /* the listening socket */
	struct MHD_Daemon *daemon;
	/*
	 * IO: the daemon's epoll descriptor; AGAIN: runs the daemon again while it has more to do
	 * at once
	 */
	sd_event_source *io, *again;
	sd_event_source *accept;    /* watches FD; disabled while PAUSED */
	struct client *clients;	    /* newest first */
	size_t n_clients, finished; /* number of clients, and how many of them have sent FIN */
	size_t unannounced;	    /* number of clients whose connection libmicrohttpd has not announced */
	size_t handshakes;	    /* number of clients in HANDSHAKE_RUNS */
	struct proxied *proxied;    /* connections whose PROXY header is not complete */
	size_t n_proxied;
	char *path;
	char address[128];
	bool tcp;
	bool tls;
	bool lenient; /* libmicrohttpd takes LF and NUL for the end of a line or of a value */
	bool remote;  /* its only client is the remote of --stdio */
	bool paused;  /* no connection is accepted until a client ends, or waits for a header */
	bool resumed; /* libmicrohttpd must run, although neither its timeout nor its descriptor says so */
};

struct http {
	sd_event *event;
	struct http_options options;
	const struct routes *routes;
	const struct services *services;
	bool stopping; /* the server stops: new requests are not answered */
	char host[256];
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
	struct exchange *exchanges;
	sd_event_source *again;
	struct http_counts counts;
	struct response_cache responses;
	struct network proxies[PROXIES_MAX];
	size_t n_proxies;
	struct log_limit proxy_log;
};

/* ---- exchange-run.c: callbacks of libmicrohttpd. CONTEXT is the listener. ---- */

void *exchange_begin(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				 const char *version, const char *data, size_t *bytes, void **con_cls);
void exchange_completed(void *context, struct MHD_Connection *connection, void **con_cls,
			enum MHD_RequestTerminationCode code);

/* ---- exchange-rights.c ---- */

/*
 * Find out who has sent X, whose route is known, and whether that may do what X asks for. Set
 * X->authorised if so. Return OUTCOME_ACCESS: it is not known yet; else the request is answered unless
 * X is authorised.
 */
enum outcome exchange_authorise(struct exchange *x);
/* Let the readers show what X may see, until exchange_look_away(). */
void exchange_look(struct exchange *x);
void exchange_look_away(struct exchange *x);
/* Close the connections of the exchanges of H whose rights have ended. */
void exchanges_check(struct http *h);
/* Log the change that X has made, and its answer: STATUS, or none if X->answered is false. */
void exchange_audit(struct exchange *x, unsigned status);

/* ---- exchange-answer.c ---- */

/*
 * If the cache has a response for X, whose route was just found, answer with it. Return false if
 * there is none.
 */
bool exchange_respond_kept(struct exchange *x);

#define PROBLEM_TYPE "application/problem+json"

/*
 * Return the problem document for STATUS and DETAIL, with the members of MORE, which is released
 * (NULL = none). Return NULL without memory.
 */
json_t *problem_json(unsigned status, const char *detail, json_t *more);

/* ---- exchange-wait.c ---- */

/* Note that the client of X has sent FIN; GONE: it does not read any more, either. */
void exchange_client_left(struct exchange *x, bool gone);

/* ---- proxied.c ---- */

/* Return whether a connection to L from ADDRESS must begin with a header of the PROXY protocol. */
bool proxied_is(const struct listener *l, const struct sockaddr_storage *address);
/* Own FD, a connection to L from ADDRESS (BYTES bytes), and make it a client when its header has come. */
void proxied_add(struct listener *l, int fd, const struct sockaddr_storage *address, socklen_t bytes);
/* Refuse the connections of L whose header is late at NOW (CLOCK_MONOTONIC ns). */
void proxied_tick(struct listener *l, uint64_t now);
/* Close the connections of L that wait for their header. */
void proxied_stop(struct listener *l);

/* ---- listener.c ---- */

/* End the connections of L and remove its Unix socket. */
void listener_stop(struct listener *l);
/*
 * Run libmicrohttpd until it has nothing to do at once, or for a limited time. Do not call this in
 * a callback of libmicrohttpd.
 */
void listener_run(struct listener *l);
/* Schedule another run of libmicrohttpd if it has more to do at once. */
void listener_schedule(struct listener *l);

#endif
