/*
 * The reader: items of all rings of a file, the oldest first.
 *
 * A heap holds the rings that have a next item, ordered by its time. The words of a ring are copied in
 * pieces of a size that keeps all copies together below MPROF_RUNTIME_MEMORY_MAX. A running program
 * laps a small ring in microseconds, so mprof_runtime_read() copies from every ring before it
 * interprets anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-names.h"
#include "runtime-ring.h"

#define PIECE_MAX   (1u << 20) /* words */
#define PIECE_MIN   2048u
#define NAMES	    8192u
#define NAME_BYTES  128u
#define USER	    16u
#define PADDING	    0u
#define FLUSH	    6u
#define ALLOC_WORDS 20u

struct mprof_runtime {
	struct runtime_source source;
	struct runtime_ring *rings;
	uint64_t *times; /* for each ring, the time of its next item */
	uint32_t *heap;	 /* rings with a next item, the oldest at 0 */
	uint32_t n;	 /* rings in HEAP */
	enum runtime_family family;
	char (*names)[NAME_BYTES]; /* names of user events that were read; empty = read it again */
	char number[40];	   /* text that stands for an unknown name */
	struct mprof_runtime_totals totals;
};

/* An item before its check: a copy of its first word, and its place. */
struct raw_item {
	const uint8_t *words;
	uint64_t position;
	uint32_t n; /* words, with the first */
	uint16_t id;
	uint8_t kind;
};

struct mprof_runtime *mprof_runtime_new(const struct mprof_runtime_memory *memory,
					const struct mprof_runtime_layout *layout)
{
	struct mprof_runtime *r = calloc(1, sizeof(*r));
	size_t piece = MPROF_RUNTIME_MEMORY_MAX / 8 / layout->rings;

	if (!r)
		return NULL;
	piece = piece < PIECE_MIN ? PIECE_MIN : piece > PIECE_MAX ? PIECE_MAX : piece;
	piece = layout->ring_words < piece ? (size_t)layout->ring_words : piece;
	r->source = (struct runtime_source){.memory = *memory, .layout = *layout, .piece = piece};
	/* OCaml below 5.3 has 128 rings always. */
	r->family = layout->rings != 128 ? RUNTIME_FAMILY_LATER : RUNTIME_FAMILY_UNKNOWN;
	r->rings = calloc(layout->rings, sizeof(*r->rings));
	r->times = calloc(layout->rings, sizeof(*r->times));
	r->heap = calloc(layout->rings, sizeof(*r->heap));
	return r->rings && r->times && r->heap ? r : mprof_runtime_free(r);
}

struct mprof_runtime *mprof_runtime_free(struct mprof_runtime *r)
{
	if (!r)
		return NULL;
	for (uint32_t i = 0; r->rings && i < r->source.layout.rings; i++)
		runtime_ring_deinit(&r->rings[i]);
	free(r->rings);
	free(r->times);
	free(r->heap);
	free(r->names);
	free(r);
	return NULL;
}

const struct mprof_runtime_totals *mprof_runtime_totals(const struct mprof_runtime *r)
{
	return &r->totals;
}

const char *mprof_runtime_damage_text(enum mprof_runtime_damage damage)
{
	static const char *const texts[] = {
		[MPROF_RUNTIME_DAMAGE_RING] = "the ring's head and tail contradict each other",
		[MPROF_RUNTIME_DAMAGE_LENGTH] = "an item has an impossible length; the rest of the ring was skipped",
		[MPROF_RUNTIME_DAMAGE_ITEM] = "an item has a wrong length for its type and was skipped",
		[MPROF_RUNTIME_DAMAGE_CUT] = "the file ends before the ring does",
	};

	return texts[damage];
}

/* ---- items */

/*
 * Load the header of the item at AT of RING, copying further words if needed. Return OK; EMPTY at the
 * target; BAD for an impossible length; else as runtime_ring_fill().
 */
static enum runtime_ring_status load_item(struct mprof_runtime *r, uint32_t i, struct raw_item *item)
{
	struct runtime_ring *ring = &r->rings[i];
	enum runtime_ring_status status = RUNTIME_RING_OK;
	uint64_t word, words = r->source.layout.ring_words;

	while (status == RUNTIME_RING_OK) {
		if (ring->at >= ring->target)
			return RUNTIME_RING_EMPTY;
		if (ring->at < ring->from || ring->at >= ring->to) {
			status = runtime_ring_fill(ring, &r->source, i);
			continue;
		}
		item->words = runtime_ring_word(ring, ring->at);
		word = mprof_load64(item->words);
		item->n = (uint32_t)(word >> 54);
		item->kind = (uint8_t)((word >> 49 & 15) + (word >> 53 & 1) * USER);
		item->id = (uint16_t)(word >> 36 & 0x1fff);
		item->position = ring->at;
		if (!item->n || (ring->at & (words - 1)) + item->n > words || item->n > ring->target - ring->at)
			return RUNTIME_RING_BAD;
		if (item->n <= ring->to - ring->at)
			return RUNTIME_RING_OK;
		status = runtime_ring_fill(ring, &r->source, i);
	}
	return status;
}

static uint64_t item_word(const struct raw_item *item, uint32_t i)
{
	return mprof_load64(item->words + (size_t)i * 8);
}

/* Return the number of words that an item of KIND must have, 0 = any; RING_STOP is shorter. */
static uint32_t words_of(uint8_t kind, uint16_t id)
{
	switch (kind) {
	case MPROF_RUNTIME_LIFECYCLE:
		return id == MPROF_RUNTIME_RING_STOP ? 0 : 3;
	case MPROF_RUNTIME_BEGIN:
	case MPROF_RUNTIME_END:
	case MPROF_RUNTIME_USER_UNIT:
	case MPROF_RUNTIME_USER_BEGIN:
	case MPROF_RUNTIME_USER_END:
		return 2;
	case MPROF_RUNTIME_COUNTER:
	case MPROF_RUNTIME_USER_INT:
		return 3;
	case MPROF_RUNTIME_ALLOC:
		return 2 + ALLOC_WORDS;
	default:
		return 0;
	}
}

static bool is_known(uint8_t kind)
{
	return (kind >= MPROF_RUNTIME_LIFECYCLE && kind <= MPROF_RUNTIME_ALLOC) ||
	       (kind >= MPROF_RUNTIME_USER_UNIT && kind <= MPROF_RUNTIME_USER_CUSTOM);
}

/*
 * Return the name of user event ID. A program can register a name at any time before the first event
 * with its id, so an empty name is read again. Return NULL without memory.
 */
static const char *user_name(struct mprof_runtime *r, uint16_t id)
{
	char *name;

	if (!r->source.layout.names)
		return "";
	if (!r->names)
		r->names = calloc(NAMES, NAME_BYTES);
	if (!r->names)
		return NULL;
	name = r->names[id];
	if (!name[0]) {
		if (!r->source.memory.load(r->source.memory.context, r->source.layout.names + id * NAME_BYTES, name,
					   NAME_BYTES / 8))
			memset(name, 0, NAME_BYTES);
		name[NAME_BYTES - 1] = 0;
	}
	return name;
}

/* Return the name of ITEM, or NULL without memory. */
static const char *item_name(struct mprof_runtime *r, const struct raw_item *item)
{
	const char *name = NULL, *what = item->kind == MPROF_RUNTIME_COUNTER ? "counter" : "phase";

	if (item->kind >= USER)
		return user_name(r, item->id);
	if (item->kind == MPROF_RUNTIME_ALLOC)
		return "alloc";
	if (item->kind == MPROF_RUNTIME_LIFECYCLE) {
		name = runtime_lifecycle_name(item->id);
		what = "lifecycle";
	} else if (item->kind == MPROF_RUNTIME_COUNTER) {
		name = runtime_counter_name(r->family, item->id);
		r->totals.unsure += runtime_counter_is_unsure(r->family, item->id);
	} else {
		name = runtime_phase_name(r->family, item->id);
		r->totals.unsure += runtime_phase_is_unsure(r->family, item->id);
	}
	if (name)
		return name;
	snprintf(r->number, sizeof(r->number), "%s %u", what, item->id);
	return r->number;
}

/* Sign-extend V from BITS bits. */
static int64_t extend(uint64_t v, unsigned int bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* Set the payload of TO. Return false when a custom item's length is impossible. */
static bool set_payload(struct mprof_runtime_item *to, const struct raw_item *item)
{
	size_t bytes = item->n > 2 ? (item->n - 2) * 8u : 0;

	if (to->kind == MPROF_RUNTIME_USER_CUSTOM) {
		if (!bytes || item->words[16 + bytes - 1] > 7)
			return false;
		to->data_bytes = bytes - 1 - item->words[16 + bytes - 1];
		to->data = item->words + 16;
	} else if (to->kind == MPROF_RUNTIME_ALLOC) {
		to->data_bytes = bytes;
		to->data = item->words + 16;
	} else if (item->n > 2) {
		/* OCaml's integers have 63 bits. */
		to->value = extend(item_word(item, 2), 63);
	}
	return true;
}

/* ---- which table */

/* Return the table that ITEM shows behind the items of E. */
static enum runtime_family family_of(struct runtime_evidence *e, const struct raw_item *item)
{
	if (item->kind == MPROF_RUNTIME_COUNTER)
		return runtime_evidence_counter(e, item->id);
	if (item->kind == MPROF_RUNTIME_BEGIN || item->kind == MPROF_RUNTIME_END)
		return runtime_evidence_phase(e, item->id, item->kind == MPROF_RUNTIME_BEGIN);
	return runtime_evidence_other(e);
}

static bool is_proven(enum runtime_family family)
{
	return family == RUNTIME_FAMILY_5_0 || family == RUNTIME_FAMILY_5_3 || family == RUNTIME_FAMILY_OXCAML;
}

/* Search the copied words of RING for an item that shows the table, until one proves it. */
static void find_family_in(struct mprof_runtime *r, const struct runtime_ring *ring)
{
	struct runtime_evidence evidence = {0};
	struct raw_item item = {0};
	enum runtime_family family;

	for (uint64_t at = ring->at; at >= ring->from && at < ring->to && !is_proven(r->family); at += item.n) {
		uint64_t word = mprof_load64(runtime_ring_word(ring, at));

		item.n = (uint32_t)(word >> 54);
		item.kind = (uint8_t)((word >> 49 & 15) + (word >> 53 & 1) * USER);
		item.id = (uint16_t)(word >> 36 & 0x1fff);
		if (!item.n)
			return;
		if (item.kind == PADDING)
			continue;
		family = family_of(&evidence, &item);
		if (is_proven(family) || r->family == RUNTIME_FAMILY_UNKNOWN)
			r->family = family;
	}
}

static void find_family(struct mprof_runtime *r)
{
	for (uint32_t i = 0; i < r->source.layout.rings && !is_proven(r->family); i++)
		find_family_in(r, &r->rings[i]);
}

void mprof_runtime_number(struct mprof_runtime *r, enum mprof_runtime_numbering numbering)
{
	static const enum runtime_family families[] = {
		[MPROF_RUNTIME_NUMBERING_5_0] = RUNTIME_FAMILY_5_0,
		[MPROF_RUNTIME_NUMBERING_5_3] = RUNTIME_FAMILY_5_3,
		[MPROF_RUNTIME_NUMBERING_OXCAML] = RUNTIME_FAMILY_OXCAML,
	};

	if (numbering != MPROF_RUNTIME_NUMBERING_UNKNOWN)
		r->family = families[numbering];
}

/* ---- merging */

static bool older(const struct mprof_runtime *r, uint32_t a, uint32_t b)
{
	return r->times[a] == r->times[b] ? a < b : r->times[a] < r->times[b];
}

static void sift_down(struct mprof_runtime *r, uint32_t at)
{
	for (uint32_t child; (child = 2 * at + 1) < r->n; at = child) {
		uint32_t ring = r->heap[at];

		if (child + 1 < r->n && older(r, r->heap[child + 1], r->heap[child]))
			child++;
		if (!older(r, r->heap[child], ring))
			return;
		r->heap[at] = r->heap[child];
		r->heap[child] = ring;
	}
}

static int report_damage(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, uint32_t i,
			 enum mprof_runtime_damage damage)
{
	r->totals.damages++;
	return sink->damage ? sink->damage(sink->context, i, r->rings[i].at, damage) : 0;
}

static int report_lost(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, uint32_t i)
{
	uint64_t lost = r->rings[i].lost;

	r->rings[i].lost = 0;
	if (!lost)
		return 0;
	r->totals.lost_words += lost;
	return sink->lost ? sink->lost(sink->context, i, lost) : 0;
}

/* Report what STATUS, an error, says about ring I, and skip the ring's words. */
static int give_up(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, uint32_t i,
		   enum runtime_ring_status status, enum mprof_runtime_damage bad)
{
	int stopped = report_damage(r, sink, i, status == RUNTIME_RING_CUT ? MPROF_RUNTIME_DAMAGE_CUT : bad);

	runtime_ring_skip(&r->rings[i]);
	return stopped;
}

/* The result of one step of reading. */
struct step {
	enum mprof_status status;
	int stopped;
};

/*
 * Find the next item of ring I that has a time, and store its time. Return false if there is none, or
 * reading stops.
 */
static bool next_item(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, uint32_t i, struct step *step)
{
	struct runtime_ring *ring = &r->rings[i];
	enum runtime_ring_status status;
	struct raw_item item;

	while ((status = load_item(r, i, &item)) == RUNTIME_RING_OK) {
		if (item.n > 1 && item.kind != PADDING) {
			r->times[i] = item_word(&item, 1);
			return true;
		}
		if (item.kind != PADDING)
			step->stopped = report_damage(r, sink, i, MPROF_RUNTIME_DAMAGE_ITEM);
		ring->at += item.n;
		if (step->stopped)
			return false;
	}
	if (status == RUNTIME_RING_NOMEM)
		step->status = MPROF_NOMEM;
	else if (status != RUNTIME_RING_EMPTY)
		step->stopped = give_up(r, sink, i, status, MPROF_RUNTIME_DAMAGE_LENGTH);
	return false;
}

/* Pass the item RAW of ring I to SINK, if it is of a known type and sound. */
static int pass_item(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, uint32_t i,
		     const struct raw_item *raw, const char *name)
{
	struct mprof_runtime_item item = {
		.time = item_word(raw, 1),
		.position = raw->position,
		.name = name,
		.id = raw->id,
		.kind = raw->kind,
	};
	uint32_t words = words_of(raw->kind, raw->id);

	if (!is_known(raw->kind)) {
		r->totals.unknown += raw->kind != FLUSH;
		return 0;
	}
	if ((words && words != raw->n) || !set_payload(&item, raw))
		return report_damage(r, sink, i, MPROF_RUNTIME_DAMAGE_ITEM);
	if (raw->kind == MPROF_RUNTIME_COUNTER)
		item.counter = runtime_counter_kind(r->family, raw->id);
	r->totals.items++;
	return sink->item(sink->context, i, &item);
}

/* Pass the next item of the oldest ring, and find the ring's item after it. */
static void step_on(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, struct step *step)
{
	uint32_t i = r->heap[0];
	struct raw_item item;
	const char *name;

	step->stopped = report_lost(r, sink, i);
	if (step->stopped)
		return;
	/* The item was copied when its time was found, so it is there. */
	if (load_item(r, i, &item) != RUNTIME_RING_OK) {
		r->heap[0] = r->heap[--r->n];
		sift_down(r, 0);
		return;
	}
	name = item_name(r, &item);
	if (!name) {
		step->status = MPROF_NOMEM;
		return;
	}
	r->rings[i].at += item.n;
	step->stopped = pass_item(r, sink, i, &item, name);
	if (step->stopped)
		return;
	if (!next_item(r, sink, i, step))
		r->heap[0] = r->heap[--r->n];
	sift_down(r, 0);
}

/* Read the heads and tails, and copy the first words of each ring that has news. */
static void begin(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, struct step *step)
{
	for (uint32_t i = 0; i < r->source.layout.rings && !step->stopped && step->status == MPROF_OK; i++) {
		enum runtime_ring_status status = runtime_ring_poll(&r->rings[i], &r->source, i);

		if (status == RUNTIME_RING_OK)
			status = runtime_ring_fill(&r->rings[i], &r->source, i);
		if (status == RUNTIME_RING_NOMEM)
			step->status = MPROF_NOMEM;
		else if (status != RUNTIME_RING_OK && status != RUNTIME_RING_EMPTY)
			step->stopped = give_up(r, sink, i, status, MPROF_RUNTIME_DAMAGE_RING);
	}
	find_family(r);
	r->n = 0;
	for (uint32_t i = 0; i < r->source.layout.rings && !step->stopped && step->status == MPROF_OK; i++)
		if (next_item(r, sink, i, step))
			r->heap[r->n++] = i;
	for (uint32_t i = r->n / 2; i-- > 0;)
		sift_down(r, i);
}

enum mprof_status mprof_runtime_read(struct mprof_runtime *r, const struct mprof_runtime_sink *sink, int *stopped)
{
	struct step step = {.status = MPROF_OK};

	begin(r, sink, &step);
	while (r->n && !step.stopped && step.status == MPROF_OK)
		step_on(r, sink, &step);
	/* Words that were lost behind the last item. */
	for (uint32_t i = 0; i < r->source.layout.rings && !step.stopped && step.status == MPROF_OK; i++)
		step.stopped = report_lost(r, sink, i);
	if (stopped)
		*stopped = step.stopped;
	return step.status;
}
