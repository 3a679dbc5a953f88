/*
 * Connections of proxies whose header of the PROXY protocol is not complete.
 *
 * The header is looked at in the socket and taken out as a whole, so that what follows, a TLS handshake
 * or a request, stays for libmicrohttpd. A connection waits here for a limited time, and a limited number
 * of them waits: the oldest makes room. None has a place among the clients before its header came, since
 * the places are counted by the address in the header.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"
#include "log.h"
#include "proxy-header.h"

#define HEADER_NS (5 * NS_PER_S) /* time for a header: a proxy sends it as soon as it has connected */

struct proxied {
	struct listener *listener;
	struct proxied *previous, *next; /* in the listener's list, newest first */
	int fd;
	struct sockaddr_storage address; /* of the proxy */
	socklen_t bytes;
	uint64_t since; /* CLOCK_MONOTONIC ns */
	sd_event_source *source;
};

/* Forget P, and leave its socket to the caller. */
static void forget(struct proxied *p)
{
	struct listener *l = p->listener;

	if (p->previous)
		p->previous->next = p->next;
	else
		l->proxied = p->next;
	if (p->next)
		p->next->previous = p->previous;
	l->n_proxied--;
	sd_event_source_disable_unref(p->source);
	free(p);
}

static void end(struct proxied *p)
{
	close(p->fd);
	forget(p);
}

static void refuse(struct proxied *p, const char *detail)
{
	struct listener *l = p->listener;
	char text[PEER_TEXT];
	int fd = p->fd;

	access_peer_text(peer_of(fd, &p->address), text);
	forget(p);
	l->http->counts.proxy_refused++;
	log_write_limited(&l->http->proxy_log, LOG_LEVEL_WARNING, NULL,
			  "A connection of a proxy was refused: peer=%s. %s", text, detail);
	client_refuse(l, fd, MHD_HTTP_BAD_REQUEST, detail);
}

/* Take the complete header H out of the socket of P, which becomes a client. */
static void pass_on(struct proxied *p, const struct proxy_header *h)
{
	struct listener *l = p->listener;
	struct sockaddr_storage address = h->local ? p->address : h->client;
	socklen_t bytes = h->local ? p->bytes : h->client_bytes;
	uint8_t header[PROXY_HEADER_MOST];
	int fd = p->fd;

	if (recv(fd, header, h->bytes, MSG_DONTWAIT) != (ssize_t)h->bytes) {
		end(p);
		return;
	}
	forget(p);
	l->http->counts.proxied++;
	client_place(l, fd, &address, bytes);
}

static int on_header(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct proxied *p = context;
	uint8_t data[PROXY_HEADER_MOST];
	struct proxy_header h;
	ssize_t n = recv(fd, data, sizeof(data), MSG_PEEK | MSG_DONTWAIT);

	(void)source;
	if (n <= 0 && !(n < 0 && (errno == EAGAIN || errno == EINTR))) {
		end(p); /* a check of the proxy whether this port is open */
		return 0;
	}
	switch (proxy_header_parse(data, n > 0 ? (size_t)n : 0, &h)) {
	case PROXY_DONE:
		pass_on(p, &h);
		return 0;
	case PROXY_BAD:
		refuse(p,
		       "A connection from this address must begin with a header of the PROXY protocol, since proxy in "
		       "[http] lists it.");
		return 0;
	default:
		if (revents & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			end(p);
		return 0;
	}
}

static struct proxied *oldest(const struct listener *l)
{
	struct proxied *p = l->proxied;

	while (p && p->next)
		p = p->next;
	return p;
}

bool proxied_is(const struct listener *l, const struct sockaddr_storage *address)
{
	for (size_t i = 0; l->tcp && i < l->http->n_proxies; i++)
		if (network_has(&l->http->proxies[i], address))
			return true;
	return false;
}

void proxied_add(struct listener *l, int fd, const struct sockaddr_storage *address, socklen_t bytes)
{
	struct proxied *p = calloc(1, sizeof(*p));

	if (!p) {
		close(fd);
		return;
	}
	if (l->n_proxied >= l->http->options.connections)
		refuse(oldest(l), "Too many connections of proxies wait for their header.");
	*p = (struct proxied){.listener = l, .fd = fd, .address = *address, .bytes = bytes, .since = clock_mono()};
	p->next = l->proxied;
	if (p->next)
		p->next->previous = p;
	l->proxied = p;
	l->n_proxied++;
	/* The first bytes may have come already: an event source with EPOLLET reports them, too. */
	if (sd_event_add_io(l->http->event, &p->source, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, on_header, p) < 0)
		end(p);
}

void proxied_tick(struct listener *l, uint64_t now)
{
	for (struct proxied *p = oldest(l); p && now >= p->since + HEADER_NS; p = oldest(l))
		refuse(p, "No header of the PROXY protocol came within 5 seconds.");
}

void proxied_stop(struct listener *l)
{
	while (l->proxied)
		end(l->proxied);
}
