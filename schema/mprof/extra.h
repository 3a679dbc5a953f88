/*
 * The event `extra`: what mirage-profile has no word for. It has a length and a kind, so a reader that
 * does not know the kind skips it. events.def describes the kinds.
 *
 * Pure functions over private bytes: no I/O, no allocation, no state.
 */
#ifndef MPROF_SCHEMA_EXTRA_H
#define MPROF_SCHEMA_EXTRA_H

#include <mprof/event.h>

/* One parsed `extra`. TEXT points into the parsed bytes and is NUL-terminated there. */
struct mprof_extra {
	enum mprof_extra_kind kind;
	int64_t thread;	   /* 0 for a TEXT or RECORDER */
	int64_t number;	   /* amount, value, or the duration in nanoseconds as u64; 0 without one */
	uint32_t id;	   /* of the interned text; 0 = TEXT is here */
	const char *text;  /* NULL = the text is in the packet's TEXT with this id */
	size_t text_bytes; /* without the terminator */
	uint16_t flags;	   /* of a RECORDER, and so the next two */
	uint8_t dialect;
	uint8_t version;
	uint8_t counter; /* enum mprof_counter_kind that a TEXT declares */
};

/* Parse the bytes of a RECORDER behind the kind: N bytes at P. Return as mprof_extra_load(). */
static inline bool mprof_extra_load_recorder(struct mprof_extra *x, const uint8_t *p, size_t n)
{
	if (n < MPROF_DECLARATION_BYTES)
		return false;
	x->dialect = p[0];
	x->version = p[1];
	x->flags = mprof_load16(p + 2);
	return true;
}

/*
 * Return whether the MPROF_DECLARATION_EVENT bytes at P, which begin a packet's first event, say that
 * the writer's stores are ordered. This reads bytes at fixed places and decodes nothing. The writer may
 * lie, which can only make its own bytes count as proven.
 */
static inline bool mprof_packet_declares_order(const uint8_t *p)
{
	const uint8_t *extra = p + MPROF_EVENT_HEADER_BYTES;

	return p[8] == MPROF_EVENT_extra && mprof_load16(extra) >= MPROF_DECLARATION_BYTES &&
	       extra[2] == MPROF_EXTRA_RECORDER &&
	       (mprof_load16(extra + MPROF_EXTRA_HEADER_BYTES + 2) & MPROF_DECLARES_ORDER);
}

/*
 * Parse the event E, which mprof_event_load() made of an event `extra`, into *X. Return false if the
 * kind is unknown, or if the bytes do not fit the kind: then *X is undefined, and E is to be skipped.
 * Bytes behind the fields of a kind are not looked at: a later version may add some.
 */
static inline bool mprof_extra_load(struct mprof_extra *x, const struct mprof_raw_event *e)
{
	static const bool has_number[MPROF_EXTRA_KINDS] = {
#define MPROF_EXTRA(id, name, number, text) [id] = (number) != 0,
#include <mprof/events.def>
	};
	static const bool has_text[MPROF_EXTRA_KINDS] = {
#define MPROF_EXTRA(id, name, number, text) [id] = (text) != 0,
#include <mprof/events.def>
	};
	const uint8_t *p = (const uint8_t *)e->text, *end = p + e->text_bytes, *nul;
	size_t fixed = 4;

	*x = (struct mprof_extra){.kind = MPROF_EXTRA_KINDS};
	if (e->type >= MPROF_EXTRA_KINDS)
		return false;
	x->kind = (enum mprof_extra_kind)e->type;
	if (x->kind == MPROF_EXTRA_RECORDER)
		return mprof_extra_load_recorder(x, p, e->text_bytes);
	if (x->kind != MPROF_EXTRA_TEXT)
		fixed += 8u + (has_number[e->type] ? 8u : 0u);
	if (e->text_bytes < fixed)
		return false;
	if (x->kind != MPROF_EXTRA_TEXT) {
		x->thread = (int64_t)mprof_load64(p);
		p += 8;
	}
	if (has_number[e->type]) {
		x->number = (int64_t)mprof_load64(p);
		p += 8;
	}
	x->id = mprof_load32(p);
	p += 4;
	if (x->kind == MPROF_EXTRA_TEXT ? x->id == 0 : x->id == 0 && !has_text[e->type])
		return false;
	if (x->kind != MPROF_EXTRA_TEXT && x->id)
		return true;
	nul = p < end ? (const uint8_t *)memchr(p, 0, (size_t)(end - p)) : NULL;
	if (!nul)
		return false;
	x->text = (const char *)p;
	x->text_bytes = (size_t)(nul - p);
	if (x->kind == MPROF_EXTRA_TEXT && nul + 1 < end && nul[1] < MPROF_COUNTER_KINDS)
		x->counter = nul[1];
	return true;
}

#endif
