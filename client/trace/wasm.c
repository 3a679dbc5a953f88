/*
 * What mprof.wasm offers to client/viewer/wasm.js beside libmprof's own calls: a trace to load, and the places of everything in memory.
 *
 * JavaScript reads the library's structures as they lie.  It knows none of their offsets by heart: wasm_layout() spells them, made of the
 * declarations, so that a field that moves or goes is found here or at the first load, never as a wrong picture.
 *
 * Nothing is imported: no clock, no randomness (the seed is an argument), no output.  Memory grows up to 4 GiB and is given back with the
 * instance alone, but what a trace held is free for the next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/numbers.h>
#include <mprof/scene.h>
#include <mprof/tale.h>

#include "loader.h"

/* What is exported, as no header of C says it. */
struct loader *wasm_open(uint64_t seed, bool simplify);
uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind);
uint32_t wasm_damage(const struct loader *l, uint32_t i, char *text, size_t size);
const char *wasm_layout(void);
size_t wasm_printable(char *out, size_t room, const char *text, size_t bytes);
const char *wasm_thread_type(uint32_t type);
const char *wasm_event_name(uint32_t id);

struct loader *wasm_open(uint64_t seed, bool simplify)
{
	return loader_new(&(struct mprof_model_options){.simplify = simplify, .seed = seed});
}

uint32_t wasm_stream(struct loader *l, uint32_t guest, int64_t offset_ns, uint64_t uncertainty_ns, uint32_t kind)
{
	return loader_stream(
		l,
		&(struct mprof_model_source){.guest = guest, .offset_ns = offset_ns, .uncertainty_ns = uncertainty_ns},
		(enum intake_kind)kind);
}

/* The sentence of damage I into TEXT; the stream where it is, or MPROF_NONE behind the last one. */
uint32_t wasm_damage(const struct loader *l, uint32_t i, char *text, size_t size)
{
	uint32_t stream = MPROF_NONE;
	const struct mprof_damage *damage = loader_damage(l, i, &stream);

	if (damage)
		mprof_damage_text(damage, text, size);
	return stream;
}

const char *wasm_thread_type(uint32_t type)
{
	return mprof_thread_type_name(type <= UINT8_MAX ? (uint8_t)type : MPROF_THREAD_UNKNOWN);
}

const char *wasm_event_name(uint32_t id)
{
	return id < MPROF_EVENT_IDS ? mprof_event_name((uint8_t)id) : NULL;
}

size_t wasm_printable(char *out, size_t room, const char *text, size_t bytes)
{
	return mprof_text_show(out, room, &text, &bytes);
}

struct place {
	const char *name; /* of a field; of a structure or a number, where KIND says so */
	uint32_t at;	  /* offset, size of a structure, or the number */
	uint16_t bytes;
	char kind; /* i, u, f: integer with a sign or without, floating; p: anything else; s: structure; n: number */
};

/* clang-format off */
#define KIND(field) _Generic((field), \
	int32_t: 'i', int64_t: 'i', \
	uint8_t: 'u', uint16_t: 'u', uint32_t: 'u', uint64_t: 'u', \
	float: 'f', double: 'f', \
	default: 'p')
/* clang-format on */
#define STRUCT(s)                            \
	{                                    \
#s, sizeof(struct s), 0, 's' \
	}
#define FIELD(s, f)                                                                             \
	{                                                                                       \
#f, offsetof(struct s, f), sizeof(((struct s *)0)->f), KIND(((struct s *)0)->f) \
	}
#define NUMBER(n)                         \
	{                                 \
#n, (uint32_t)(n), 0, 'n' \
	}

static const struct place places[] = {
	STRUCT(mprof_thread),
	FIELD(mprof_thread, id),
	FIELD(mprof_thread, created),
	FIELD(mprof_thread, start),
	FIELD(mprof_thread, end),
	FIELD(mprof_thread, creator),
	FIELD(mprof_thread, parent),
	FIELD(mprof_thread, becomes),
	FIELD(mprof_thread, resolver),
	FIELD(mprof_thread, first_child),
	FIELD(mprof_thread, next_sibling),
	FIELD(mprof_thread, first_label),
	FIELD(mprof_thread, first_interaction),
	FIELD(mprof_thread, first_activation),
	FIELD(mprof_thread, failure),
	FIELD(mprof_thread, row),
	FIELD(mprof_thread, stream),
	FIELD(mprof_thread, type),
	FIELD(mprof_thread, flags),
	STRUCT(mprof_interaction),
	FIELD(mprof_interaction, time),
	FIELD(mprof_interaction, thread),
	FIELD(mprof_interaction, other),
	FIELD(mprof_interaction, next),
	FIELD(mprof_interaction, kind),
	STRUCT(mprof_activation),
	FIELD(mprof_activation, start),
	FIELD(mprof_activation, end),
	FIELD(mprof_activation, thread),
	FIELD(mprof_activation, next),
	STRUCT(mprof_label),
	FIELD(mprof_label, time),
	FIELD(mprof_label, thread),
	FIELD(mprof_label, next),
	FIELD(mprof_label, text),
	FIELD(mprof_label, sample),
	STRUCT(mprof_sample),
	FIELD(mprof_sample, time),
	FIELD(mprof_sample, value),
	FIELD(mprof_sample, counter),
	FIELD(mprof_sample, thread),
	FIELD(mprof_sample, previous),
	FIELD(mprof_sample, next),
	STRUCT(mprof_counter),
	FIELD(mprof_counter, min),
	FIELD(mprof_counter, max),
	FIELD(mprof_counter, name),
	FIELD(mprof_counter, scale),
	FIELD(mprof_counter, first),
	FIELD(mprof_counter, last),
	FIELD(mprof_counter, samples),
	FIELD(mprof_counter, stream),
	FIELD(mprof_counter, relative),
	STRUCT(mprof_scale),
	FIELD(mprof_scale, min),
	FIELD(mprof_scale, max),
	FIELD(mprof_scale, name),
	FIELD(mprof_scale, stream),
	STRUCT(mprof_collection),
	FIELD(mprof_collection, time),
	FIELD(mprof_collection, duration_ns),
	FIELD(mprof_collection, stream),
	STRUCT(mprof_gap),
	FIELD(mprof_gap, from),
	FIELD(mprof_gap, to),
	FIELD(mprof_gap, packets),
	FIELD(mprof_gap, stream),
	STRUCT(mprof_expectation),
	FIELD(mprof_expectation, thread),
	FIELD(mprof_expectation, final),
	STRUCT(mprof_model_stream),
	FIELD(mprof_model_stream, start),
	FIELD(mprof_model_stream, end),
	FIELD(mprof_model_stream, events),
	FIELD(mprof_model_stream, offset_ns),
	FIELD(mprof_model_stream, uncertainty_ns),
	FIELD(mprof_model_stream, guest),
	FIELD(mprof_model_stream, root),
	FIELD(mprof_model_stream, first_row),
	FIELD(mprof_model_stream, rows),
	STRUCT(mprof_string),
	FIELD(mprof_string, offset),
	FIELD(mprof_string, bytes),
	STRUCT(mprof_model_notes),
	FIELD(mprof_model_notes, recreated),
	FIELD(mprof_model_notes, alias_cycles),
	FIELD(mprof_model_notes, late),
	FIELD(mprof_model_notes, backwards),
	FIELD(mprof_model_notes, refused),
	FIELD(mprof_model_notes, detached),
	FIELD(mprof_model_notes, texts_lost),
	FIELD(mprof_model_notes, counters_clipped),
	FIELD(mprof_model_notes, rows_not_first),
	STRUCT(mprof_model_view),
	FIELD(mprof_model_view, threads),
	FIELD(mprof_model_view, interactions),
	FIELD(mprof_model_view, activations),
	FIELD(mprof_model_view, labels),
	FIELD(mprof_model_view, samples),
	FIELD(mprof_model_view, counters),
	FIELD(mprof_model_view, scales),
	FIELD(mprof_model_view, collections),
	FIELD(mprof_model_view, gaps),
	FIELD(mprof_model_view, expectations),
	FIELD(mprof_model_view, streams),
	FIELD(mprof_model_view, strings),
	FIELD(mprof_model_view, text),
	FIELD(mprof_model_view, n_threads),
	FIELD(mprof_model_view, n_interactions),
	FIELD(mprof_model_view, n_activations),
	FIELD(mprof_model_view, n_labels),
	FIELD(mprof_model_view, n_samples),
	FIELD(mprof_model_view, n_counters),
	FIELD(mprof_model_view, n_scales),
	FIELD(mprof_model_view, n_collections),
	FIELD(mprof_model_view, n_gaps),
	FIELD(mprof_model_view, n_expectations),
	FIELD(mprof_model_view, n_streams),
	FIELD(mprof_model_view, n_strings),
	FIELD(mprof_model_view, rows),
	FIELD(mprof_model_view, text_bytes),
	FIELD(mprof_model_view, notes),
	STRUCT(mprof_span),
	FIELD(mprof_span, offset),
	FIELD(mprof_span, bytes),
	FIELD(mprof_span, packet),
	STRUCT(mprof_event),
	FIELD(mprof_event, raw),
	FIELD(mprof_event, offset),
	STRUCT(mprof_raw_event),
	FIELD(mprof_raw_event, timestamp),
	FIELD(mprof_raw_event, id),
	FIELD(mprof_raw_event, type),
	FIELD(mprof_raw_event, context),
	FIELD(mprof_raw_event, number),
	FIELD(mprof_raw_event, text),
	FIELD(mprof_raw_event, text_bytes),
	FIELD(mprof_raw_event, bytes),
	STRUCT(loader_counts),
	FIELD(loader_counts, bytes),
	FIELD(loader_counts, packets),
	FIELD(loader_counts, lost_packets),
	FIELD(loader_counts, damages),
	FIELD(loader_counts, skipped),
	FIELD(loader_counts, events_by_type),
	STRUCT(mprof_window),
	FIELD(mprof_window, from),
	FIELD(mprof_window, to),
	FIELD(mprof_window, focus),
	FIELD(mprof_window, width),
	FIELD(mprof_window, height),
	FIELD(mprof_window, letter),
	FIELD(mprof_window, flags),
	STRUCT(mprof_mark),
	FIELD(mprof_mark, x0),
	FIELD(mprof_mark, y0),
	FIELD(mprof_mark, x1),
	FIELD(mprof_mark, y1),
	FIELD(mprof_mark, item),
	FIELD(mprof_mark, text),
	FIELD(mprof_mark, bytes),
	FIELD(mprof_mark, kind),
	FIELD(mprof_mark, stream),
	FIELD(mprof_mark, shade),
	STRUCT(mprof_picture),
	FIELD(mprof_picture, marks),
	FIELD(mprof_picture, text),
	FIELD(mprof_picture, n_marks),
	FIELD(mprof_picture, text_bytes),
	FIELD(mprof_picture, grid_ns),
	STRUCT(mprof_why_answer),
	FIELD(mprof_why_answer, verdict),
	FIELD(mprof_why_answer, thread),
	FIELD(mprof_why_answer, root),
	FIELD(mprof_why_answer, links),
	FIELD(mprof_why_answer, circle),
	FIELD(mprof_why_answer, condition),
	FIELD(mprof_why_answer, since),
	FIELD(mprof_why_answer, lost),
	FIELD(mprof_why_answer, lost_signals),
	FIELD(mprof_why_answer, first_since),
	FIELD(mprof_why_answer, signals_since),
	FIELD(mprof_why_answer, last_signal),
	FIELD(mprof_why_answer, signals),
	FIELD(mprof_why_answer, like),
	STRUCT(mprof_tale_piece),
	FIELD(mprof_tale_piece, offset),
	FIELD(mprof_tale_piece, bytes),
	FIELD(mprof_tale_piece, thread),
	FIELD(mprof_tale_piece, line),
	STRUCT(mprof_numbers_busy),
	FIELD(mprof_numbers_busy, running_ns),
	FIELD(mprof_numbers_busy, thread),
	FIELD(mprof_numbers_busy, label),
	STRUCT(mprof_numbers_counter),
	FIELD(mprof_numbers_counter, samples),
	FIELD(mprof_numbers_counter, first),
	FIELD(mprof_numbers_counter, last),
	FIELD(mprof_numbers_counter, min),
	FIELD(mprof_numbers_counter, max),
	FIELD(mprof_numbers_counter, first_ns),
	FIELD(mprof_numbers_counter, last_ns),
	STRUCT(mprof_numbers_all),
	FIELD(mprof_numbers_all, events_by_type),
	FIELD(mprof_numbers_all, threads_by_type),
	FIELD(mprof_numbers_all, created),
	FIELD(mprof_numbers_all, preexisting),
	FIELD(mprof_numbers_all, labels),
	FIELD(mprof_numbers_all, collections),
	FIELD(mprof_numbers_all, collecting_ns),
	FIELD(mprof_numbers_all, longest_ns),
	FIELD(mprof_numbers_all, running_ns),
	FIELD(mprof_numbers_all, sleeping_ns),
	FIELD(mprof_numbers_all, first_ns),
	FIELD(mprof_numbers_all, last_ns),
	FIELD(mprof_numbers_all, busiest),
	NUMBER(MPROF_THREAD_TYPES),
	NUMBER(MPROF_WHY_RESOLVED),
	NUMBER(MPROF_WHY_MISSED_SIGNAL),
	NUMBER(MPROF_WHY_MISSED_RESOLVE),
	NUMBER(MPROF_WHY_NOT_WOKEN),
	NUMBER(MPROF_WHY_SIGNALLED_SINCE),
	NUMBER(MPROF_WHY_NEVER_SIGNALLED),
	NUMBER(MPROF_WHY_NEVER_RESOLVED),
	NUMBER(MPROF_WHY_CIRCLE),
	NUMBER(MPROF_TALE_LINKS),
	NUMBER(MPROF_NONE),
	NUMBER(MPROF_OK),
	NUMBER(MPROF_END),
	NUMBER(MPROF_NOMEM),
	NUMBER(MPROF_EVENT_IDS),
	NUMBER(MPROF_THREAD_ROOT),
	NUMBER(MPROF_THREAD_PREEXISTING),
	NUMBER(MPROF_THREAD_RESOLVED),
	NUMBER(MPROF_THREAD_ENDED),
	NUMBER(MPROF_THREAD_SHOULD_RESOLVE),
	NUMBER(MPROF_THREAD_NEVER_RESOLVED),
	NUMBER(MPROF_THREAD_SIMPLIFIED),
	NUMBER(MPROF_INTERACTION_RESOLVE),
	NUMBER(MPROF_INTERACTION_READ),
	NUMBER(MPROF_INTERACTION_TRY_READ),
	NUMBER(MPROF_INTERACTION_SIGNAL),
	NUMBER(MPROF_WINDOW_COUNTERS),
	NUMBER(MPROF_WINDOW_LABELS),
	NUMBER(MPROF_WINDOW_ARROWS),
	NUMBER(INTAKE_FILE),
	NUMBER(INTAKE_TWICE),
	NUMBER(INTAKE_HELD),
	NUMBER(MPROF_CORRUPT),
	NUMBER(INTAKE_SERVED),
};

/* A line for each place, `KIND NAME AT BYTES`; to be freed.  NULL without memory. */
const char *wasm_layout(void)
{
	size_t room = 64 * sizeof(places) / sizeof(places[0]), used = 0, i;
	char *text = malloc(room);

	for (i = 0; text && i < sizeof(places) / sizeof(places[0]); i++)
		used += (size_t)snprintf(text + used, room - used, "%c %s %" PRIu32 " %u\n", places[i].kind,
					 places[i].name, places[i].at, places[i].bytes);
	return text;
}
