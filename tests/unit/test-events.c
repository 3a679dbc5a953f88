/*
 * Parts of /v1/events: names of guests, the sorted difference, the journal of the newest events, and
 * the text of an event for clients that see only some guests.
 */
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

static int add(struct difference *c, int64_t id, uint64_t fingerprint, uint64_t *before, struct gone *gone)
{
	struct difference_entry entry = {.id = id, .fingerprint = fingerprint}, last = {.fingerprint = *before};
	int what = difference_add(c, &entry, &last, on_gone, gone);

	*before = last.fingerprint;
	return what;
}

static void test_sorted_difference(void)
{
	struct difference c = {0};
	struct gone gone = {0};
	uint64_t before = 0;

	difference_begin(&c);
	for (int64_t id = 1; id <= 1000; id++)
		CHECK(add(&c, id, 7, &before, &gone) == DIFFERENCE_ADDED);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 0);

	/* Objects 1, 500 and 1000 are gone, object 2 has changed, object 1001 is new. */
	difference_begin(&c);
	CHECK(add(&c, 2, 8, &before, &gone) == DIFFERENCE_CHANGED && before == 7);
	CHECK(gone.n == 1 && gone.ids[0] == 1);
	for (int64_t id = 3; id < 1000; id++)
		if (id != 500)
			CHECK(add(&c, id, 7, &before, &gone) == DIFFERENCE_NONE);
	CHECK(add(&c, 1001, 7, &before, &gone) == DIFFERENCE_ADDED);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 3 && gone.ids[1] == 500 && gone.ids[2] == 1000);

	/* A list that was begun and not finished changes nothing. */
	difference_begin(&c);
	CHECK(add(&c, 2, 9, &before, &gone) == DIFFERENCE_CHANGED && before == 8);
	difference_begin(&c);
	CHECK(add(&c, 2, 8, &before, &gone) == DIFFERENCE_NONE);
	difference_begin(&c);
	difference_end(&c, on_gone, &gone);
	CHECK(gone.n == 3 + 998);
	difference_deinit(&c);
}

static void on_gone_from(void *context, const struct difference_entry *entry)
{
	CHECK_EQ_STR(entry->guest->text, context);
}

/* Equal names are one object. It exists as long as an entry of a list has it. */
static void test_names(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	struct guest_name *web = NULL, *again = NULL, *db = NULL, *none = NULL;
	struct difference c = {0};
	struct difference_entry before = {0};

	CHECK(names && guest_name_get(names, "web", &web) == 0 && guest_name_get(names, "web", &again) == 0);
	CHECK(web == again && guest_name_get(names, "db", &db) == 0 && db != web && guest_names_count(names) == 2);
	CHECK(guest_name_get(names, NULL, &none) == 0 && !none && !guest_name_text(none));
	guest_name_unref(again);

	difference_begin(&c);
	difference_add(&c, &(struct difference_entry){.id = 1, .guest = web}, &before, on_gone_from, "");
	difference_begin(&c); /* the list that was begun drops its entries */
	difference_add(&c, &(struct difference_entry){.id = 2, .guest = web}, &before, on_gone_from, "");
	difference_add(&c, &(struct difference_entry){.id = 3, .guest = db}, &before, on_gone_from, "");
	guest_name_unref(web);
	guest_name_unref(db);
	difference_end(&c, on_gone_from, "");
	CHECK(guest_names_count(names) == 2);
	difference_begin(&c);
	CHECK(difference_add(&c, &(struct difference_entry){.id = 3}, &before, on_gone_from, "web") == DIFFERENCE_NONE);
	CHECK(before.guest == db);
	difference_end(&c, on_gone_from, "");
	CHECK(guest_names_count(names) == 0);
	for (int i = 0; i < 1000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "guest-%d", i);
		CHECK(guest_name_get(names, text, &web) == 0);
		difference_begin(&c);
		difference_add(&c, &(struct difference_entry){.id = 1, .guest = web}, &before, on_gone_from, "");
		guest_name_unref(web);
	}
	CHECK(guest_names_count(names) == 1);
	/* The table exists as long as a name of it. */
	names = guest_names_free(names);
	difference_deinit(&c);
}

static const struct view everything;

static int append(struct journal *j, const char *name, json_t *data)
{
	struct event_draft draft = {.name = name, .open = "", .close = ""};

	event_draft_add(&draft, data, NULL);
	return journal_append(j, &draft);
}

static void put(struct journal *j, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK(append(j, "tick", json_pack("{s:I}", "n", (json_int_t)i)) == 0);
}

static void test_journal(void)
{
	CLEANUP(journal_freep) struct journal *j = NULL;
	struct event *event, *held;
	char id[JOURNAL_ID], wanted[128];
	uint64_t serial;
	bool lost;

	CHECK(journal_new(&j) == 0);
	journal_id(j, 0, id);
	CHECK(journal_resume(j, id, everything, &serial) && serial == 0 && !journal_next(j, 0, everything, &lost) &&
	      !lost);
	put(j, 1);
	held = journal_next(j, 0, everything, &lost);
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
	held = event_unref(held);
	CHECK(!journal_next(j, 0, everything, &lost) && lost);
	journal_id(j, 0, id);
	CHECK(!journal_resume(j, id, everything, &serial));
	journal_id(j, 1, id);
	CHECK(journal_resume(j, id, everything, &serial) && serial == 1);
	for (serial = 1; (event = journal_next(j, serial, everything, &lost)); event_unref(event))
		CHECK(event->serial == ++serial);
	CHECK(!lost && serial == journal_newest(j) && serial == JOURNAL_EVENTS + 1);

	journal_id(j, serial, id);
	journal_restart(j);
	CHECK(!journal_resume(j, id, everything, &serial) && journal_newest(j) == 0 && journal_restarts(j) == 1);
	journal_id(j, 0, id);
	CHECK(journal_resume(j, id, everything, &serial));
	for (const char *const *p =
		     (const char *const[]){"", ".", "0.0", "0000000000000000", "0000000000000000.", NULL};
	     *p; p++)
		CHECK(!journal_resume(j, *p, everything, &serial));
	strcat(id, " ");
	CHECK(!journal_resume(j, id, everything, &serial));
}

/*
 * A few large events reach the journal's limit of bytes. An event that is larger than the limit
 * replaces all others.
 */
static void test_journal_bytes(void)
{
	CLEANUP(journal_freep) struct journal *j = NULL;
	char *text = malloc(JOURNAL_BYTES + 2);
	struct event *event;
	bool lost;

	CHECK(text && journal_new(&j) == 0);
	memset(text, 'x', JOURNAL_BYTES + 1);
	text[JOURNAL_BYTES / 4] = '\0';
	for (int i = 0; i < 8; i++)
		CHECK(append(j, "large", json_pack("{s:s}", "t", text)) == 0);
	CHECK(!journal_next(j, 4, everything, &lost) && lost);
	event = journal_next(j, 5, everything, &lost);
	CHECK(event && event->serial == 6);
	event_unref(event);
	text[JOURNAL_BYTES / 4] = 'x';
	text[JOURNAL_BYTES + 1] = '\0';
	CHECK(append(j, "large", json_pack("{s:s}", "t", text)) == 0);
	CHECK(!journal_next(j, 7, everything, &lost) && lost);
	event = journal_next(j, 8, everything, &lost);
	CHECK(event && event->bytes > JOURNAL_BYTES);
	event_unref(event);
	free(text);

	/* An event is lost for lack of memory: no earlier position can be resumed. */
	CHECK(append(j, "none", NULL) < 0 && journal_newest(j) == 0 && journal_restarts(j) == 1);
}

/* ---- what a client sees ---- */

/* A view of the guests whose names begin with CONTEXT. Only a view of all guests sees an unknown one. */
static bool begins(const void *context, const char *name)
{
	return name && strncmp(name, context, strlen(context)) == 0;
}

static struct view view_of(const char *begin)
{
	return (struct view){.sees = begins, .context = begin};
}

/* Check that the text of E for VIEW is WANTED behind its id. */
static void check_text(const struct event *e, struct view view, const char *wanted)
{
	size_t bytes = 0;
	char *text = event_parts(e, view, &bytes);

	CHECK(text && bytes == strlen(text));
	CHECK_EQ_STR(strchr(text, '\n') + 1, wanted);
	free(text);
}

static struct event *list_event(struct guest_names *names, const char *const *guests)
{
	struct event_draft draft = {.name = "rates", .open = "{\"streams\":[", .close = "]}"};
	struct event *e;

	for (int i = 0; guests[i]; i++) {
		struct guest_name *name = NULL;

		CHECK(guest_name_get(names, *guests[i] ? guests[i] : NULL, &name) == 0);
		CHECK(event_draft_add(&draft, json_pack("{s:i}", "n", i), name) == 0);
		guest_name_unref(name);
	}
	e = event_new(&draft, 5, "id");
	event_draft_deinit(&draft);
	return e;
}

/* An event of several guests: each client gets the values of its guests, and no comma more. */
static void test_parts(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	CLEANUP(event_unrefp)
	struct event *e = list_event(names, (const char *const[]){"db1", "web1", "web1", "", "db2", "web2", NULL});
	CLEANUP(event_unrefp) struct event *one = list_event(names, (const char *const[]){"web1", "web1", NULL});

	if (!CHECK(e && one))
		return;
	CHECK(e->n_parts == 5 && one->n_parts == 1);
	CHECK(e->cost > e->bytes + 5 * sizeof(struct event_part) + strlen("db1web1db2web2"));
	CHECK(event_form(e, (struct view){0}) == EVENT_WHOLE && event_form(one, (struct view){0}) == EVENT_WHOLE);
	CHECK(event_form(e, view_of("x")) == EVENT_NONE && event_form(e, view_of("web")) == EVENT_PARTS);
	CHECK(event_form(one, view_of("web")) == EVENT_WHOLE && event_form(one, view_of("db")) == EVENT_NONE);
	check_text(e, view_of("web"), "event: rates\ndata: {\"streams\":[{\"n\":1},{\"n\":2},{\"n\":5}]}\n\n");
	check_text(e, view_of("db"), "event: rates\ndata: {\"streams\":[{\"n\":0},{\"n\":4}]}\n\n");
	check_text(e, view_of("web2"), "event: rates\ndata: {\"streams\":[{\"n\":5}]}\n\n");
	/* The unknown guest is seen by no view of names. */
	CHECK(event_form(e, view_of("")) == EVENT_PARTS);
	check_text(e, (struct view){0}, strchr(e->text, '\n') + 1);
}

/* A row that got another name is gone for who saw the old name only, and for nobody else. */
static void test_hidden(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	struct event_draft draft = {.name = "forgotten", .open = "", .close = "", .hides = true};
	CLEANUP(event_unrefp) struct event *e = NULL;
	struct guest_name *name = NULL;

	guest_name_get(names, "web1", &name);
	guest_name_get(names, "db1", &draft.hidden_as);
	CHECK(event_draft_add(&draft, json_pack("{s:i}", "run", 7), name) == 0);
	guest_name_unref(name);
	e = event_new(&draft, 1, "id");
	event_draft_deinit(&draft);
	CHECK(e && event_form(e, view_of("web")) == EVENT_WHOLE);
	CHECK(event_form(e, view_of("db")) == EVENT_NONE && event_form(e, view_of("")) == EVENT_NONE);
	CHECK(event_form(e, view_of("x")) == EVENT_NONE && event_form(e, (struct view){0}) == EVENT_NONE);
}

/* A guest that has runs with other names: who does not see all gets the guest anew. */
static void test_guest(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	struct event_draft draft = {.name = "domain", .open = "{\"run\":3,\"domain\":", .close = "}", .run = 3};
	CLEANUP(event_unrefp) struct event *e = NULL;
	struct guest_name *name = NULL;
	json_t *other = json_pack("{s:i}", "runs", 1);
	size_t bytes;
	char *text;

	guest_name_get(names, "web1", &name);
	CHECK(event_draft_add(&draft, json_pack("{s:i}", "runs", 2), name) == 0);
	guest_name_unref(name);
	e = event_new(&draft, 1, "id");
	event_draft_deinit(&draft);
	CHECK(e && e->run == 3 && event_form(e, (struct view){0}) == EVENT_WHOLE);
	CHECK_EQ_STR(e->text, "id: id\nevent: domain\ndata: {\"run\":3,\"domain\":{\"runs\":2}}\n\n");
	CHECK(event_form(e, view_of("web")) == EVENT_GUEST && event_form(e, view_of("db")) == EVENT_NONE);
	text = event_with(e, other, &bytes);
	CHECK_EQ_STR(text, "id: id\nevent: domain\ndata: {\"run\":3,\"domain\":{\"runs\":1}}\n\n");
	CHECK(text && bytes == strlen(text));
	free(text);
	json_decref(other);
}

/* The journal's limit of bytes counts the parts of events, not only their texts. */
static void test_journal_parts(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	CLEANUP(journal_freep) struct journal *j = NULL;
	size_t events = 0, texts = 0;
	struct event *event;
	bool lost = false;
	uint64_t serial;

	CHECK(journal_new(&j) == 0);
	for (int i = 0; i < 4000; i++) {
		struct event_draft draft = {.name = "rates", .open = "[", .close = "]"};

		for (int k = 0; k < 100; k++) {
			struct guest_name *name = NULL;
			char text[16];

			snprintf(text, sizeof(text), "%d", k);
			guest_name_get(names, text, &name);
			event_draft_add(&draft, json_object(), name);
			guest_name_unref(name);
		}
		CHECK(journal_append(j, &draft) == 0);
	}
	for (serial = 0; !(event = journal_next(j, serial, everything, &lost)) && lost; serial++)
		;
	for (; event; event = journal_next(j, serial, everything, &lost)) {
		events++;
		texts += event->bytes + event->n_parts * sizeof(struct event_part);
		serial = event->serial;
		event_unref(event);
	}
	CHECK(events > 100 && events < 4000 && texts < JOURNAL_BYTES);
	CHECK(guest_names_count(names) == 100);
	j = journal_free(j);
	CHECK(guest_names_count(names) == 0);
}

/* Append N events about the guest NAME. */
static void put_of(struct journal *j, struct guest_names *names, const char *guest, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct event_draft draft = {.name = "tick", .open = "", .close = ""};
		struct guest_name *name = NULL;

		guest_name_get(names, guest, &name);
		event_draft_add(&draft, json_object(), name);
		guest_name_unref(name);
		CHECK(journal_append(j, &draft) == 0);
	}
}

/* Return whether a client with VIEW that has got event SERIAL lost none since. */
static bool can_resume(struct journal *j, struct view view, uint64_t serial)
{
	CLEANUP(event_unrefp) struct event *event = NULL;
	char id[JOURNAL_ID];
	uint64_t same;
	bool lost, can;

	journal_id(j, serial, id);
	can = journal_resume(j, id, view, &same);
	CHECK(!can || same == serial);
	event = journal_next(j, serial, view, &lost);
	CHECK(lost == !can && (event || lost || serial == journal_newest(j)));
	CHECK(!event || event->serial > serial);
	return can;
}

/* A client loses nothing when the journal drops events about guests that it does not see. */
static void test_lost(void)
{
	CLEANUP(guest_names_freep) struct guest_names *names = guest_names_new();
	CLEANUP(journal_freep) struct journal *j = NULL;
	struct view web = view_of("web"), db = view_of("db"), others = view_of("x");
	char guest[32];

	CHECK(journal_new(&j) == 0);
	put_of(j, names, "web1", 2);
	put_of(j, names, NULL, 3);
	put_of(j, names, "db1", 2 * JOURNAL_EVENTS);
	CHECK(!can_resume(j, web, 0) && !can_resume(j, web, 1) && can_resume(j, web, 2) && can_resume(j, web, 5));
	CHECK(can_resume(j, others, 0) && !can_resume(j, everything, 2) && !can_resume(j, db, 2));
	CHECK(!can_resume(j, db, JOURNAL_EVENTS + 4) && can_resume(j, db, JOURNAL_EVENTS + 5));
	put_of(j, names, "web2", 1);
	CHECK(can_resume(j, web, 2) && !can_resume(j, web, 1));

	/* The journal notes so many guests only. Before that, everybody has lost something. */
	for (unsigned i = 0; i < JOURNAL_EVENTS + JOURNAL_GUESTS; i++) {
		snprintf(guest, sizeof(guest), "guest-%u", i);
		put_of(j, names, guest, 1);
	}
	CHECK(!can_resume(j, others, 2) && !can_resume(j, others, 2 * JOURNAL_EVENTS));
	CHECK(can_resume(j, others, 2 * JOURNAL_EVENTS + 6));
	CHECK(guest_names_count(names) == JOURNAL_EVENTS + JOURNAL_GUESTS);
	journal_restart(j);
	CHECK(guest_names_count(names) == 0 && can_resume(j, everything, 0));
}

int main(void)
{
	CHECK_RUN(test_names);
	CHECK_RUN(test_parts);
	CHECK_RUN(test_hidden);
	CHECK_RUN(test_guest);
	CHECK_RUN(test_journal_parts);
	CHECK_RUN(test_lost);
	CHECK_RUN(test_sorted_difference);
	CHECK_RUN(test_journal);
	CHECK_RUN(test_journal_bytes);
	return check_done();
}
