/* Routes: the handler for a path and a method. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include <stdio.h>

#include "exchange.h"

typedef enum outcome handler(struct exchange *x);

/* Whether the archives and the request determine the answer to GET, if the handler does not call exchange_forget(). */
enum route_keep { FRESH, KEPT };

struct route {
	const char *path;    /* as in the OpenAPI document, the handler gets the last {parameter} */
	const char *queries; /* the query parameters that it takes, each between blanks: " run stream " */
	enum route_keep keep;
	handler *handlers[METHODS];
};

struct routes {
	const struct route *list;
	size_t n;
};

/* Return the route that the segments of R match, with *PARAMETER in R.  NULL: there is none. */
const struct route *route_find(const struct routes *routes, const struct request *r, const char **parameter);
/* Return the first query parameter of R that ROUTE does not take or that comes twice, or NULL. */
const char *route_unknown_query(const struct route *route, const struct request *r);
/* Write the methods that ROUTE takes, as in an Allow header, to TEXT, which has 64 bytes. */
void route_allow(const struct route *route, char *text);
/*
 * Write "GET /path" a line for each method of each route, for the comparison with the OpenAPI
 * document.
 */
void routes_print(const struct routes *routes, FILE *out);

#endif
