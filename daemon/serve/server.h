/* The server: the archives, the daemons that write them, and HTTP, in one event loop. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "http-server.h"

struct server_options {
	const char *state;     /* directory with the archives */
	const char *run;       /* directory with the sockets */
	struct access *access; /* borrowed until server_free() */
	struct http_options http;
	bool readings;	   /* captures are read, and what they show is kept in the directory CACHE */
	const char *cache; /* NULL = it is kept in memory */
	uint64_t decoded;  /* most bytes of decoded rows in CACHE; 0 = none */
	bool sink;	   /* the configuration has a section [sink]: /readyz then needs the sink, too */
};

struct server;

/*
 * Create the server. EVENT is borrowed until server_free(). Return 0, with the server in *SP, or
 * -errno.
 */
int server_new(struct server **sp, sd_event *event, const struct server_options *options);
/* End all connections and free the server. Return NULL. */
struct server *server_free(struct server *s);
CLEANUP_DEFINE(struct server, server_free)

/* Return the HTTP part of S, to listen with. S owns it. */
struct http *server_http(struct server *s);

#endif
