/* The table of routes. A test compares it with schema/http/openapi.yaml, both ways. */
#include "routes.h"
#include "array.h"

#define SELECT " stream from to last tail "

static const struct route routes[] = {
	{"/", " ", {[METHOD_GET] = get_root}},
	{"/healthz", " ", {[METHOD_GET] = get_health}},
	{"/metrics", " ", {[METHOD_GET] = get_metrics}},
	{"/readyz", " ", {[METHOD_GET] = get_ready}},
	{"/v1/captures", " limit cursor ", {[METHOD_GET] = get_captures}},
	{"/v1/captures/{id}",
	 " with ",
	 {[METHOD_GET] = get_capture, [METHOD_PATCH] = patch_capture, [METHOD_DELETE] = delete_capture}},
	{"/v1/captures/{id}/context", " ", {[METHOD_GET] = get_capture_context}},
	{"/v1/captures/{id}/ctf.tar", " from to last tail ", {[METHOD_GET] = get_capture_ctf}},
	{"/v1/captures/{id}/packets",
	 " stream from to last buckets limit cursor ",
	 {[METHOD_GET] = get_capture_packets}},
	{"/v1/captures/{id}/trace", SELECT, {[METHOD_GET] = get_capture_trace}},
	{"/v1/domains", " limit cursor ", {[METHOD_GET] = get_domains}},
	{"/v1/domains/{domain}", " limit cursor ", {[METHOD_GET] = get_domain}},
	{"/v1/domains/{domain}/captures",
	 " limit cursor ",
	 {[METHOD_GET] = get_domain_captures, [METHOD_POST] = post_capture}},
	{"/v1/domains/{domain}/ctf.tar", " run from to last tail ", {[METHOD_GET] = get_domain_ctf}},
	{"/v1/domains/{domain}/live", " run stream after ", {[METHOD_GET] = get_domain_live}},
	{"/v1/domains/{domain}/memtraces",
	 " limit cursor ",
	 {[METHOD_GET] = get_domain_memtraces, [METHOD_POST] = post_memtrace}},
	{"/v1/domains/{domain}/packets",
	 " run stream from to last buckets limit cursor ",
	 {[METHOD_GET] = get_domain_packets}},
	{"/v1/domains/{domain}/trace", " run first end" SELECT, {[METHOD_GET] = get_domain_trace}},
	{"/v1/events", " ", {[METHOD_GET] = get_events}},
	{"/v1/memtraces", " limit cursor ", {[METHOD_GET] = get_memtraces}},
	{"/v1/memtraces/{id}",
	 " ",
	 {[METHOD_GET] = get_memtrace, [METHOD_PATCH] = patch_memtrace, [METHOD_DELETE] = delete_memtrace}},
	{"/v1/memtraces/{id}/data", " ", {[METHOD_GET] = get_memtrace_data}},
	{"/v1/memtraces/{id}/recording", " ", {[METHOD_DELETE] = stop_memtrace}},
	{"/v1/openapi.yaml", " ", {[METHOD_GET] = get_openapi}},
	{"/viewer/{file}", " ", {[METHOD_GET] = get_viewer_file}},
	{"/viewer/{folder}/{file}", " ", {[METHOD_GET] = get_viewer_file}},
};

const struct routes api_routes = {routes, ARRAY_SIZE(routes)};
