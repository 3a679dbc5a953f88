/* Find the route of a request in a table of routes. */
#include <string.h>

#include "route.h"

static const char *const methods[METHODS] = {"GET", "POST", "PATCH", "DELETE"};

/*
 * Return whether PATH, the path of a route, matches the segments of R. *PARAMETER is the last
 * segment that matched a {parameter}.
 */
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

const struct route *route_find(const struct routes *routes, const struct request *r, const char **parameter)
{
	for (size_t i = 0; i < routes->n; i++)
		if (route_matches(routes->list[i].path, r, parameter))
			return &routes->list[i];
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

const char *route_unknown_query(const struct route *route, const struct request *r)
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
	for (size_t m = 0; m < METHODS; m++) {
		if (!route->handlers[m])
			continue;
		if (text[0])
			strcat(text, ", ");
		strcat(text, m == METHOD_GET ? "GET, HEAD" : methods[m]);
	}
}

enum outcome served_by_hub(struct exchange *x)
{
	return exchange_problem(x, MHD_HTTP_CONFLICT,
				"This server is a host's: ask the hub of the fleet (mprofd-http --fleet).");
}

enum outcome served_by_host(struct exchange *x)
{
	return exchange_problem(
		x, MHD_HTTP_CONFLICT,
		"This server is a hub, which keeps what hosts sent: ask mprofd-http on the host itself.");
}

bool route_is_elsewhere(const struct route *route, enum method method)
{
	return route->handlers[method] == served_by_hub || route->handlers[method] == served_by_host;
}

void routes_print(const struct routes *routes, FILE *out)
{
	static const char *const rights[] = {
		[RIGHT_NONE] = "none",	     [RIGHT_ANY] = "any",     [RIGHT_READ] = "read",
		[RIGHT_CONTEXT] = "context", [RIGHT_WRITE] = "write", [RIGHT_METRICS] = "metrics",
		[RIGHT_TOKENS] = "tokens",   [RIGHT_ALL] = "all",
	};

	for (size_t i = 0; i < routes->n; i++)
		for (size_t m = 0; m < METHODS; m++)
			if (routes->list[i].handlers[m])
				fprintf(out, "%s %s %s %s\n", methods[m], routes->list[i].path,
					rights[routes->list[i].rights[m]],
					route_is_elsewhere(&routes->list[i], (enum method)m) ? "elsewhere" : "here");
}
