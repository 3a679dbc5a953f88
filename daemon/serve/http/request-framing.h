/*
 * The framing of a request: whether its header says in exactly one way where its body ends.
 *
 * If a proxy and this server understood a header in two ways, a part of one client's body could become
 * another client's request. libmicrohttpd accepts several such headers. Pure functions over untrusted
 * bytes.
 */
#ifndef SERVE_REQUEST_FRAMING_H
#define SERVE_REQUEST_FRAMING_H

#include <stdbool.h>
#include <stddef.h>

/* A zeroed struct is the framing of a header without lines. */
struct request_framing {
	unsigned hosts, lengths, encodings; /* lines with Host, Content-Length and Transfer-Encoding */
	bool malformed;			    /* a name or a value has bytes that it may not have */
};

/* Add a line of the header: NAME and VALUE, which need not end with NUL. */
void request_framing_add(struct request_framing *f, const char *name, size_t name_bytes, const char *value,
			 size_t value_bytes);
/* Return whether the header of a request, of HTTP/1.0 if HTTP10, has exactly one meaning. */
bool request_framing_ok(const struct request_framing *f, bool http10);

#endif
