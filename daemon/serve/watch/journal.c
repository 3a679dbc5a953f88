/*
 * The journal is a ring of pointers. Invariant: the events OLDEST to NEWEST exist, each at the
 * index of its number modulo the size of the ring. DROPPED has the guests of the events before
 * OLDEST, but only those with an event behind ALL_DROPPED.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "journal.h"

/* A guest, and the number of its last event that was dropped. */
struct dropped {
	struct guest_name *guest; /* a reference; NULL = an unknown guest */
	uint64_t serial;
};

struct journal {
	uint64_t epoch; /* random; an id with another epoch is of an earlier server process */
	uint64_t restarts;
	uint64_t oldest, newest;
	size_t bytes;
	struct event *events[JOURNAL_EVENTS];
	struct dropped dropped[JOURNAL_GUESTS]; /* in no order */
	size_t n_dropped;
	uint64_t all_dropped; /* every view has lost the events up to this number */
};

int journal_new(struct journal **jp)
{
	CLEANUP(journal_freep) struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	if (getrandom(&j->epoch, sizeof(j->epoch), 0) != (ssize_t)sizeof(j->epoch))
		return -EIO;
	j->oldest = 1;
	*jp = TAKE_PTR(j);
	return 0;
}

/* Remove from DROPPED the guest whose last event is the oldest. */
static void forget_guest(struct journal *j)
{
	struct dropped *least = &j->dropped[0];

	for (size_t i = 1; i < j->n_dropped; i++)
		if (j->dropped[i].serial < least->serial)
			least = &j->dropped[i];
	j->all_dropped = least->serial;
	guest_name_unref(least->guest);
	*least = j->dropped[--j->n_dropped];
}

static void note_dropped(struct journal *j, struct guest_name *guest, uint64_t serial)
{
	size_t i = 0;

	while (i < j->n_dropped && j->dropped[i].guest != guest)
		i++;
	if (i == JOURNAL_GUESTS) {
		forget_guest(j);
		i = j->n_dropped;
	}
	if (i == j->n_dropped)
		j->dropped[j->n_dropped++].guest = guest_name_ref(guest);
	j->dropped[i].serial = serial;
}

static void forget_oldest(struct journal *j)
{
	struct event **slot = &j->events[j->oldest++ % JOURNAL_EVENTS];

	j->bytes -= (*slot)->cost;
	*slot = event_unref(*slot);
}

static void drop_oldest(struct journal *j)
{
	const struct event *e = j->events[j->oldest % JOURNAL_EVENTS];

	for (size_t i = 0; i < e->n_parts; i++)
		note_dropped(j, e->parts[i].guest, e->serial);
	forget_oldest(j);
}

static void clear(struct journal *j)
{
	while (j->oldest <= j->newest)
		forget_oldest(j);
	while (j->n_dropped)
		guest_name_unref(j->dropped[--j->n_dropped].guest);
	j->all_dropped = 0;
}

struct journal *journal_free(struct journal *j)
{
	if (j)
		clear(j);
	free(j);
	return NULL;
}

void journal_restart(struct journal *j)
{
	clear(j);
	j->epoch++;
	j->restarts++;
	j->newest = 0;
	j->oldest = 1;
}

int journal_append(struct journal *j, struct event_draft *d)
{
	char id[JOURNAL_ID];
	struct event *event;

	journal_id(j, j->newest + 1, id);
	event = event_new(d, j->newest + 1, id);
	event_draft_deinit(d);
	if (!event) {
		journal_restart(j);
		return -ENOMEM;
	}
	while (j->oldest <= j->newest &&
	       (j->newest - j->oldest + 1 == JOURNAL_EVENTS || j->bytes + event->cost > JOURNAL_BYTES))
		drop_oldest(j);
	j->newest = event->serial;
	j->bytes += event->cost;
	j->events[j->newest % JOURNAL_EVENTS] = event;
	return 0;
}

uint64_t journal_newest(const struct journal *j)
{
	return j->newest;
}

uint64_t journal_restarts(const struct journal *j)
{
	return j->restarts;
}

void journal_id(const struct journal *j, uint64_t serial, char text[JOURNAL_ID])
{
	snprintf(text, JOURNAL_ID, "%016" PRIx64 ".%" PRIu64, j->epoch, serial);
}

/* Return whether an event behind SERIAL was dropped that VIEW may show. */
static bool lost_behind(const struct journal *j, uint64_t serial, struct view view)
{
	if (serial + 1 >= j->oldest)
		return false;
	if (!view.sees || serial < j->all_dropped)
		return true;
	for (size_t i = 0; i < j->n_dropped; i++)
		if (j->dropped[i].serial > serial && view.sees(view.context, guest_name_text(j->dropped[i].guest)))
			return true;
	return false;
}

bool journal_resume(const struct journal *j, const char *id, struct view view, uint64_t *serial)
{
	char said[JOURNAL_ID];

	/* Accept only ids as journal_id() writes them. */
	if (strnlen(id, JOURNAL_ID) < 18 || strnlen(id, JOURNAL_ID) == JOURNAL_ID)
		return false;
	*serial = strtoull(id + 17, NULL, 10);
	journal_id(j, *serial, said);
	return strcmp(id, said) == 0 && *serial <= j->newest && !lost_behind(j, *serial, view);
}

struct event *journal_next(struct journal *j, uint64_t serial, struct view view, bool *lost)
{
	uint64_t next = serial + 1 < j->oldest ? j->oldest : serial + 1;

	*lost = serial > j->newest || lost_behind(j, serial, view);
	if (*lost || next > j->newest)
		return NULL;
	return event_ref(j->events[next % JOURNAL_EVENTS]);
}
