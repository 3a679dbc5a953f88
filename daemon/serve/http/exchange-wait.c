/*
 * Suspend exchanges that wait: for a commit, for an event, for an answer of the collector or the
 * sink, or until other clients had their turn.
 *
 * libmicrohttpd does not notice that the client of a suspended connection has left. client.c
 * notices it, and calls exchange_client_left(). Invariant: a suspended exchange has a WAIT other
 * than WAIT_NONE, and is in the list of exchanges.
 */
#include "client.h"
#include "clock.h"
#include "freshness.h"
#include "http-state.h"
#include "notice.h"

#define HOLD_NS	      (5 * NS_PER_S)
#define HOLD_TRIES_NS 250000000u

void exchange_ask(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		  uint64_t timeout)
{
	x->answer = (struct answer){.tag = notice_tag(exchange_services(x)->collector)};
	x->answer.deadline = clock_mono() + timeout;
	message_begin(w, text, size, verb, x->answer.tag);
}

void exchange_ask_sink(struct exchange *x, struct message_writer *w, char *text, size_t size, const char *verb,
		       uint64_t timeout)
{
	x->answer = (struct answer){.tag = notice_tag(exchange_services(x)->sink), .sink = true};
	x->answer.deadline = clock_mono() + timeout;
	message_begin(w, text, size, verb, x->answer.tag);
}

bool exchange_send(struct exchange *x, const struct message_writer *w)
{
	return notice_send(x->answer.sink ? exchange_services(x)->sink : exchange_services(x)->collector, w);
}

bool exchange_must_end(const struct exchange *x)
{
	return x->gone || x->client->finished;
}

void exchange_client_left(struct exchange *x, bool gone)
{
	x->gone |= gone;
	if (x->gone || x->live || x->events)
		exchange_resume(x);
}

static void on_answer_timeout(void *context)
{
	struct exchange *x = context;

	x->answer.late = true;
	exchange_resume(x);
}

static void on_hold_end(void *context)
{
	struct exchange *x = context;

	closep(&x->hold);
}

bool exchange_hold(struct exchange *x)
{
	uint64_t now = clock_mono();

	x->hold_tried = x->hold_tried ? x->hold_tried : now;
	/*
	 * Without the lock the body is sent anyway. It is broken off if its packets are deleted
	 * before they are sent.
	 */
	if (reader_hold(exchange_reader(x), &x->hold) == ARCHIVE_E_BUSY && now - x->hold_tried < HOLD_TRIES_NS)
		return false;
	/*
	 * Release the lock after HOLD_NS. Deletion is only as fast as guests write, so a client
	 * that reads faster than that needs only the start.
	 */
	timer_close(&x->hold_timer);
	if (x->hold >= 0 && timer_open(&x->hold_timer, x->http->event, 100 * NS_PER_MS, on_hold_end, x) < 0)
		closep(&x->hold);
	else if (x->hold >= 0)
		timer_set_in(&x->hold_timer, HOLD_NS);
	return true;
}

bool exchange_newest(struct exchange *x)
{
	struct freshness *f = exchange_services(x)->freshness;
	uint64_t now = clock_mono();
	enum freshness_state state;

	if (x->handled || x->method != METHOD_GET || x->route->state != NEWEST)
		return true;
	if (!x->newest_asked) {
		state = freshness_ask(f, now);
		x->late = state == FRESHNESS_OLD;
		if (state != FRESHNESS_ASKED)
			return true;
		x->newest_asked = f->asked;
	} else if (!freshness_waits(f, x->newest_asked, now)) {
		x->late = !freshness_learned(f, x->newest_asked);
		return true;
	}
	x->answer.deadline = freshness_deadline(f);
	exchange_suspend(x, WAIT_NEWEST);
	return false;
}

void exchange_suspend(struct exchange *x, enum wait wait)
{
	/*
	 * An exchange must not wait for an answer without a deadline. If there is no memory for the
	 * timer, treat the answer as too late.
	 */
	if (wait == WAIT_ANSWER || wait == WAIT_NEWEST || wait == WAIT_ACCESS) {
		timer_close(&x->answer_timer);
		x->answer.late = timer_open(&x->answer_timer, x->http->event, 10 * NS_PER_MS, on_answer_timeout, x) < 0;
		if (x->answer.late)
			wait = WAIT_AGAIN;
		else
			timer_set(&x->answer_timer, x->answer.deadline);
	}
	x->wait = wait;
	MHD_suspend_connection(x->connection);
	if (wait == WAIT_AGAIN)
		sd_event_source_set_enabled(x->http->again, SD_EVENT_ONESHOT);
}

void exchange_resume(struct exchange *x)
{
	if (x->wait == WAIT_NONE)
		return;
	x->wait = WAIT_NONE;
	timer_close(&x->answer_timer);
	MHD_resume_connection(x->connection);
	x->client->listener->resumed = true;
}
