/*
 * The client of a control socket. It never waits. If the daemon does not read, notice_send() fails,
 * and mprofd-http answers its own client with 503. If the daemon is absent, notice_tick() tries
 * again to connect.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"
#include "notice.h"

#define NOTICE_BURST 64u /* messages read per wake-up */

struct notice {
	sd_event *event;
	struct sockaddr_un address;
	const struct notice_calls *calls;
	void *context;
	int fd;
	sd_event_source *source;
	uint64_t last_tag;
	struct log_limit limit;
	char buffer[MESSAGE_BYTES_MAX + 1];
};

static void notice_close(struct notice *n)
{
	n->source = sd_event_source_disable_unref(n->source);
	closep(&n->fd);
}

static void notice_lost(struct notice *n)
{
	notice_close(n);
	log_write_limited(&n->limit, LOG_LEVEL_WARNING, NULL, "a control socket was closed: path=%s",
			  n->address.sun_path);
	n->calls->lost(n->context);
}

static void notice_take(struct notice *n, size_t len)
{
	const char *sentence;
	struct message m;

	if (!message_parse(&m, n->buffer, len)) {
		log_write_limited(&n->limit, LOG_LEVEL_WARNING, NULL, "a message does not parse: path=%s",
				  n->address.sun_path);
		return;
	}
	sentence = message_value(&m, "sentence");
	if (strcmp(m.verb, "commit") == 0 && n->calls->commit)
		n->calls->commit(n->context);
	else if (strcmp(m.verb, "source") == 0 && n->calls->source)
		n->calls->source(n->context, sentence ? sentence : "");
	else if (m.tag)
		n->calls->answer(n->context, m.tag, &m);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct notice *n = context;

	(void)source;
	(void)revents;
	for (unsigned i = 0; i < NOTICE_BURST && n->fd == fd; i++) {
		ssize_t got = recv(fd, n->buffer, MESSAGE_BYTES_MAX, MSG_DONTWAIT);

		if (got > 0)
			notice_take(n, (size_t)got);
		else if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		else
			notice_lost(n);
	}
	return 0;
}

void notice_tick(struct notice *n)
{
	char text[64];
	struct message_writer w;

	if (n->fd >= 0)
		return;
	n->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd < 0)
		return;
	if (connect(n->fd, (struct sockaddr *)&n->address, sizeof(n->address)) < 0 ||
	    sd_event_add_io(n->event, &n->source, n->fd, EPOLLIN, on_io, n) < 0) {
		notice_close(n);
		return;
	}
	log_info("connected: path=%s", n->address.sun_path);
	if (!n->calls->commit)
		return;
	message_begin(&w, text, sizeof(text), "watch", notice_tag(n));
	if (!notice_send(n, &w)) {
		notice_close(n);
		return;
	}
	n->calls->commit(n->context);
}

int notice_new(struct notice **np, sd_event *event, const char *path, const struct notice_calls *calls, void *context)
{
	CLEANUP(notice_freep) struct notice *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->fd = -1;
	if (strlen(path) >= sizeof(n->address.sun_path))
		return -ENAMETOOLONG;
	n->address.sun_family = AF_UNIX;
	strcpy(n->address.sun_path, path);
	n->event = sd_event_ref(event);
	n->calls = calls;
	n->context = context;
	*np = TAKE_PTR(n);
	return 0;
}

struct notice *notice_free(struct notice *n)
{
	if (!n)
		return NULL;
	notice_close(n);
	sd_event_unref(n->event);
	free(n);
	return NULL;
}

bool notice_connected(const struct notice *n)
{
	return n->fd >= 0;
}

uint64_t notice_tag(struct notice *n)
{
	return ++n->last_tag;
}

bool notice_send(struct notice *n, const struct message_writer *w)
{
	size_t len = message_end(w);

	if (n->fd < 0)
		notice_tick(n);
	return len && n->fd >= 0 && send(n->fd, w->text, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}
