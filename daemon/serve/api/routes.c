/* The table of routes. A test checks that it and schema/http/openapi.yaml have the same routes. */
#include "routes.h"
#include "array.h"

#define SELECT " stream from to last tail "

static const struct route routes[] = {
	{"/", " ", FRESH, {[METHOD_GET] = get_root}},
	{"/healthz", " ", FRESH, {[METHOD_GET] = get_health}},
	{"/metrics", " ", FRESH, {[METHOD_GET] = get_metrics}},
	{"/readyz", " ", FRESH, {[METHOD_GET] = get_ready}},
	{"/v1/captures", " limit cursor ", KEPT, {[METHOD_GET] = get_captures}},
	{"/v1/captures/{id}",
	 " with ",
	 KEPT,
	 {[METHOD_GET] = get_capture, [METHOD_PATCH] = patch_capture, [METHOD_DELETE] = delete_capture}},
	{"/v1/captures/{id}/context", " ", FRESH, {[METHOD_GET] = get_capture_context}},
	{"/v1/captures/{id}/ctf.tar", " from to last tail ", FRESH, {[METHOD_GET] = get_capture_ctf}},
	{"/v1/captures/{id}/packets",
	 " stream from to last buckets limit cursor ",
	 KEPT,
	 {[METHOD_GET] = get_capture_packets}},
	{"/v1/captures/{id}/trace", SELECT, KEPT, {[METHOD_GET] = get_capture_trace}},
	{"/v1/domains", " limit cursor ", KEPT, {[METHOD_GET] = get_domains}},
	{"/v1/domains/{domain}", " limit cursor ", KEPT, {[METHOD_GET] = get_domain}},
	{"/v1/domains/{domain}/captures",
	 " limit cursor ",
	 KEPT,
	 {[METHOD_GET] = get_domain_captures, [METHOD_POST] = post_capture}},
	{"/v1/domains/{domain}/ctf.tar", " run from to last tail ", FRESH, {[METHOD_GET] = get_domain_ctf}},
	{"/v1/domains/{domain}/live", " run stream after ", FRESH, {[METHOD_GET] = get_domain_live}},
	{"/v1/domains/{domain}/memtraces",
	 " limit cursor ",
	 FRESH,
	 {[METHOD_GET] = get_domain_memtraces, [METHOD_POST] = post_memtrace}},
	{"/v1/domains/{domain}/packets",
	 " run stream from to last buckets limit cursor ",
	 KEPT,
	 {[METHOD_GET] = get_domain_packets}},
	{"/v1/domains/{domain}/trace", " run first end" SELECT, KEPT, {[METHOD_GET] = get_domain_trace}},
	{"/v1/events", " ", FRESH, {[METHOD_GET] = get_events}},
	{"/v1/memtraces", " limit cursor ", FRESH, {[METHOD_GET] = get_memtraces}},
	{"/v1/memtraces/{id}",
	 " ",
	 FRESH,
	 {[METHOD_GET] = get_memtrace, [METHOD_PATCH] = patch_memtrace, [METHOD_DELETE] = delete_memtrace}},
	{"/v1/memtraces/{id}/data", " ", FRESH, {[METHOD_GET] = get_memtrace_data}},
	{"/v1/memtraces/{id}/recording", " ", FRESH, {[METHOD_DELETE] = stop_memtrace}},
	{"/v1/openapi.yaml", " ", FRESH, {[METHOD_GET] = get_openapi}},
	{"/viewer/{file}", " ", FRESH, {[METHOD_GET] = get_viewer_file}},
	{"/viewer/{folder}/{file}", " ", FRESH, {[METHOD_GET] = get_viewer_file}},
};

const struct routes api_routes = {routes, ARRAY_SIZE(routes)};
