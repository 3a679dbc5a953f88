/*
 * Translate the events of Eio. A fibre is a thread; so are the objects that fibres wait for, and
 * cancellation contexts. schema/runtime-events.md says what each event means.
 *
 * A fibre is suspended with the name of an operation, and says only before or after that which object
 * it waits for, if there is one: a suspended fibre is held back until the next item of its ring. For
 * operations without an object (a stream, a condition, a sleep, I/O) a thread of the type Wait is made,
 * which the fibre waits for until it runs again.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-translate.h"

#define MARKER	    "__should_resolve"
#define ERROR_BYTES 1016u

/* Kinds of cancellation contexts. */
enum { CC_SWITCH = 3, CC_PROTECT, CC_SUB, CC_ROOT, CC_ANY };

/* Return the id in the first 8 bytes of a custom event, and set *REST to the bytes behind it. */
static bool custom(const struct runtime_step *s, int64_t *id, const uint8_t **rest, size_t *bytes)
{
	if (s->item->data_bytes < 8)
		return false;
	*id = (int64_t)mprof_load64(s->item->data);
	*rest = s->item->data + 8;
	*bytes = s->item->data_bytes - 8;
	return true;
}

void runtime_eio_settle(struct runtime_step *s)
{
	struct runtime_suspended *held = &s->d->suspended;
	uint64_t now = s->time;
	int64_t fibre = held->fibre, wait;

	held->fibre = RUNTIME_NO_ID;
	if (fibre == RUNTIME_NO_ID || !held->bytes)
		return;
	wait = runtime_new_id(s->t);
	runtime_ids_add(&s->t->ids, fibre)->wait = wait;
	s->time = held->time;
	runtime_emit_creates(s, fibre, wait, MPROF_THREAD_Wait);
	runtime_emit_text(s, MPROF_EVENT_label, wait, 0, held->operation, held->bytes);
	runtime_emit(s, MPROF_EVENT_try_read, fibre, wait);
	s->time = now;
}

static void on_create_obj(struct runtime_step *s)
{
	const uint8_t *rest;
	size_t bytes;
	int64_t id;

	if (!custom(s, &id, &rest, &bytes) || bytes != 1)
		return;
	runtime_ids_add(&s->t->ids, id)->type = rest[0];
	runtime_emit_creates(s, runtime_running(s), id, (enum mprof_thread_type)rest[0]);
}

static const char *cc_name(uint8_t kind)
{
	static const char *const names[] = {
		[CC_PROTECT] = "protect",
		[CC_SUB] = "sub",
		[CC_ROOT] = "root",
		[CC_ANY] = "any",
	};

	return kind <= CC_ANY ? names[kind] : NULL;
}

static void on_create_cc(struct runtime_step *s)
{
	struct runtime_id *fibre, *cc;
	const uint8_t *rest;
	int64_t id, outer = RUNTIME_NO_ID;
	const char *name;
	size_t bytes;

	if (!custom(s, &id, &rest, &bytes) || bytes != 1)
		return;
	if (s->d->fibre != RUNTIME_NO_ID && rest[0] != CC_ROOT) {
		fibre = runtime_ids_add(&s->t->ids, s->d->fibre);
		outer = fibre->innermost;
		fibre->innermost = id;
	}
	cc = runtime_ids_add(&s->t->ids, id);
	cc->type = MPROF_THREAD_Switch;
	cc->outer = outer;
	runtime_emit_creates(s, runtime_running(s), id, MPROF_THREAD_Switch);
	name = cc_name(rest[0]);
	if (name)
		runtime_emit_text(s, MPROF_EVENT_label, id, 0, name, strlen(name));
}

static void on_create_fiber(struct runtime_step *s)
{
	const uint8_t *rest;
	size_t bytes;
	int64_t id;

	if (!custom(s, &id, &rest, &bytes) || bytes != 8)
		return;
	runtime_ids_add(&s->t->ids, id)->type = MPROF_THREAD_Task;
	runtime_emit_creates(s, runtime_running(s), id, MPROF_THREAD_Task);
}

/* The mutex ID is waited for: name its holder. */
static void name_holder(struct runtime_step *s, int64_t id, int64_t holder)
{
	if (holder != RUNTIME_NO_ID)
		runtime_emit(s, MPROF_EVENT_try_read, id, holder);
}

/* A fibre has the mutex ID from now on. Other fibres wait for the mutex, or began to wait when it had no holder. */
static void take_mutex(struct runtime_step *s, int64_t id, int64_t holder)
{
	struct runtime_id *fibre = runtime_ids_find(&s->t->ids, holder), *mutex;
	bool waited = fibre && fibre->awaits == id;

	if (fibre)
		fibre->awaits = RUNTIME_NO_ID;
	mutex = runtime_ids_find(&s->t->ids, id);
	mutex->holder = holder;
	mutex->waiting -= waited && mutex->waiting;
	if (mutex->waiting)
		name_holder(s, id, holder);
}

/* The holder of the mutex ID gives it back. */
static void release_mutex(struct runtime_step *s, struct runtime_id *id)
{
	if (id->waiting && id->holder != RUNTIME_NO_ID)
		runtime_emit(s, MPROF_EVENT_read_later, id->id, id->holder);
	id->holder = RUNTIME_NO_ID;
}

/* The fibre begins to wait for ID. If that is a mutex that has a holder, name the holder. */
static void await_mutex(struct runtime_step *s, int64_t id, int64_t fibre)
{
	struct runtime_id *mutex = runtime_ids_find(&s->t->ids, id);

	if (!mutex || mutex->type != MPROF_THREAD_Mutex)
		return;
	mutex->waiting++;
	name_holder(s, id, mutex->holder);
	runtime_ids_add(&s->t->ids, fibre)->awaits = id;
}

/*
 * The running fibre got the object. A promise that nobody resolved was created as a resolved one, or its
 * resolution was overwritten: it is resolved now at the latest.
 */
static void on_get(struct runtime_step *s)
{
	struct runtime_id *e = runtime_ids_find(&s->t->ids, s->item->value);

	if (e && e->type == MPROF_THREAD_Promise) {
		runtime_emit(s, MPROF_EVENT_fulfills, MPROF_THREAD_NONE, s->item->value);
		runtime_ids_remove(e);
	}
	s->d->tried = false;
	runtime_emit(s, MPROF_EVENT_read, runtime_running(s), s->item->value);
	if (s->d->fibre == RUNTIME_NO_ID)
		return;
	s->d->running = s->d->fibre; /* `read` says that the reader runs */
	if (e && e->type == MPROF_THREAD_Mutex)
		take_mutex(s, s->item->value, s->d->fibre);
}

/*
 * The suspended fibre, or else the running one, waits for an object. That fibre is one that should go
 * on, so it is marked.
 */
static void on_try_get(struct runtime_step *s)
{
	int64_t fibre = s->d->suspended.fibre;
	struct runtime_id *e;

	s->d->suspended.fibre = RUNTIME_NO_ID;
	if (fibre == RUNTIME_NO_ID) {
		fibre = s->d->fibre;
		s->d->tried = true;
	}
	if (fibre != RUNTIME_NO_ID) {
		e = runtime_ids_add(&s->t->ids, fibre);
		if (!e->marked)
			runtime_emit_text(s, MPROF_EVENT_label, fibre, 0, MARKER, sizeof(MARKER) - 1);
		e->marked = true;
	}
	runtime_emit(s, MPROF_EVENT_try_read, fibre == RUNTIME_NO_ID ? s->d->thread : fibre, s->item->value);
	if (fibre != RUNTIME_NO_ID)
		await_mutex(s, s->item->value, fibre);
}

/*
 * A promise is resolved, also that of a fibre; a mutex or a semaphore is released. An object of unknown
 * type is taken as released, because that can happen more than once.
 */
static void on_put(struct runtime_step *s)
{
	struct runtime_id *e = runtime_ids_find(&s->t->ids, s->item->value);
	int64_t by = runtime_running(s);

	if (!e || (e->type != MPROF_THREAD_Promise && e->type != MPROF_THREAD_Task)) {
		runtime_emit(s, MPROF_EVENT_signal_noswitch, s->item->value, by);
		if (e && e->type == MPROF_THREAD_Mutex)
			release_mutex(s, e);
		return;
	}
	runtime_emit(s, MPROF_EVENT_fulfills, by, s->item->value);
	e->resolved = true;
	if (e->type == MPROF_THREAD_Promise)
		runtime_ids_remove(e);
}

/* The innermost context of the running fibre ends. */
static void on_exit_cc(struct runtime_step *s)
{
	struct runtime_id *fibre = s->d->fibre == RUNTIME_NO_ID ? NULL : runtime_ids_find(&s->t->ids, s->d->fibre);
	struct runtime_id *cc;
	int64_t id;

	if (!fibre || fibre->innermost == RUNTIME_NO_ID)
		return;
	id = fibre->innermost;
	cc = runtime_ids_find(&s->t->ids, id);
	fibre->innermost = cc ? cc->outer : RUNTIME_NO_ID;
	if (cc && cc->error)
		runtime_emit_text(s, MPROF_EVENT_fails, s->d->fibre, id, cc->error, strlen(cc->error));
	else
		runtime_emit(s, MPROF_EVENT_fulfills, s->d->fibre, id);
	if (cc)
		runtime_ids_remove(cc);
}

static void on_exit_fiber(struct runtime_step *s)
{
	struct runtime_id *e = runtime_ids_find(&s->t->ids, s->item->value);

	if (!e || !e->resolved)
		runtime_emit(s, MPROF_EVENT_fulfills, s->item->value, s->item->value);
	if (e)
		runtime_ids_remove(e);
	s->d->fibre = RUNTIME_NO_ID;
	runtime_switch(s, s->d->thread);
}

/* A context is cancelled. It fails when it ends; the first reason counts. */
static void on_error(struct runtime_step *s)
{
	struct runtime_id *cc;
	const uint8_t *text;
	size_t bytes;
	int64_t id;

	if (!custom(s, &id, &text, &bytes))
		return;
	cc = runtime_ids_find(&s->t->ids, id);
	if (!cc) {
		runtime_emit_text(s, MPROF_EVENT_label, id, 0, (const char *)text, bytes);
		return;
	}
	if (!cc->error)
		cc->error = strndup((const char *)text, bytes < ERROR_BYTES ? bytes : ERROR_BYTES);
	if (!cc->error)
		s->stopped = MPROF_RUNTIME_NOMEM;
}

static void on_name(struct runtime_step *s)
{
	const uint8_t *text;
	size_t bytes;
	int64_t id;

	if (custom(s, &id, &text, &bytes))
		runtime_emit_text(s, MPROF_EVENT_label, id, 0, (const char *)text, bytes);
}

static void on_log(struct runtime_step *s)
{
	runtime_emit_text(s, MPROF_EVENT_label, runtime_running(s), 0, (const char *)s->item->data,
			  s->item->data_bytes);
}

/* A span of the fibre that runs, or of the domain between fibres. */
static void on_enter_span(struct runtime_step *s)
{
	struct runtime_id *e = runtime_ids_add(&s->t->ids, runtime_running(s));

	if (!runtime_ids_open(e, s->time, (const char *)s->item->data, s->item->data_bytes))
		s->stopped = MPROF_RUNTIME_NOMEM;
}

static void on_exit_span(struct runtime_step *s)
{
	int64_t thread = runtime_running(s);
	struct runtime_id *e = runtime_ids_find(&s->t->ids, thread);
	struct runtime_span *span = e ? runtime_ids_close(e) : NULL;

	if (span)
		runtime_emit_duration(s, thread, span->since, span->name, span->bytes);
	free(span);
}

/* A fibre runs. If a thread stands for its wait, that is over; nobody says who ended it. */
static void on_fiber(struct runtime_step *s)
{
	struct runtime_id *e = runtime_ids_find(&s->t->ids, s->item->value);
	int64_t wait = e ? e->wait : RUNTIME_NO_ID;

	s->d->fibre = s->item->value;
	s->d->tried = false;
	if (wait != RUNTIME_NO_ID)
		runtime_emit(s, MPROF_EVENT_fulfills, MPROF_THREAD_NONE, wait);
	runtime_switch(s, s->d->fibre);
	if (wait == RUNTIME_NO_ID)
		return;
	runtime_emit(s, MPROF_EVENT_read_later, s->d->fibre, wait);
	e->wait = RUNTIME_NO_ID;
}

static void on_suspend_fiber(struct runtime_step *s)
{
	struct runtime_suspended *held = &s->d->suspended;
	size_t bytes = s->item->data_bytes;

	if (s->d->fibre != RUNTIME_NO_ID && !s->d->tried) {
		held->fibre = s->d->fibre;
		held->time = s->time;
		held->bytes = bytes < RUNTIME_OPERATION_MAX ? bytes : RUNTIME_OPERATION_MAX;
		memcpy(held->operation, s->item->data, held->bytes);
	}
	s->d->fibre = RUNTIME_NO_ID;
	s->d->tried = false;
	runtime_switch(s, s->d->thread);
}

/* The domain waits for the operating system. */
static void on_suspend_domain(struct runtime_step *s)
{
	runtime_switch(s, s->item->kind == MPROF_RUNTIME_USER_BEGIN ? MPROF_THREAD_NONE : s->d->thread);
}

/* The domain of this ring was made by a fibre. */
static void on_domain_spawn(struct runtime_step *s)
{
	runtime_emit(s, MPROF_EVENT_signal_noswitch, s->d->thread, s->item->value);
}

static const struct {
	const char *name;
	uint8_t kind;
	uint8_t kind_too; /* another kind that the event may have */
	void (*handle)(struct runtime_step *s);
} events[] = {
	{"eio.fiber", MPROF_RUNTIME_USER_INT, 0, on_fiber},
	{"eio.suspend_fiber", MPROF_RUNTIME_USER_CUSTOM, 0, on_suspend_fiber},
	{"eio.get", MPROF_RUNTIME_USER_INT, 0, on_get},
	{"eio.try_get", MPROF_RUNTIME_USER_INT, 0, on_try_get},
	{"eio.put", MPROF_RUNTIME_USER_INT, 0, on_put},
	{"eio.suspend_domain", MPROF_RUNTIME_USER_BEGIN, MPROF_RUNTIME_USER_END, on_suspend_domain},
	{"eio.create_fiber", MPROF_RUNTIME_USER_CUSTOM, 0, on_create_fiber},
	{"eio.create_cc", MPROF_RUNTIME_USER_CUSTOM, 0, on_create_cc},
	{"eio.create_obj", MPROF_RUNTIME_USER_CUSTOM, 0, on_create_obj},
	{"eio.exit_cc", MPROF_RUNTIME_USER_UNIT, 0, on_exit_cc},
	{"eio.exit_fiber", MPROF_RUNTIME_USER_INT, 0, on_exit_fiber},
	{"eio.error", MPROF_RUNTIME_USER_CUSTOM, 0, on_error},
	{"eio.name", MPROF_RUNTIME_USER_CUSTOM, 0, on_name},
	{"eio.log", MPROF_RUNTIME_USER_CUSTOM, 0, on_log},
	{"eio.enter_span", MPROF_RUNTIME_USER_CUSTOM, 0, on_enter_span},
	{"eio.exit_span", MPROF_RUNTIME_USER_UNIT, 0, on_exit_span},
	{"eio.domain_spawn", MPROF_RUNTIME_USER_INT, 0, on_domain_spawn},
};

#define EVENTS	(sizeof(events) / sizeof(events[0]))
#define NOT_EIO 1u
#define FIRST	2u

/* Return what the user event is, as in struct mprof_runtime_translator. */
static uint8_t kind_of(struct runtime_step *s)
{
	uint8_t *kind = &s->t->eio[s->item->id];

	if (*kind || !s->item->name[0])
		return *kind;
	*kind = NOT_EIO;
	for (size_t i = 0; i < EVENTS; i++)
		if (strcmp(events[i].name, s->item->name) == 0)
			*kind = (uint8_t)(FIRST + i);
	return *kind;
}

bool runtime_eio(struct runtime_step *s)
{
	uint8_t kind = kind_of(s);

	if (kind < FIRST || events[kind - FIRST].handle != on_try_get)
		runtime_eio_settle(s);
	if (kind < FIRST)
		return false;
	kind = (uint8_t)(kind - FIRST);
	if (events[kind].kind != s->item->kind && events[kind].kind_too != s->item->kind)
		return false;
	events[kind].handle(s);
	return true;
}
