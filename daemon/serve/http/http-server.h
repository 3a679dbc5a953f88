/* The HTTP part of the server: the listeners, their clients, and all exchanges. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "exchange.h"
#include "route.h"
#include "services.h"

struct http_options {
	/* Connections of a listener, at most: of all peers, and of one peer (peer.h). */
	unsigned connections, peer_connections;
	char **proxies; /* networks of proxies (network.h); NULL-terminated, borrowed; NULL = none */
	uint64_t header_timeout_ns, body_timeout_ns, idle_timeout_ns;
	bool hub; /* the server of a fleet's database: it has no archive of its own */
};

struct http;

/*
 * Create the HTTP part. EVENT, ROUTES and SERVICES are borrowed until http_free(). Return 0, with
 * the HTTP part in *HP, or -errno.
 */
int http_new(struct http **hp, sd_event *event, const struct http_options *options, const struct routes *routes,
	     const struct services *services);
/*
 * Resume all exchanges that wait, close all connections, and remove the Unix sockets that H has
 * created. Return NULL.
 */
struct http *http_free(struct http *h);
CLEANUP_DEFINE(struct http, http_free)

/*
 * Listen on TEXT: unix:PATH, HOST:PORT with a loopback address, or https:HOST:PORT (port 0: any free
 * port). Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int http_listen(struct http *h, const char *text, char *sentence, size_t size);
/*
 * Listen on FD, a socket that systemd has passed under NAME ("https" = for HTTPS), and own it. Return
 * as http_listen().
 */
int http_adopt(struct http *h, int fd, const char *name, char *sentence, size_t size);
/*
 * Serve one connection on FD, a Unix socket, as the remote that access_new() got, and own it. Return as
 * http_listen().
 */
int http_serve(struct http *h, int fd, char *sentence, size_t size);

/* Return the newest exchange; NEXT leads to older ones. NULL: there is none. */
struct exchange *http_exchanges(struct http *h);
/* Forget all answers that are kept: something changed on which they depend beside the archives. */
void http_forget(struct http *h);
/* Resume all exchanges whose wait is WAIT. */
void http_resume(struct http *h, enum wait wait);
/*
 * Pass the answer M to the exchange that asked with TAG. SINK: the answer is the sink's, else the
 * collector's.
 */
void http_answer(struct http *h, uint64_t tag, const struct message *m, bool sink);
/*
 * Resume the exchanges that wait for an answer of a daemon that has disconnected. SINK: the sink,
 * else the collector.
 */
void http_lost(struct http *h, bool sink);
/*
 * End the clients whose deadline has passed or whose rights have ended, and run libmicrohttpd for its
 * own timeouts. Call it about once a second.
 */
void http_tick(struct http *h);
/* Schedule libmicrohttpd if it has more to do at once. Call it after each event of the loop. */
void http_schedule(struct http *h);

struct http_counts {
	uint64_t requests, open, client_errors, server_errors, live, events;
	uint64_t unauthorised, handshakes_refused;
	uint64_t clients, clients_refused, clients_evicted, clients_timed_out; /* connections */
	uint64_t proxied, proxy_refused; /* connections with a header of the PROXY protocol, and without a right one */
};
struct http_counts http_counts(const struct http *h);

#endif
