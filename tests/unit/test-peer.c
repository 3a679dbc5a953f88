/* Addresses of the peers of IPv4, IPv6 and Unix sockets, as text. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "peer.h"

static struct peer peer4(const char *text)
{
	struct sockaddr_storage store = {0};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(1)};

	CHECK_EQ_INT(inet_pton(AF_INET, text, &a.sin_addr), 1);
	memcpy(&store, &a, sizeof(a));
	return peer_of(-1, &store);
}

static struct peer peer6(const char *text)
{
	struct sockaddr_storage store = {0};
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(2)};

	CHECK_EQ_INT(inet_pton(AF_INET6, text, &a.sin6_addr), 1);
	memcpy(&store, &a, sizeof(a));
	return peer_of(-1, &store);
}

static void test_addresses(void)
{
	CHECK(peer_same(peer4("127.0.0.1"), peer4("127.0.0.1")) && !peer_same(peer4("127.0.0.1"), peer4("127.0.0.2")));
	CHECK(!peer_same(peer4("10.0.0.1"), peer4("11.0.0.1")));
	CHECK(peer_same(peer6("2001:db8:1:2::1"), peer6("2001:db8:1:2:ffff::9")));
	CHECK(!peer_same(peer6("2001:db8:1:2::1"), peer6("2001:db8:1:3::1")));
	CHECK(!peer_same(peer6("2001:db8:1:2::1"), peer6("2002:db8:1:2::1")));
	CHECK(peer_same(peer6("::ffff:10.1.2.3"), peer4("10.1.2.3")));
	CHECK(!peer_same(peer6("::ffff:10.1.2.3"), peer6("::ffff:10.1.2.4")));
	CHECK(!peer_same(peer6("::a01:203"), peer4("10.1.2.3")));
	CHECK(!peer_same(peer6("::"), peer4("0.0.0.0")));
}

static void test_users(void)
{
	struct sockaddr_storage local = {.ss_family = AF_UNIX};
	struct peer me, unknown = peer_of(-1, &local);
	int pair[2];

	if (!CHECK_EQ_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0))
		return;
	me = peer_of(pair[0], &local);
	CHECK_EQ_INT(me.family, AF_UNIX);
	CHECK_EQ_UINT(me.id, getuid());
	CHECK(peer_same(me, peer_of(pair[1], &local)) && !peer_same(me, unknown));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	test_addresses();
	test_users();
	return check_done();
}
