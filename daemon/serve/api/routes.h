/* The table of routes, and its handlers. */
#ifndef SERVE_ROUTES_H
#define SERVE_ROUTES_H

#include "route.h"

extern const struct routes api_routes;

/* domains.c */
handler get_domains, get_domain;
/* captures.c */
handler get_captures, get_domain_captures, post_capture, get_capture, patch_capture, delete_capture;
/* capture-context.c */
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
/* memtrace-routes.c */
handler get_memtraces, get_domain_memtraces, post_memtrace, get_memtrace, patch_memtrace, delete_memtrace,
	stop_memtrace;
/* memtrace-data.c */
handler get_memtrace_data;
int finds_memtrace(struct exchange *x);
/* sign-in.c */
handler get_session, post_session, delete_session;
/* token-list.c */
handler get_tokens, post_token, delete_token;
/* metrics.c */
handler get_metrics, get_health, get_ready, get_openapi;
/* viewer.c */
handler get_root, get_viewer_file;

#endif
