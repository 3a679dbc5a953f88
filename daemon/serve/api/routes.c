/* The table, and matching against it.  The table is the API: a test compares it with schema/http/openapi.yaml both ways. */
#include "routes.h"

#define SELECT " stream from to last tail "

static const struct route routes[] = {
	{"/", " ", {[VERB_GET] = get_root}},
	{"/healthz", " ", {[VERB_GET] = get_health}},
	{"/metrics", " ", {[VERB_GET] = get_metrics}},
	{"/readyz", " ", {[VERB_GET] = get_ready}},
	{"/v1/captures", " limit cursor ", {[VERB_GET] = get_captures}},
	{"/v1/captures/{id}",
	 " with ",
	 {[VERB_GET] = get_capture, [VERB_PATCH] = patch_capture, [VERB_DELETE] = delete_capture}},
	{"/v1/captures/{id}/context", " ", {[VERB_GET] = get_capture_context}},
	{"/v1/captures/{id}/ctf.tar", " from to last tail ", {[VERB_GET] = get_capture_ctf}},
	{"/v1/captures/{id}/packets", " stream from to last buckets limit cursor ", {[VERB_GET] = get_capture_packets}},
	{"/v1/captures/{id}/trace", SELECT, {[VERB_GET] = get_capture_trace}},
	{"/v1/domains", " limit cursor ", {[VERB_GET] = get_domains}},
	{"/v1/domains/{domain}", " limit cursor ", {[VERB_GET] = get_domain}},
	{"/v1/domains/{domain}/captures",
	 " limit cursor ",
	 {[VERB_GET] = get_domain_captures, [VERB_POST] = post_capture}},
	{"/v1/domains/{domain}/ctf.tar", " run from to last tail ", {[VERB_GET] = get_domain_ctf}},
	{"/v1/domains/{domain}/live", " run stream after ", {[VERB_GET] = get_domain_live}},
	{"/v1/domains/{domain}/memtraces",
	 " limit cursor ",
	 {[VERB_GET] = get_domain_memtraces, [VERB_POST] = post_memtrace}},
	{"/v1/domains/{domain}/packets",
	 " run stream from to last buckets limit cursor ",
	 {[VERB_GET] = get_domain_packets}},
	{"/v1/domains/{domain}/trace", " run first end" SELECT, {[VERB_GET] = get_domain_trace}},
	{"/v1/events", " ", {[VERB_GET] = get_events}},
	{"/v1/memtraces", " limit cursor ", {[VERB_GET] = get_memtraces}},
	{"/v1/memtraces/{id}",
	 " ",
	 {[VERB_GET] = get_memtrace, [VERB_PATCH] = patch_memtrace, [VERB_DELETE] = delete_memtrace}},
	{"/v1/memtraces/{id}/data", " ", {[VERB_GET] = get_memtrace_data}},
	{"/v1/memtraces/{id}/recording", " ", {[VERB_DELETE] = stop_memtrace}},
	{"/v1/openapi.yaml", " ", {[VERB_GET] = get_openapi}},
	{"/viewer/{file}", " ", {[VERB_GET] = get_viewer_file}},
};

const struct routes api_routes = {routes, sizeof(routes) / sizeof(routes[0])};
