/* The header of the PROXY protocol, by haproxy's specification. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "check.h"
#include "proxy-header.h"

/* Return the client of H as text: ADDRESS PORT. */
static const char *client_of(const struct proxy_header *h)
{
	static char text[80];
	char address[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in a4;
	struct sockaddr_in6 a6;
	unsigned port;

	if (h->client.ss_family == AF_INET) {
		memcpy(&a4, &h->client, sizeof(a4));
		inet_ntop(AF_INET, &a4.sin_addr, address, sizeof(address));
		port = ntohs(a4.sin_port);
	} else {
		memcpy(&a6, &h->client, sizeof(a6));
		inet_ntop(AF_INET6, &a6.sin6_addr, address, sizeof(address));
		port = ntohs(a6.sin6_port);
	}
	snprintf(text, sizeof(text), "%s %u", address, port);
	return text;
}

static void test_version_1(void)
{
	static const struct {
		const char *text;
		enum proxy_state state;
		size_t bytes;
		const char *client; /* NULL = it does not say */
	} cases[] = {
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\r\nGET /", PROXY_DONE, 41, "192.0.2.1 1234"},
		{"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n", PROXY_DONE, 44, "2001:db8::1 1"},
		{"PROXY UNKNOWN\r\n", PROXY_DONE, 15, NULL},
		{"PROXY UNKNOWN what ever\r\n", PROXY_DONE, 25, NULL},
		{"", PROXY_MORE, 0, NULL},
		{"PRO", PROXY_MORE, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\r", PROXY_MORE, 0, NULL},
		{"GET / HTTP/1.1\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234 443\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234 65536\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 0123 443\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 192.0.2.1 192.0.2.2 1234 443 7\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP4 2001:db8::1 192.0.2.2 1234 443\r\n", PROXY_BAD, 0, NULL},
		{"PROXY TCP5 192.0.2.1 192.0.2.2 1234 443\r\n", PROXY_BAD, 0, NULL},
		{"PROXY UNKNOWNS\r\n", PROXY_BAD, 0, NULL},
		{"PROXY \r\n", PROXY_BAD, 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proxy_header h;

		CHECK(proxy_header_parse((const uint8_t *)cases[i].text, strlen(cases[i].text), &h) == cases[i].state);
		if (cases[i].state != PROXY_DONE)
			continue;
		CHECK(h.bytes == cases[i].bytes);
		CHECK(h.local == !cases[i].client);
		CHECK(!cases[i].client || strcmp(client_of(&h), cases[i].client) == 0);
	}
}

static void test_long_line(void)
{
	uint8_t line[200];
	struct proxy_header h;

	memset(line, 'x', sizeof(line));
	memcpy(line, "PROXY UNKNOWN ", 14);
	CHECK(proxy_header_parse(line, 106, &h) == PROXY_MORE);
	CHECK(proxy_header_parse(line, 107, &h) == PROXY_BAD);
	memcpy(line + 105, "\r\n", 2);
	CHECK(proxy_header_parse(line, sizeof(line), &h) == PROXY_DONE && h.bytes == 107);
	line[20] = '\0';
	CHECK(proxy_header_parse(line, sizeof(line), &h) == PROXY_BAD);
}

/* A header of version 2: COMMAND, FAMILY, and LENGTH bytes behind the fixed part. */
static size_t make(uint8_t *out, uint8_t command, uint8_t family, size_t length)
{
	memset(out, 0, PROXY_HEADER_MOST + 16);
	memcpy(out, "\r\n\r\n\0\r\nQUIT\n", 12);
	out[12] = command;
	out[13] = family;
	out[14] = (uint8_t)(length >> 8);
	out[15] = (uint8_t)length;
	return 16 + length;
}

static void test_version_2(void)
{
	uint8_t data[PROXY_HEADER_MOST + 16];
	struct proxy_header h;
	size_t n = make(data, 0x21, 0x11, 12);

	memcpy(data + 16, "\xc0\x00\x02\x01\xc0\x00\x02\x02\x04\xd2\x01\xbb", 12);
	for (size_t i = 0; i < n; i++)
		CHECK(proxy_header_parse(data, i, &h) == PROXY_MORE);
	CHECK(proxy_header_parse(data, n, &h) == PROXY_DONE && h.bytes == n && !h.local);
	CHECK(strcmp(client_of(&h), "192.0.2.1 1234") == 0);
	n = make(data, 0x21, 0x21, 36);
	data[16 + 15] = 1;
	data[16 + 33] = 80;
	CHECK(proxy_header_parse(data, n, &h) == PROXY_DONE && strcmp(client_of(&h), "::1 80") == 0);
	CHECK(proxy_header_parse(data, make(data, 0x20, 0, 0), &h) == PROXY_DONE && h.local && h.bytes == 16);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0, 5), &h) == PROXY_DONE && h.local);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0x31, 216), &h) == PROXY_DONE && h.local);
	/* the wrong version, command, family, and addresses that are cut */
	CHECK(proxy_header_parse(data, make(data, 0x11, 0x11, 12), &h) == PROXY_BAD);
	CHECK(proxy_header_parse(data, make(data, 0x22, 0x11, 12), &h) == PROXY_BAD);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0x12, 12), &h) == PROXY_BAD);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0x11, 11), &h) == PROXY_BAD);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0x21, 35), &h) == PROXY_BAD);
	CHECK(proxy_header_parse(data, make(data, 0x21, 0x11, PROXY_HEADER_MOST), &h) == PROXY_BAD);
}

/* The list that a proxy adds behind the addresses. */
static void test_lists(void)
{
	uint8_t data[PROXY_HEADER_MOST + 16];
	struct proxy_header h;
	size_t n = make(data, 0x21, 0x11, 12 + 3 + 4);

	data[16 + 12 + 2] = 4;
	CHECK(proxy_header_parse(data, n, &h) == PROXY_DONE && h.bytes == n);
	data[16 + 12 + 2] = 5;
	CHECK(proxy_header_parse(data, n, &h) == PROXY_BAD);
	data[16 + 12 + 2] = 3;
	CHECK(proxy_header_parse(data, n, &h) == PROXY_BAD);
	n = make(data, 0x21, 0x11, PROXY_HEADER_MOST - 16);
	data[16 + 12 + 1] = (uint8_t)((PROXY_HEADER_MOST - 16 - 12 - 3) >> 8);
	data[16 + 12 + 2] = (uint8_t)(PROXY_HEADER_MOST - 16 - 12 - 3);
	CHECK(proxy_header_parse(data, n, &h) == PROXY_DONE && h.bytes == PROXY_HEADER_MOST);
}

int main(void)
{
	test_version_1();
	test_long_line();
	test_version_2();
	test_lists();
	return check_done();
}
