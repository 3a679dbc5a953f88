/*
 * Ask the collector to commit, once for all readers.
 *
 * An answer says that the archive has everything that was copied when the question was asked. While
 * a question is open too long, later readers do not wait: the disk is full, or the collector hangs.
 */
#include "freshness.h"

#include "clock.h"
#include "notice.h"

void freshness_init(struct freshness *f, struct notice *collector)
{
	*f = (struct freshness){.collector = collector, .began = clock_mono()};
}

uint64_t freshness_deadline(const struct freshness *f)
{
	return f->asked + FRESHNESS_WAIT_NS;
}

enum freshness_state freshness_ask(struct freshness *f, uint64_t now)
{
	struct message_writer w;
	char text[64];

	if (f->at && now - f->at < FRESHNESS_NS)
		return FRESHNESS_NEW;
	if (f->tag)
		return now < freshness_deadline(f) ? FRESHNESS_ASKED : FRESHNESS_OLD;
	if (!notice_connected(f->collector) && f->absent && now - f->absent < FRESHNESS_LOOK_NS)
		return FRESHNESS_NEW;
	f->asked = now;
	f->tag = notice_tag(f->collector);
	message_begin(&w, text, sizeof(text), "commit", f->tag);
	if (notice_send(f->collector, &w))
		return FRESHNESS_ASKED;
	f->tag = 0;
	if (notice_connected(f->collector))
		return FRESHNESS_OLD;
	f->absent = now;
	return FRESHNESS_NEW;
}

bool freshness_learned(const struct freshness *f, uint64_t asked)
{
	return f->at >= asked;
}

bool freshness_waits(const struct freshness *f, uint64_t asked, uint64_t now)
{
	return f->tag && f->asked == asked && now < freshness_deadline(f);
}

bool freshness_answer(struct freshness *f, uint64_t tag, bool ok)
{
	if (!f->tag || tag != f->tag)
		return false;
	f->tag = 0;
	if (ok)
		f->at = f->asked;
	return true;
}

void freshness_lost(struct freshness *f)
{
	f->tag = 0;
}

uint64_t freshness_age(const struct freshness *f, uint64_t now, bool *at_least)
{
	*at_least = !f->at;
	return now - (f->at ? f->at : f->began);
}
