/* The routes of a hub, and their handlers. */
#ifndef SERVE_HUB_ROUTES_H
#define SERVE_HUB_ROUTES_H

#include "fleet-names.h"
#include "route.h"

extern const struct routes hub_routes;

/* hub-hosts.c */
handler hub_get_hosts, hub_get_host, hub_get_domains, hub_get_domain;
/*
 * Set *GUEST to the guest that {domain} in the path names, which the client may read. Return false if it names none;
 * the request is then answered. The guest need not exist.
 */
bool hub_guest(struct exchange *x, struct guest_name *guest);
/* hub-captures.c */
handler hub_get_captures, hub_get_domain_captures, hub_get_capture, hub_patch_capture;
/* hub-bodies.c */
handler hub_get_capture_trace, hub_get_capture_packets, hub_get_capture_ctf, hub_get_capture_context;
/* hub-memtraces.c */
handler hub_get_memtraces, hub_get_domain_memtraces, hub_get_memtrace, hub_get_memtrace_data;
/* hub-questions.c */
handler hub_get_crashes_by_image, hub_get_crashes_by_cause, hub_get_crashes_by_host_week, hub_get_causes_returned,
	hub_get_loss_by_host, hub_get_newest;
/* hub-events.c */
handler hub_get_events;
/* hub-status.c */
handler hub_get_ready, hub_get_metrics;

#endif
