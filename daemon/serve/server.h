/* The server: the archives, the daemons that write them, and HTTP, in one event loop. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "http.h"

struct server_options {
	const char *state; /* directory with the archives */
	const char *run;   /* directory with the sockets */
	struct http_options http;
	bool sink; /* the configuration has a sink: the server is not ready without it */
};

struct server;

/* Borrow EVENT for the life of *SP.  Return 0 or -errno. */
int server_new(struct server **sp, sd_event *event, const struct server_options *options);
/* End HTTP, then release the rest.  Return NULL. */
struct server *server_free(struct server *s);
CLEANUP_DEFINE(struct server, server_free)

/* Return the HTTP side of S, to listen with; S owns it. */
struct http *server_http(struct server *s);

#endif
