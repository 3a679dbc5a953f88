/* The server: listeners, the loop, and every exchange. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "exchange.h"

struct server_options {
	const char *state; /* directory with the archive */
	const char *run;   /* directory with the sockets */
	/* Connections at most, for each listener: of all, and of one peer. */
	unsigned connections, peer_connections;
	uint64_t header_timeout_ns, body_timeout_ns, idle_timeout_ns;
	bool sink; /* guests are to be received: the server is not ready without the sink */
};

struct server;

/* EVENT is borrowed for the server's life.  0 or -errno. */
int server_new(struct server **sp, sd_event *event, const struct server_options *options);
/* Resumes what waits, ends all connections, removes the Unix sockets that it bound. */
struct server *server_free(struct server *s);
CLEANUP_DEFINE(struct server, server_free)

/*
 * Listen on TEXT: unix:PATH, or HOST:PORT with a loopback address (port 0: any).  SENTENCE (of SIZE bytes) says what was wrong.  0 or -errno.
 */
int server_listen(struct server *s, const char *text, char *sentence, size_t size);
/* Listen on a socket that systemd handed over.  It is the server's from here on. */
int server_adopt(struct server *s, int fd, char *sentence, size_t size);

struct server_counts {
	uint64_t requests, open, refused, failed, live, events, commits, connected, sink_connected;
	uint64_t clients, turned_away, evicted, timed_out; /* connections */
	uint64_t longest_read;				   /* ns */
};
struct server_counts server_counts(const struct server *s);
/* An answer with this status is given. */
void server_count(struct server *s, unsigned status);

#endif
