/* Send questions to the collector, and handle its answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "receiver.h"

/*
 * If the collector does not know a guest, ask again at growing intervals for two minutes: it may
 * not know a new guest, or the guest's addresses, yet.
 */
#define WHO_AGAIN_NS NS_PER_S
#define WHO_TRIES    7u

#define ASK_NS	  NS_PER_S
#define ANSWER_NS (5 * NS_PER_S)
#define GONE_NS	  (5 * NS_PER_S)

static const char *some(const struct message *m, const char *key)
{
	const char *value = message_value(m, key);

	return value && *value ? value : NULL;
}

/* ---- which guests offer a profile ------------------------------------------------------------ */

/*
 * The receiver connects to guests that offer a profile in XenStore, if their policy allows that.
 * The collector lists these guests each second, and each gets a struct guest.
 *
 * A guest that was stopped, or that sends no profile, stays in the list of guests with OVER set
 * until it makes a new offer or has a new run. A guest that the collector does not list any more is
 * dropped after GONE_NS, because a collector that has just started does not know all guests yet.
 */

void collector_ask_offers(struct receiver *receiver)
{
	struct message_writer w;
	uint64_t now = clock_mono();
	char text[64];

	if (receiver->ending || now - receiver->offers_at < (receiver->offers ? ANSWER_NS : ASK_NS) ||
	    !notice_connected(receiver->collector))
		return;
	receiver->offers_at = now;
	receiver->offers = notice_tag(receiver->collector);
	message_begin(&w, text, sizeof(text), "offers", receiver->offers);
	if (!notice_send(receiver->collector, &w))
		receiver->offers = 0;
}

static void take_offer(struct receiver *receiver, const struct offer *offer, uint64_t now)
{
	struct guest *g = receiver->guests;

	while (g && g->run != offer->run)
		g = g->next;
	if (!g) {
		guest_offered(receiver, offer, now);
		return;
	}
	if (g->seen && !g->automatic)
		g->over = false; /* the guest has withdrawn its offer and offers again: record it again */
	g->automatic = true;
	g->seen = now;
	if (g->offered_port != offer->port && g->offered_port)
		guest_moved(g, offer->port);
	g->offered_port = offer->port;
}

/*
 * Parse the next RUN:DOMID:PORT at *AT into *OFFER, and move *AT behind it. Return false at the end
 * of the list, or if the text is invalid.
 */
static bool next_offer(const char **at, struct offer *offer)
{
	char *end;

	*offer = (struct offer){.run = strtoll(*at, &end, 10)};
	if (end == *at || *end != ':' || offer->run <= 0)
		return false;
	*at = end + 1;
	offer->domid = strtoll(*at, &end, 10);
	if (end == *at || *end != ':')
		return false;
	*at = end + 1;
	offer->port = (uint32_t)strtoul(*at, &end, 10);
	if (end == *at || offer->port < 1 || offer->port > 65535)
		return false;
	*at = *end == ',' ? end + 1 : end;
	return true;
}

static void on_offers(struct receiver *receiver, const struct message *m)
{
	const char *at = m ? message_value(m, "offers") : NULL;
	uint64_t now = clock_mono();
	struct guest *next;
	struct offer offer;

	receiver->offers = 0;
	if (!at)
		return;
	while (next_offer(&at, &offer))
		take_offer(receiver, &offer, now);
	for (struct guest *g = receiver->guests; g; g = next) {
		next = g->next;
		if (g->automatic && now - g->seen > GONE_NS)
			guest_gone(g);
	}
}

/*
 * ---- answers ----------------------------------------------------------------------------------
 */

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	struct receiver *receiver = context;
	bool ok = strcmp(m->verb, "ok") == 0;
	uint64_t run = 0, domid = 0;
	struct stream *stream = receiver->streams;
	struct guest *guest = receiver->guests;

	if (tag == receiver->offers) {
		on_offers(receiver, ok ? m : NULL);
		return;
	}
	for (; stream && stream->who != tag; stream = stream->next)
		;
	for (; guest && guest->where != tag; guest = guest->next)
		;
	if (guest)
		guest_located(guest, ok ? m : NULL);
	if (!stream)
		return;
	stream->who = 0;
	message_number(m, "run", &run);
	if (ok)
		stream_identify(stream, (int64_t)run, some(m, "name"), some(m, "uuid"),
				message_number(m, "domid", &domid) ? (int64_t)domid : -1);
	else if (stream->state == STREAM_ENDED)
		stream_end(stream, "closed");
}

/* The connection to the collector is lost, so open questions get no answer. */
static void on_lost(void *context)
{
	struct receiver *receiver = context;

	for (struct stream *stream = receiver->streams; stream; stream = stream->next)
		stream->who = 0; /* a stream that has ended is freed at its deadline */
	receiver->offers = 0;
}

static const struct notice_calls calls = {.answer = on_answer, .lost = on_lost};

int collector_open(struct receiver *receiver, const char *run)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/collect.sock", run);
	return notice_new(&receiver->collector, receiver->event, path, &calls, receiver);
}

void collector_ask_who(struct stream *s)
{
	struct message_writer w;
	char text[256];
	uint64_t tag;

	if (s->about.run) /* the client that asked for the recording has named the guest */
		return;
	s->who_next = clock_mono() + (WHO_AGAIN_NS << s->who_tries++);
	tag = notice_tag(s->receiver->collector);
	message_begin(&w, text, sizeof(text), "who", tag);
	message_add(&w, "address", s->address);
	if (notice_send(s->receiver->collector, &w))
		s->who = tag;
}

void collector_ask_again(struct receiver *receiver)
{
	uint64_t now = clock_mono();

	if (!notice_connected(receiver->collector))
		return;
	for (struct stream *stream = receiver->streams; stream; stream = stream->next)
		if (stream->state == STREAM_RECORDING && !stream->about.run && !stream->who &&
		    stream->who_tries < WHO_TRIES && now >= stream->who_next)
			collector_ask_who(stream);
}

bool collector_ask_where(struct guest *g)
{
	struct message_writer w;
	char text[256];

	g->where = notice_tag(g->receiver->collector);
	message_begin(&w, text, sizeof(text), "where", g->where);
	message_add_number(&w, "domid", (uint64_t)g->domid);
	if (!notice_send(g->receiver->collector, &w))
		g->where = 0;
	return g->where != 0;
}
