/*
 * Translate the items of OCaml's runtime, and user events, into events of this project.
 *
 * Each domain is a thread. Its id, and the ids of threads that stand for a wait, are below -1, because
 * the ids of Eio are not negative. A phase that is not closed when a phase around it ends is closed by
 * that end: OCaml 5.1 leaves some open.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-translate.h"

#define FIRST_ID     (-2)
#define ALLOC_COUNTS 20u

struct mprof_runtime_translator *mprof_runtime_translator_new(const struct mprof_runtime_events *events, uint64_t seed)
{
	struct mprof_runtime_translator *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->events = *events;
	t->next_id = FIRST_ID;
	t->domains = calloc(MPROF_RUNTIME_RINGS_MAX, sizeof(*t->domains));
	if (!t->domains || !runtime_ids_init(&t->ids, seed))
		return mprof_runtime_translator_free(t);
	return t;
}

struct mprof_runtime_translator *mprof_runtime_translator_free(struct mprof_runtime_translator *t)
{
	if (!t)
		return NULL;
	runtime_ids_deinit(&t->ids);
	free(t->domains);
	free(t);
	return NULL;
}

/* ---- events */

/* Times do not go back in a stream, also where an event is passed late. */
static void pass(struct runtime_step *s, const struct mprof_raw_event *e)
{
	struct mprof_raw_event copy = *e;

	if (s->stopped)
		return;
	if (copy.timestamp < s->d->last)
		copy.timestamp = s->d->last;
	s->d->last = copy.timestamp;
	s->stopped = s->t->events.event(s->t->events.context, s->ring, &copy);
}

void runtime_emit(struct runtime_step *s, uint8_t id, int64_t context, int64_t number)
{
	pass(s, &(struct mprof_raw_event){.timestamp = s->time, .id = id, .context = context, .number = number});
}

void runtime_emit_creates(struct runtime_step *s, int64_t parent, int64_t child, enum mprof_thread_type type)
{
	pass(s, &(struct mprof_raw_event){
			.timestamp = s->time,
			.id = MPROF_EVENT_creates,
			.context = parent,
			.number = child,
			.type = (uint8_t)type,
		});
}

static void emit_text(struct runtime_step *s, uint8_t id, uint8_t type, int64_t context, int64_t number,
		      const char *text, size_t bytes)
{
	char *copy = s->t->text;

	bytes = bytes < RUNTIME_TEXT_MAX - 1 ? bytes : RUNTIME_TEXT_MAX - 1;
	for (size_t i = 0; i < bytes; i++)
		copy[i] = text[i] ? text[i] : '?';
	copy[bytes] = 0;
	pass(s, &(struct mprof_raw_event){
			.timestamp = s->time,
			.id = id,
			.type = type,
			.context = context,
			.number = number,
			.text = copy,
			.text_bytes = bytes,
		});
}

void runtime_emit_text(struct runtime_step *s, uint8_t id, int64_t context, int64_t number, const char *text,
		       size_t bytes)
{
	emit_text(s, id, 0, context, number, text, bytes);
}

void runtime_emit_duration(struct runtime_step *s, int64_t thread, uint64_t since, const char *name, size_t bytes)
{
	int64_t ns = (int64_t)(s->time >= since ? s->time - since : 0);

	emit_text(s, MPROF_EVENT_extra, MPROF_EXTRA_DURATION, thread, ns, name, bytes);
}

static void emit_string(struct runtime_step *s, uint8_t id, int64_t context, int64_t number, const char *text)
{
	runtime_emit_text(s, id, context, number, text, strlen(text));
}

void runtime_switch(struct runtime_step *s, int64_t thread)
{
	if (s->d->running == thread)
		return;
	s->d->running = thread;
	runtime_emit(s, MPROF_EVENT_switch, thread, 0);
}

int64_t runtime_running(const struct runtime_step *s)
{
	return s->d->fibre == RUNTIME_NO_ID ? s->d->thread : s->d->fibre;
}

int64_t runtime_new_id(struct mprof_runtime_translator *t)
{
	return t->next_id--;
}

/* ---- domains */

static void end_domain(struct runtime_step *s)
{
	if (!s->d->begun)
		return;
	runtime_emit(s, MPROF_EVENT_fulfills, s->d->thread, s->d->thread);
	runtime_switch(s, MPROF_THREAD_NONE);
	s->d->begun = false;
	s->d->ended = true;
	s->d->fibre = RUNTIME_NO_ID;
	s->d->depth = s->d->opened = 0;
}

static void name_domain(struct runtime_step *s)
{
	char label[40];

	snprintf(label, sizeof(label), s->ring ? "domain in ring %" PRIu32 : "main domain", s->ring);
	emit_string(s, MPROF_EVENT_label, s->d->thread, 0, label);
}

static void begin_domain(struct runtime_step *s)
{
	end_domain(s);
	s->d->begun = true;
	s->d->ended = false;
	s->d->thread = runtime_new_id(s->t);
	runtime_emit_creates(s, MPROF_THREAD_NONE, s->d->thread, MPROF_THREAD_Task);
	name_domain(s);
	runtime_switch(s, s->d->thread);
}

static void on_lifecycle(struct runtime_step *s)
{
	char label[64];

	switch (s->item->id) {
	case MPROF_RUNTIME_RING_START:
	case MPROF_RUNTIME_DOMAIN_SPAWN:
		begin_domain(s);
		return;
	case MPROF_RUNTIME_RING_STOP:
	case MPROF_RUNTIME_DOMAIN_TERMINATE:
		end_domain(s);
		return;
	default:
		/* The ring was paused, or the process forked. Phases that are open now may never end. */
		s->d->depth = 0;
		snprintf(label, sizeof(label), s->item->value ? "%s %" PRId64 : "%s", s->item->name, s->item->value);
		emit_string(s, MPROF_EVENT_label, s->d->thread, 0, label);
		/* The last label of a thread is its name. */
		name_domain(s);
	}
}

/* ---- phases and counters */

/* Return whether the phase NAME is a collection, which stops the domain, and not a part of one. */
static bool is_collection(const char *name)
{
	return strcmp(name, "minor") == 0 || strcmp(name, "major") == 0 || strcmp(name, "compaction") == 0 ||
	       strcmp(name, "empty_minor") == 0 || strcmp(name, "major_finish_cycle") == 0 ||
	       (strncmp(name, "explicit_gc_", 12) == 0 && strcmp(name, "explicit_gc_set") != 0 &&
		strcmp(name, "explicit_gc_stat") != 0);
}

static void on_begin(struct runtime_step *s)
{
	struct runtime_domain *d = s->d;

	if (d->depth < RUNTIME_PHASES_MAX)
		d->phases[d->depth] = (struct runtime_phase){
			.since = s->time,
			.id = s->item->id,
			.collection = is_collection(s->item->name),
		};
	d->depth++;
}

/*
 * Phase I of the domain ends, the phase of the item. If it is a collection, and not within another one,
 * it is one of the trace, too.
 */
static void end_phase(struct runtime_step *s, uint32_t i)
{
	const struct runtime_phase *p = &s->d->phases[i];

	runtime_emit_duration(s, s->d->thread, p->since, s->item->name, strlen(s->item->name));
	if (!p->collection)
		return;
	for (uint32_t k = 0; k < i; k++)
		if (s->d->phases[k].collection)
			return;
	runtime_emit(s, MPROF_EVENT_gc, 0, (int64_t)(s->time >= p->since ? s->time - p->since : 0));
}

static void on_end(struct runtime_step *s)
{
	struct runtime_domain *d = s->d;
	uint32_t i;

	if (d->depth > RUNTIME_PHASES_MAX) {
		d->depth--;
		return;
	}
	for (i = d->depth; i > 0 && d->phases[i - 1].id != s->item->id; i--)
		;
	if (!i)
		return; /* it began before the trace */
	d->depth = i - 1;
	end_phase(s, i - 1);
}

/* Requests and forced collections count up by one; all other counters are values. */
static void on_counter(struct runtime_step *s)
{
	bool increase = strncmp(s->item->name, "request_", 8) == 0 || strncmp(s->item->name, "force_", 6) == 0;

	emit_text(s, increase ? MPROF_EVENT_increase : MPROF_EVENT_counter, s->item->counter, s->d->thread,
		  s->item->value, s->item->name, strlen(s->item->name));
}

/* The blocks that were allocated since the last such item, by their size in words. */
static void on_alloc(struct runtime_step *s)
{
	char name[48];

	for (uint32_t i = 0; i < ALLOC_COUNTS; i++) {
		int64_t blocks = (int64_t)mprof_load64(s->item->data + (size_t)i * 8);

		if (!blocks)
			continue;
		if (i < 10)
			snprintf(name, sizeof(name), "allocated blocks#%" PRIu32 " words", i);
		else if (i < ALLOC_COUNTS - 1)
			snprintf(name, sizeof(name), "allocated blocks#%" PRIu32 "0-%" PRIu32 "9 words", i - 9, i - 9);
		else
			snprintf(name, sizeof(name), "allocated blocks#100 words and more");
		emit_text(s, MPROF_EVENT_increase, MPROF_COUNTER_TOTAL, s->d->thread, blocks, name, strlen(name));
	}
}

/* ---- user events */

/* Append the payload to TEXT of SIZE bytes: as text if it is printable, else in hexadecimal digits. */
static void put_payload(const struct mprof_runtime_item *item, char *text, size_t size)
{
	const char *p = (const char *)item->data;
	bool printable = mprof_text_is_utf8(p, item->data_bytes);
	size_t n = 0;

	for (size_t i = 0; i < item->data_bytes; i++)
		printable = printable && item->data[i] >= ' ' && item->data[i] != 0x7f;
	if (printable) {
		n = item->data_bytes < size - 1 ? item->data_bytes : size - 1;
		memcpy(text, p, n);
	}
	for (size_t i = 0; !printable && i < item->data_bytes && n + 3 <= size; i++)
		n += (size_t)snprintf(text + n, size - n, "%02x", item->data[i]);
	text[n] = 0;
}

static void on_custom(struct runtime_step *s)
{
	char label[RUNTIME_TEXT_MAX];
	size_t n = (size_t)snprintf(label, sizeof(label), "%s: ", s->item->name);

	put_payload(s->item, label + n, sizeof(label) - n);
	emit_string(s, MPROF_EVENT_label, runtime_running(s), 0, label);
}

/* Spans of different fibres interleave, so an end closes the newest span with its id. */
static void on_span(struct runtime_step *s)
{
	struct runtime_domain *d = s->d;
	struct runtime_open *open;

	if (s->item->kind == MPROF_RUNTIME_USER_BEGIN) {
		if (d->opened < RUNTIME_PHASES_MAX)
			d->spans[d->opened++] = (struct runtime_open){s->time, runtime_running(s), s->item->id};
		return;
	}
	for (uint32_t i = d->opened; i-- > 0;) {
		open = &d->spans[i];
		if (open->id != s->item->id)
			continue;
		runtime_emit_duration(s, open->thread, open->since, s->item->name, strlen(s->item->name));
		memmove(open, open + 1, (--d->opened - i) * sizeof(*open));
		return;
	}
}

static void on_user(struct runtime_step *s)
{
	if (runtime_eio(s))
		return;
	switch (s->item->kind) {
	case MPROF_RUNTIME_USER_UNIT:
		emit_string(s, MPROF_EVENT_label, runtime_running(s), 0, s->item->name);
		return;
	case MPROF_RUNTIME_USER_INT:
		emit_string(s, MPROF_EVENT_counter, runtime_running(s), s->item->value, s->item->name);
		return;
	case MPROF_RUNTIME_USER_CUSTOM:
		on_custom(s);
		return;
	default:
		on_span(s);
	}
}

/* ---- the sink */

/* Return the state of RING, which begins when the ring is first named. */
static struct runtime_domain *domain_of(struct mprof_runtime_translator *t, uint32_t ring)
{
	struct runtime_domain *d = &t->domains[ring];

	if (!d->known) {
		d->known = true;
		d->running = d->fibre = d->suspended.fibre = RUNTIME_NO_ID;
	}
	return d;
}

static void translate(struct runtime_step *s)
{
	switch (s->item->kind) {
	case MPROF_RUNTIME_LIFECYCLE:
		on_lifecycle(s);
		return;
	case MPROF_RUNTIME_BEGIN:
		on_begin(s);
		return;
	case MPROF_RUNTIME_END:
		on_end(s);
		return;
	case MPROF_RUNTIME_COUNTER:
		on_counter(s);
		return;
	case MPROF_RUNTIME_ALLOC:
		on_alloc(s);
		return;
	default:
		on_user(s);
	}
}

static int on_item(void *context, uint32_t ring, const struct mprof_runtime_item *item)
{
	struct mprof_runtime_translator *t = context;
	struct runtime_step s = {.t = t, .d = domain_of(t, ring), .item = item, .time = item->time, .ring = ring};
	bool begins = item->kind == MPROF_RUNTIME_LIFECYCLE &&
		      (item->id == MPROF_RUNTIME_RING_START || item->id == MPROF_RUNTIME_DOMAIN_SPAWN);

	/* The ring was joined late, or the domain's beginning was overwritten. */
	if (!s.d->begun && !s.d->ended && !begins)
		begin_domain(&s);
	translate(&s);
	return s.stopped;
}

static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	struct mprof_runtime_translator *t = context;
	struct runtime_domain *d = domain_of(t, ring);

	/* Behind the gap it is unknown which thread runs, what it waits for, and which phases are open. */
	d->running = d->fibre = d->suspended.fibre = RUNTIME_NO_ID;
	d->tried = false;
	d->ended = false;
	d->depth = d->opened = 0;
	return t->events.lost ? t->events.lost(t->events.context, ring, words) : 0;
}

static int on_damage(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage)
{
	struct mprof_runtime_translator *t = context;

	return t->events.damage ? t->events.damage(t->events.context, ring, position, damage) : 0;
}

struct mprof_runtime_sink mprof_runtime_translator_sink(struct mprof_runtime_translator *t)
{
	return (struct mprof_runtime_sink){.item = on_item, .lost = on_lost, .damage = on_damage, .context = t};
}

int mprof_runtime_translator_end(struct mprof_runtime_translator *t)
{
	struct runtime_step s = {.t = t};

	for (s.ring = 0; s.ring < MPROF_RUNTIME_RINGS_MAX && !s.stopped; s.ring++) {
		s.d = &t->domains[s.ring];
		if (s.d->known)
			runtime_eio_settle(&s);
	}
	return s.stopped;
}
