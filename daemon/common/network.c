/* Networks. All are of IPv6: an IPv4 address is the same on an IPv4 and on an IPv6 socket. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "network.h"
#include "quantity.h"

#define MAPPED 96u /* bits before an IPv4 address */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool bit(const uint8_t *bytes, unsigned i)
{
	return bytes[i / 8] >> (7 - i % 8) & 1;
}

bool network_parse(const char *text, struct network *n)
{
	const char *slash = strchr(text, '/');
	size_t bytes = slash ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	uint64_t length;
	bool four;

	*n = (struct network){0};
	if (bytes == 0 || bytes >= sizeof(address))
		return false;
	memcpy(address, text, bytes);
	address[bytes] = '\0';
	memcpy(n->address, mapped, sizeof(mapped));
	four = inet_pton(AF_INET, address, n->address + sizeof(mapped)) == 1;
	if (!four && inet_pton(AF_INET6, address, n->address) != 1)
		return false;
	length = four ? 32 : 128;
	if (slash && !quantity_whole(slash + 1, four ? 32 : 128, &length))
		return false;
	n->length = (unsigned)length + (four ? MAPPED : 0);
	for (unsigned i = n->length; i < 128; i++)
		if (bit(n->address, i))
			return false;
	return true;
}

bool network_has(const struct network *n, const struct sockaddr_storage *a)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} u = {.any = *a};
	uint8_t address[16];

	if (a->ss_family == AF_INET) {
		memcpy(address, mapped, sizeof(mapped));
		memcpy(address + sizeof(mapped), &u.in.sin_addr, 4);
	} else if (a->ss_family == AF_INET6) {
		memcpy(address, &u.in6.sin6_addr, sizeof(address));
	} else {
		return false;
	}
	for (unsigned i = 0; i < n->length; i++)
		if (bit(address, i) != bit(n->address, i))
			return false;
	return true;
}
