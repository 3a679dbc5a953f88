/*
 * Listeners: one libmicrohttpd daemon each, driven by its epoll descriptor and its timeout.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "listen.h"
#include "log.h"
#include "server-state.h"

#define CONNECTION_BYTES  (48u << 10) /* MHD's memory for one: headers in, headers out */
#define CONNECTION_IDLE_S 120u

static void on_mhd_log(void *context, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void on_mhd_log(void *context, const char *format, va_list args)
{
	char text[512];

	(void)context;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug("libmicrohttpd: %s", text);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct listener *l = context;

	(void)source;
	(void)fd;
	(void)revents;
	l->resumed = false;
	MHD_run(l->daemon);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	struct listener *l = context;

	(void)source;
	(void)usec;
	l->resumed = false;
	MHD_run(l->daemon);
	return 0;
}

void listener_schedule(struct listener *l)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;

	if (!l->resumed && MHD_get_timeout(l->daemon, &ms) != MHD_YES) {
		sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(l->timer, ms * 1000);
	sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int listener_start(struct server *s, struct listen_socket *socket)
{
	struct listener *l = &s->listeners[s->n_listeners];
	const union MHD_DaemonInfo *info;
	int rc;

	*l = (struct listener){.server = s, .tcp = socket->tcp};
	l->path = TAKE_PTR(socket->path);
	l->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
				     exchange_request, l, MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
				     MHD_OPTION_LISTEN_SOCKET, socket->fd, MHD_OPTION_URI_LOG_CALLBACK, exchange_begin,
				     l, MHD_OPTION_NOTIFY_COMPLETED, exchange_completed, l, MHD_OPTION_CONNECTION_LIMIT,
				     s->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				     MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_IDLE_S, MHD_OPTION_END);
	if (!l->daemon) {
		close(socket->fd);
		freep(&l->path);
		return -ENOMEM;
	}
	s->n_listeners++;
	info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -ENOTSUP;
	rc = sd_event_add_io(s->event, &l->io, info->epoll_fd, EPOLLIN, on_io, l);
	if (rc >= 0)
		rc = sd_event_add_time_relative(s->event, &l->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, l);
	if (rc >= 0)
		log_info("listening on %s", socket->where);
	return rc < 0 ? rc : 0;
}

static int listener_add(struct server *s, struct listen_socket *socket, char *sentence, size_t size)
{
	int rc = listener_start(s, socket);

	if (rc < 0)
		snprintf(sentence, size, "cannot serve %s: %s", socket->where, strerror(-rc));
	return rc;
}

static bool has_room(const struct server *s, char *sentence, size_t size)
{
	if (s->n_listeners < LISTENERS_MAX)
		return true;
	snprintf(sentence, size, "there can be at most %u listeners", LISTENERS_MAX);
	return false;
}

int server_listen(struct server *s, const char *text, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(s, sentence, size) ? listen_open(&socket, text, sentence, size) : -E2BIG;

	return rc < 0 ? rc : listener_add(s, &socket, sentence, size);
}

int server_adopt(struct server *s, int fd, char *sentence, size_t size)
{
	struct listen_socket socket;
	int rc = has_room(s, sentence, size) ? listen_adopt(&socket, fd, sentence, size) : -E2BIG;

	return rc < 0 ? rc : listener_add(s, &socket, sentence, size);
}

void listener_stop(struct listener *l)
{
	sd_event_source_disable_unref(l->io);
	sd_event_source_disable_unref(l->timer);
	MHD_stop_daemon(l->daemon);
	if (l->path)
		unlink(l->path);
	free(l->path);
}
