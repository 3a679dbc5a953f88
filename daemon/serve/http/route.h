/* Routes: which handler answers a path and a method. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <stdio.h>

#include "exchange.h"

typedef enum outcome handler(struct exchange *x);

/*
 * KEPT: the answer to GET depends only on the archives and the request, unless the handler calls
 * exchange_forget(). FRESH: it may depend on other things, and is not cached.
 */
enum route_keep { FRESH, KEPT };

/* Whether the collector is asked to commit what it has copied before the handler of GET is called. */
enum route_state { AS_IT_IS, NEWEST };

/*
 * The right that a request needs (x-scope in the OpenAPI document): nothing, any credentials, a scope for the
 * guest that it names, the metrics, the right to make tokens, or to read all guests. A list needs RIGHT_ANY and
 * shows the guests that may be read.
 */
enum right { RIGHT_NONE, RIGHT_ANY, RIGHT_READ, RIGHT_CONTEXT, RIGHT_WRITE, RIGHT_METRICS, RIGHT_TOKENS, RIGHT_ALL };

/* Return whether the guest that X names exists in the readers' view: 0, or what the reader returns. */
typedef int route_finds(struct exchange *x);

struct route {
	const char *path;    /* as in the OpenAPI document; the handler gets the last {parameter} of it */
	const char *queries; /* query parameters that the route accepts, each between blanks: " run stream " */
	enum route_keep keep;
	enum route_state state;
	handler *handlers[METHODS];
	enum right rights[METHODS];
	bool lives;	    /* its body lasts until the client ends it */
	route_finds *finds; /* for RIGHT_CONTEXT and RIGHT_WRITE; NULL = no method needs them */
};

struct routes {
	const struct route *list;
	size_t n;
};

/*
 * Handlers of what another kind of server serves (x-served-by in the OpenAPI document): a host's table has
 * served_by_hub for the routes of hubs, and a hub's table served_by_host. They answer 409.
 */
handler served_by_hub, served_by_host;
/* Return whether METHOD of ROUTE has one of these two handlers. */
bool route_is_elsewhere(const struct route *route, enum method method);

/* Return the route that the segments of R match, or NULL. *PARAMETER points into R. */
const struct route *route_find(const struct routes *routes, const struct request *r, const char **parameter);
/*
 * Return the first query parameter of R that ROUTE does not accept, or that R has twice; NULL if
 * there is none.
 */
const char *route_unknown_query(const struct route *route, const struct request *r);
/* Write the methods of ROUTE, as in an Allow header, to TEXT (64 bytes). */
void route_allow(const struct route *route, char *text);
/*
 * Write a line "GET /path right here" for each method of each route; "elsewhere" instead of "here" if
 * another kind of server serves it. A test compares these lines with the OpenAPI document.
 */
void routes_print(const struct routes *routes, FILE *out);

#endif
