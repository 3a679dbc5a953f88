/*
 * The journal is a ring of pointers. Invariant: the events OLDEST to NEWEST exist, each at the
 * index of its number modulo the size of the ring.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "journal.h"

struct journal {
	uint64_t epoch; /* random; an id with another epoch is of an earlier server process */
	uint64_t restarts;
	uint64_t oldest, newest;
	size_t bytes;
	struct journal_event *events[JOURNAL_EVENTS];
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

struct journal_event *journal_release(struct journal_event *event)
{
	if (event && --event->references == 0)
		free(event);
	return NULL;
}

static void forget_oldest(struct journal *j)
{
	struct journal_event **slot = &j->events[j->oldest++ % JOURNAL_EVENTS];

	j->bytes -= (*slot)->bytes;
	*slot = journal_release(*slot);
}

struct journal *journal_free(struct journal *j)
{
	while (j && j->oldest <= j->newest)
		forget_oldest(j);
	free(j);
	return NULL;
}

void journal_restart(struct journal *j)
{
	while (j->oldest <= j->newest)
		forget_oldest(j);
	j->epoch++;
	j->restarts++;
	j->newest = 0;
	j->oldest = 1;
}

static struct journal_event *event_new(const struct journal *j, uint64_t serial, const char *name, const char *data)
{
	char id[JOURNAL_ID];
	struct journal_event *event;
	size_t room;
	int len;

	journal_id(j, serial, id);
	room = strlen(id) + strlen(name) + strlen(data) + 32;
	event = malloc(sizeof(*event) + room);
	if (!event)
		return NULL;
	*event = (struct journal_event){.references = 1, .serial = serial};
	len = snprintf(event->text, room, "id: %s\nevent: %s\ndata: %s\n\n", id, name, data);
	event->bytes = (size_t)len;
	return event;
}

int journal_append(struct journal *j, const char *name, json_t *data)
{
	CLEANUP(freep) char *text = data ? json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	struct journal_event *event = text ? event_new(j, j->newest + 1, name, text) : NULL;

	json_decref(data);
	if (!event) {
		journal_restart(j);
		return -ENOMEM;
	}
	while (j->oldest <= j->newest &&
	       (j->newest - j->oldest + 1 == JOURNAL_EVENTS || j->bytes + event->bytes > JOURNAL_BYTES))
		forget_oldest(j);
	j->newest = event->serial;
	j->bytes += event->bytes;
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

bool journal_resume(const struct journal *j, const char *id, uint64_t *serial)
{
	char said[JOURNAL_ID];

	/* Accept only ids as journal_id() writes them. */
	if (strnlen(id, JOURNAL_ID) < 18 || strnlen(id, JOURNAL_ID) == JOURNAL_ID)
		return false;
	*serial = strtoull(id + 17, NULL, 10);
	journal_id(j, *serial, said);
	return strcmp(id, said) == 0 && *serial + 1 >= j->oldest && *serial <= j->newest;
}

struct journal_event *journal_next(struct journal *j, uint64_t serial, bool *lost)
{
	struct journal_event *event;

	*lost = serial > j->newest || serial + 1 < j->oldest;
	if (*lost || serial == j->newest)
		return NULL;
	event = j->events[(serial + 1) % JOURNAL_EVENTS];
	event->references++;
	return event;
}
