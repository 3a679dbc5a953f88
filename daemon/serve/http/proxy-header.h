/*
 * The header of the PROXY protocol, versions 1 and 2, as haproxy's specification has it: a proxy sends it
 * first on each connection, before TLS, and says whose connection it passes on.
 */
#ifndef SERVE_PROXY_HEADER_H
#define SERVE_PROXY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PROXY_HEADER_MOST 1024u /* bytes of a header, with what a proxy adds to version 2 */

enum proxy_state {
	PROXY_MORE, /* the header is not complete */
	PROXY_DONE,
	PROXY_BAD, /* it is no header, or too long, or its parts contradict each other */
};

struct proxy_header {
	size_t bytes; /* of the header */
	/*
	 * The connection is the proxy's own (LOCAL), or the proxy does not tell whose it is (UNKNOWN, UNSPEC, a
	 * Unix socket): the address of the connection counts.
	 */
	bool local;
	struct sockaddr_storage client; /* if not LOCAL: of family AF_INET or AF_INET6, with its port */
	socklen_t client_bytes;
};

/* Parse the N bytes at DATA, the beginning of a connection. *H is valid after PROXY_DONE only. */
enum proxy_state proxy_header_parse(const uint8_t *data, size_t n, struct proxy_header *h);

#endif
