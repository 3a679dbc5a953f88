/*
 * Clients are mprofd-http and whoever else may write to the socket: trusted to ask, not to be right.  Every message is parsed by
 * message.c; a client costs a bounded amount of memory and is throttled by not reading it.
 */
#include "control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector.h"
#include "log.h"
#include "message.h"

#define CLIENTS_MAX   64u
#define ORDERS_MAX    64u  /* waiting for a commit, per client */
#define RATE_MAX      200u /* messages a second, per client */
#define FOLLOW_FOR_NS (5 * NS_PER_S)
#define NOTE_MAX      4096u
#define METRICS_BYTES (20u << 10) /* a message also where each byte takes three */

/* What a client waits for. */
struct order {
	struct order *next;
	uint64_t tag;
	uint64_t ticket; /* of the item that must be committed; 0 = the capture's items are not all queued yet */
	int64_t capture; /* a capture that was begun; 0 = none */
	int64_t run;
	int result;
};

struct client {
	struct client *next;
	struct control *control;
	int fd;
	sd_event_source *source, *pause;
	bool watching;
	struct order *orders;
	unsigned n_orders;
	uint64_t second;
	unsigned in_second;
};

struct control {
	struct collector *collector;
	char *path;
	int fd;
	sd_event_source *source;
	struct client *clients;
	unsigned n_clients;
	char buffer[MESSAGE_BYTES_MAX + 1], answer[MESSAGE_BYTES_MAX];
};

/* ---- answers --------------------------------------------------------------------------------------------------------- */

/* A client that does not read its answers loses them; it cannot make us wait. */
static void client_send(struct client *client, const struct message_writer *w)
{
	size_t len = message_end(w);

	if (len && send(client->fd, w->text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("Control: an answer was not taken: error=%s", strerror(errno));
}

static struct message_writer answer_begin(struct client *client, const char *verb, uint64_t tag)
{
	struct message_writer w;

	message_begin(&w, client->control->answer, sizeof(client->control->answer), verb, tag);
	return w;
}

static void answer_error(struct client *client, uint64_t tag, unsigned status, const char *sentence)
{
	struct message_writer w = answer_begin(client, "error", tag);

	message_add_number(&w, "status", status);
	message_add(&w, "sentence", sentence);
	client_send(client, &w);
}

static void answer_ok(struct client *client, uint64_t tag)
{
	struct message_writer w = answer_begin(client, "ok", tag);

	client_send(client, &w);
}

/* ---- orders ------------------------------------------------------------------------------------------------------------ */

static struct order *order_new(struct client *client, uint64_t tag)
{
	struct order *order = client->n_orders < ORDERS_MAX ? calloc(1, sizeof(*order)) : NULL;

	if (!order) {
		answer_error(client, tag, 503, "too many requests are under way; ask again later");
		return NULL;
	}
	order->tag = tag;
	order->next = client->orders;
	client->orders = order;
	client->n_orders++;
	return order;
}

/* Take back the order made last. */
static void order_forget(struct client *client, struct order *order)
{
	client->orders = order->next;
	client->n_orders--;
	free(order);
}

/* A capture's items are all queued when its guest has none under way any more: then a last item marks the end. */
static void order_mark(struct collector *c, struct order *order)
{
	struct guest *guest = c->source->find(c->source, order->run);
	struct item *item;

	if (guest && guest->capture.id == order->capture)
		return;
	/* Nothing changes with it; its commit says that all before it is in the archive. */
	item = queue_item(c->queue, NULL, ITEM_PATCH, 0, false);
	if (!item)
		return;
	item->patch.capture = order->capture;
	item->patch.pinned = -1;
	item->result = &order->result;
	item->urgent = true;
	order->ticket = queue_push(c->queue, item);
}

static void order_answer(struct client *client, const struct order *order)
{
	struct message_writer w;

	if (order->result == ARCHIVE_E_ABSENT) {
		answer_error(client, order->tag, 404, "there is no such capture");
		return;
	}
	w = answer_begin(client, "ok", order->tag);
	if (order->capture)
		message_add_number(&w, "capture", (uint64_t)order->capture);
	client_send(client, &w);
}

static void client_committed(struct client *client, const struct archivist_state *state)
{
	struct order **at = &client->orders, *order;

	while ((order = *at)) {
		if (order->capture && !order->ticket)
			order_mark(client->control->collector, order);
		if (order->ticket && order->ticket <= state->committed) {
			*at = order->next;
			client->n_orders--;
			order_answer(client, order);
			free(order);
		} else {
			at = &order->next;
		}
	}
	if (client->watching) {
		struct message_writer w = answer_begin(client, "commit", 0);

		message_add_number(&w, "serial", state->serial);
		client_send(client, &w);
	}
}

void control_committed(struct control *control)
{
	for (struct client *client = control->clients; client; client = client->next)
		client_committed(client, &control->collector->archive);
}

/* ---- requests ----------------------------------------------------------------------------------------------------------- */

static void on_capture(struct client *client, const struct message *m)
{
	struct collector *c = client->control->collector;
	const char *kind = message_value(m, "kind"), *note = message_value(m, "note");
	struct guest *guest;
	struct order *order;
	uint64_t run;

	if (!message_number(m, "run", &run) || !kind || (strcmp(kind, "manual") != 0 && strcmp(kind, "trigger") != 0)) {
		answer_error(client, m->tag, 400, "capture needs run=NUMBER and kind=manual or trigger");
		return;
	}
	guest = c->source->find(c->source, (int64_t)run);
	if (!guest || !guest_is_told(guest)) {
		answer_error(client, m->tag, 409, "that run has ended; its end was captured");
		return;
	}
	if (!guest_is_running(guest)) {
		answer_error(client, m->tag, 409, "that guest is suspended; what it left was captured");
		return;
	}
	if (guest->capture.id) {
		answer_error(client, m->tag, 503, "a capture of this guest is under way; ask again");
		return;
	}
	order = order_new(client, m->tag);
	if (!order)
		return;
	order->run = (int64_t)run;
	order->capture =
		guest_capture_begin(guest, strcmp(kind, "manual") == 0 ? "manual" : "trigger", note, false, NULL);
	if (order->capture <= 0) {
		order_forget(client, order);
		answer_error(client, m->tag, 503, "the capture cannot be taken now; ask again");
		return;
	}
	c->source->nudge(c->source, (int64_t)run);
}

/* patch-capture and delete-capture. */
static void on_change(struct client *client, const struct message *m, enum item_kind kind)
{
	struct collector *c = client->control->collector;
	const char *note = message_value(m, "note");
	uint64_t capture, pinned;
	struct order *order;
	struct item *item;

	if (!message_number(m, "capture", &capture) || (note && strlen(note) > NOTE_MAX)) {
		answer_error(client, m->tag, 400, "it needs capture=NUMBER, and a note of at most 4,096 bytes");
		return;
	}
	order = order_new(client, m->tag);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, kind, 0, false);
	if (!item) {
		order_forget(client, order);
		answer_error(client, m->tag, 503, "there is no memory for it now; ask again");
		return;
	}
	item->patch.capture = (int64_t)capture;
	item->patch.pinned = message_number(m, "pinned", &pinned) ? pinned != 0 : -1;
	item->patch.note = kind == ITEM_PATCH && note ? strdup(note) : NULL;
	item->result = &order->result;
	item->urgent = true;
	order->ticket = queue_push(c->queue, item);
}

static void on_follow(struct client *client, const struct message *m)
{
	archivist_follow(client->control->collector->archivist, clock_mono() + FOLLOW_FOR_NS);
	answer_ok(client, m->tag);
}

static void on_watch(struct client *client, const struct message *m)
{
	client->watching = true;
	answer_ok(client, m->tag);
}

static void on_metrics(struct client *client, const struct message *m)
{
	struct message_writer w = answer_begin(client, "ok", m->tag);
	char text[METRICS_BYTES];

	collector_metrics(client->control->collector, text, sizeof(text));
	message_add(&w, "text", text);
	client_send(client, &w);
}

static void on_status_request(struct client *client, const struct message *m)
{
	const struct collector *c = client->control->collector;
	struct message_writer w = answer_begin(client, "ok", m->tag);
	size_t guests = 0, rings = 0;

	if (c->source)
		c->source->count(c->source, &guests, &rings);
	message_add_number(&w, "guests", guests);
	message_add_number(&w, "rings", rings);
	message_add_number(&w, "archiving", c->archive.archiving);
	message_add(&w, "sentence", c->archive.sentence);
	client_send(client, &w);
}

static void client_request(struct client *client, const struct message *m)
{
	if (strcmp(m->verb, "watch") == 0)
		on_watch(client, m);
	else if (strcmp(m->verb, "follow") == 0)
		on_follow(client, m);
	else if (strcmp(m->verb, "capture") == 0)
		on_capture(client, m);
	else if (strcmp(m->verb, "patch-capture") == 0)
		on_change(client, m, ITEM_PATCH);
	else if (strcmp(m->verb, "delete-capture") == 0)
		on_change(client, m, ITEM_DELETE);
	else if (strcmp(m->verb, "metrics") == 0)
		on_metrics(client, m);
	else if (strcmp(m->verb, "status") == 0)
		on_status_request(client, m);
	else
		answer_error(client, m->tag, 400, "unknown verb");
}

/* ---- clients ------------------------------------------------------------------------------------------------------------ */

static void client_free(struct client *client)
{
	struct client **at = &client->control->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->control->n_clients--;
	sd_event_source_disable_unref(client->source);
	sd_event_source_disable_unref(client->pause);
	close(client->fd);
	free(client);
}

/*
 * An order's result is written by the other thread until its item is committed: orders of a client that left are kept until then,
 * by a client that nobody reads any more.
 */
static void client_leave(struct client *client)
{
	if (!client->orders) {
		client_free(client);
		return;
	}
	client->watching = false;
	sd_event_source_set_enabled(client->source, SD_EVENT_OFF);
	shutdown(client->fd, SHUT_RDWR);
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *context)
{
	struct client *client = context;

	(void)source;
	(void)usec;
	sd_event_source_set_enabled(client->source, SD_EVENT_ON);
	return 0;
}

/* More than so many a second are read later. */
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
	sd_event_source_set_time_relative(client->pause, 1000000);
	sd_event_source_set_enabled(client->pause, SD_EVENT_ONESHOT);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *client = context;
	char *buffer = client->control->buffer;
	struct message m;
	ssize_t n;

	(void)source;
	(void)events;
	n = recv(fd, buffer, MESSAGE_BYTES_MAX, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		client_leave(client);
		return 0;
	}
	buffer[n] = '\0';
	if (message_parse(&m, buffer, (size_t)n))
		client_request(client, &m);
	else
		answer_error(client, 0, 400, "not a message");
	client_throttle(client);
	return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct control *control = context;
	struct client *client;
	int r, peer;

	(void)source;
	(void)events;
	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer < 0)
		return 0;
	client = control->n_clients < CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		close(peer);
		return 0;
	}
	client->control = control;
	client->fd = peer;
	client->next = control->clients;
	control->clients = client;
	control->n_clients++;
	r = sd_event_add_io(control->collector->event, &client->source, peer, EPOLLIN, on_client, client);
	if (r >= 0)
		r = sd_event_add_time(control->collector->event, &client->pause, CLOCK_MONOTONIC, 0, 0, on_pause_over,
				      client);
	if (r < 0) {
		client_free(client);
		return 0;
	}
	sd_event_source_set_enabled(client->pause, SD_EVENT_OFF);
	return 0;
}

int control_open(struct control **cp, struct collector *collector, const char *run, char *sentence, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct control *control = calloc(1, sizeof(*control));
	int r;

	if (!control)
		return -ENOMEM;
	control->collector = collector;
	control->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = snprintf(address.sun_path, sizeof(address.sun_path), "%s/collect.sock", run);
	control->path = strdup(address.sun_path);
	if (control->fd < 0 || !control->path || r >= (int)sizeof(address.sun_path)) {
		r = r >= (int)sizeof(address.sun_path) ? -ENAMETOOLONG : -ENOMEM;
	} else {
		mkdir(run, 0755); /* where systemd-tmpfiles did not */
		unlink(address.sun_path);
		r = 0;
		if (bind(control->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		    chmod(address.sun_path, 0660) < 0 || listen(control->fd, 16) < 0)
			r = -errno;
	}
	if (r == 0)
		r = sd_event_add_io(collector->event, &control->source, control->fd, EPOLLIN, on_connect, control);
	if (r < 0) {
		snprintf(sentence, size, "%s/collect.sock cannot be made: error=%s", run, strerror(-r));
		control_close(control);
		return r;
	}
	*cp = control;
	return 0;
}

struct control *control_close(struct control *control)
{
	if (!control)
		return NULL;
	while (control->clients) {
		struct client *client = control->clients;

		while (client->orders) {
			struct order *next = client->orders->next;

			free(client->orders);
			client->orders = next;
		}
		client_free(client);
	}
	sd_event_source_disable_unref(control->source);
	if (control->fd >= 0)
		close(control->fd);
	if (control->path)
		unlink(control->path);
	free(control->path);
	free(control);
	return NULL;
}
