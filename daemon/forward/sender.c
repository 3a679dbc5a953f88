/* Send losses, and what sending captures and packets has in common. */
#include <inttypes.h>

#include "clock.h"
#include "log.h"
#include "sender-parts.h"

int sender_init(struct sender *s)
{
	int r = memtraces_reader_new(&s->memtraces, s->state);

	return r ? r : pieces_new(&s->pieces, s->r, s->memtraces);
}

void sender_deinit(struct sender *s)
{
	s->pieces = pieces_free(s->pieces);
	s->memtraces = memtraces_reader_free(s->memtraces);
}

void sender_forget(struct sender *s)
{
	s->run = 0;
}

int sender_begin(struct sender *s)
{
	s->began = clock_mono();
	return hub_begin(s->hub);
}

int sender_pay(struct sender *s, uint64_t bytes)
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
	return r == 0 && ends ? sender_begin(s) : r;
}

bool sender_tell_damage(struct sender *s)
{
	struct reader_damage damage;

	if (!reader_take_damage(s->r, &damage))
		return false;
	s->declared =
		collector_damaged(s->collector, damage.table, damage.stream, damage.sequence, damage.capture) == 0;
	return true;
}

int sender_archive_failed(struct sender *s, int r)
{
	bool is_told = r == ARCHIVE_E_DAMAGED && sender_tell_damage(s);

	hub_rollback(s->hub);
	if (!is_told && r != ARCHIVE_E_BUSY)
		log_write_limited(&s->unread, LOG_LEVEL_WARNING, NULL, "The archive cannot be read now: %s",
				  r < 0 ? strerror(-r) : "it is changing");
	return SENDER_E_ARCHIVE;
}

int sender_acknowledge(struct sender *s, const struct row *row, uint64_t sequence)
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

void sender_log_past(struct sender *s, const char *object, int64_t id)
{
	log_write_limited(&s->past, LOG_LEVEL_INFO, NULL,
			  "The hub keeps nothing as old as %s %" PRId64 ": it is not sent", object, id);
}

bool sender_is_past(const struct sender *s, uint64_t taken)
{
	char month[MONTH_BYTES];

	month_of(taken, month);
	return strcmp(month, s->keeps_since) < 0;
}

int sender_settle(struct sender *s, const struct row *row, const char *object, int64_t id, uint64_t sequence, int r)
{
	bool is_refused;

	if (r == HUB_E_REFUSED) {
		log_refused(s, object, id);
		if (row->outbox.capture && strcmp(row->kind, "capture") == 0)
			compare_refused(s->compare, row->outbox.capture);
	}
	if (r == HUB_E_PAST)
		sender_log_past(s, object, id);
	if (r != 0 && r != HUB_E_REFUSED && r != HUB_E_PAST)
		return r;
	is_refused = r == HUB_E_REFUSED;
	r = sender_acknowledge(s, row, sequence);
	s->total.refused += r == 0 && is_refused;
	return r;
}

/* ---- losses ----------------------------------------------------------------------------------- */

static int on_lost(struct sender *s, const struct row *row)
{
	const struct reader_outbox *o = &row->outbox;
	const uint64_t taken = periods_taken_real(s->periods, o->real);
	char month[MONTH_BYTES];
	int r;

	month_of(taken, month);
	r = sender_is_past(s, taken) ? HUB_E_PAST
				     : hub_declare_lost(s->hub, month, o->capture, o->stream, o->first_sequence,
							o->last_sequence, o->bytes, row->reason);
	return sender_settle(s, row, o->capture ? "the loss of capture" : "the loss of packets of stream",
			     o->capture ? o->capture : o->stream, o->last_sequence, r);
}

int sender_send(struct sender *s, const struct row *row)
{
	if (strcmp(row->kind, "capture") == 0)
		return send_capture_row(s, row);
	if (strcmp(row->kind, "packets") == 0)
		return send_packet_rows(s, row);
	return on_lost(s, row);
}
