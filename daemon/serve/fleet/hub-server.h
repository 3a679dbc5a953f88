/* The server of a hub: the fleet's database and HTTP, in one event loop. */
#ifndef SERVE_HUB_SERVER_H
#define SERVE_HUB_SERVER_H

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "http-server.h"

struct hub_server_options {
	const char *connection; /* libpq's connection string */
	const char *copies;	/* directory for copies of captures */
	uint64_t copies_bytes;	/* that they may have */
	struct access *access;	/* borrowed until hub_server_free() */
	struct http_options http;
};

struct hub_server;

/*
 * Create the server. EVENT is borrowed until hub_server_free(). The database need not answer yet. Return 0, with the
 * server in *SP, or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int hub_server_new(struct hub_server **sp, sd_event *event, const struct hub_server_options *options, char *sentence,
		   size_t size);
/* End all connections and free the server. Return NULL. */
struct hub_server *hub_server_free(struct hub_server *s);
CLEANUP_DEFINE(struct hub_server, hub_server_free)

/* Return the HTTP part of S, to listen with. S owns it. */
struct http *hub_server_http(struct hub_server *s);

#endif
