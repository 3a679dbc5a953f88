/*
 * Clients: connections of a listener, with their limits and deadlines.
 *
 * Invariants: for each connection of libmicrohttpd there is one client in its listener's list, from
 * before libmicrohttpd gets the socket, so the list never exceeds the limit. libmicrohttpd may
 * announce a connection at once, later, or never: its socket finds the client, and a client whose
 * socket was closed without an announcement is dropped. While a connection waits in the kernel to be
 * accepted, either the listening socket is watched, or all places are taken by clients whose requests
 * are complete; when such a client begins its next phase or ends, the socket is watched again. A
 * client that has not sent its whole header is never suspended.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"
#include "json-whole.h"
#include "log.h"

#define ACCEPT_MOST 64u /* connections accepted in a row, before other events are handled */
#define TURNS_MOST  8u	/* turns of libmicrohttpd to announce connections, or to close one that was shut down */

/* Return whether C can be evicted. The header of a client that is not announced may have come. */
static bool waits_for_header(const struct client *c)
{
	return c->connection && (c->phase == CLIENT_HEADER || c->phase == CLIENT_IDLE) && !c->ended;
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
	/* The descriptor of a connection that is not announced may be closed. announced() calls this again. */
	if (c->connection)
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

/* Return the inode of the open descriptor FD; 0 = it is not open. The kernel gives each new socket another one. */
static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* Add a client of L with the socket FD, whose connection libmicrohttpd has not announced. Return NULL without memory. */
static struct client *client_new(struct listener *l, int fd, struct peer peer)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct client){.listener = l, .fd = fd, .inode = inode_of(fd), .peer = peer};
	c->next = l->clients;
	if (c->next)
		c->next->previous = c;
	l->clients = c;
	l->n_clients++;
	l->unannounced++;
	client_begin(c, CLIENT_HEADER);
	return c;
}

/* Let C use CONNECTION, which libmicrohttpd has announced, or from which a request comes. */
static struct client *announced(struct client *c, struct MHD_Connection *connection)
{
	struct listener *l = c->listener;

	c->connection = connection;
	l->unannounced--;
	accept_again(l);
	/* If the socket cannot be watched, the client still has its deadlines. */
	if (sd_event_add_io(l->http->event, &c->hangup, c->fd, EPOLLRDHUP | EPOLLET, on_hangup, c) < 0)
		c->hangup = NULL;
	if (l->tls)
		begin_tls(c, connection);
	if (c->ended)
		client_end(c);
	return c;
}

static void client_closed(struct client *c)
{
	struct listener *l = c->listener;

	if (c->previous)
		c->previous->next = c->next;
	else
		l->clients = c->next;
	if (c->next)
		c->next->previous = c->previous;
	l->n_clients--;
	l->unannounced -= !c->connection;
	handshake_end(c);
	l->finished -= c->finished;
	/* libmicrohttpd may time out an idle connection before clients_tick() does. */
	l->http->counts.clients_timed_out += !c->ended && clock_mono() >= deadline(c);
	c->hangup = sd_event_source_disable_unref(c->hangup);
	tls_generation_unref(TAKE_PTR(c->tls));
	c->connection = NULL;
	c->closed = true;
	if (!c->exchange)
		free(c);
	accept_again(l);
	if (l->remote)
		sd_event_exit(l->http->event, 0);
}

void client_answered(struct client *c)
{
	c->exchange = NULL;
	if (c->closed)
		free(c);
	else
		client_begin(c, CLIENT_IDLE);
}

void clients_drop_lost(struct listener *l)
{
	struct client *next;

	for (struct client *c = l->unannounced ? l->clients : NULL; c; c = next) {
		next = c->next;
		if (!c->connection && inode_of(c->fd) != c->inode)
			client_closed(c);
	}
}

void clients_drop_all(struct listener *l)
{
	while (l->clients)
		client_closed(l->clients);
}

struct client *client_of(struct listener *l, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info;
	struct client *c = l->clients;

	while (c && c->connection != connection)
		c = c->next;
	if (c)
		return c;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (c = info ? l->clients : NULL; c; c = c->next)
		if (!c->connection && c->fd == info->connect_fd)
			return announced(c, connection);
	return NULL;
}

void client_notify(void *context, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct client *c = client_of(context, connection);

	(void)socket_context;
	if (c && code == MHD_CONNECTION_NOTIFY_CLOSED)
		client_closed(c);
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
	const size_t n = l->n_clients;

	l->http->counts.clients_evicted++;
	client_end(c);
	for (unsigned turn = 0; turn < TURNS_MOST && l->n_clients == n; turn++)
		MHD_run(l->daemon);
}

/*
 * Write the answer STATUS with the sentence DETAIL, after which the connection is closed, into TEXT (SIZE bytes).
 * Return its length, or 0 without memory.
 */
static size_t refusal(unsigned status, const char *detail, char *text, size_t size)
{
	const bool busy = status == MHD_HTTP_SERVICE_UNAVAILABLE;
	json_t *json = problem_json(status, detail, NULL);
	CLEANUP(freep) char *body = json_whole_text(json, JSON_COMPACT | JSON_ENSURE_ASCII);
	int len;

	json_decref(json);
	len = snprintf(text, size,
		       "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE
		       "\r\nContent-Length: %zu\r\n%sConnection: close\r\n\r\n%s",
		       status, busy ? "Service Unavailable" : "Bad Request", body ? strlen(body) : 0,
		       busy ? "Retry-After: 1\r\n" : "", body ? body : "");
	return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

/* Read the bytes that have come on FD: closing a socket with unread bytes resets it, and the answer would be lost. */
static void drop_unread(int fd)
{
	char unread[4096];

	(void)!recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
}

void client_refuse(struct listener *l, int fd, unsigned status, const char *detail)
{
	char text[1024];
	size_t len;

	if (l->tls) {
		close(fd);
		return;
	}
	len = refusal(status, detail, text, sizeof(text));
	drop_unread(fd);
	(void)!send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	close(fd);
}

/*
 * Return whether the header of C is complete, so that its size is known, and libmicrohttpd has not called
 * exchange_request() for it.
 */
static bool is_being_parsed(const struct client *c)
{
	const union MHD_ConnectionInfo *size = NULL;

	if (c->connection && c->exchange && !c->exchange->begun && !c->ended)
		size = MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	return size && size->header_size > 0;
}

/* Send the answer and end C, so that nothing which libmicrohttpd sends after it arrives. */
static void refuse_malformed(struct client *c)
{
	char text[1024];
	size_t len = refusal(MHD_HTTP_BAD_REQUEST,
			     "The header is malformed: Content-Length must be a number of bytes, as digits, and Host "
			     "must be there.",
			     text, sizeof(text));

	c->listener->http->counts.client_errors++;
	drop_unread(c->fd);
	if (c->listener->tls)
		(void)!gnutls_record_send(client_session(c->connection), text, len);
	else
		(void)!send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	client_end(c);
}

void clients_refuse_malformed(struct listener *l)
{
	for (struct client *c = l->clients; c; c = c->next)
		if (is_being_parsed(c))
			refuse_malformed(c);
}

/* libmicrohttpd owns FD from then on, and closes it, also if adding fails. */
void client_add(struct listener *l, int fd, struct peer peer, const struct sockaddr_storage *address, socklen_t bytes)
{
	clients_drop_lost(l); /* a lost client may have had the number FD */
	if (!client_new(l, fd, peer)) {
		close(fd);
		return;
	}
	if (MHD_add_connection(l->daemon, fd, (const struct sockaddr *)address, bytes) != MHD_YES) {
		log_debug("%s: a connection could not be added: %s", l->address, strerror(errno));
		clients_drop_lost(l);
	}
	l->resumed = true;
}

/* Let libmicrohttpd read the headers that have come: it announces a connection before it reads. */
static void read_headers(struct listener *l)
{
	for (unsigned turn = 0; turn < TURNS_MOST && l->unannounced; turn++)
		MHD_run(l->daemon);
	MHD_run(l->daemon);
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
		read_headers(l);
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
