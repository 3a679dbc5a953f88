/*
 * Guests that say in XenStore that they offer a profile are connected to by themselves, where their policy says so: the collector lists them
 * each second, and there is a target for each.  One that was stopped, or sends what is no profile, keeps its target, which is over, until the
 * guest offers anew or runs anew; one that is not listed any more is let go of, but only after a while, since a collector that was just
 * started does not know all guests yet.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sink.h"

#define ASK_NS	  NS_PER_S
#define ANSWER_NS (5 * NS_PER_S)
#define GONE_NS	  (5 * NS_PER_S)

void offers_tick(struct sink *s)
{
	struct message_writer w;
	uint64_t now = clock_mono();
	char text[64];

	if (s->ending || now - s->offers_at < (s->offers ? ANSWER_NS : ASK_NS) || !notice_connected(s->collector))
		return;
	s->offers_at = now;
	s->offers = notice_tag(s->collector);
	message_begin(&w, text, sizeof(text), "offers", s->offers);
	if (!notice_send(s->collector, &w))
		s->offers = 0;
}

static void see(struct sink *s, const struct offer *offer, uint64_t now)
{
	struct target *t = s->targets;

	while (t && t->run != offer->run)
		t = t->next;
	if (!t) {
		target_offered(s, offer, now);
		return;
	}
	if (t->seen && !t->automatic)
		t->over = false; /* it was let go of, and is not gone yet: what is being stopped is begun again */
	t->automatic = true;
	t->seen = now;
	if (t->offered_port != offer->port && t->offered_port)
		target_offered_anew(t, offer->port);
	t->offered_port = offer->port;
}

/* RUN:DOMID:PORT and what stands behind it; false at the end, or where it is none. */
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

void offers_answer(struct sink *s, const struct message *m)
{
	const char *at = m ? message_value(m, "offers") : NULL;
	uint64_t now = clock_mono();
	struct target *next;
	struct offer offer;

	s->offers = 0;
	if (!at)
		return;
	while (next_offer(&at, &offer))
		see(s, &offer, now);
	for (struct target *t = s->targets; t; t = next) {
		next = t->next;
		if (t->automatic && now - t->seen > GONE_NS)
			target_gone(t);
	}
}
