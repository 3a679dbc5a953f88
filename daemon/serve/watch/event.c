/*
 * Invariant: an event has at least one part. The text before its first part and behind its last one
 * tells nothing about a guest, except the event's kind and, if RUN is not 0, the number of a run of
 * the only part's guest.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "memory-stream.h"

#define DUMP (JSON_COMPACT | JSON_ENSURE_ASCII)

/* ---- drafts ---- */

int event_draft_add(struct event_draft *d, json_t *json, struct guest_name *guest)
{
	if (json && d->n_values == d->capacity) {
		size_t capacity = d->capacity ? 2 * d->capacity : 4;
		struct event_value *values = realloc(d->values, capacity * sizeof(*values));

		if (!values) {
			json_decref(json);
			return -ENOMEM;
		}
		d->values = values;
		d->capacity = capacity;
	}
	if (!json)
		return -ENOMEM;
	d->values[d->n_values++] = (struct event_value){json, guest_name_ref(guest)};
	return 0;
}

void event_draft_deinit(struct event_draft *d)
{
	for (size_t i = 0; i < d->n_values; i++) {
		json_decref(d->values[i].json);
		guest_name_unref(d->values[i].guest);
	}
	free(d->values);
	guest_name_unref(d->hidden_as);
	*d = (struct event_draft){0};
}

/* ---- events ---- */

/* Append VALUE to TEXT and to E's parts: to the last part if that is about the same guest. */
static int put_value(struct event *e, FILE *text, const struct event_value *value)
{
	struct event_part *last = e->n_parts ? &e->parts[e->n_parts - 1] : NULL;
	long from;

	if (last)
		fputc(',', text);
	from = ftell(text);
	if (from < 0 || json_dumpf(value->json, text, DUMP) != 0)
		return -ENOMEM;
	if (!last || last->guest != value->guest) {
		last = &e->parts[e->n_parts++];
		*last = (struct event_part){.guest = guest_name_ref(value->guest), .from = (size_t)from};
		e->cost += sizeof(*last) + (value->guest ? sizeof(*last->guest) + strlen(last->guest->text) : 0);
	}
	last->to = (size_t)ftell(text);
	return 0;
}

static int put_text(struct event *e, const struct event_draft *d, const char *id)
{
	FILE *text = open_memstream(&e->text, &e->bytes);
	int rc = text ? 0 : -ENOMEM;

	if (text)
		fprintf(text, "id: %s\nevent: %s\ndata: %s", id, d->name, d->open);
	for (size_t i = 0; i < d->n_values && rc == 0; i++)
		rc = put_value(e, text, &d->values[i]);
	if (text) {
		fprintf(text, "%s\n\n", d->close);
		rc = ferror(text) ? -ENOMEM : rc;
		rc = memory_stream_close(text, &e->text) ? rc : -ENOMEM;
	}
	e->cost += sizeof(*e) + e->bytes;
	return rc;
}

struct event *event_new(const struct event_draft *d, uint64_t serial, const char *id)
{
	CLEANUP(event_unrefp) struct event *e = d->n_values ? calloc(1, sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	*e = (struct event){.references = 1, .serial = serial, .run = d->run, .hides = d->hides};
	e->hidden_as = guest_name_ref(d->hidden_as);
	e->parts = calloc(d->n_values, sizeof(*e->parts));
	if (!e->parts || put_text(e, d, id) < 0)
		return NULL;
	return TAKE_PTR(e);
}

struct event *event_ref(struct event *e)
{
	e->references++;
	return e;
}

struct event *event_unref(struct event *e)
{
	if (!e || --e->references)
		return NULL;
	for (size_t i = 0; i < e->n_parts; i++)
		guest_name_unref(e->parts[i].guest);
	guest_name_unref(e->hidden_as);
	free(e->parts);
	free(e->text);
	free(e);
	return NULL;
}

/* ---- the events of a client ---- */

static bool is_seen(struct view view, const struct guest_name *guest)
{
	return !view.sees || view.sees(view.context, guest_name_text(guest));
}

enum event_form event_form(const struct event *e, struct view view)
{
	size_t seen = 0;

	if (e->hides && is_seen(view, e->hidden_as))
		return EVENT_NONE;
	if (!view.sees)
		return EVENT_WHOLE;
	for (size_t i = 0; i < e->n_parts; i++)
		seen += is_seen(view, e->parts[i].guest);
	if (seen == 0)
		return EVENT_NONE;
	if (e->run)
		return EVENT_GUEST;
	return seen == e->n_parts ? EVENT_WHOLE : EVENT_PARTS;
}

/* Write E's text before its first part, or behind its last one. */
static void put_head(const struct event *e, FILE *text)
{
	fwrite(e->text, 1, e->parts[0].from, text);
}

static void put_tail(const struct event *e, FILE *text)
{
	const struct event_part *last = &e->parts[e->n_parts - 1];

	fwrite(e->text + last->to, 1, e->bytes - last->to, text);
}

/* Close TEXT, a stream to *MADE. Return *MADE, or NULL if anything failed. */
static char *finish(FILE *text, bool failed, char **made)
{
	failed |= ferror(text) != 0;
	failed |= !memory_stream_close(text, made);
	if (!failed)
		return *made;
	free(*made);
	return NULL;
}

char *event_parts(const struct event *e, struct view view, size_t *bytes)
{
	char *made = NULL;
	FILE *text = open_memstream(&made, bytes);
	const char *between = "";

	if (!text)
		return NULL;
	put_head(e, text);
	for (size_t i = 0; i < e->n_parts; i++) {
		const struct event_part *part = &e->parts[i];

		if (!is_seen(view, part->guest))
			continue;
		fputs(between, text);
		fwrite(e->text + part->from, 1, part->to - part->from, text);
		between = ",";
	}
	put_tail(e, text);
	return finish(text, false, &made);
}

char *event_with(const struct event *e, const json_t *value, size_t *bytes)
{
	char *made = NULL;
	FILE *text = open_memstream(&made, bytes);
	bool failed;

	if (!text)
		return NULL;
	put_head(e, text);
	failed = json_dumpf(value, text, DUMP) != 0;
	put_tail(e, text);
	return finish(text, failed, &made);
}
