/* The table of routes: which path and method goes to which handler. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include <stdio.h>

#include "exchange.h"

typedef enum outcome handler(struct exchange *x);

struct route {
	const char *path;    /* as in the OpenAPI document; one {parameter} at most */
	const char *queries; /* the query parameters it takes, each between blanks: " run stream " */
	handler *handlers[VERBS];
};

/* The route that the segments of R match; *PARAMETER points into R.  NULL: there is none. */
const struct route *route_find(const struct request *r, const char **parameter);
/* The first query parameter that ROUTE does not take or that comes twice, or NULL. */
const char *route_foreign_query(const struct route *route, const struct request *r);
/* What a 405 says in Allow; TEXT has 64 bytes. */
void route_allow(const struct route *route, char *text);
/* "GET /path" a line, for the comparison with the OpenAPI document. */
void routes_print(FILE *out);

/* domains.c */
handler get_domains, get_domain;
/* captures.c */
handler get_captures, get_domain_captures, post_capture, get_capture, patch_capture, delete_capture;
/* context.c */
handler get_capture_context;
/* trace.c */
handler get_domain_trace, get_capture_trace;
/* packets.c */
handler get_domain_packets, get_capture_packets;
/* live.c */
handler get_domain_live;
/* events.c */
handler get_events;
/* tar.c */
handler get_domain_ctf, get_capture_ctf;
/* memtraces.c */
handler get_memtraces, get_domain_memtraces, post_memtrace, get_memtrace, patch_memtrace, delete_memtrace,
	stop_memtrace;
/* memtrace-data.c */
handler get_memtrace_data;
/* metrics.c */
handler get_metrics, get_health, get_ready, get_openapi;
/* page.c */
handler get_root, get_viewer_file;

#endif
