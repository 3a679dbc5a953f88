/*
 * The collector's answers on the control socket. control-server.h has the socket and its clients.
 * An *order* is a request that is answered when its item is committed. The commit thread writes the
 * item's result into the order, so an order is kept until the commit, even if its client has left.
 */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "control-server.h"

#define ORDERS_MAX    1024u				/* limit of orders that wait for a commit */
#define ORDERS_CLIENT 64u				/* limit of orders of one client */
#define FOLLOW_FOR_NS (5 * NS_PER_S)			/* time that a request to follow lasts */
#define CLOCK_NOTE_NS ((int64_t)(24 * 3600 * NS_PER_S)) /* how long /readyz says that the clock was set */
#define NOTE_MAX      4096u
#define MARKS_MAX     16384u
#define OFFERS_BYTES  (60u << 10)
#define METRICS_BYTES (20u << 10) /* fits into a message even if each byte is escaped to three bytes */

/* A request that waits for a commit. */
struct order {
	struct order *next;
	struct control_asker asker;
	/*
	 * Ticket of the item whose commit answers the order; 0 = the capture's items are not all
	 * queued yet.
	 */
	uint64_t ticket;
	int64_t capture; /* capture that the order began; 0 = none */
	int64_t run;
	int result;
	bool is_damage; /* the request was a report of damage */
	bool is_outbox; /* the request names a row of the outbox */
};

struct control {
	struct collector *collector;
	struct control_server *server;
	struct order *orders;
	unsigned n_orders;
	uint64_t notified; /* serial of the last notice */
};

/* ---- orders ---------------------------------------------------------------------------------- */

static struct order *order_new(struct control *control, struct control_asker asker)
{
	unsigned of_client = 0;
	struct order *order = NULL;

	for (const struct order *o = control->orders; o; o = o->next)
		of_client += o->asker.client == asker.client;
	if (control->n_orders < ORDERS_MAX && of_client < ORDERS_CLIENT)
		order = calloc(1, sizeof(*order));
	if (!order) {
		control_error(control->server, asker, 503, "too many requests are under way; ask again later");
		return NULL;
	}
	order->asker = asker;
	order->next = control->orders;
	control->orders = order;
	control->n_orders++;
	return order;
}

/* Remove and free the newest order, whose request has failed. */
static void order_forget(struct control *control, struct order *order)
{
	control->orders = order->next;
	control->n_orders--;
	free(order);
}

/*
 * When the guest has finished the order's capture, all of the capture's items are queued: queue one
 * more item, whose commit answers the order.
 */
static void order_mark(struct collector *c, struct order *order)
{
	struct guest *guest = c->source->find(c->source, order->run);
	struct item *item;

	if (guest && guest->capture.id == order->capture)
		return;
	/*
	 * This item changes nothing. When it is committed, all items before it are in the archive.
	 */
	item = queue_item(c->queue, NULL, ITEM_PATCH, 0, false);
	if (!item)
		return;
	item->patch.capture = order->capture;
	item->patch.pinned = -1;
	item->patch.version = -1;
	item->result = &order->result;
	item->urgent = true;
	order->ticket = queue_push(c->queue, item);
}

static void order_answer(struct control *control, const struct order *order)
{
	struct message_writer w;

	if (order->is_damage && order->result) {
		control_error(control->server, order->asker, order->result == ARCHIVE_E_ABSENT ? 404 : 503,
			      order->result == ARCHIVE_E_ABSENT ? "nothing is damaged there"
								: "it cannot be mended now; see the log");
		return;
	}
	if (order->result == ARCHIVE_E_ABSENT) {
		control_error(control->server, order->asker, 404,
			      order->is_outbox ? "the outbox has no such row" : "there is no such capture");
		return;
	}
	if (order->result == ARCHIVE_E_CHANGED) {
		control_error(control->server, order->asker, 412, "somebody else has changed the capture");
		return;
	}
	if (order->result) {
		control_error(control->server, order->asker, 503, "the capture cannot be decided on now; see the log");
		return;
	}
	w = control_answer(control->server, order->asker);
	if (order->capture)
		message_add_number(&w, "capture", (uint64_t)order->capture);
	control_send(control->server, order->asker, &w);
}

void control_committed(struct control *control)
{
	const struct commit_thread_state *state = &control->collector->archive;
	struct order **at = &control->orders, *order;

	while ((order = *at)) {
		if (order->capture && !order->ticket)
			order_mark(control->collector, order);
		if (order->ticket && order->ticket <= state->committed) {
			*at = order->next;
			control->n_orders--;
			order_answer(control, order);
			free(order);
		} else {
			at = &order->next;
		}
	}
	if (state->serial != control->notified)
		control_notify(control->server, state->serial);
	control->notified = state->serial;
}

void control_report_trouble(struct control *control, const char *sentence)
{
	control_announce(control->server, sentence);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void on_capture(struct control *control, struct control_asker asker, const struct message *m)
{
	struct collector *c = control->collector;
	const char *kind = message_value(m, "kind"), *note = message_value(m, "note");
	struct guest *guest;
	struct order *order;
	uint64_t run;

	if (!message_number(m, "run", &run) || !kind || (strcmp(kind, "manual") != 0 && strcmp(kind, "trigger") != 0)) {
		control_error(control->server, asker, 400, "capture needs run=NUMBER and kind=manual or trigger");
		return;
	}
	guest = c->source->find(c->source, (int64_t)run);
	if (!guest || !guest_is_archived(guest)) {
		control_error(control->server, asker, 409, "that run has ended; its end was captured");
		return;
	}
	if (!guest_is_running(guest)) {
		control_error(control->server, asker, 409, "that guest is suspended; what it left was captured");
		return;
	}
	if (guest->capture.id) {
		control_error(control->server, asker, 503, "a capture of this guest is under way; ask again");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	order->run = (int64_t)run;
	order->capture =
		guest_capture_begin(guest, strcmp(kind, "manual") == 0 ? "manual" : "trigger", note, false, NULL);
	if (order->capture <= 0) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "the capture cannot be taken now; ask again");
		return;
	}
	c->source->poll_soon(c->source, (int64_t)run);
}

/* Handle patch-capture and delete-capture. */
static void on_change(struct control *control, struct control_asker asker, const struct message *m, enum item_kind kind)
{
	struct collector *c = control->collector;
	const char *note = message_value(m, "note"), *marks = message_value(m, "marks");
	uint64_t capture, pinned, version;
	struct order *order;
	struct item *item;

	if (!message_number(m, "capture", &capture) || (note && strlen(note) > NOTE_MAX) ||
	    (marks && strlen(marks) > MARKS_MAX)) {
		control_error(control->server, asker, 400,
			      "it needs capture=NUMBER, a note of at most 4,096 and marks of at most 16,384 bytes");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, kind, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->patch.capture = (int64_t)capture;
	item->patch.pinned = message_number(m, "pinned", &pinned) ? pinned != 0 : -1;
	item->patch.version = message_number(m, "version", &version) && version <= INT64_MAX ? (int64_t)version : -1;
	item->patch.note = kind == ITEM_PATCH && note ? strdup(note) : NULL;
	item->patch.marks = kind == ITEM_PATCH && marks ? strdup(marks) : NULL;
	item->result = &order->result;
	item->urgent = true;
	order->ticket = queue_push(c->queue, item);
}

/* Handle judge-capture: the reader of mprofd-http has looked at a capture of the kind `unread`. */
static void on_judge(struct control *control, struct control_asker asker, const struct message *m)
{
	struct collector *c = control->collector;
	const char *archive = message_value(m, "archive");
	uint64_t capture, crashed;
	struct order *order;
	struct item *item;

	if (!message_number(m, "capture", &capture) || capture > INT64_MAX || !message_number(m, "crashed", &crashed) ||
	    crashed > 1 || !archive || strlen(archive) != ARCHIVE_NAME_BYTES - 1) {
		control_error(control->server, asker, 400,
			      "judge-capture needs capture=NUMBER, crashed=0 or 1, and archive=UUID of 32 digits");
		return;
	}
	if (c->source && c->source->takes && c->source->takes(c->source, (int64_t)capture)) {
		control_error(control->server, asker, 503, "the capture is being taken; ask again");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, ITEM_JUDGE, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->verdict.capture = (int64_t)capture;
	item->verdict.crashed = crashed != 0;
	memcpy(item->verdict.archive, archive, ARCHIVE_NAME_BYTES);
	item->result = &order->result;
	item->soon = true;
	order->ticket = queue_push(c->queue, item);
}

/* Handle a report of damage: queue an item, by which the commit thread checks the place itself. */
static void on_damaged(struct control *control, struct control_asker asker, const struct message *m)
{
	struct collector *c = control->collector;
	const char *table = message_value(m, "table");
	uint64_t stream, sequence, capture = 0;
	struct order *order;
	struct item *item;

	message_number(m, "capture", &capture);
	if (!message_number(m, "stream", &stream) || !message_number(m, "sequence", &sequence) || stream > INT64_MAX ||
	    sequence > INT64_MAX || capture > INT64_MAX) {
		control_error(control->server, asker, 400, "damaged needs stream=NUMBER and sequence=NUMBER");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, ITEM_DAMAGE, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	order->is_damage = true;
	item->damage.stream = (int64_t)stream;
	item->damage.sequence = sequence;
	item->damage.capture = (int64_t)capture;
	snprintf(item->damage.table, sizeof(item->damage.table), "%s", table ? table : "");
	item->result = &order->result;
	item->urgent = true;
	order->ticket = queue_push(c->queue, item);
}

/* Handle sent: the hub has acknowledged a row of the outbox, or its part up to a packet. */
static void on_sent(struct control *control, struct control_asker asker, const struct message *m)
{
	struct collector *c = control->collector;
	struct archive_sent sent = {0};
	struct order *order;
	struct item *item;
	uint64_t id;

	message_number(m, "sequence", &sent.sequence);
	message_number(m, "packets", &sent.packets);
	message_number(m, "bytes", &sent.bytes);
	if (!message_number(m, "row", &id) || id > INT64_MAX || sent.sequence >= INT64_MAX ||
	    sent.packets > INT64_MAX || sent.bytes > INT64_MAX) {
		control_error(control->server, asker, 400, "sent needs row=NUMBER");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, ITEM_SENT, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	sent.id = (int64_t)id;
	item->sent = sent;
	order->is_outbox = true;
	item->result = &order->result;
	item->soon = true;
	order->ticket = queue_push(c->queue, item);
}

/* Handle send-again: the hub has lost a capture, or packets of a stream. */
static void on_send_again(struct control *control, struct control_asker asker, const struct message *m)
{
	struct collector *c = control->collector;
	uint64_t capture = 0, stream = 0, first = 0, last = 0;
	struct order *order;
	struct item *item;

	message_number(m, "capture", &capture);
	message_number(m, "stream", &stream);
	if (!capture == !stream || capture > INT64_MAX || stream > INT64_MAX ||
	    (stream && (!message_number(m, "first", &first) || !message_number(m, "last", &last) || first > last ||
			last >= INT64_MAX))) {
		control_error(control->server, asker, 400,
			      "send-again needs capture=NUMBER, or stream=NUMBER, first=NUMBER and last=NUMBER");
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, ITEM_AGAIN, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->again.capture = (int64_t)capture;
	item->again.stream = (int64_t)stream;
	item->again.first = first;
	item->again.last = last;
	item->result = &order->result;
	item->soon = true;
	order->ticket = queue_push(c->queue, item);
}

/* Keep the state of mprofd-forward for the metrics. */
static void on_forwarding(struct control *control, struct control_asker asker, const struct message *m)
{
	struct forwarding *f = &control->collector->forwarding;
	uint64_t connected = 0;

	*f = (struct forwarding){.at = clock_mono()};
	message_number(m, "connected", &connected);
	message_number(m, "captures", &f->captures);
	message_number(m, "packets", &f->packets);
	message_number(m, "bytes", &f->bytes);
	message_number(m, "refused", &f->refused);
	message_number(m, "compared", &f->compared);
	message_number(m, "again", &f->again);
	f->connected = connected != 0;
	control_ok(control->server, asker);
}

/* Commit the guest's bytes soon. A run that has ended waits for nothing. */
static void on_follow(struct control *control, struct control_asker asker, const struct message *m)
{
	struct source *source = control->collector->source;
	struct guest *guest;
	uint64_t run;

	if (!message_number(m, "run", &run)) {
		control_error(control->server, asker, 400, "follow needs run=NUMBER");
		return;
	}
	guest = source && run <= INT64_MAX ? source->find(source, (int64_t)run) : NULL;
	if (guest)
		guest_follow(guest, clock_mono() + FOLLOW_FOR_NS);
	control_ok(control->server, asker);
}

/*
 * Answer when the archive has everything that was copied until now. Commits that readers ask for are
 * at least 100 ms apart, so several readers share one.
 */
static void on_commit(struct control *control, struct control_asker asker)
{
	struct collector *c = control->collector;
	struct commit_thread_state now;
	struct order *order;
	struct item *item;

	commit_thread_state(c->commit_thread, &now);
	if (now.committed == queue_last(c->queue)) {
		control_ok(control->server, asker);
		return;
	}
	if (!now.archiving) {
		control_error(control->server, asker, 503, now.sentence);
		return;
	}
	order = order_new(control, asker);
	if (!order)
		return;
	item = queue_item(c->queue, NULL, ITEM_MARK, 0, false);
	if (!item) {
		order_forget(control, order);
		control_error(control->server, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->soon = true;
	order->ticket = queue_push(c->queue, item);
}

/* Copy the state of the commit thread, which may have changed without a commit. */
static void refresh(struct control *control)
{
	struct collector *c = control->collector;

	if (c->commit_thread)
		commit_thread_state(c->commit_thread, &c->archive);
}

static void on_metrics(struct control *control, struct control_asker asker)
{
	struct message_writer w = control_answer(control->server, asker);
	char text[METRICS_BYTES];

	refresh(control);
	collector_metrics(control->collector, text, sizeof(text));
	message_add(&w, "text", text);
	control_send(control->server, asker, &w);
}

/* Write what /readyz says while all is well to NOTE: the sentence FIRST, and one if the system clock was set. */
static void write_note(const struct commit_thread_state *state, const char *first, char *note, size_t size)
{
	const __typeof__(state->clock) *clock = &state->clock;
	const int64_t ago = clock->age - clock->step_age, by = clock->step / (int64_t)NS_PER_S;
	const int n = snprintf(note, size, "%s", first);

	if (clock->steps && ago < CLOCK_NOTE_NS && n >= 0 && (size_t)n < size)
		snprintf(note + n, size - (size_t)n,
			 "%sThe system clock was set by %+lld s %lld min ago: times that were stamped before or after "
			 "are wrong.",
			 n ? " " : "", (long long)by, (long long)(ago / (int64_t)(60 * NS_PER_S)));
}

static void on_status_request(struct control *control, struct control_asker asker)
{
	const struct collector *c = control->collector;
	struct message_writer w = control_answer(control->server, asker);
	const char *trouble = "";
	size_t guests = 0, rings = 0;
	char note[1024];

	refresh(control);
	if (c->source)
		c->source->count(c->source, &guests, &rings);
	if (c->source && c->source->trouble)
		trouble = c->source->trouble(c->source);
	message_add_number(&w, "guests", guests);
	message_add_number(&w, "rings", rings);
	message_add_number(&w, "archiving", c->archive.archiving);
	message_add_number(&w, "source", !*trouble);
	write_note(&c->archive, c->source && c->source->note ? c->source->note(c->source) : "", note, sizeof(note));
	message_add(&w, "sentence", !c->archive.archiving ? c->archive.sentence : *trouble ? trouble : note);
	control_send(control->server, asker, &w);
}

/*
 * Handle the verbs who (WHERE false: which guest has an address) and where (WHERE true: the address
 * of a domain).
 */
static void on_who(struct control *control, struct control_asker asker, const struct message *m, bool where)
{
	struct source *source = control->collector->source;
	const char *address = where ? NULL : message_value(m, "address");
	struct message_writer w;
	struct source_guest guest;
	uint64_t domid = 0;

	if (where ? !message_number(m, "domid", &domid) || domid > UINT32_MAX : !address) {
		control_error(control->server, asker, 400, "who needs address=ADDRESS, where domid=NUMBER");
		return;
	}
	if (!source || !source->identify || !source->identify(source, address, (uint32_t)domid, &guest)) {
		control_error(control->server, asker, 404, "no such guest is known");
		return;
	}
	w = control_answer(control->server, asker);
	if (guest.run)
		message_add_number(&w, "run", (uint64_t)guest.run);
	message_add(&w, "name", guest.name ? guest.name : "");
	message_add(&w, "uuid", guest.uuid ? guest.uuid : "");
	message_add_number(&w, "domid", guest.domid);
	if (guest.address[0])
		message_add(&w, "address", guest.address);
	if (guest.memtrace_port)
		message_add_number(&w, "memtrace-port", guest.memtrace_port);
	control_send(control->server, asker, &w);
}

/* The offers of memory profiles, as text of at most OFFERS_BYTES. */
struct offers {
	char text[OFFERS_BYTES];
	size_t len;
};

static void on_offer(void *context, int64_t run, uint32_t domid, uint32_t port)
{
	struct offers *o = context;
	int n = snprintf(o->text + o->len, sizeof(o->text) - o->len, "%s%lld:%u:%u", o->len ? "," : "", (long long)run,
			 domid, port);

	if (n > 0 && (size_t)n < sizeof(o->text) - o->len)
		o->len += (size_t)n;
	o->text[o->len] = '\0';
}

static void on_offers(struct control *control, struct control_asker asker)
{
	const struct source *source = control->collector->source;
	struct message_writer w = control_answer(control->server, asker);
	struct offers offers = {.len = 0};

	if (source && source->offers)
		source->offers(source, on_offer, &offers);
	message_add(&w, "offers", offers.text);
	control_send(control->server, asker, &w);
}

static void on_request(void *context, struct control_asker asker, const struct message *m)
{
	struct control *control = context;

	if (strcmp(m->verb, "follow") == 0)
		on_follow(control, asker, m);
	else if (strcmp(m->verb, "commit") == 0)
		on_commit(control, asker);
	else if (strcmp(m->verb, "capture") == 0)
		on_capture(control, asker, m);
	else if (strcmp(m->verb, "patch-capture") == 0)
		on_change(control, asker, m, ITEM_PATCH);
	else if (strcmp(m->verb, "delete-capture") == 0)
		on_change(control, asker, m, ITEM_DELETE);
	else if (strcmp(m->verb, "judge-capture") == 0)
		on_judge(control, asker, m);
	else if (strcmp(m->verb, "send-again") == 0)
		on_send_again(control, asker, m);
	else if (strcmp(m->verb, "sent") == 0)
		on_sent(control, asker, m);
	else if (strcmp(m->verb, "forwarding") == 0)
		on_forwarding(control, asker, m);
	else if (strcmp(m->verb, "damaged") == 0)
		on_damaged(control, asker, m);
	else if (strcmp(m->verb, "who") == 0)
		on_who(control, asker, m, false);
	else if (strcmp(m->verb, "where") == 0)
		on_who(control, asker, m, true);
	else if (strcmp(m->verb, "offers") == 0)
		on_offers(control, asker);
	else if (strcmp(m->verb, "metrics") == 0)
		on_metrics(control, asker);
	else if (strcmp(m->verb, "status") == 0)
		on_status_request(control, asker);
	else
		control_error(control->server, asker, 400, "unknown verb");
}

int control_open(struct control **cp, struct collector *collector, const char *run, char *sentence, size_t size)
{
	CLEANUP(freep) char *path = NULL;
	struct control *control = calloc(1, sizeof(*control));
	int r = -ENOMEM;

	if (asprintf(&path, "%s/collect.sock", run) < 0)
		path = NULL;
	if (control && path) {
		control->collector = collector;
		r = control_server_open(&control->server, collector->event, path, on_request, control, sentence, size);
	} else {
		snprintf(sentence, size, "no memory left for the control socket");
	}
	if (r < 0) {
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
	control_server_close(control->server);
	while (control->orders) {
		struct order *next = control->orders->next;

		free(control->orders);
		control->orders = next;
	}
	free(control);
	return NULL;
}
