#include "control-server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "timer.h"

#define CLIENTS_MAX 64u
#define RATE_MAX    200u /* messages per second and client */

struct client {
	struct client *next;
	struct control_server *server;
	uint64_t id;
	int fd;
	sd_event_source *source;
	struct timer pause;
	bool watching;
	uint64_t second;
	unsigned in_second;
};

#ifdef COMMON_TEST_CLOCK
/* A request to move the clocks, which is answered when all timers that were due have run. */
struct advance {
	sd_event_source *idle; /* runs while nothing else is to be done */
	uint64_t until;	       /* CLOCK_MONOTONIC ns */
	struct control_asker asker;
};
#endif

struct control_server {
	sd_event *event;
	char *path;
	int fd;
	sd_event_source *source;
	control_request *request;
	void *context;
	struct client *clients;
	unsigned n_clients;
	uint64_t last_id;
#ifdef COMMON_TEST_CLOCK
	struct advance advance;
#endif
	char sentence[512]; /* the sentence that control_announce() got last; "" = none */
	char buffer[MESSAGE_BYTES_MAX + 1], answer[MESSAGE_BYTES_MAX];
};

/* ---- answers --------------------------------------------------------------------------------- */

static void client_send(struct client *client, const struct message_writer *w)
{
	size_t len = message_end(w);

	if (len && send(client->fd, w->text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("Control: an answer was not taken: error=%s", strerror(errno));
}

static struct message_writer answer_begin(struct control_server *s, const char *verb, uint64_t tag)
{
	struct message_writer w;

	message_begin(&w, s->answer, sizeof(s->answer), verb, tag);
	return w;
}

struct message_writer control_answer(struct control_server *s, struct control_asker asker)
{
	return answer_begin(s, "ok", asker.tag);
}

void control_send(struct control_server *s, struct control_asker asker, const struct message_writer *w)
{
	for (struct client *client = s->clients; client; client = client->next)
		if (client->id == asker.client)
			client_send(client, w);
}

void control_ok(struct control_server *s, struct control_asker asker)
{
	struct message_writer w = control_answer(s, asker);

	control_send(s, asker, &w);
}

void control_error(struct control_server *s, struct control_asker asker, unsigned status, const char *sentence)
{
	struct message_writer w = answer_begin(s, "error", asker.tag);

	message_add_number(&w, "status", status);
	message_add(&w, "sentence", sentence);
	control_send(s, asker, &w);
}

void control_notify(struct control_server *s, uint64_t serial)
{
	struct message_writer w = answer_begin(s, "commit", 0);

	message_add_number(&w, "serial", serial);
	for (struct client *client = s->clients; client; client = client->next)
		if (client->watching)
			client_send(client, &w);
}

static void client_announce(struct control_server *s, struct client *client)
{
	struct message_writer w = answer_begin(s, "source", 0);

	message_add(&w, "sentence", s->sentence);
	client_send(client, &w);
}

void control_announce(struct control_server *s, const char *sentence)
{
	snprintf(s->sentence, sizeof(s->sentence), "%s", sentence);
	for (struct client *client = s->clients; client; client = client->next)
		if (client->watching)
			client_announce(s, client);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void client_free(struct client *client)
{
	struct client **at = &client->server->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->server->n_clients--;
	sd_event_source_disable_unref(client->source);
	timer_close(&client->pause);
	close(client->fd);
	free(client);
}

static void on_pause_over(void *context)
{
	struct client *client = context;

	sd_event_source_set_enabled(client->source, SD_EVENT_ON);
}

/*
 * Count a message of CLIENT. At RATE_MAX messages in one second, stop reading from CLIENT for a
 * second.
 */
static void client_throttle(struct client *client)
{
	uint64_t now = clock_mono();

	if (now - client->second >= NS_PER_S) {
		client->second = now;
		client->in_second = 0;
	}
	if (++client->in_second < RATE_MAX)
		return;
	sd_event_source_set_enabled(client->source, SD_EVENT_OFF);
	timer_set_in(&client->pause, NS_PER_S);
}

#ifdef COMMON_TEST_CLOCK
/* ---- a test's clock -------------------------------------------------------------------------- */

static int on_idle(sd_event_source *source, void *context)
{
	struct control_server *s = context;

	if (timers_wait(s->advance.until))
		return 0;
	control_ok(s, s->advance.asker);
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* Move the clocks of this daemon forward. One such request is answered at a time. */
static void advance(struct control_server *s, struct control_asker asker, const struct message *m)
{
	struct advance *a = &s->advance;
	uint64_t ns;
	int r = 0;

	if (!message_number(m, "ns", &ns) || ns > 366 * 86400 * NS_PER_S) {
		control_error(s, asker, 400, "advance needs ns=NUMBER, at most a year");
		return;
	}
	if (!a->idle) {
		r = sd_event_add_defer(s->event, &a->idle, on_idle, s);
		if (r >= 0)
			r = sd_event_source_set_priority(a->idle, SD_EVENT_PRIORITY_IDLE);
	}
	if (r >= 0)
		r = sd_event_source_set_enabled(a->idle, SD_EVENT_ON);
	if (r < 0) {
		control_error(s, asker, 503, "out of memory");
		return;
	}
	timers_advance(ns);
	a->until = clock_mono();
	a->asker = asker;
}
#endif

static void client_take(struct client *client, size_t len)
{
	struct control_server *s = client->server;
	struct control_asker asker = {.client = client->id};
	struct message m;

	if (!message_parse(&m, s->buffer, len)) {
		control_error(s, asker, 400, "not a message");
		return;
	}
	asker.tag = m.tag;
	if (strcmp(m.verb, "watch") == 0) {
		client->watching = true;
		control_ok(s, asker);
		if (s->sentence[0])
			client_announce(s, client);
		return;
	}
#ifdef COMMON_TEST_CLOCK
	if (strcmp(m.verb, "advance") == 0) {
		advance(s, asker, &m);
		return;
	}
#endif
	s->request(s->context, asker, &m);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *client = context;
	char *buffer = client->server->buffer;
	ssize_t n;

	(void)source;
	(void)events;
	n = recv(fd, buffer, MESSAGE_BYTES_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		client_free(client);
		return 0;
	}
	buffer[n] = '\0';
	client_take(client, (size_t)n);
	client_throttle(client);
	return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct control_server *s = context;
	struct client *client;
	int r, peer;

	(void)source;
	(void)events;
	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer < 0)
		return 0;
	client = s->n_clients < CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		close(peer);
		return 0;
	}
	client->server = s;
	client->id = ++s->last_id;
	client->fd = peer;
	client->next = s->clients;
	s->clients = client;
	s->n_clients++;
	r = sd_event_add_io(s->event, &client->source, peer, EPOLLIN, on_client, client);
	if (r >= 0)
		r = timer_open(&client->pause, s->event, TIMER_LOOSE_NS, on_pause_over, client);
	if (r < 0)
		client_free(client);
	return 0;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static void make_directory(const char *path)
{
	CLEANUP(freep) char *directory = strdup(path);
	char *end = directory ? strrchr(directory, '/') : NULL;

	if (!end)
		return;
	*end = '\0';
	mkdir(directory, 0755); /* if systemd-tmpfiles did not create it */
}

static int server_bind(struct control_server *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(s->path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, s->path);
	make_directory(s->path);
	unlink(s->path);
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(s->path, 0660) < 0 ||
	    listen(s->fd, 16) < 0)
		return -errno;
	return sd_event_add_io(s->event, &s->source, s->fd, EPOLLIN, on_connect, s);
}

int control_server_open(struct control_server **sp, sd_event *event, const char *path, control_request *request,
			void *context, char *sentence, size_t size)
{
	CLEANUP(control_server_closep) struct control_server *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s) {
		s->fd = -1;
		s->event = sd_event_ref(event);
		s->request = request;
		s->context = context;
		s->path = strdup(path);
	}
	if (s && s->path)
		r = server_bind(s);
	if (r < 0) {
		snprintf(sentence, size, "%s cannot be made: error=%s", path, strerror(-r));
		return r;
	}
	*sp = TAKE_PTR(s);
	return 0;
}

struct control_server *control_server_close(struct control_server *s)
{
	if (!s)
		return NULL;
	while (s->clients)
		client_free(s->clients);
	sd_event_source_disable_unref(s->source);
#ifdef COMMON_TEST_CLOCK
	sd_event_source_disable_unref(s->advance.idle);
#endif
	if (s->fd >= 0) {
		close(s->fd);
		unlink(s->path);
	}
	sd_event_unref(s->event);
	free(s->path);
	free(s);
	return NULL;
}
