/*
 * Clients: connections of a listener, with their limits and deadlines.
 *
 * Invariants: for each connection of libmicrohttpd there is one client in its listener's list, so
 * the list never exceeds the limit. While a connection waits in the kernel to be accepted, either
 * the listening socket is watched, or all places are taken by clients whose requests are complete;
 * when such a client begins its next phase or ends, the socket is watched again. A client that has
 * not sent its whole header is never suspended.
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

#define ACCEPT_MOST 64u /* connections accepted in a row, before other events are handled */

static bool waits_for_header(const struct client *c)
{
	return (c->phase == CLIENT_HEADER || c->phase == CLIENT_IDLE) && !c->ended;
}

/* Watch the listening socket again, if it is not watched. */
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
		accept_again(c->listener); /* from now on C can be evicted for a new connection */
}

void client_end(struct client *c)
{
	c->ended = true;
	shutdown(c->fd, SHUT_RDWR);
	handshake_resume(c);
}

/* Return when client C must be ended, CLOCK_MONOTONIC ns; UINT64_MAX = never. */
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
	default: /* libmicrohttpd ends clients that do not read their answer */
		return UINT64_MAX;
	}
}

/* sd_event calls this when the client has sent FIN, or is gone, or its handshake can go on. */
static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct client *c = context;

	(void)source;
	(void)fd;
	handshake_resume(c);
	if (!(revents & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return 0;
	if (!c->finished)
		c->listener->finished++;
	c->finished = true;
	if (c->exchange)
		exchange_client_left(c->exchange, revents & (EPOLLHUP | EPOLLERR));
	c->listener->resumed = true; /* many clients may leave at once, so libmicrohttpd runs once for all of them */
	return 0;
}

gnutls_session_t client_session(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info ? (gnutls_session_t)info->tls_session : NULL;
}

/* Let C use the newest certificate. libmicrohttpd has made its session, whose handshake comes later. */
static void begin_tls(struct client *c, struct MHD_Connection *connection)
{
	struct tls *tls = access_tls(c->listener->http->services->access);
	gnutls_session_t session = client_session(connection);

	c->tls = tls_generation_ref(tls);
	if (!session || tls_session_begin(c->tls, session) < 0)
		client_end(c);
	handshake_begin(c);
}

static struct client *client_started(struct listener *l, struct MHD_Connection *connection)
{
	struct client *c = TAKE_PTR(l->adding);

	c->connection = connection;
	c->next = l->clients;
	if (c->next)
		c->next->previous = c;
	l->clients = c;
	l->n_clients++;
	/* If the socket cannot be watched, the client still has its deadlines. */
	if (sd_event_add_io(l->http->event, &c->hangup, c->fd, EPOLLRDHUP | EPOLLET, on_hangup, c) < 0)
		c->hangup = NULL;
	client_begin(c, CLIENT_HEADER);
	if (l->tls)
		begin_tls(c, connection);
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
	handshake_end(c);
	l->finished -= c->finished;
	/* libmicrohttpd may time out an idle connection before clients_tick() does. */
	l->http->counts.clients_timed_out += !c->ended && clock_mono() >= deadline(c);
	sd_event_source_disable_unref(c->hangup);
	tls_generation_unref(c->tls);
	free(c);
	accept_again(l);
}

void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct listener *l = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*socket_context = client_started(l, connection);
	else if (*socket_context)
		client_closed(l, *socket_context);
	if (code == MHD_CONNECTION_NOTIFY_CLOSED && l->remote)
		sd_event_exit(l->http->event, 0);
}

struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/*
 * Return the client of PEER (NULL = of any peer) to close for a new connection, or NULL: the one that
 * has waited longest without sending its whole header. As long as at most half of the clients wait and
 * are identified, choose one that is not. So connections that send nothing push out each other, and
 * no connection that a user keeps open; and users who keep many leave half of the places to others.
 * *N is the number of clients of PEER.
 */
static struct client *to_evict(const struct listener *l, const struct peer *peer, size_t *n)
{
	struct client *longest[2] = {NULL, NULL}; /* not identified, identified */
	size_t identified = 0;

	*n = 0;
	for (struct client *c = l->clients; c; c = c->next) {
		struct client **found = &longest[c->identified];

		if (peer && !peer_same(c->peer, *peer))
			continue;
		++*n;
		if (!waits_for_header(c))
			continue;
		identified += c->identified;
		if (!*found || c->since <= (*found)->since)
			*found = c;
	}
	return longest[1] && (!longest[0] || 2 * identified > *n) ? longest[1] : longest[0];
}

/* Close the connection of C now, to make a place for another client. */
static void evict(struct listener *l, struct client *c)
{
	l->http->counts.clients_evicted++;
	client_end(c);
	MHD_run(l->daemon);
}

void client_refuse(struct listener *l, int fd, unsigned status, const char *detail)
{
	const bool busy = status == MHD_HTTP_SERVICE_UNAVAILABLE;
	json_t *json = problem_json(status, detail, NULL);
	CLEANUP(freep) char *body = json ? json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	char text[1024], unread[4096];
	int len;

	json_decref(json);
	if (l->tls) {
		close(fd);
		return;
	}
	len = snprintf(text, sizeof(text),
		       "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE
		       "\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n%s",
		       status, busy ? "Service Unavailable" : "Bad Request", body ? strlen(body) : 0,
		       busy ? "Retry-After: 1\r\n" : "", body ? body : "");
	/*
	 * Read the bytes that have come, because closing a socket with unread bytes resets the
	 * connection, and the answer would be lost.
	 */
	(void)!recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
	if (len > 0 && (size_t)len < sizeof(text))
		(void)!send(fd, text, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	close(fd);
}

/* libmicrohttpd owns FD from then on, and closes it, also if adding fails. */
void client_add(struct listener *l, int fd, struct peer peer, const struct sockaddr_storage *address, socklen_t bytes)
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

/* If there is no place, evict a client that has not sent its whole header; if there is none, refuse FD. */
void client_place(struct listener *l, int fd, const struct sockaddr_storage *address, socklen_t bytes)
{
	const struct http_options *o = &l->http->options;
	struct peer peer = peer_of(fd, address);
	struct access *access = l->http->services->access;
	struct client *evicted;
	size_t n;

	if (l->tls &&
	    !throttle_handshake(access_throttle(access), peer, access_limits(access)->peer_handshakes, clock_mono())) {
		l->http->counts.handshakes_refused++;
		close(fd);
		return;
	}
	to_evict(l, &peer, &n);
	if (n >= o->peer_connections || l->n_clients >= o->connections)
		MHD_run(l->daemon); /* libmicrohttpd may not have read a header that has come */
	evicted = to_evict(l, &peer, &n);
	if (n < o->peer_connections)
		evicted = l->n_clients < o->connections ? NULL : to_evict(l, NULL, &n);
	if (evicted)
		evict(l, evicted);
	to_evict(l, &peer, &n);
	if (n < o->peer_connections && l->n_clients < o->connections) {
		client_add(l, fd, peer, address, bytes);
		return;
	}
	l->http->counts.clients_refused++;
	client_refuse(l, fd, MHD_HTTP_SERVICE_UNAVAILABLE,
		      "This client has too many requests in progress; end one, or try again.");
}

/* Accept one connection. Return false if none is waiting, or if none can be accepted now. */
static bool accept_one(struct listener *l)
{
	struct sockaddr_storage address = {0};
	socklen_t bytes = sizeof(address);
	size_t n;
	int fd;

	if (l->n_clients >= l->http->options.connections && !to_evict(l, NULL, &n)) {
		accept_pause(l);
		return false;
	}
	fd = accept4(l->fd, (struct sockaddr *)&address, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		if (proxied_is(l, &address))
			proxied_add(l, fd, &address, bytes);
		else
			client_place(l, fd, &address, bytes);
		return true;
	}
	/*
	 * Without file descriptors or memory no connection can be accepted. Try again at the next
	 * tick, or when a connection is closed.
	 */
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		accept_pause(l);
	return !l->paused && errno != EAGAIN;
}

void clients_accept(struct listener *l)
{
	uint64_t until =
		/*
		 * Limits the time in the loop: if all places are taken, each connection runs
		 * libmicrohttpd.
		 */
		clock_mono() + EXCHANGE_STEP_NS;

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
		/* Bytes that came before the FIN may complete the request. */
		if (ioctl(c->fd, FIONREAD, &unread) < 0 || unread == 0)
			client_end(c);
	}
}
