/* Parts of /v1/events: the sorted difference, and the journal of the newest events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "journal.h"
#include "sorted-difference.h"

struct gone {
	size_t n;
	int64_t ids[16];
};

static void on_gone(void *context, const struct difference_entry *entry)
{
	struct gone *g = context;

	g->ids[g->n++ % 16] = entry->id;
}

static void test_sorted_difference(void)
{
	struct difference c = {0};
	struct gone gone = {0};
	uint64_t before = 0;

	difference_begin(&c);
	for (int64_t id = 1; id <= 1000; id++)
		CHECK(difference_add(&c, id, 7, &before, on_gone, &gone) == DIFFERENCE_ADDED);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 0);

	/* Objects 1, 500 and 1000 are gone, object 2 has changed, object 1001 is new. */
	difference_begin(&c);
	CHECK(difference_add(&c, 2, 8, &before, on_gone, &gone) == DIFFERENCE_CHANGED && before == 7);
	CHECK(gone.n == 1 && gone.ids[0] == 1);
	for (int64_t id = 3; id < 1000; id++)
		if (id != 500)
			CHECK(difference_add(&c, id, 7, &before, on_gone, &gone) == DIFFERENCE_NONE);
	CHECK(difference_add(&c, 1001, 7, &before, on_gone, &gone) == DIFFERENCE_ADDED);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 3 && gone.ids[1] == 500 && gone.ids[2] == 1000);

	/* A list that was begun and not finished changes nothing. */
	difference_begin(&c);
	CHECK(difference_add(&c, 2, 9, &before, on_gone, &gone) == DIFFERENCE_CHANGED && before == 8);
	difference_begin(&c);
	CHECK(difference_add(&c, 2, 8, &before, on_gone, &gone) == DIFFERENCE_NONE);
	difference_begin(&c);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 3 + 998);
	difference_deinit(&c);
}

static void put(struct journal *j, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK(journal_append(j, "tick", json_pack("{s:I}", "n", (json_int_t)i)) == 0);
}

static void test_journal(void)
{
	CLEANUP(journal_freep) struct journal *j = NULL;
	struct journal_event *event, *held;
	char id[JOURNAL_ID], wanted[128];
	uint64_t serial;
	bool lost;

	CHECK(journal_new(&j) == 0);
	journal_id(j, 0, id);
	CHECK(journal_resume(j, id, &serial) && serial == 0 && !journal_next(j, 0, &lost) && !lost);
	put(j, 1);
	held = journal_next(j, 0, &lost);
	journal_id(j, 1, id);
	snprintf(wanted, sizeof(wanted), "id: %s\nevent: tick\ndata: {\"n\":0}\n\n", id);
	if (!CHECK(held != NULL))
		return;
	CHECK(held->serial == 1 && held->bytes == strlen(wanted) && memcmp(held->text, wanted, held->bytes) == 0);

	/*
	 * The journal drops its oldest events. An event that is still referenced stays valid, and a
	 * reader of older events is told that events are lost.
	 */
	put(j, JOURNAL_EVENTS);
	CHECK(memcmp(held->text, wanted, held->bytes) == 0);
	held = journal_release(held);
	CHECK(!journal_next(j, 0, &lost) && lost);
	journal_id(j, 0, id);
	CHECK(!journal_resume(j, id, &serial));
	journal_id(j, 1, id);
	CHECK(journal_resume(j, id, &serial) && serial == 1);
	for (serial = 1; (event = journal_next(j, serial, &lost)); journal_release(event))
		CHECK(event->serial == ++serial);
	CHECK(!lost && serial == journal_newest(j) && serial == JOURNAL_EVENTS + 1);

	journal_id(j, serial, id);
	journal_restart(j);
	CHECK(!journal_resume(j, id, &serial) && journal_newest(j) == 0 && journal_restarts(j) == 1);
	journal_id(j, 0, id);
	CHECK(journal_resume(j, id, &serial));
	for (const char *const *p =
		     (const char *const[]){"", ".", "0.0", "0000000000000000", "0000000000000000.", NULL};
	     *p; p++)
		CHECK(!journal_resume(j, *p, &serial));
	strcat(id, " ");
	CHECK(!journal_resume(j, id, &serial));
}

/*
 * A few large events reach the journal's limit of bytes. An event that is larger than the limit
 * replaces all others.
 */
static void test_journal_bytes(void)
{
	CLEANUP(journal_freep) struct journal *j = NULL;
	char *text = malloc(JOURNAL_BYTES + 2);
	struct journal_event *event;
	bool lost;

	CHECK(text && journal_new(&j) == 0);
	memset(text, 'x', JOURNAL_BYTES + 1);
	text[JOURNAL_BYTES / 4] = '\0';
	for (int i = 0; i < 8; i++)
		CHECK(journal_append(j, "large", json_pack("{s:s}", "t", text)) == 0);
	CHECK(!journal_next(j, 4, &lost) && lost);
	event = journal_next(j, 5, &lost);
	CHECK(event && event->serial == 6);
	journal_release(event);
	text[JOURNAL_BYTES / 4] = 'x';
	text[JOURNAL_BYTES + 1] = '\0';
	CHECK(journal_append(j, "large", json_pack("{s:s}", "t", text)) == 0);
	CHECK(!journal_next(j, 7, &lost) && lost);
	event = journal_next(j, 8, &lost);
	CHECK(event && event->bytes > JOURNAL_BYTES);
	journal_release(event);
	free(text);

	/* An event is lost for lack of memory: no earlier position can be resumed. */
	CHECK(journal_append(j, "none", NULL) < 0 && journal_newest(j) == 0 && journal_restarts(j) == 1);
}

int main(void)
{
	CHECK_RUN(test_sorted_difference);
	CHECK_RUN(test_journal);
	CHECK_RUN(test_journal_bytes);
	return check_done();
}
