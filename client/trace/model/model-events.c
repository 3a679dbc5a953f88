/*
 * Add events to the model.
 *
 * The rules are those of the first viewer of these traces. That viewer stopped at some
 * contradictions in a trace; comments below say what the model does instead.
 *
 * While events come in, the fields first_label, first_interaction and first_activation of a thread
 * name its newest items. Items are not linked yet: only the newest is needed. model_chains() links
 * them at the end.
 */
#include <string.h>

#include "alias.h"
#include "model-state.h"
#include "time-on-line.h"

#define MARKER	"__should_resolve"
#define RUNNING "running" /* name of a duration in which its thread ran */
/* Largest number of events that get room at once, and largest number of thread ids in one event. */
#define TOGETHER 64u
#define IDS	 2u

/* One event being added. */
struct step {
	struct mprof_model *m;
	struct model_stream *s;
	const struct mprof_raw_event *e;
	uint64_t time;
	uint32_t stream;
	uint32_t text; /* string, or MPROF_NONE without a text */
};

/* Append a thread with ID, created by CREATOR at TIME. Return its index. Room was reserved. */
static uint32_t thread_add(const struct step *step, int64_t id, uint32_t creator, uint64_t time)
{
	uint32_t i = model_thread_take(step->m, step->stream, id);
	struct mprof_thread *t = model_thread(step->m, i), *parent = model_thread(step->m, creator);

	t->created = t->start = time;
	t->creator = t->parent = creator;
	parent->first_child = i;
	return i;
}

/*
 * Return the thread that ID names now. An unknown id gets a new thread, which existed before the
 * trace.
 */
static uint32_t thread_of(const struct step *step, int64_t id)
{
	uint32_t *slot;

	if (id == MPROF_THREAD_NONE)
		return step->s->seen.root;
	slot = thread_index_slot(step->s->index, id);
	if (*slot == MPROF_NONE) {
		*slot = thread_add(step, id, step->s->seen.root, step->s->seen.start);
		model_thread(step->m, *slot)->flags = MPROF_THREAD_PREEXISTING;
		return *slot;
	}
	return alias_find(model_aliases(step->m), *slot);
}

/*
 * Decide whether the stream's pending signal (struct model_stream) began a wait, now that THREAD
 * runs on (MPROF_NONE: an unknown thread), and forget it. The signal began a wait if the signalled
 * thread created a thread and then the sender runs on: mirage-profile always writes that. If
 * another thread runs on, the signal only woke a thread, and another thread began to wait.
 */
static void settle_signal(struct mprof_model *m, struct model_stream *s, uint32_t thread)
{
	struct mprof_interaction *i;

	if (s->signal == MPROF_NONE)
		return;
	i = (struct mprof_interaction *)m->arrays[MODEL_INTERACTIONS].items + s->signal;
	if (s->created && (thread == MPROF_NONE || thread == alias_find(model_aliases(m), i->thread)))
		i->flags = MPROF_INTERACTION_BEGINS_WAIT;
	s->signal = MPROF_NONE;
	s->created = false;
}

/*
 * READER reads SOURCE, or tries to. If READER sent the pending signal and the signalled thread
 * created SOURCE, the signal began a wait: record that.
 */
static void note_wait(const struct step *step, uint32_t reader, uint32_t source)
{
	const struct mprof_interaction *list = step->m->arrays[MODEL_INTERACTIONS].items;

	if (step->s->created && model_thread(step->m, source)->creator == step->s->running &&
	    alias_find(model_aliases(step->m), list[step->s->signal].thread) == reader)
		settle_signal(step->m, step->s, reader);
}

void model_switch(struct mprof_model *m, struct model_stream *s, uint64_t time, uint32_t thread)
{
	struct mprof_activation *a;
	struct mprof_thread *t;

	if (s->running == thread)
		return;
	settle_signal(m, s, thread);
	if (s->running != MPROF_NONE) {
		t = model_thread(m, s->running);
		if ((t->flags & MPROF_THREAD_ENDED) && t->end < time)
			time = t->end;
		a = grow_take(&m->arrays[MODEL_ACTIVATIONS], sizeof(*a));
		/* A resolved thread may run on; a picture does not show that. */
		*a = (struct mprof_activation){
			.start = s->since,
			.end = time > s->since ? time : s->since,
			.thread = s->running,
			.next = MPROF_NONE,
		};
		t->first_activation = m->arrays[MODEL_ACTIVATIONS].n - 1;
	}
	s->running = thread;
}

static void run(const struct step *step, uint32_t thread)
{
	if (step->s->running == thread)
		return;
	model_switch(step->m, step->s, step->time, thread);
	step->s->since = step->time;
}

static struct mprof_interaction *interaction_add(const struct step *step, uint32_t thread,
						 enum mprof_interaction_kind kind, uint32_t other)
{
	struct grow *list = &step->m->arrays[MODEL_INTERACTIONS];
	struct mprof_interaction *i = grow_take(list, sizeof(*i));

	*i = (struct mprof_interaction){
		.time = step->time,
		.thread = thread,
		.other = other,
		.next = MPROF_NONE,
		.kind = (uint16_t)kind,
	};
	model_thread(step->m, thread)->first_interaction = list->n - 1;
	return i;
}

static void label_add(const struct step *step, uint32_t thread, uint32_t sample)
{
	struct grow *list = &step->m->arrays[MODEL_LABELS];

	*(struct mprof_label *)grow_take(list, sizeof(struct mprof_label)) = (struct mprof_label){
		.time = step->time,
		.thread = thread,
		.next = MPROF_NONE,
		.text = step->text,
		.sample = sample,
	};
	model_thread(step->m, thread)->first_label = list->n - 1;
}

/*
 * Handle `creates`. If the id names a thread already, it names the new thread from now on: ids can
 * be reused after a gap, and a torn event must not change what is known of a thread.
 */
static void on_creates(const struct step *step)
{
	uint32_t creator = thread_of(step, step->e->context), *slot;

	if (step->e->number == MPROF_THREAD_NONE) {
		step->m->notes.refused++;
		return;
	}
	slot = thread_index_slot(step->s->index, step->e->number);
	step->m->notes.recreated += *slot != MPROF_NONE;
	step->s->created |= step->s->signal != MPROF_NONE && creator == step->s->running;
	*slot = thread_add(step, step->e->number, creator, step->time);
	model_thread(step->m, *slot)->type = step->e->type;
	if (step->s->seen.declares & MPROF_DECLARES_LOOKED)
		model_thread(step->m, *slot)->flags |= MPROF_THREAD_PREEXISTING;
}

static void end_thread(const struct step *step, struct mprof_thread *t)
{
	t->end = step->time;
	t->flags |= MPROF_THREAD_RESOLVED | MPROF_THREAD_ENDED;
}

static void on_resolved(const struct step *step)
{
	uint32_t resolver = thread_of(step, step->e->context), resolvee = thread_of(step, step->e->number);
	struct mprof_thread *t = model_thread(step->m, resolvee);

	if (t->flags & MPROF_THREAD_ROOT) {
		step->m->notes.refused++;
		return;
	}
	interaction_add(step, resolver, MPROF_INTERACTION_RESOLVE, resolvee);
	t->failure = step->text;
	t->resolver = resolver;
	end_thread(step, t);
}

static void on_becomes(const struct step *step)
{
	uint32_t from = thread_of(step, step->e->context), to = thread_of(step, step->e->number);
	struct mprof_thread *t = model_thread(step->m, from);

	if (t->flags & MPROF_THREAD_ROOT) {
		step->m->notes.refused++;
		return;
	}
	if (!alias_join(model_aliases(step->m), from, to)) {
		step->m->notes.alias_cycles++;
		return;
	}
	end_thread(step, t);
	t->becomes = to;
	if (step->s->running == from)
		run(step, to);
}

/* Handle `read`. A read directly after a try_read of the same thread replaces the try_read. */
static void on_read(const struct step *step)
{
	struct mprof_interaction *list;
	uint32_t reader, source, newest;

	if (step->e->number == MPROF_THREAD_NONE)
		return;
	reader = thread_of(step, step->e->context);
	source = thread_of(step, step->e->number);
	if (step->e->id == MPROF_EVENT_read)
		run(step, reader);
	list = step->m->arrays[MODEL_INTERACTIONS].items;
	newest = model_thread(step->m, reader)->first_interaction;
	if (newest != MPROF_NONE && list[newest].kind == MPROF_INTERACTION_TRY_READ && list[newest].other == source)
		list[newest].thread = MPROF_NONE; /* model_chains() removes it */
	interaction_add(step, reader, MPROF_INTERACTION_READ, source);
}

static void on_try_read(const struct step *step)
{
	uint32_t reader, source;

	if (step->e->number == MPROF_THREAD_NONE)
		return;
	reader = thread_of(step, step->e->context);
	source = thread_of(step, step->e->number);
	note_wait(step, reader, source);
	interaction_add(step, reader, MPROF_INTERACTION_TRY_READ, source);
	*model_checked(step->m, source) = step->time;
}

static void on_signal(const struct step *step)
{
	uint32_t sender = thread_of(step, step->e->number), receiver = thread_of(step, step->e->context);

	if (step->e->id == MPROF_EVENT_signal) {
		/*
		 * No switch came between the pending signal and this one, so it is unknown which
		 * thread ran on after the pending signal.
		 */
		settle_signal(step->m, step->s, MPROF_NONE);
		run(step, receiver);
		step->s->signal = model_count(step->m, MODEL_INTERACTIONS);
	}
	interaction_add(step, sender, MPROF_INTERACTION_SIGNAL, receiver);
	*model_checked(step->m, receiver) = step->time;
}

static bool is_marker(const struct mprof_raw_event *e)
{
	return e->id == MPROF_EVENT_label && e->text_bytes == sizeof(MARKER) - 1 &&
	       !memcmp(e->text, MARKER, sizeof(MARKER) - 1);
}

static void on_label(const struct step *step)
{
	uint32_t thread;

	if (step->e->context == MPROF_THREAD_NONE)
		return;
	thread = thread_of(step, step->e->context);
	if (step->text != MPROF_NONE) {
		label_add(step, thread, MPROF_NONE);
		return;
	}
	*(struct mprof_expectation *)grow_take(&step->m->arrays[MODEL_EXPECTATIONS], sizeof(struct mprof_expectation)) =
		(struct mprof_expectation){.thread = thread, .final = thread};
}

static void on_counter(const struct step *step)
{
	struct mprof_sample sample = {.time = step->time, .thread = thread_of(step, step->e->context)};

	label_add(step, sample.thread, counters_add(step->m, step->stream, step->text, &sample, step->e));
}

static void on_gc(const struct step *step)
{
	*(struct mprof_collection *)grow_take(&step->m->arrays[MODEL_COLLECTIONS], sizeof(struct mprof_collection)) =
		(struct mprof_collection){
			.time = step->time,
			.duration_ns = (uint64_t)step->e->number,
			.stream = step->stream,
		};
}

/*
 * Add the time in which THREAD ran beside the running thread of its stream, as a vCPU does. Leave out the
 * time before the thread began, and the time that its activations have, also the one that goes on.
 */
static void ran_beside(const struct step *step, uint32_t thread)
{
	struct grow *list = &step->m->arrays[MODEL_ACTIVATIONS];
	const struct mprof_activation *all = list->items;
	struct mprof_thread *t = model_thread(step->m, thread);
	uint64_t took = (uint64_t)step->e->number, to = step->time, from = to > took ? to - took : 0;

	from = from > t->start ? from : t->start;
	if (t->first_activation != MPROF_NONE && from < all[t->first_activation].end)
		from = all[t->first_activation].end;
	if (step->s->running == thread && to > step->s->since)
		to = step->s->since;
	if (from >= to)
		return;
	*(struct mprof_activation *)grow_take(list, sizeof(struct mprof_activation)) = (struct mprof_activation){
		.start = from,
		.end = to,
		.thread = thread,
		.next = MPROF_NONE,
	};
	t->first_activation = list->n - 1;
}

static void on_duration(const struct step *step)
{
	uint32_t thread = thread_of(step, step->e->context);
	struct mprof_thread *t = model_thread(step->m, thread);

	if (step->e->text && step->e->text_bytes == sizeof(RUNNING) - 1 &&
	    memcmp(step->e->text, RUNNING, sizeof(RUNNING) - 1) == 0 &&
	    !(t->flags & (MPROF_THREAD_ROOT | MPROF_THREAD_ENDED)))
		ran_beside(step, thread);
	/* A thread lives at least as long as what it does. */
	if (!(t->flags & MPROF_THREAD_ROOT) && *model_checked(step->m, thread) < step->time)
		*model_checked(step->m, thread) = step->time;

	*(struct mprof_duration *)grow_take(&step->m->arrays[MODEL_DURATIONS], sizeof(struct mprof_duration)) =
		(struct mprof_duration){
			.time = step->time,
			.duration_ns = (uint64_t)step->e->number,
			.thread = thread,
			.name = step->text,
			.stream = step->stream,
		};
}

/* Return the state that TEXT, of BYTES bytes, begins with, or MPROF_STATE_KINDS. */
static enum mprof_state_kind state_of(const char *text, size_t bytes)
{
	const char *end = memchr(text, ' ', bytes);
	size_t n = end ? (size_t)(end - text) : bytes;
	unsigned kind = 0;

	while (kind < MPROF_STATE_KINDS &&
	       (strlen(mprof_state_name(kind)) != n || memcmp(mprof_state_name(kind), text, n) != 0))
		kind++;
	return (enum mprof_state_kind)kind;
}

/* Note in S the latest time at or after which a thread ran: at that of the state I, or between the one before it and I. */
static void note_ran(const struct mprof_model *m, struct mprof_model_stream *s, uint32_t i)
{
	const struct mprof_state *all = m->arrays[MODEL_STATES].items, *state = &all[i];
	uint64_t ran = 0;

	if (state->kind == MPROF_STATE_runs)
		ran = state->time;
	else if (state->previous != MPROF_NONE && all[state->previous].processor_ns < state->processor_ns)
		ran = all[state->previous].time + 1;
	s->ran = ran > s->ran ? ran : s->ran;
}

/* Add a sample of a thread. The thread is known, or it is none that the program's events name. */
static void on_state(const struct step *step)
{
	uint32_t slot = *thread_index_slot(step->s->index, step->e->context), added;
	const struct mprof_string *s = intern_at(&step->m->strings, step->text);

	if (slot == MPROF_NONE || step->e->context == MPROF_THREAD_NONE)
		return;
	slot = alias_find(model_aliases(step->m), slot);
	*(struct mprof_state *)grow_take(&step->m->arrays[MODEL_STATES], sizeof(struct mprof_state)) =
		(struct mprof_state){
			.time = step->time,
			.processor_ns = (uint64_t)step->e->number,
			.thread = slot,
			.text = step->text,
			.kind = state_of(intern_text(&step->m->strings, step->text), s->bytes),
			.previous = map_get(&step->m->sampled, slot),
		};
	added = model_count(step->m, MODEL_STATES) - 1;
	map_set(&step->m->sampled, slot, added);
	note_ran(step->m, &step->s->seen, added);
}

static void on_switch(const struct step *step)
{
	run(step, thread_of(step, step->e->context));
}

static void (*const handlers[MPROF_EVENT_IDS])(const struct step *step) = {
	[MPROF_EVENT_creates] = on_creates,
	[MPROF_EVENT_read] = on_read,
	[MPROF_EVENT_fulfills] = on_resolved,
	[MPROF_EVENT_fails] = on_resolved,
	[MPROF_EVENT_becomes] = on_becomes,
	[MPROF_EVENT_label] = on_label,
	[MPROF_EVENT_increase] = on_counter,
	[MPROF_EVENT_switch] = on_switch,
	[MPROF_EVENT_gc] = on_gc,
	[MPROF_EVENT_extra] = on_duration,
	[MPROF_EVENT_signal] = on_signal,
	[MPROF_EVENT_try_read] = on_try_read,
	[MPROF_EVENT_counter] = on_counter,
	[MPROF_EVENT_read_later] = on_read,
	[MPROF_EVENT_signal_noswitch] = on_signal,
};

/* Note that the clock of S went back from FROM to TO, ns. */
static void note_step(struct mprof_model_stream *s, uint64_t to, uint64_t from)
{
	s->back_from = s->back_to && s->back_from < to ? s->back_from : to;
	s->back_to = from > s->back_to ? from : s->back_to;
	s->back_ns = from - to > s->back_ns ? from - to : s->back_ns;
}

/* Note the first time of each kind of event whose absence an answer may have to judge. */
static void note_kind(struct mprof_model_stream *s, uint8_t id, uint64_t time)
{
	uint64_t *first = id == MPROF_EVENT_signal || id == MPROF_EVENT_signal_noswitch ? &s->first_signal
			  : id == MPROF_EVENT_read || id == MPROF_EVENT_read_later	? &s->first_read
			  : id == MPROF_EVENT_fulfills || id == MPROF_EVENT_fails	? &s->first_resolve
											: NULL;

	if (first && time < *first)
		*first = time;
}

/* Take the declaration E of a packet's recorder: what all packets declare counts. */
static void note_declaration(struct mprof_model_stream *s, const struct mprof_raw_event *e)
{
	uint32_t flags = (uint32_t)e->number >> 16, first = s->events ? s->declares : flags;

	s->declares = s->declares ? s->declares & flags : flags;
	s->declares = (s->declares & ~MPROF_DECLARES_FIRST) | (first & MPROF_DECLARES_FIRST);
}

/* Update the first and latest time of S for an event at TIME, and end an open gap there. */
static void note_time(struct mprof_model *m, struct model_stream *s, uint64_t time)
{
	struct mprof_thread *root = model_thread(m, s->seen.root);

	if (!s->seen.events++) {
		s->seen.start = s->seen.end = time;
		root->created = root->start = root->end = time;
	} else if (time < s->last) {
		m->notes.late++;
		note_step(&s->seen, time, s->last);
	}
	mprof_times_span_add(&s->span, time);
	s->seen.end = root->end = s->span.last;
	s->last = time;
	if (s->gap != MPROF_NONE) {
		struct mprof_gap *gap = (struct mprof_gap *)m->gaps.items + s->gap;

		gap->from = s->seen.events == 1 ? time : gap->from;
		gap->to = time;
		s->gap = MPROF_NONE;
	}
}

/*
 * Intern the text of the step's event, if there is one, in STEP->text. Return false without memory,
 * with nothing else of the model changed.
 */
static bool take_text(struct step *step)
{
	const struct mprof_raw_event *e = step->e;

	step->text = MPROF_NONE;
	if (!e->text && e->id != MPROF_EVENT_extra)
		return true;
	if (is_marker(e))
		return true;
	step->text = intern_add(&step->m->strings, e->text ? e->text : "", e->text ? e->text_bytes : 0);
	return step->text != MPROF_NONE && counters_reserve(step->m);
}

/*
 * Apply event E to the model. The caller has reserved room in the arrays and in the index of ids.
 * Return as mprof_model_add().
 */
static enum mprof_status apply(struct step *step, const struct mprof_raw_event *e)
{
	if (e->id >= MPROF_EVENT_IDS)
		return MPROF_CORRUPT;
	if (mprof_event_is_recorder(e)) {
		note_declaration(&step->s->seen, e);
		return MPROF_OK;
	}
	step->e = e;
	if ((mprof_event_is_state(e) && !map_reserve(&step->m->sampled, 1)) || !take_text(step))
		return MPROF_NOMEM;
	step->m->slack--;
	step->time = time_on_line(e->timestamp, step->s->seen.offset_ns);
	if (mprof_event_is_state(e)) {
		on_state(step);
		return MPROF_OK;
	}
	note_time(step->m, step->s, step->time);
	note_kind(&step->s->seen, e->id, step->time);
	handlers[e->id](step);
	if (step->s->seen.events == 1 && mprof_event_has_context(e->id) && e->context != MPROF_THREAD_NONE)
		step->s->starter = *thread_index_slot(step->s->index, e->context);
	return MPROF_OK;
}

/*
 * Make room for up to N events of S. Return the number of events that have room, 0 without memory.
 */
static size_t make_room(struct mprof_model *m, struct model_stream *s, size_t n)
{
	if (!m->slack && !model_reserve(m))
		return 0;
	n = n < m->slack ? n : m->slack;
	n = n < TOGETHER ? n : TOGETHER;
	return thread_index_reserve(s->index, IDS * (uint32_t)n) ? n : 0;
}

enum mprof_status mprof_model_add(struct mprof_model *m, uint32_t stream, const struct mprof_raw_event *e)
{
	struct step step = {.m = m, .stream = stream};

	if (m->stage != STAGE_OPEN)
		return MPROF_END;
	if (stream >= m->streams.n || e->id >= MPROF_EVENT_IDS)
		return MPROF_CORRUPT;
	step.s = model_stream_at(m, stream);
	return make_room(m, step.s, 1) ? apply(&step, e) : MPROF_NOMEM;
}

enum mprof_status mprof_model_add_batch(struct mprof_model *m, uint32_t stream, const struct mprof_event *events,
					size_t n, size_t *added)
{
	struct step step = {.m = m, .stream = stream};
	enum mprof_status status = MPROF_OK;
	size_t room;

	*added = 0;
	if (m->stage != STAGE_OPEN)
		return MPROF_END;
	if (stream >= m->streams.n)
		return MPROF_CORRUPT;
	step.s = model_stream_at(m, stream);
	while (*added < n && status == MPROF_OK) {
		room = make_room(m, step.s, n - *added);
		status = room ? MPROF_OK : MPROF_NOMEM;
		for (; room && status == MPROF_OK; room--) {
			status = apply(&step, &events[*added].raw);
			*added += status == MPROF_OK;
		}
	}
	return status;
}
