/*
 * Send captures.
 *
 * A capture is read twice: once to count its pieces, which the hub wants to know first, and once to
 * send them. A small capture is one transaction, so that the hub keeps nothing of it if it changes
 * meanwhile; several small ones share one. The hub keeps what was sent of a larger one, and the next attempt goes on
 * from there.
 */
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "profile-part.h"
#include "sender-parts.h"

#define WHOLE_BYTES (16u << 20) /* a capture up to this size is one transaction */

struct sending {
	struct sender *s;
	const struct head *head;
	const char *json; /* of the head, with the memory profile */
	const char *month;
	int64_t capture;
	struct memory_part memory;
	uint64_t pieces, bytes; /* that were counted, and are to be sent */
	uint64_t most;		/* bytes after which counting ends, because the capture is not sent then */
	uint64_t in_batch;	/* bytes of the open transaction */
	bool is_whole;		/* one transaction */
	bool is_open;		/* the hub has some pieces already */
	int condition;		/* of the hub, that ended the sending */
};

static int count_piece(void *context, const struct piece *piece)
{
	struct sending *sending = context;

	sending->pieces++;
	sending->bytes += piece->bytes + piece->ends_bytes;
	return sending->bytes > sending->most ? ENDED : 0;
}

/* End the transaction and begin the next one. */
static int next_batch(struct sending *sending)
{
	int r = hub_commit(sending->s->hub);

	sending->in_batch = 0;
	return r ? r : sender_begin(sending->s);
}

static int send_piece(void *context, const struct piece *piece)
{
	struct sending *sending = context;
	struct sender *s = sending->s;

	if (sending->is_open && hub_capture_has(s->hub, piece))
		return 0;
	sending->condition = sender_pay(s, piece->bytes);
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
	return pieces_of_capture(sending->s->pieces, sending->capture, &sending->memory, sending->head->ranges,
				 sending->head->n_ranges, call, sending);
}

/* The memory profile of SENDING cannot be read as it was chosen: send the capture without it. */
static int memory_failed(struct sending *sending)
{
	struct sender *s = sending->s;

	hub_rollback(s->hub);
	log_write_limited(&s->unread, LOG_LEVEL_WARNING, NULL,
			  "The memory profile %" PRId64 " cannot be read, and is not sent with capture %" PRId64,
			  sending->memory.recording, sending->capture);
	s->damaged = sending->memory.recording;
	return HUB_E_AGAIN;
}

/* Send the pieces that were counted. Return 0, a hub_condition or SENDER_E_ARCHIVE. */
static int send_pieces(struct sending *sending, bool is_empty)
{
	struct sender *s = sending->s;
	bool done = false;
	int r;

	r = hub_begin_capture(s->hub, sending->month, sending->capture, sending->pieces, sending->bytes, sending->json,
			      &done, &sending->is_open);
	if (r != 0 || done)
		return r;
	if (sending->is_open)
		r = hub_list_capture(s->hub, sending->month, sending->capture);
	if (r != 0)
		return r;
	r = is_empty ? send_piece(sending, &no_context) : each_piece(sending, send_piece);
	if (r == ENDED)
		return sending->condition;
	if (r == PIECES_E_MEMORY)
		return memory_failed(sending);
	return r ? sender_archive_failed(s, r) : hub_finish_capture(s->hub, sending->month, sending->capture);
}

/*
 * Count the pieces of SENDING, which its caller has set up. *IS_EMPTY: the capture has none, and gets one. Return as
 * each_piece(); ENDED: it has more than MOST bytes.
 */
static int count(struct sending *sending, bool *is_empty)
{
	int r = each_piece(sending, count_piece);

	*is_empty = r == 0 && sending->pieces == 0;
	if (*is_empty)
		r = count_piece(sending, &no_context);
	sending->is_whole = sending->bytes <= WHOLE_BYTES;
	return r;
}

/* Send a capture. *BYTES: those of its pieces. Return as sender_send(). */
static int send_capture(struct sender *s, const struct row *row, const struct head *head, const char *month,
			uint64_t *bytes)
{
	struct sending sending = {
		.s = s,
		.head = head,
		.month = month,
		.json = head->json,
		.capture = row->outbox.capture,
		.most = UINT64_MAX,
	};
	CLEANUP(freep) char *json = NULL;
	struct head_profile profile;
	bool is_empty;
	int r;

	memory_choose(s->memtraces, s->own, row->outbox.capture, head, s->wait, s->context, &sending.memory);
	if (sending.memory.recording == s->damaged)
		sending.memory = (struct memory_part){0};
	r = count(&sending, &is_empty);
	if (r == PIECES_E_MEMORY)
		return memory_failed(&sending);
	if (r != 0)
		return sender_archive_failed(s, r);
	profile = memory_profile(s->memtraces, &sending.memory);
	if (profile.recording && head_with_profile(head, &profile, &json) == 0)
		sending.json = json;
	*bytes = sending.bytes;
	r = sender_begin(s);
	if (r == 0)
		r = send_pieces(&sending, is_empty);
	return r ? r : hub_commit(s->hub);
}

static bool is_past(const struct sender *s, const struct head *head)
{
	return sender_is_past(s, periods_taken(s->periods, head->mono, head->real));
}

/* Say that the stamp of a capture is so wrong that the hub files it in another month. */
static void log_wrong(struct sender *s, int64_t capture, const struct head *head)
{
	const uint64_t taken = periods_taken(s->periods, head->mono, head->real);
	char stamp[MONTH_BYTES], month[MONTH_BYTES];

	month_of(head->real, stamp);
	month_of(taken, month);
	if (strcmp(stamp, month) != 0)
		log_write_limited(&s->wrong, LOG_LEVEL_INFO, NULL,
				  "Capture %" PRId64 " is stamped %.7s, as the clock of this host was wrong: the hub "
				  "files it in %.7s",
				  capture, stamp, month);
}

int send_capture_row(struct sender *s, const struct row *row)
{
	struct head head = {0};
	char month[MONTH_BYTES];
	uint64_t bytes = 0;
	bool is_sent;
	int r = head_of_capture(s->r, row->outbox.capture, &head);

	if (r == ARCHIVE_E_ABSENT) /* it was deleted just now, and its row is a loss by now */
		return sender_acknowledge(s, row, 0);
	if (r != 0)
		return sender_archive_failed(s, r);
	month_of(head.real, month);
	r = is_past(s, &head) ? HUB_E_PAST : send_capture(s, row, &head, month, &bytes);
	if (r == HUB_E_AGAIN)
		r = send_capture(s, row, &head, month, &bytes);
	is_sent = r == 0;
	if (is_sent)
		log_wrong(s, row->outbox.capture, &head);
	else if (r == HUB_E_PAST && !is_past(s, &head))
		compare_refused(s->compare, row->outbox.capture);
	head_deinit(&head);
	r = sender_settle(s, row, "capture", row->outbox.capture, 0, r);
	if (r == 0 && is_sent) {
		s->total.captures++;
		s->total.bytes += bytes;
	}
	return r;
}

/* ---- several small captures ---- */

struct together {
	int64_t ids[SENDER_TOGETHER]; /* of the outbox */
	size_t n;
	uint64_t bytes;
};

/*
 * Add the capture of ROW to the open transaction. *FITS: it belongs there, and was added. Return 0, a hub_condition or
 * SENDER_E_ARCHIVE.
 */
static int add_together(struct sender *s, const struct row *row, struct together *t, bool *fits)
{
	struct head head = {0};
	char month[MONTH_BYTES];
	struct sending sending = {
		.s = s,
		.head = &head,
		.month = month,
		.capture = row->outbox.capture,
		.most = BATCH_BYTES - t->bytes,
	};
	bool is_empty;
	int r = head_of_capture(s->r, row->outbox.capture, &head);

	*fits = false;
	if (r != 0)
		return 0; /* sent by itself it gets its message */
	month_of(head.real, month);
	sending.json = head.json;
	if (!is_past(s, &head) && !memory_has(s->memtraces, &head) && count(&sending, &is_empty) == 0) {
		r = send_pieces(&sending, is_empty);
		*fits = r == 0;
		if (*fits)
			log_wrong(s, row->outbox.capture, &head);
	}
	head_deinit(&head);
	if (!*fits)
		return r;
	t->bytes += sending.bytes;
	t->ids[t->n++] = row->outbox.id;
	return 0;
}

int sender_send_together(struct sender *s, const struct row *const *rows, size_t n, size_t *sent)
{
	struct together t = {.n = 0};
	bool fits = true;
	int r = sender_begin(s);

	*sent = 0;
	while (r == 0 && fits && t.n < n && t.n < SENDER_TOGETHER)
		r = add_together(s, rows[t.n], &t, &fits);
	if (r == 0)
		r = hub_commit(s->hub);
	if (r != 0 || t.n == 0)
		return r == HUB_E_LOST || r == SENDER_E_ARCHIVE || r < 0 ? r : 0;
	r = collector_sent_captures(s->collector, t.ids, t.n);
	if (r != 0) {
		log_warning("mprofd cannot be told what the hub has: %s", strerror(-r));
		return SENDER_E_ARCHIVE;
	}
	s->total.captures += t.n;
	s->total.bytes += t.bytes;
	*sent = t.n;
	return 0;
}
