/* What the server's files share: its state, and the steps that more than one of them takes. */
#ifndef SERVE_HTTP_STATE_H
#define SERVE_HTTP_STATE_H

#include "http.h"

#define LISTENERS_MAX 16u

struct listener {
	struct http *http;
	int fd; /* the listening socket */
	struct MHD_Daemon *daemon;
	sd_event_source *io, *again; /* the daemon's descriptor; on while it has more to do at once */
	sd_event_source *accept;     /* off while PAUSED */
	struct client *clients;	     /* the newest first */
	size_t n_clients, finished;  /* how many, and how many of these sent FIN */
	struct client *adding;	     /* while it is handed to MHD; else NULL */
	char *path;
	char address[128];
	bool tcp;
	bool paused;  /* nobody is accepted until a client ends or waits for a header */
	bool resumed; /* MHD must run, and does not say so by its timeout or its descriptor */
};

struct http {
	sd_event *event;
	struct http_options options;
	const struct routes *routes;
	const struct services *services;
	bool stopping; /* requests that come now are not answered */
	char host[256];
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
	struct exchange *exchanges;
	sd_event_source *again;
	struct http_counts counts;
};

/* ---- exchange-run.c: what libmicrohttpd calls for each request; CONTEXT is the listener. ---- */

void *exchange_begin(void *context, const char *target, struct MHD_Connection *connection);
enum MHD_Result exchange_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				 const char *version, const char *data, size_t *bytes, void **con_cls);
void exchange_completed(void *context, struct MHD_Connection *connection, void **con_cls,
			enum MHD_RequestTerminationCode code);

/* ---- exchange-answer.c ---- */

#define PROBLEM_TYPE "application/problem+json"

/* Return the problem document of STATUS and DETAIL, with the members of MORE (stolen, NULL = none).  NULL: no memory. */
json_t *problem_json(unsigned status, const char *detail, json_t *more);

/* ---- exchange-wait.c ---- */

/* The client of X sent FIN, or (GONE) takes nothing more either. */
void exchange_client_left(struct exchange *x, bool gone);

/* ---- listener.c ---- */

/* End its connections, remove its Unix socket. */
void listener_stop(struct listener *l);
/* Run libmicrohttpd until it has nothing more to do at once, or for a bounded time. Not to be called by what libmicrohttpd calls. */
void listener_run(struct listener *l);
/* See whether it wants to run again at once. */
void listener_schedule(struct listener *l);

#endif
