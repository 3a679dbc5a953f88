/* Parse the header of the PROXY protocol. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "proxy-header.h"

#define V1_MOST	   107u /* bytes of a line with its CR LF */
#define V1_BEGIN   "PROXY "
#define V2_FIXED   16u
#define V2_VERSION 0x2u

enum { V2_LOCAL = 0, V2_PROXY = 1 };
enum { V2_UNSPEC = 0x00, V2_TCP4 = 0x11, V2_TCP6 = 0x21, V2_UNIX = 0x31 };

static const uint8_t signature[12] = {'\r', '\n', '\r', '\n', 0, '\r', '\n', 'Q', 'U', 'I', 'T', '\n'};

static void set_client4(struct proxy_header *h, const uint8_t address[4], uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	memcpy(&a.sin_addr, address, 4);
	memcpy(&h->client, &a, sizeof(a));
	h->client_bytes = sizeof(a);
}

static void set_client6(struct proxy_header *h, const uint8_t address[16], uint16_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memcpy(&a.sin6_addr, address, 16);
	memcpy(&h->client, &a, sizeof(a));
	h->client_bytes = sizeof(a);
}

/* ---- version 1 ---- */

static bool parse_port(const char *text, uint16_t *port)
{
	size_t n = strlen(text);
	long number;

	if (n == 0 || n > 5 || strspn(text, "0123456789") != n || (n > 1 && text[0] == '0'))
		return false;
	number = strtol(text, NULL, 10);
	*port = (uint16_t)number;
	return number <= UINT16_MAX;
}

/* Parse LINE, what follows "PROXY ", which is changed. Return false if it is malformed. */
static bool parse_line(char *line, struct proxy_header *h)
{
	char *fields[5], *rest = line;
	uint8_t from[16], to[16];
	uint16_t port, to_port;
	int family;

	if (strncmp(line, "UNKNOWN", 7) == 0 && (line[7] == '\0' || line[7] == ' ')) {
		h->local = true;
		return true;
	}
	for (size_t i = 0; i < 5; i++) {
		fields[i] = rest;
		rest = rest ? strchr(rest, ' ') : NULL;
		if (rest)
			*rest++ = '\0';
		if (!rest != (i == 4))
			return false;
	}
	family = strcmp(fields[0], "TCP4") == 0 ? AF_INET : strcmp(fields[0], "TCP6") == 0 ? AF_INET6 : AF_UNSPEC;
	if (family == AF_UNSPEC || inet_pton(family, fields[1], from) != 1 || inet_pton(family, fields[2], to) != 1 ||
	    !parse_port(fields[3], &port) || !parse_port(fields[4], &to_port))
		return false;
	if (family == AF_INET)
		set_client4(h, from, port);
	else
		set_client6(h, from, port);
	return true;
}

static enum proxy_state parse_v1(const uint8_t *data, size_t n, struct proxy_header *h)
{
	size_t most = n < V1_MOST ? n : V1_MOST;
	const uint8_t *end = memchr(data, '\n', most);
	char line[V1_MOST];
	size_t bytes;

	if (!end)
		return n < V1_MOST ? PROXY_MORE : PROXY_BAD;
	bytes = (size_t)(end - data);
	if (data[bytes - 1] != '\r' || memchr(data, '\0', bytes))
		return PROXY_BAD;
	h->bytes = bytes + 1;
	bytes -= sizeof(V1_BEGIN); /* without the beginning and the CR */
	memcpy(line, data + sizeof(V1_BEGIN) - 1, bytes);
	line[bytes] = '\0';
	return parse_line(line, h) ? PROXY_DONE : PROXY_BAD;
}

/* ---- version 2 ---- */

static uint16_t number16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Return whether the N bytes at P are a list of a type, a length in two bytes, and as many bytes. */
static bool is_list(const uint8_t *p, size_t n)
{
	while (n >= 3) {
		size_t length = number16(p + 1);

		if (length > n - 3)
			return false;
		p += 3 + length;
		n -= 3 + length;
	}
	return n == 0;
}

/* Take the addresses of FAMILY in the N bytes at P. Return false if they are malformed. */
static bool take_addresses(const uint8_t *p, size_t n, unsigned family, struct proxy_header *h)
{
	switch (family) {
	case V2_TCP4:
		if (n < 12 || !is_list(p + 12, n - 12))
			return false;
		set_client4(h, p, number16(p + 8));
		return true;
	case V2_TCP6:
		if (n < 36 || !is_list(p + 36, n - 36))
			return false;
		set_client6(h, p, number16(p + 32));
		return true;
	case V2_UNIX:
		h->local = true;
		return n >= 216 && is_list(p + 216, n - 216);
	default: /* not a stream, or unknown: no proxy that passes TCP through says that */
		h->local = true;
		return family == V2_UNSPEC;
	}
}

static enum proxy_state parse_v2(const uint8_t *data, size_t n, struct proxy_header *h)
{
	unsigned command;
	size_t length;

	if (n < V2_FIXED)
		return PROXY_MORE;
	command = data[12] & 0xf;
	length = number16(data + 14);
	if (data[12] >> 4 != V2_VERSION || command > V2_PROXY || length > PROXY_HEADER_MOST - V2_FIXED)
		return PROXY_BAD;
	if (n < V2_FIXED + length)
		return PROXY_MORE;
	h->bytes = V2_FIXED + length;
	h->local = command == V2_LOCAL;
	if (h->local)
		return PROXY_DONE;
	return take_addresses(data + V2_FIXED, length, data[13], h) ? PROXY_DONE : PROXY_BAD;
}

/* Return whether the N bytes at DATA are the beginning of BEGIN, or begin with it. */
static bool begins(const uint8_t *data, size_t n, const void *begin, size_t bytes)
{
	return memcmp(data, begin, n < bytes ? n : bytes) == 0;
}

enum proxy_state proxy_header_parse(const uint8_t *data, size_t n, struct proxy_header *h)
{
	*h = (struct proxy_header){0};
	if (n == 0)
		return PROXY_MORE;
	if (begins(data, n, signature, sizeof(signature)))
		return parse_v2(data, n, h);
	if (!begins(data, n, V1_BEGIN, sizeof(V1_BEGIN) - 1))
		return PROXY_BAD;
	return n < sizeof(V1_BEGIN) - 1 ? PROXY_MORE : parse_v1(data, n, h);
}
