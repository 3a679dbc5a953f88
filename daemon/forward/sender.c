/*
 * Send captures, packets and losses.
 *
 * A capture is read twice: once to count its pieces, which the hub wants to know first, and once to
 * send them. A small capture is one transaction, so that the hub keeps nothing of it if it changes
 * meanwhile. Of a larger one the hub keeps what was sent, and the next attempt goes on from there.
 */
#include "sender.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>

#include "clock.h"
#include "log.h"

#define WHOLE_BYTES   (16u << 20) /* a capture up to this size is one transaction */
#define BATCH_BYTES   (8u << 20)  /* bytes of a transaction of a larger capture, or of packets */
#define BATCH_PACKETS 256u
#define BATCH_NS      (60 * NS_PER_S) /* age of a transaction that ends; the hub ends those of 10 minutes */

int sender_init(struct sender *s)
{
	return pieces_new(&s->pieces, s->r);
}

void sender_deinit(struct sender *s)
{
	s->pieces = pieces_free(s->pieces);
}

void sender_forget(struct sender *s)
{
	s->run = 0;
}

static int begin(struct sender *s)
{
	s->began = clock_mono();
	return hub_begin(s->hub);
}

/*
 * Wait until the rate allows BYTES more. If the open transaction would become older than BATCH_NS
 * meanwhile, commit it before, and begin another one. Return 0 or a hub_condition.
 */
static int pay(struct sender *s, uint64_t bytes)
{
	uint64_t now = clock_mono();
	bool ends;
	int r;

	if (s->paid < now)
		s->paid = now;
	if (s->rate)
		s->paid += (uint64_t)((double)bytes / (double)s->rate * 1e9);
	ends = s->paid - s->began > BATCH_NS;
	r = ends ? hub_commit(s->hub) : 0;
	if (r == 0 && s->paid > now)
		s->wait(s->context, s->paid);
	return r == 0 && ends ? begin(s) : r;
}

/* Turn R, an error of the reader, into a result of sender_send(). Report damage to the collector. */
static int archive_failed(struct sender *s, int r)
{
	struct reader_damage damage;

	hub_rollback(s->hub);
	if (r == ARCHIVE_E_DAMAGED && reader_take_damage(s->r, &damage))
		collector_damaged(s->collector, damage.stream, damage.sequence, damage.capture);
	else if (r != ARCHIVE_E_BUSY)
		log_warning("The archive cannot be read now: %s", r < 0 ? strerror(-r) : "it is changing");
	return SENDER_E_ARCHIVE;
}

/* Tell the collector that the hub has the row. Return 0 or SENDER_E_ARCHIVE. */
static int acknowledge(struct sender *s, const struct row *row, uint64_t sequence)
{
	const struct reader_outbox *o = &row->outbox;
	int r = collector_sent(s->collector, o->id, sequence, o->packets, o->bytes);

	if (r == 0 || r == -ENOENT) /* the row was turned into a loss, or acknowledged before */
		return 0;
	log_warning("mprofd cannot be told what the hub has: %s", strerror(-r));
	return SENDER_E_ARCHIVE;
}

/* Log that the hub never takes an object, and why. */
static void log_refused(struct sender *s, const char *object, int64_t id)
{
	log_write_limited(&s->refused, LOG_LEVEL_ERROR, NULL,
			  "The hub refuses %s %" PRId64 ", which is not sent again: %s", object, id,
			  hub_sentence(s->hub));
}

/* Log that an object is not sent, because it is older than what the hub keeps. */
static void log_past(struct sender *s, const char *object, int64_t id)
{
	log_write_limited(&s->past, LOG_LEVEL_INFO, NULL,
			  "The hub keeps nothing as old as %s %" PRId64 ": it is not sent", object, id);
}

static bool is_past(const struct sender *s, const char *month)
{
	return strcmp(month, s->keeps_since) < 0;
}

/* ---- captures --------------------------------------------------------------------------------- */

struct sending {
	struct sender *s;
	const struct head *head;
	const char *month;
	int64_t capture;
	uint64_t pieces, bytes; /* that were counted, and are to be sent */
	uint64_t in_batch;	/* bytes of the open transaction */
	bool is_whole;		/* one transaction */
	bool is_open;		/* the hub has some pieces already */
	int condition;		/* of the hub, that ended the sending */
};

#define ENDED (-ECANCELED) /* result of a callback: the condition says why */

static int count_piece(void *context, const struct piece *piece)
{
	struct sending *sending = context;

	sending->pieces++;
	sending->bytes += piece->bytes + piece->ends_bytes;
	return 0;
}

/* End the transaction and begin the next one. */
static int next_batch(struct sending *sending)
{
	int r = hub_commit(sending->s->hub);

	sending->in_batch = 0;
	return r ? r : begin(sending->s);
}

static int send_piece(void *context, const struct piece *piece)
{
	struct sending *sending = context;
	struct sender *s = sending->s;

	if (sending->is_open && hub_capture_has(s->hub, piece))
		return 0;
	sending->condition = pay(s, piece->bytes);
	if (sending->condition == 0)
		sending->condition = hub_put_capture_piece(s->hub, sending->month, sending->capture, piece);
	sending->in_batch += piece->bytes;
	if (sending->condition == 0 && !sending->is_whole && sending->in_batch >= BATCH_BYTES)
		sending->condition = next_batch(sending);
	return sending->condition ? ENDED : 0;
}

/* An archive without a context has no piece of it. A capture without any piece gets an empty one. */
static const struct piece no_context = {
	.part = "context",
	.length = 2,
	.data = (const uint8_t *)"{}",
	.bytes = 2,
};

static int each_piece(struct sending *sending, piece_call *call)
{
	return pieces_of_capture(sending->s->pieces, sending->capture, sending->head->ranges, sending->head->n_ranges,
				 call, sending);
}

/* Send the pieces that were counted. Return 0, a hub_condition or SENDER_E_ARCHIVE. */
static int send_pieces(struct sending *sending, bool is_empty)
{
	struct sender *s = sending->s;
	bool done = false;
	int r;

	r = hub_begin_capture(s->hub, sending->month, sending->capture, sending->pieces, sending->bytes,
			      sending->head->json, &done, &sending->is_open);
	if (r != 0 || done)
		return r;
	if (sending->is_open)
		r = hub_list_capture(s->hub, sending->month, sending->capture);
	if (r != 0)
		return r;
	r = is_empty ? send_piece(sending, &no_context) : each_piece(sending, send_piece);
	if (r == ENDED)
		return sending->condition;
	return r ? archive_failed(s, r) : hub_finish_capture(s->hub, sending->month, sending->capture);
}

/* Send a capture. *BYTES: those of its pieces. Return as sender_send(). */
static int send_capture(struct sender *s, const struct row *row, const struct head *head, const char *month,
			uint64_t *bytes)
{
	struct sending sending = {.s = s, .head = head, .month = month, .capture = row->outbox.capture};
	bool is_empty;
	int r = each_piece(&sending, count_piece);

	if (r != 0)
		return archive_failed(s, r);
	is_empty = sending.pieces == 0;
	if (is_empty)
		count_piece(&sending, &no_context);
	sending.is_whole = sending.bytes <= WHOLE_BYTES;
	*bytes = sending.bytes;
	r = begin(s);
	if (r == 0)
		r = send_pieces(&sending, is_empty);
	return r ? r : hub_commit(s->hub);
}

/* Act on R, the result of sending ROW, an OBJECT called ID: what never succeeds is over. */
static int settle(struct sender *s, const struct row *row, const char *object, int64_t id, uint64_t sequence, int r)
{
	bool is_refused;

	if (r == HUB_E_REFUSED)
		log_refused(s, object, id);
	if (r == HUB_E_PAST)
		log_past(s, object, id);
	if (r != 0 && r != HUB_E_REFUSED && r != HUB_E_PAST)
		return r;
	is_refused = r == HUB_E_REFUSED;
	r = acknowledge(s, row, sequence);
	s->total.refused += r == 0 && is_refused;
	return r;
}

static int on_capture(struct sender *s, const struct row *row)
{
	struct head head = {0};
	char month[MONTH_BYTES];
	uint64_t bytes = 0;
	bool is_sent;
	int r = head_of_capture(s->r, row->outbox.capture, &head);

	if (r == ARCHIVE_E_ABSENT) /* it was deleted just now, and its row is a loss by now */
		return acknowledge(s, row, 0);
	if (r != 0)
		return archive_failed(s, r);
	month_of(head.real, month);
	r = is_past(s, month) ? HUB_E_PAST : send_capture(s, row, &head, month, &bytes);
	if (r == HUB_E_AGAIN)
		r = send_capture(s, row, &head, month, &bytes);
	head_deinit(&head);
	is_sent = r == 0;
	r = settle(s, row, "capture", row->outbox.capture, 0, r);
	if (r == 0 && is_sent) {
		s->total.captures++;
		s->total.bytes += bytes;
	}
	return r;
}

/* ---- packets ---------------------------------------------------------------------------------- */

struct packet {
	struct sender *s;
	int64_t run;
	const char *month;
	uint32_t pieces;
	uint64_t bytes;
	uint64_t real; /* of the last chunk end */
	int condition;
};

static int count_packet(void *context, const struct piece *piece)
{
	struct packet *packet = context;

	packet->pieces++;
	packet->bytes += piece->bytes;
	if (piece->ends_bytes)
		packet->real = mprof_load64(piece->ends + piece->ends_bytes - ARCHIVE_END_BYTES + 12);
	return 0;
}

static int send_packet_piece(void *context, const struct piece *piece)
{
	struct packet *packet = context;

	packet->condition = pay(packet->s, piece->bytes);
	if (packet->condition == 0)
		packet->condition =
			hub_put_packet_piece(packet->s->hub, packet->month, packet->run, packet->pieces, piece);
	return packet->condition ? ENDED : 0;
}

/* Tell the hub about RUN in MONTH, unless it knows the run with all its streams. */
static int know_run(struct sender *s, int64_t run, const char *month)
{
	CLEANUP(freep) char *json = NULL;
	size_t streams;
	int r;

	if (s->run_checked && s->run == run && strcmp(s->run_month, month) == 0)
		return 0;
	r = head_of_run(s->r, run, &json, &streams);
	if (r != 0)
		return archive_failed(s, r);
	s->run_checked = true;
	if (s->run == run && s->run_streams == streams && strcmp(s->run_month, month) == 0)
		return 0;
	r = hub_put_run(s->hub, month, run, json);
	s->run = run;
	s->run_streams = streams;
	memcpy(s->run_month, month, MONTH_BYTES);
	return r;
}

/* A batch of packets of a stream: one transaction, or some if the rate is low. */
struct batch {
	uint64_t next; /* packet behind those that were sent or skipped */
	uint64_t packets, bytes;
	bool has_past; /* some are skipped because they are older than what the hub keeps */
};

/* Send packet SEQUENCE of the stream of ROW. Return as sender_send(). */
static int send_packet(struct sender *s, const struct row *row, uint64_t sequence, struct batch *b)
{
	const struct reader_outbox *o = &row->outbox;
	struct packet packet = {.s = s, .run = o->run, .real = o->real};
	char month[MONTH_BYTES];
	int r = pieces_of_packet(s->pieces, o->stream, sequence, count_packet, &packet);

	if (r == 0 && packet.pieces == 0) /* it was deleted just now, and is declared lost */
		return 0;
	if (r != 0)
		return archive_failed(s, r);
	month_of(packet.real, month);
	if (is_past(s, month)) {
		b->has_past = true;
		return 0;
	}
	packet.month = month;
	r = know_run(s, o->run, month);
	if (r != 0)
		return r;
	r = pieces_of_packet(s->pieces, o->stream, sequence, send_packet_piece, &packet);
	if (r == ENDED)
		return packet.condition;
	if (r != 0)
		return archive_failed(s, r);
	b->packets++;
	b->bytes += packet.bytes;
	return 0;
}

/* Send packets of ROW from B->next on, until the batch is full. Return as sender_send(). */
static int send_batch(struct sender *s, const struct row *row, struct batch *b)
{
	const uint64_t last = row->outbox.last_sequence;
	struct reader_packet packets[BATCH_PACKETS];
	const uint64_t until = clock_mono() + BATCH_NS;
	size_t n = BATCH_PACKETS;
	int r = reader_packets(s->r, (struct reader_source){.stream = row->outbox.stream}, b->next, last, false,
			       packets, &n);

	if (r != 0)
		return archive_failed(s, r);
	for (size_t i = 0; i < n && r == 0 && b->bytes < BATCH_BYTES && clock_mono() < until; i++) {
		if (packets[i].complete)
			r = send_packet(s, row, packets[i].sequence, b);
		b->next = r == 0 ? packets[i].sequence + 1 : packets[i].sequence;
	}
	if (r == 0 && n == 0)
		b->next = last + 1;
	return r;
}

static int on_packets(struct sender *s, const struct row *row)
{
	struct batch b = {.next = row->outbox.first_sequence};
	struct row before = *row;
	int r = begin(s);

	s->run_checked = false;
	if (r == 0)
		r = send_batch(s, row, &b);
	if (r == 0)
		r = hub_commit(s->hub);
	if (r == 0) {
		if (b.has_past)
			log_past(s, "packets of stream", row->outbox.stream);
		r = acknowledge(s, row, b.next - 1);
		s->total.packets += r ? 0 : b.packets;
		s->total.bytes += r ? 0 : b.bytes;
		return r;
	}
	s->run = 0; /* the transaction is undone, and with it what the hub was told of the run */
	if ((r != HUB_E_REFUSED && r != HUB_E_PAST) || b.packets == 0)
		return settle(s, row, "packet", (int64_t)b.next, b.next, r);
	/* Send the packets before the refused one again, without it. */
	before.outbox.last_sequence = b.next - 1;
	return on_packets(s, &before);
}

/* ---- losses ----------------------------------------------------------------------------------- */

static int on_lost(struct sender *s, const struct row *row)
{
	const struct reader_outbox *o = &row->outbox;
	char month[MONTH_BYTES];
	int r;

	month_of(o->real, month);
	r = is_past(s, month) ? HUB_E_PAST
			      : hub_declare_lost(s->hub, month, o->capture, o->stream, o->first_sequence,
						 o->last_sequence, o->bytes, row->reason);
	return settle(s, row, o->capture ? "the loss of capture" : "the loss of packets of stream",
		      o->capture ? o->capture : o->stream, o->last_sequence, r);
}

int sender_send(struct sender *s, const struct row *row)
{
	if (strcmp(row->kind, "capture") == 0)
		return on_capture(s, row);
	if (strcmp(row->kind, "packets") == 0)
		return on_packets(s, row);
	return on_lost(s, row);
}
