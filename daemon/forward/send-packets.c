/* Send complete packets of a stream. */
#include <mprof/bytes.h>

#include "clock.h"
#include "log.h"
#include "sender-parts.h"

#define BATCH_PACKETS 256u

struct packet {
	struct sender *s;
	int64_t run;
	const char *month;
	uint32_t pieces;
	uint64_t bytes;
	uint64_t taken; /* when its last bytes were copied, by the last chunk end; CLOCK_REALTIME ns */
	int condition;
};

static int count_packet(void *context, const struct piece *piece)
{
	struct packet *packet = context;

	packet->pieces++;
	packet->bytes += piece->bytes;
	if (piece->ends_bytes) {
		const uint8_t *end = piece->ends + piece->ends_bytes - ARCHIVE_END_BYTES;

		packet->taken = periods_taken(packet->s->periods, mprof_load64(end + 4), mprof_load64(end + 12));
	}
	return 0;
}

static int send_packet_piece(void *context, const struct piece *piece)
{
	struct packet *packet = context;

	packet->condition = sender_pay(packet->s, piece->bytes);
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
		return sender_archive_failed(s, r);
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
	struct packet packet = {.s = s, .run = o->run, .taken = periods_taken_real(s->periods, o->real)};
	char month[MONTH_BYTES];
	int r = pieces_of_packet(s->pieces, o->stream, sequence, count_packet, &packet);

	if (r == 0 && packet.pieces == 0) /* it was deleted just now, and is declared lost */
		return 0;
	if (r != 0)
		return sender_archive_failed(s, r);
	month_of(packet.taken, month);
	if (sender_is_past(s, packet.taken)) {
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
		return sender_archive_failed(s, r);
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
		return sender_archive_failed(s, r);
	for (size_t i = 0; i < n && r == 0 && b->bytes < BATCH_BYTES && clock_mono() < until; i++) {
		if (packets[i].complete)
			r = send_packet(s, row, packets[i].sequence, b);
		b->next = r == 0 ? packets[i].sequence + 1 : packets[i].sequence;
	}
	if (r == 0 && n == 0)
		b->next = last + 1;
	return r;
}

int send_packet_rows(struct sender *s, const struct row *row)
{
	struct batch b = {.next = row->outbox.first_sequence};
	struct row before = *row;
	int r = sender_begin(s);

	s->run_checked = false;
	if (r == 0)
		r = send_batch(s, row, &b);
	if (r == 0)
		r = hub_commit(s->hub);
	if (r == 0) {
		if (b.has_past)
			sender_log_past(s, "packets of stream", row->outbox.stream);
		r = sender_acknowledge(s, row, b.next - 1);
		s->total.packets += r ? 0 : b.packets;
		s->total.bytes += r ? 0 : b.bytes;
		return r;
	}
	s->run = 0; /* the transaction is undone, and with it what the hub was told of the run */
	if ((r != HUB_E_REFUSED && r != HUB_E_PAST) || b.packets == 0)
		return sender_settle(s, row, "packet", (int64_t)b.next, b.next, r);
	/* Send the packets before the refused one again, without it. */
	before.outbox.last_sequence = b.next - 1;
	return send_packet_rows(s, &before);
}
