/*
 * Clients.
 *
 * Invariants: each connection of libmicrohttpd has one client in its listener's list, so the list
 * never exceeds the limit. While a connection waits in the kernel, either the listening socket is
 * watched, or clients whose requests are whole take every place; the next phase or end of such a
 * client watches the socket again. A client that waits for its header is never suspended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"
#include "log.h"

#define ACCEPT_MOST 64u /* connections in a row, before other events */

static bool waits_for_header(const struct client *c)
{
	return (c->phase == CLIENT_HEADER || c->phase == CLIENT_IDLE) && !c->ended;
}

/* Watch the listening socket again if that was paused. */
static void accept_again(struct listener *l)
{
	if (!l->paused)
		return;
	l->paused = false;
	sd_event_source_set_enabled(l->accept, SD_EVENT_ON);
}

static void accept_pause(struct listener *l)
{
	l->paused = true;
	sd_event_source_set_enabled(l->accept, SD_EVENT_OFF);
}

void client_begin(struct client *c, enum client_phase phase)
{
	c->phase = phase;
	c->since = clock_mono();
	if (waits_for_header(c))
		accept_again(c->listener); /* C can be evicted for the next connection now */
}

void client_end(struct client *c)
{
	c->ended = true;
	shutdown(c->fd, SHUT_RDWR);
}

/* Return the deadline of C, CLOCK_MONOTONIC ns. */
static uint64_t deadline(const struct client *c)
{
	const struct http_options *o = &c->listener->http->options;

	switch (c->phase) {
	case CLIENT_HEADER:
		return c->since + o->header_timeout_ns;
	case CLIENT_IDLE:
		return c->since + o->idle_timeout_ns;
	case CLIENT_BODY:
		return c->since + o->body_timeout_ns;
	default: /* libmicrohttpd ends clients that do not take their answer */
		return UINT64_MAX;
	}
}

/* Note that the client sent FIN, or that it is gone. */
static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct client *c = context;

	(void)source;
	(void)fd;
	if (!c->finished)
		c->listener->finished++;
	c->finished = true;
	if (c->exchange)
		exchange_client_left(c->exchange, revents & (EPOLLHUP | EPOLLERR));
	c->listener->resumed = true; /* many may leave at once: one run serves all of them */
	return 0;
}

static struct client *client_started(struct listener *l)
{
	struct client *c = TAKE_PTR(l->adding);

	c->next = l->clients;
	if (c->next)
		c->next->previous = c;
	l->clients = c;
	l->n_clients++;
	/* If the socket cannot be watched, the deadlines still hold. */
	if (sd_event_add_io(l->http->event, &c->hangup, c->fd, EPOLLRDHUP | EPOLLET, on_hangup, c) < 0)
		c->hangup = NULL;
	client_begin(c, CLIENT_HEADER);
	return c;
}

static void client_closed(struct listener *l, struct client *c)
{
	if (c->previous)
		c->previous->next = c->next;
	else
		l->clients = c->next;
	if (c->next)
		c->next->previous = c->previous;
	l->n_clients--;
	l->finished -= c->finished;
	/* libmicrohttpd may notice an idle connection before the next tick does. */
	l->http->counts.clients_timed_out += !c->ended && clock_mono() >= deadline(c);
	sd_event_source_disable_unref(c->hangup);
	free(c);
	accept_again(l);
}

void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct listener *l = context;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*socket_context = client_started(l);
	else if (*socket_context)
		client_closed(l, *socket_context);
}

struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/*
 * Return the client that has waited longest for a header, of PEER (NULL = of any peer), or NULL. *N
 * is the number of clients of PEER.
 */
static struct client *longest_waiting(const struct listener *l, const struct peer *peer, size_t *n)
{
	struct client *found = NULL;

	*n = 0;
	for (struct client *c = l->clients; c; c = c->next) {
		if (peer && !peer_same(c->peer, *peer))
			continue;
		++*n;
		if (waits_for_header(c) && (!found || c->since <= found->since))
			found = c;
	}
	return found;
}

/* Close C at once, for another client. */
static void evict(struct listener *l, struct client *c)
{
	l->http->counts.clients_evicted++;
	client_end(c);
	MHD_run(l->daemon);
}

/* Answer 503 on FD if the socket takes it, and close FD. */
static void refuse(struct listener *l, int fd)
{
	static const char detail[] = "This client has too many requests in progress; end one, or try again.";
	json_t *json = problem_json(MHD_HTTP_SERVICE_UNAVAILABLE, detail, NULL);
	CLEANUP(freep) char *body = json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	char text[1024], unread[4096];
	int len;

	json_decref(json);
	l->http->counts.clients_refused++;
	len = snprintf(text, sizeof(text),
		       "HTTP/1.1 503 Service Unavailable\r\nContent-Type: " PROBLEM_TYPE
		       "\r\nContent-Length: %zu\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s",
		       body ? strlen(body) : 0, body ? body : "");
	/*
	 * Read what came: closing a socket with unread bytes resets the connection and loses the
	 * answer.
	 */
	(void)!recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
	if (len > 0 && (size_t)len < sizeof(text))
		(void)!send(fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	close(fd);
}

/* Hand FD to libmicrohttpd, which closes it in the end, or at once if adding fails. */
static void client_add(struct listener *l, int fd, struct peer peer, const struct sockaddr_storage *address,
		       socklen_t bytes)
{
	l->adding = calloc(1, sizeof(*l->adding));
	if (!l->adding) {
		close(fd);
		return;
	}
	*l->adding = (struct client){.listener = l, .fd = fd, .peer = peer};
	if (MHD_add_connection(l->daemon, fd, (const struct sockaddr *)address, bytes) != MHD_YES)
		log_debug("%s: a connection could not be added: %s", l->address, strerror(errno));
	free(TAKE_PTR(l->adding));
	l->resumed = true;
}

/* Find a place for FD; if there is none, evict a client that waits for its header. */
static void client_place(struct listener *l, int fd, const struct sockaddr_storage *address, socklen_t bytes)
{
	const struct http_options *o = &l->http->options;
	struct peer peer = peer_of(fd, address);
	struct client *longest;
	size_t n;

	longest_waiting(l, &peer, &n);
	if (n >= o->peer_connections || l->n_clients >= o->connections)
		MHD_run(l->daemon); /* a header may have come that libmicrohttpd has not read */
	longest = longest_waiting(l, &peer, &n);
	if (n < o->peer_connections)
		longest = l->n_clients < o->connections ? NULL : longest_waiting(l, NULL, &n);
	if (longest)
		evict(l, longest);
	longest_waiting(l, &peer, &n);
	if (n >= o->peer_connections || l->n_clients >= o->connections)
		refuse(l, fd);
	else
		client_add(l, fd, peer, address, bytes);
}

/* Accept one connection. Return false if there is none, or if none can be taken now. */
static bool accept_one(struct listener *l)
{
	struct sockaddr_storage address = {0};
	socklen_t bytes = sizeof(address);
	size_t n;
	int fd;

	if (l->n_clients >= l->http->options.connections && !longest_waiting(l, NULL, &n)) {
		accept_pause(l);
		return false;
	}
	fd = accept4(l->fd, (struct sockaddr *)&address, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		client_place(l, fd, &address, bytes);
		return true;
	}
	/*
	 * Without descriptors or memory no connection can be accepted; accept again at the next
	 * tick, or when a connection closes.
	 */
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		accept_pause(l);
	return !l->paused && errno != EAGAIN;
}

void clients_accept(struct listener *l)
{
	uint64_t until =
		clock_mono() + EXCHANGE_STEP_NS; /* while all places are taken, each connection runs libmicrohttpd */

	for (unsigned n = 0; n < ACCEPT_MOST && clock_mono() < until && accept_one(l); n++)
		;
}

void clients_tick(struct listener *l, uint64_t now)
{
	for (struct client *c = l->clients; c; c = c->next) {
		if (c->ended || now < deadline(c))
			continue;
		l->http->counts.clients_timed_out++;
		client_end(c);
	}
	accept_again(l);
}

void clients_end_finished(struct listener *l)
{
	int unread;

	for (struct client *c = l->finished ? l->clients : NULL; c; c = c->next) {
		if (!c->finished || c->ended || c->phase == CLIENT_ANSWER)
			continue;
		/* Bytes that came before FIN may complete the request. */
		if (ioctl(c->fd, FIONREAD, &unread) < 0 || unread == 0)
			client_end(c);
	}
}
