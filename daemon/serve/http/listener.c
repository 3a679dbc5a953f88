/*
 * Listeners: a listening socket, and a libmicrohttpd daemon for the connections that were accepted
 * on it.
 *
 * libmicrohttpd runs when its epoll descriptor is ready, and again while it has more to do (its
 * timeout is 0), for a limited number of turns and a limited time. So a body is sent as fast as its
 * client reads it, and other clients are served, too. http_tick() serves libmicrohttpd's other
 * timeouts, which are whole seconds. libmicrohttpd does not accept connections itself: at its limit
 * of connections it would stop watching its listening socket until it runs, and no event makes it
 * run when the last connection ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <gnutls/abstract.h>

#include "client.h"
#include "clock.h"
#include "http-state.h"
#include "listen-socket.h"
#include "log.h"

#define CONNECTION_BYTES (48u << 10) /* bytes of libmicrohttpd for one connection's request and response headers */
#define TURNS_MOST	 64u	     /* turns of libmicrohttpd in a row, before other events are handled */

static void on_mhd_log(void *context, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *context, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug("libmicrohttpd: %s", text);
	clients_refuse_malformed(context);
}

/*
 * Return whether the running libmicrohttpd, which need not be the one that this was compiled with, is older than
 * 0.9.77: it has no strictness for the ends of lines and for NUL. Those since then can refuse both, and unfold
 * header lines unless they are strict.
 */
static bool library_is_lenient(void)
{
	unsigned major = 0, minor = 0, patch = 0;

	return sscanf(MHD_get_version(), "%u.%u.%u", &major, &minor, &patch) == 3 && major == 0 &&
	       (minor < 9 || (minor == 9 && patch < 77));
}

/* Return whether libmicrohttpd has something to do at once. */
static bool is_busy(struct listener *l)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;

	return l->resumed || (MHD_get_timeout(l->daemon, &ms) == MHD_YES && ms == 0);
}

void listener_run(struct listener *l)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;

	for (unsigned turn = 0; turn < TURNS_MOST; turn++) {
		l->resumed = false;
		MHD_run(l->daemon);
		handshakes_suspend(l);
		if (!is_busy(l) || clock_mono() >= until)
			break;
	}
	clients_drop_lost(l);
	clients_end_finished(l);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	(void)source;
	(void)fd;
	(void)revents;
	listener_run(context);
	return 0;
}

static int on_again(sd_event_source *source, void *context)
{
	(void)source;
	listener_run(context);
	return 0;
}

static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	(void)source;
	(void)fd;
	(void)revents;
	clients_accept(context);
	return 0;
}

void listener_schedule(struct listener *l)
{
	sd_event_source_set_enabled(l->again, is_busy(l) ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/*
 * libmicrohttpd wants a certificate when it starts, or this. It is never called: each session gets the
 * newest certificate from client.c before its handshake.
 */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names, int n,
			  const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **certificates,
			  unsigned int *n_certificates, gnutls_privkey_t *key)
{
	(void)session;
	(void)names;
	(void)n;
	(void)algorithms;
	(void)n_algorithms;
	(void)certificates;
	(void)n_certificates;
	(void)key;
	return -1;
}

static struct MHD_Daemon *daemon_start(struct listener *l)
{
	struct MHD_OptionItem strict[] = {{l->lenient ? MHD_OPTION_END : MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
					  {MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)no_certificate},
				       {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
				       {MHD_OPTION_END, 0, NULL}};
	struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
	const struct http_options *o = &l->http->options;
	/* One second more than clients_tick() gives an idle client, so clients_tick() ends it. */
	unsigned idle_s = (unsigned)((o->idle_timeout_ns + NS_PER_S - 1) / NS_PER_S) + 1;

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
					MHD_USE_ERROR_LOG | (l->tls ? MHD_USE_TLS : 0),
				0, NULL, NULL, exchange_request, l, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, l,
				MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, l, MHD_OPTION_NOTIFY_COMPLETED,
				exchange_completed, l, MHD_OPTION_NOTIFY_CONNECTION, client_notify, l,
				MHD_OPTION_CONNECTION_LIMIT, o->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				(size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_ARRAY,
				l->tls ? tls : plain, MHD_OPTION_ARRAY, strict, MHD_OPTION_END);
}

static int listener_watch(struct listener *l)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	sd_event *event = l->http->event;
	int rc = info ? sd_event_add_io(event, &l->io, info->epoll_fd, EPOLLIN, on_io, l) : -ENOTSUP;

	if (rc >= 0 && !l->remote)
		rc = sd_event_add_io(event, &l->accept, l->fd, EPOLLIN, on_accept, l);
	if (rc >= 0)
		rc = sd_event_add_defer(event, &l->again, on_again, l);
	return rc < 0 ? rc : 0;
}

static int listener_start(struct http *h, struct listen_socket *socket)
{
	struct listener *l = &h->listeners[h->n_listeners];
	int flags, rc;

	*l = (struct listener){
		.http = h, .tcp = socket->tcp, .tls = socket->tls, .fd = socket->fd, .lenient = library_is_lenient()};
	l->path = TAKE_PTR(socket->path);
	memcpy(l->address, socket->address, sizeof(l->address));
	/*
	 * A socket from systemd may be in blocking mode. accept() would then block the server if
	 * the connection had been closed meanwhile.
	 */
	flags = fcntl(l->fd, F_GETFL);
	l->daemon = flags >= 0 && fcntl(l->fd, F_SETFL, flags | O_NONBLOCK) == 0 ? daemon_start(l) : NULL;
	if (!l->daemon) {
		closep(&l->fd);
		freep(&l->path);
		return -ENOMEM;
	}
	h->n_listeners++;
	rc = listener_watch(l);
	if (rc == 0)
		log_write_id(LOG_LEVEL_INFO, LOG_LISTENING_ID, "listening on %s", l->address);
	return rc;
}

static int listener_add(struct http *h, struct listen_socket *socket, char *sentence, size_t size)
{
	int rc = listener_start(h, socket);

	if (rc < 0)
		snprintf(sentence, size, "cannot serve %s: %s", socket->address, strerror(-rc));
	return rc;
}

static bool has_room(const struct http *h, char *sentence, size_t size)
{
	if (h->n_listeners < LISTENERS_MAX)
		return true;
	snprintf(sentence, size, "there can be at most %u listeners", LISTENERS_MAX);
	return false;
}

static bool has_tls(const struct http *h)
{
	return access_tls(h->services->access) != NULL;
}

int http_listen(struct http *h, const char *text, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(h, sentence, size) ? listen_socket_open(&socket, text, has_tls(h), sentence, size) : -E2BIG;

	return rc < 0 ? rc : listener_add(h, &socket, sentence, size);
}

int http_adopt(struct http *h, int fd, const char *name, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(h, sentence, size) ? listen_socket_adopt(&socket, fd, name, has_tls(h), sentence, size)
					     : -E2BIG;

	return rc < 0 ? rc : listener_add(h, &socket, sentence, size);
}

int http_serve(struct http *h, int fd, char *sentence, size_t size)
{
	struct listener *l = &h->listeners[h->n_listeners];
	struct sockaddr_storage address = {.ss_family = AF_UNIX};
	int rc;

	*l = (struct listener){.http = h,
			       .fd = -1,
			       .remote = true,
			       .address = "standard input and output",
			       .lenient = library_is_lenient()};
	l->daemon = daemon_start(l);
	rc = l->daemon ? (h->n_listeners++, listener_watch(l)) : -ENOMEM;
	if (rc < 0) {
		snprintf(sentence, size, "cannot serve %s: %s", l->address, strerror(-rc));
		close(fd);
		return rc;
	}
	client_add(l, fd, (struct peer){.family = AF_UNIX}, &address, sizeof(sa_family_t));
	return 0;
}

void listener_stop(struct listener *l)
{
	sd_event_source_disable_unref(l->io);
	sd_event_source_disable_unref(l->again);
	l->accept = sd_event_source_disable_unref(l->accept);
	proxied_stop(l);
	handshakes_resume(l);
	MHD_run(l->daemon);
	MHD_stop_daemon(l->daemon);
	clients_drop_all(l);
	closep(&l->fd);
	if (l->path)
		unlink(l->path);
	free(l->path);
}
