/* Ask the collector, and wait for its answers. */
#include "collector-client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"

#define ANSWER_NS (60 * NS_PER_S)

struct collector_client {
	struct sockaddr_un address;
	int fd; /* -1 = not connected */
	uint64_t tag;
	bool news; /* a commit was made since collector_wait() */
	char in[MESSAGE_BYTES_MAX + 1], out[256];
};

int collector_new(struct collector_client **cp, const char *run)
{
	struct collector_client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	c->address.sun_family = AF_UNIX;
	snprintf(c->address.sun_path, sizeof(c->address.sun_path), "%s/collect.sock", run);
	*cp = c;
	return 0;
}

static void disconnect(struct collector_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

struct collector_client *collector_free(struct collector_client *c)
{
	if (c)
		disconnect(c);
	free(c);
	return NULL;
}

static int send_message(struct collector_client *c, const struct message_writer *w)
{
	size_t n = message_end(w);

	if (n == 0)
		return -EMSGSIZE;
	return send(c->fd, w->text, n, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int connect_collector(struct collector_client *c)
{
	struct message_writer w;
	char text[64];
	int r;

	if (c->fd >= 0)
		return 0;
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	if (connect(c->fd, (const struct sockaddr *)&c->address, sizeof(c->address)) < 0) {
		/* A collector that ended removes its socket. -ENOENT is kept for its answer 404. */
		r = errno == ENOENT ? -ECONNREFUSED : -errno;
		disconnect(c);
		return r;
	}
	message_begin(&w, text, sizeof(text), "watch", ++c->tag);
	r = send_message(c, &w);
	if (r < 0)
		disconnect(c);
	return r;
}

/* Receive a message until UNTIL (CLOCK_MONOTONIC ns). Return 1, 0 if there was none, or -errno. */
static int receive(struct collector_client *c, uint64_t until, struct message *m)
{
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	ssize_t n;
	int r = clock_poll(&p, until);

	if (r <= 0)
		return r < 0 && errno != EINTR ? -errno : 0;
	n = recv(c->fd, c->in, sizeof(c->in) - 1, 0);
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	*m = (struct message){.verb = ""};
	if (!message_parse(m, c->in, (size_t)n))
		return -EBADMSG;
	c->news |= strcmp(m->verb, "commit") == 0;
	return 1;
}

/* Begin the request VERB in W. Return 0 or -errno. */
static int begin(struct collector_client *c, struct message_writer *w, const char *verb)
{
	int r = connect_collector(c);

	if (r == 0)
		message_begin(w, c->out, sizeof(c->out), verb, ++c->tag);
	return r;
}

/*
 * Wait until UNTIL for an answer to one of the requests TAG to c->tag. Return 0, -ENOENT or -EAGAIN
 * as it says; or another -errno: the connection is of no use.
 */
static int take_answer(struct collector_client *c, uint64_t tag, uint64_t until)
{
	uint64_t status = 0;
	struct message m;
	int r;

	for (;;) {
		r = receive(c, until, &m);
		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		if (m.tag < tag || m.tag > c->tag)
			continue;
		if (strcmp(m.verb, "ok") == 0)
			return 0;
		if (strcmp(m.verb, "error") == 0) {
			message_number(&m, "status", &status);
			return status == 404 ? -ENOENT : -EAGAIN;
		}
	}
}

/* Send W, which begin() has begun, and wait for its answer. */
static int ask(struct collector_client *c, const struct message_writer *w)
{
	int r = send_message(c, w);

	if (r == 0)
		r = take_answer(c, c->tag, clock_mono() + ANSWER_NS);
	if (r < 0 && r != -ENOENT && r != -EAGAIN)
		disconnect(c);
	return r;
}

static void add_sent(struct message_writer *w, int64_t id, uint64_t sequence, uint64_t packets, uint64_t bytes)
{
	message_add_number(w, "row", (uint64_t)id);
	message_add_number(w, "sequence", sequence);
	message_add_number(w, "packets", packets);
	message_add_number(w, "bytes", bytes);
}

int collector_sent(struct collector_client *c, int64_t id, uint64_t sequence, uint64_t packets, uint64_t bytes)
{
	struct message_writer w;
	int r = begin(c, &w, "sent");

	if (r < 0)
		return r;
	add_sent(&w, id, sequence, packets, bytes);
	return ask(c, &w);
}

int collector_sent_captures(struct collector_client *c, const int64_t *ids, size_t n)
{
	const uint64_t until = clock_mono() + ANSWER_NS;
	struct message_writer w;
	int r = 0, result = 0;

	/* All requests are under way before the first answer is awaited. */
	for (size_t i = 0; i < n && r == 0; i++) {
		r = begin(c, &w, "sent");
		if (r == 0) {
			add_sent(&w, ids[i], 0, 0, 0);
			r = send_message(c, &w);
		}
	}
	/* The answers come in any order, each once. */
	for (size_t i = 0; i < n && r == 0; i++) {
		r = take_answer(c, c->tag - n + 1, until);
		if (r == -EAGAIN)
			result = r;
		if (r == -EAGAIN || r == -ENOENT)
			r = 0;
	}
	if (r < 0)
		disconnect(c);
	return r ? r : result;
}

int collector_send_again(struct collector_client *c, int64_t capture)
{
	struct message_writer w;
	int r = begin(c, &w, "send-again");

	if (r < 0)
		return r;
	message_add_number(&w, "capture", (uint64_t)capture);
	return ask(c, &w);
}

int collector_send_packets_again(struct collector_client *c, int64_t stream, uint64_t first, uint64_t last)
{
	struct message_writer w;
	int r = begin(c, &w, "send-again");

	if (r < 0)
		return r;
	message_add_number(&w, "stream", (uint64_t)stream);
	message_add_number(&w, "first", first);
	message_add_number(&w, "last", last);
	return ask(c, &w);
}

int collector_damaged(struct collector_client *c, const char *table, int64_t stream, uint64_t sequence, int64_t capture)
{
	struct message_writer w;
	int r = begin(c, &w, "damaged");

	if (r < 0)
		return r;
	message_add_number(&w, "stream", (uint64_t)stream);
	message_add_number(&w, "sequence", sequence);
	message_add_number(&w, "capture", (uint64_t)capture);
	if (table)
		message_add(&w, "table", table);
	return ask(c, &w);
}

int collector_report(struct collector_client *c, const struct forwarded *forwarded)
{
	struct message_writer w;
	int r = begin(c, &w, "forwarding");

	if (r < 0)
		return r;
	message_add_number(&w, "connected", forwarded->connected);
	message_add_number(&w, "captures", forwarded->captures);
	message_add_number(&w, "packets", forwarded->packets);
	message_add_number(&w, "bytes", forwarded->bytes);
	message_add_number(&w, "refused", forwarded->refused);
	message_add_number(&w, "compared", forwarded->compared);
	message_add_number(&w, "again", forwarded->again);
	return ask(c, &w);
}

void collector_wait(struct collector_client *c, unsigned ms)
{
	const uint64_t until = clock_mono() + ms * NS_PER_MS;
	struct message m;
	int r = connect_collector(c);

	while (r >= 0 && !c->news && clock_mono() < until)
		r = receive(c, until, &m);
	c->news = false;
	if (r >= 0)
		return;
	disconnect(c);
	/* The collector is absent. Look at the archive again later. */
	clock_sleep((uint64_t)ms * NS_PER_MS);
}
