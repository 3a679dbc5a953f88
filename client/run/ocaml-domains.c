/*
 * The events of OCaml's domains become those of recorders, one for each domain.
 *
 * The threads of these events get ids that no thread, lock or descriptor of the process has. The
 * recorder names the running thread in some events; it is set for one event.
 */
#include "ocaml-domains.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#include "shared.h"

#define NO_DOMAIN  UINT32_MAX
#define NAMES_MAX  64u /* names of counters whose kinds are declared; others are recorded without a kind */
#define NAME_BYTES 48u

static const struct mprof_text lost_words = MPROF_COUNTER_TEXT(MPROF_COUNTER_LOST_WORDS, MPROF_COUNTER_TOTAL);

enum domain_state { DOMAIN_NEW, DOMAIN_READY, DOMAIN_REFUSED };

struct domain_ring {
	enum domain_state state;
	struct mprof_recorder_file file;
	struct mprof_recorder recorder;
	uint32_t writer; /* domain of the last event */
	uint64_t lost;	 /* words of its domains that the program overwrote before they were read */
	uint64_t said;	 /* the value that the ring's counter has */
};

struct domains {
	struct domain_rings where;
	uint64_t dropped;
	struct domain_ring rings[RUN_DOMAIN_RINGS];
	/* The names of counters with a kind, which the recorders intern. */
	struct mprof_text names[NAMES_MAX];
	char texts[NAMES_MAX][NAME_BYTES];
	uint32_t n_names;
	int64_t running[MPROF_RUNTIME_RINGS_MAX]; /* by domain: the thread that runs, as the trace has it */
};

struct domains *domains_new(const struct domain_rings *rings)
{
	struct domains *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->where = *rings;
	for (uint32_t i = 0; i < MPROF_RUNTIME_RINGS_MAX; i++)
		d->running[i] = MPROF_THREAD_NONE;
	return d;
}

struct domains *domains_free(struct domains *d)
{
	for (uint32_t i = 0; d && i < RUN_DOMAIN_RINGS; i++) {
		mprof_recorder_stop(&d->rings[i].recorder);
		mprof_recorder_file_close(&d->rings[i].file);
	}
	free(d);
	return NULL;
}

uint64_t domains_dropped(const struct domains *d)
{
	return d->dropped;
}

static int ring_make(const struct domains *d, struct domain_ring *r, uint32_t index)
{
	char name[16];

	snprintf(name, sizeof(name), "domain-%" PRIu32, index);
	return keeper_ring_make(&d->where.place, name, d->where.bytes, &r->file, &r->recorder);
}

/* Return the ring of the domain, or NULL if it could not be made. */
static struct domain_ring *ring_of(struct domains *d, uint32_t domain)
{
	uint32_t index = domain < d->where.n ? domain : d->where.n - 1;
	struct domain_ring *r = &d->rings[index];

	if (r->state == DOMAIN_NEW) {
		r->state = ring_make(d, r, index) ? DOMAIN_REFUSED : DOMAIN_READY;
		r->writer = NO_DOMAIN;
	}
	return r->state == DOMAIN_READY ? r : NULL;
}

/* ---- events */

/* Threads of the trace must not have the ids of the process's own threads, locks and descriptors. */
static int64_t thread_id(int64_t id)
{
	uint64_t n = (uint64_t)id;

	if (id == MPROF_THREAD_NONE)
		return id;
	return (int64_t)(id < 0 ? n - (uint64_t)RUN_ID_RUNTIME : n + (uint64_t)RUN_ID_RUNTIME);
}

/* Return the kept name of the counter of E; NULL if E declares no kind, or without room. */
static const struct mprof_text *counter_name(struct domains *d, const struct mprof_raw_event *e)
{
	struct mprof_text *name;

	if (!e->type || e->text_bytes > NAME_BYTES)
		return NULL;
	for (uint32_t i = 0; i < d->n_names; i++) {
		name = &d->names[i];
		if (name->counter == e->type && name->bytes == e->text_bytes &&
		    !memcmp(name->text, e->text, e->text_bytes))
			return name;
	}
	if (d->n_names == NAMES_MAX)
		return NULL;
	memcpy(d->texts[d->n_names], e->text, e->text_bytes);
	name = &d->names[d->n_names];
	*name = (struct mprof_text){d->texts[d->n_names++], e->text_bytes, e->type};
	return name;
}

/* Record E, a sample of a counter. */
static void record_sample(struct domains *d, struct mprof_recorder *r, const struct mprof_raw_event *e)
{
	const struct mprof_text *name = counter_name(d, e);

	if (e->id == MPROF_EVENT_increase && name)
		mprof_recorder_increase_text(r, e->number, name);
	else if (e->id == MPROF_EVENT_increase)
		mprof_recorder_increase(r, e->number, e->text, e->text_bytes);
	else if (name)
		mprof_recorder_counter_text(r, e->number, name);
	else
		mprof_recorder_counter(r, e->number, e->text, e->text_bytes);
}

/* Record E, whose threads have the ids THREAD and OTHER in the trace. The running thread is THREAD. */
static void record(struct domains *d, struct mprof_recorder *r, const struct mprof_raw_event *e, int64_t thread,
		   int64_t other)
{
	switch (e->id) {
	case MPROF_EVENT_creates:
		mprof_recorder_creates(r, other, (enum mprof_thread_type)e->type);
		return;
	case MPROF_EVENT_read:
		mprof_recorder_read(r, thread, other);
		return;
	case MPROF_EVENT_fulfills:
		mprof_recorder_fulfills(r, other);
		return;
	case MPROF_EVENT_fails:
		mprof_recorder_fails(r, other, e->text, e->text_bytes);
		return;
	case MPROF_EVENT_label:
		mprof_recorder_label(r, thread, e->text, e->text_bytes);
		return;
	case MPROF_EVENT_increase:
	case MPROF_EVENT_counter:
		record_sample(d, r, e);
		return;
	case MPROF_EVENT_gc:
		mprof_recorder_gc(r, (uint64_t)e->number);
		return;
	case MPROF_EVENT_try_read:
		mprof_recorder_try_read(r, thread, other);
		return;
	case MPROF_EVENT_read_later:
		mprof_recorder_read_later(r, thread, other);
		return;
	case MPROF_EVENT_signal_noswitch:
		mprof_recorder_signal_noswitch(r, thread, other);
		return;
	case MPROF_EVENT_extra:
		mprof_recorder_duration(r, thread, (uint64_t)e->number, e->text, e->text_bytes);
		return;
	default:
		return;
	}
}

/* Record a `switch` to THREAD, also if it runs already. */
static void record_switch(struct mprof_recorder *r, int64_t thread)
{
	r->current = ~thread;
	mprof_recorder_switch(r, thread);
}

/* The domain's events follow in the ring R: say who runs in it, and what was lost before. */
static void turn_to(const struct domains *d, struct domain_ring *r, uint32_t domain)
{
	if (r->writer != domain && r->writer != NO_DOMAIN)
		record_switch(&r->recorder, d->running[domain]);
	r->writer = domain;
	if (r->lost != r->said)
		mprof_recorder_counter_text(&r->recorder, (int64_t)r->lost, &lost_words);
	r->said = r->lost;
}

static int on_event(void *context, uint32_t domain, const struct mprof_raw_event *e)
{
	struct domains *d = context;
	struct domain_ring *r = ring_of(d, domain);
	int64_t thread = thread_id(e->context), running;

	if (!r) {
		d->dropped++;
		return 0;
	}
	mprof_recorder_at(&r->recorder, e->timestamp);
	turn_to(d, r, domain);
	if (e->id == MPROF_EVENT_switch) {
		record_switch(&r->recorder, thread);
	} else {
		running = r->recorder.current;
		r->recorder.current = thread;
		record(d, &r->recorder, e, thread, thread_id(e->number));
		/* `read` says that the reader runs. */
		r->recorder.current = e->id == MPROF_EVENT_read ? thread : running;
	}
	d->running[domain] = r->recorder.current;
	return 0;
}

static int on_lost(void *context, uint32_t domain, uint64_t words)
{
	struct domains *d = context;
	struct domain_ring *r = ring_of(d, domain);

	if (r)
		r->lost += words;
	else
		d->dropped++;
	return 0;
}

static int on_damage(void *context, uint32_t domain, uint64_t position, enum mprof_runtime_damage damage)
{
	struct domains *d = context;

	(void)domain;
	(void)position;
	(void)damage;
	d->dropped++;
	return 0;
}

struct mprof_runtime_events domains_events(struct domains *d)
{
	return (struct mprof_runtime_events){.event = on_event, .lost = on_lost, .damage = on_damage, .context = d};
}

void domains_settle(struct domains *d)
{
	for (uint32_t i = 0; i < RUN_DOMAIN_RINGS; i++) {
		struct domain_ring *r = &d->rings[i];

		if (r->state != DOMAIN_READY || r->lost == r->said)
			continue;
		mprof_recorder_at(&r->recorder, r->recorder.last_ns);
		mprof_recorder_counter_text(&r->recorder, (int64_t)r->lost, &lost_words);
		r->said = r->lost;
	}
}
