/*
 * Notes for the keeper, and the table of the objects that have one.
 *
 * A note is written once for each object. The time of a note is read before the object is in the
 * table, and the time of an event after the object was found there, so a note is older than every
 * event that names its object.
 */
#include "shim.h"

#include <string.h>

#define OBJECTS 8192u /* a power of two */
#define PROBES	32u
/*
 * So much earlier a note is than the time that was read: a processor may read its counter some
 * instructions early, for an event of another thread, which has found the object.
 */
#define EARLY_NS 1000u

static struct object objects[OBJECTS];

/* Take the place of the next note, and store its number in *TURN. Return NULL if the queue is full. */
static struct run_note *note_place(struct run_control *c, uint64_t *turn)
{
	uint64_t head = __atomic_load_n(&c->head, __ATOMIC_RELAXED);
	struct run_note *n;

	for (;;) {
		n = &c->notes[head % RUN_NOTES];
		if (__atomic_load_n(&n->turn, __ATOMIC_ACQUIRE) != head) {
			uint64_t again = __atomic_load_n(&c->head, __ATOMIC_RELAXED);

			if (again == head)
				return NULL;
			head = again;
			continue;
		}
		if (__atomic_compare_exchange_n(&c->head, &head, head + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*turn = head;
			return n;
		}
	}
}

void note(uint64_t time, enum run_note_kind kind, int64_t id, int64_t parent, uint32_t detail, const char *text)
{
	struct run_control *c = control_get();
	struct run_note *n;
	uint64_t turn;

	if (!c)
		return;
	n = note_place(c, &turn);
	if (!n) {
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	n->time = time;
	n->id = id;
	n->parent = parent;
	n->kind = kind;
	n->detail = detail;
	memset(n->text, 0, sizeof(n->text));
	for (size_t i = 0; text && text[i] && i < sizeof(n->text) - 1; i++)
		n->text[i] = text[i];
	__atomic_store_n(&n->turn, turn + 1, __ATOMIC_RELEASE);
}

static uint32_t object_slot(int64_t id)
{
	return (uint32_t)(((uint64_t)id * 0x9e3779b97f4a7c15u) >> 48) % OBJECTS;
}

struct object *object_find(int64_t id)
{
	uint32_t slot = object_slot(id);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct object *o = &objects[(slot + i) % OBJECTS];
		int64_t held = __atomic_load_n(&o->id, __ATOMIC_ACQUIRE);

		if (held == id)
			return o;
		if (!held)
			return NULL;
	}
	return NULL;
}

struct object *object_get(enum run_note_kind kind, int64_t id, int64_t parent, uint32_t detail)
{
	struct object *o = object_find(id);
	uint32_t slot = object_slot(id);
	uint64_t time;

	if (o)
		return o;
	time = now() - EARLY_NS;
	for (uint32_t i = 0; i < PROBES; i++) {
		int64_t none = 0;

		o = &objects[(slot + i) % OBJECTS];
		if (__atomic_compare_exchange_n(&o->id, &none, id, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			note(time, kind, id, parent, detail, NULL);
			return o;
		}
		if (none == id)
			return o;
	}
	return NULL;
}

void objects_forget(void)
{
	memset(objects, 0, sizeof(objects));
}
