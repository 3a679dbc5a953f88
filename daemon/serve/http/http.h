/* The HTTP side of the server: listeners, their clients and all exchanges. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "exchange.h"
#include "route.h"
#include "services.h"

struct http_options {
	/* Connections at most, for each listener: of all peers, and of one. */
	unsigned connections, peer_connections;
	uint64_t header_timeout_ns, body_timeout_ns, idle_timeout_ns;
};

struct http;

/* Borrow EVENT, ROUTES and SERVICES for the life of *HP.  Return 0 or -errno. */
int http_new(struct http **hp, sd_event *event, const struct http_options *options, const struct routes *routes,
	     const struct services *services);
/*
 * Resume all exchanges that wait, end all connections and remove the Unix sockets that H bound.
 * Return NULL.
 */
struct http *http_free(struct http *h);
CLEANUP_DEFINE(struct http, http_free)

/*
 * Listen on TEXT: unix:PATH, or HOST:PORT with a loopback address (port 0: any). Return 0, or
 * -errno with a sentence of at most SIZE bytes in SENTENCE.
 */
int http_listen(struct http *h, const char *text, char *sentence, size_t size);
/* Listen on FD, a socket that systemd handed over, and own it. */
int http_adopt(struct http *h, int fd, char *sentence, size_t size);

/* Return the newest exchange; the others follow by NEXT.  NULL: there is none. */
struct exchange *http_exchanges(struct http *h);
/* Resume the exchanges that wait for WAIT. */
void http_resume(struct http *h, enum wait wait);
/*
 * Hand the answer M to the exchange that asked with TAG: the sink where SINK, else the collector.
 */
void http_answer(struct http *h, uint64_t tag, const struct message *m, bool sink);
/*
 * Resume the exchanges that wait for an answer of a daemon that disconnected: the sink where SINK,
 * else the collector.
 */
void http_lost(struct http *h, bool sink);
/*
 * End the clients whose deadline has passed, and run libmicrohttpd for its own timeouts. Call it
 * about once a second.
 */
void http_tick(struct http *h);
/*
 * Run libmicrohttpd again where it has more to do at once. Call it after each turn of the event
 * loop.
 */
void http_schedule(struct http *h);

struct http_counts {
	uint64_t requests, open, client_errors, server_errors, live, events;
	uint64_t clients, clients_refused, clients_evicted, clients_timed_out; /* connections */
};
struct http_counts http_counts(const struct http *h);

#endif
