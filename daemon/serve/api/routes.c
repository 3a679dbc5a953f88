/* The table, and matching against it.  The table is the API: a test compares it with schema/http/openapi.yaml both ways. */
#include <string.h>

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

static const char *const verbs[VERBS] = {"GET", "POST", "PATCH", "DELETE"};

/* Does the path of a route match the segments of R? */
static bool route_matches(const char *path, const struct request *r, const char **parameter)
{
	size_t i = 0, n;

	*parameter = NULL;
	if (path[1] == '\0')
		return r->n_segments == 0;
	for (; *path == '/'; i++) {
		if (i == r->n_segments)
			return false;
		n = strcspn(++path, "/");
		if (*path == '{' && *r->segments[i])
			*parameter = r->segments[i];
		else if (strlen(r->segments[i]) != n || memcmp(path, r->segments[i], n) != 0)
			return false;
		path += n;
	}
	return i == r->n_segments;
}

const struct route *route_find(const struct request *r, const char **parameter)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (route_matches(routes[i].path, r, parameter))
			return &routes[i];
	*parameter = NULL;
	return NULL;
}

static bool route_takes(const struct route *route, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = route->queries; (p = strchr(p, ' ')); p++)
		if (n && strncmp(p + 1, key, n) == 0 && p[1 + n] == ' ')
			return true;
	return false;
}

const char *route_foreign_query(const struct route *route, const struct request *r)
{
	for (size_t i = 0; i < r->n_queries; i++) {
		if (!route_takes(route, r->queries[i].key))
			return r->queries[i].key;
		for (size_t k = 0; k < i; k++)
			if (strcmp(r->queries[i].key, r->queries[k].key) == 0)
				return r->queries[i].key;
	}
	return NULL;
}

void route_allow(const struct route *route, char *text)
{
	text[0] = '\0';
	for (size_t v = 0; v < VERBS; v++) {
		if (!route->handlers[v])
			continue;
		if (text[0])
			strcat(text, ", ");
		strcat(text, v == VERB_GET ? "GET, HEAD" : verbs[v]);
	}
}

void routes_print(FILE *out)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		for (size_t v = 0; v < VERBS; v++)
			if (routes[i].handlers[v])
				fprintf(out, "%s %s\n", verbs[v], routes[i].path);
}
