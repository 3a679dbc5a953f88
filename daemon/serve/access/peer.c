/*
 * The peer of a connection. An IPv6 host can use all 2^64 addresses of its network, so the network
 * is the peer. An IPv4 address is the same peer on an IPv4 and on an IPv6 socket.
 */
#include <netinet/in.h>
#include <string.h>

#include "peer.h"

static struct peer peer_in6(const struct in6_addr *a)
{
	struct peer p = {.family = AF_INET6};
	size_t from = IN6_IS_ADDR_V4MAPPED(a) ? 12 : 0, to = from ? 16 : 8;

	if (from)
		p.family = AF_INET;
	for (size_t i = from; i < to; i++)
		p.id = p.id << 8 | a->s6_addr[i];
	return p;
}

/* Return the peer for the user who had connected the Unix socket FD. */
static struct peer peer_user(int fd)
{
	struct ucred user = {.uid = (uid_t)-1};
	socklen_t size = sizeof(user);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) < 0)
		return (struct peer){.family = AF_UNSPEC};
	return (struct peer){.family = AF_UNIX, .id = user.uid};
}

struct peer peer_of(int fd, const struct sockaddr_storage *address)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {.any = *address};

	if (address->ss_family == AF_INET)
		return (struct peer){.family = AF_INET, .id = ntohl(a.in.sin_addr.s_addr)};
	if (address->ss_family == AF_INET6)
		return peer_in6(&a.in6.sin6_addr);
	return peer_user(fd);
}

bool peer_same(struct peer a, struct peer b)
{
	return a.family == b.family && a.id == b.id;
}
