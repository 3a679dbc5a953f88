/*
 * Decode whole events in one piece of memory.
 *
 * Checking each field of each event costs more than decoding it. As long as at least FIXED_MAX
 * bytes are left, one check covers all fields. A table says where each field is; a field that the
 * event does not have is masked to 0. The only decision left is whether the event has a string.
 *
 * This code stops at an event `extra`, which needs the texts of its packet, and at one whose time is not plainly sound.
 *
 * This code never reports damage: it stops, and mprof_event_load() then decodes the same event and
 * reports it. tests/fuzz/fuzz-decoder.c compares the results of both.
 */
#include <string.h>

#include <mprof/times.h>

#include "walk.h"

/* Longest fixed part of an event: creates. */
#define FIXED_MAX 26u

/*
 * Position of each field of one kind of event, bytes from the event's first byte. A mask is all
 * ones when the event has the field, else 0.
 */
struct layout {
	uint8_t fixed; /* number of bytes before the string, or of the whole event if it has none */
	uint8_t number_at;
	uint8_t type_mask;
	bool text;
	uint64_t context_mask;
	uint64_t number_mask;
};

#define HAS_NUMBER(shape) ((shape) != MPROF_SHAPE_NONE && (shape) != MPROF_SHAPE_TEXT)
#define HAS_TYPE(shape)	  ((shape) == MPROF_SHAPE_THREAD_TYPE)
#define HAS_TEXT(shape) \
	((shape) == MPROF_SHAPE_TEXT || (shape) == MPROF_SHAPE_THREAD_TEXT || (shape) == MPROF_SHAPE_AMOUNT_TEXT)
#define MASK(bits, has) ((has) ? (bits) : 0)
#define LAYOUT(ctx, shape)                                                                                           \
	{                                                                                                            \
		.fixed = MPROF_EVENT_HEADER_BYTES + ((ctx) ? 8 : 0) + (HAS_NUMBER(shape) ? 8 : 0) + HAS_TYPE(shape), \
		.number_at = MPROF_EVENT_HEADER_BYTES + ((ctx) ? 8 : 0),                                             \
		.type_mask = MASK(UINT8_MAX, HAS_TYPE(shape)),                                                       \
		.text = HAS_TEXT(shape),                                                                             \
		.context_mask = MASK(UINT64_MAX, ctx),                                                               \
		.number_mask = MASK(UINT64_MAX, HAS_NUMBER(shape)),                                                  \
	}

static const struct layout layouts[MPROF_EVENT_IDS] = {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) [id] = LAYOUT(ctx, MPROF_SHAPE_##shape),
#include <mprof/events.def>
};

/*
 * Return the first NUL from P on, or END. Strings are short: testing eight bytes at once is faster
 * than a call of memchr().
 */
static const uint8_t *find_nul(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *found;

	for (int words = 0; words < 4 && end - p >= 8; words++, p += 8) {
		uint64_t word = mprof_load64(p);
		uint64_t zeros = (word - 0x0101010101010101) & ~word & 0x8080808080808080;

		if (zeros)
			return p + __builtin_ctzll(zeros) / 8;
	}
	found = p < end ? memchr(p, 0, (size_t)(end - p)) : NULL;
	return found ? found : end;
}

/*
 * Read the string TEXT after the fixed part. Return false when it has no NUL before END, or is too
 * long.
 */
static inline bool walk_text(struct mprof_raw_event *e, const uint8_t *text, const uint8_t *end)
{
	const uint8_t *nul = find_nul(text, end);

	if (nul == end || (size_t)(nul - text) > MPROF_EVENT_BYTES_MAX - FIXED_MAX)
		return false;
	e->text = (const char *)text;
	e->text_bytes = (size_t)(nul - text);
	e->bytes += e->text_bytes + 1;
	return true;
}

/* Return whether the events behind E, which ends at P, show that its time is sound. LATEST is the time before it. */
static bool walk_sound(const struct mprof_raw_event *e, uint64_t latest, const uint8_t *p, const uint8_t *end)
{
	struct mprof_times_behind b;

	mprof_times_look(&b, p, (size_t)(end - p), false);
	return b.n == MPROF_TIMES_NEIGHBOURS && mprof_times_judge(latest, e->timestamp, &b, false) == MPROF_TIMES_SOUND;
}

size_t walk_events(struct walk *w, struct mprof_event *events, size_t n)
{
	const uint8_t *start = w->at, *p = start, *end = w->end;
	uint64_t offset = w->offset, latest = w->latest;
	size_t i;

	for (i = 0; i < n && (size_t)(end - p) >= FIXED_MAX && p[8] < MPROF_EVENT_extra; i++) {
		const struct layout *l = &layouts[p[8]];
		struct mprof_raw_event *e = &events[i].raw;

		events[i].offset = offset + (uint64_t)(p - start);
		e->timestamp = mprof_load64(p);
		e->id = p[8];
		e->type = p[FIXED_MAX - 1] & l->type_mask;
		e->context = (int64_t)(mprof_load64(p + MPROF_EVENT_HEADER_BYTES) & l->context_mask);
		e->number = (int64_t)(mprof_load64(p + l->number_at) & l->number_mask);
		e->text = NULL;
		e->text_bytes = 0;
		e->bytes = l->fixed;
		if (l->text && !walk_text(e, p + l->fixed, end))
			break;
		if (mprof_times_doubt(latest, e->timestamp) && !walk_sound(e, latest, p + e->bytes, end))
			break;
		latest = e->timestamp > latest ? e->timestamp : latest;
		p += e->bytes;
	}
	w->offset = offset + (uint64_t)(p - start);
	w->latest = latest;
	w->at = p;
	return i;
}
