/* Networks of IP addresses: ADDRESS/LENGTH, or a single ADDRESS. */
#ifndef COMMON_NETWORK_H
#define COMMON_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct network {
	uint8_t address[16]; /* of IPv6; an IPv4 address as ::ffff:ADDRESS */
	unsigned length;     /* bits of ADDRESS that count, 0 to 128 */
};

/*
 * Parse TEXT, a numeric IPv4 or IPv6 address with or without /LENGTH. Return false if it is anything else, or
 * if bits behind LENGTH are set.
 */
bool network_parse(const char *text, struct network *n);
/* Return whether N has the IPv4 or IPv6 address A. An address of another family is in no network. */
bool network_has(const struct network *n, const struct sockaddr_storage *a);

#endif
