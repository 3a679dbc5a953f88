/*
 * The peer of a connection, for limits: an IPv4 address, the first 64 bits of an IPv6 address, or
 * the user of a Unix socket.
 */
#ifndef SERVE_PEER_H
#define SERVE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct peer {
	int family;  /* AF_INET, AF_INET6 or AF_UNIX; AF_UNSPEC = unknown */
	uint64_t id; /* address, prefix or user id, in host byte order */
};

/*
 * Return the peer of the accepted socket FD, whose address is ADDRESS. For a Unix socket the peer
 * is read from FD.
 */
struct peer peer_of(int fd, const struct sockaddr_storage *address);

bool peer_same(struct peer a, struct peer b);

#endif
