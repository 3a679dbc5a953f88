/*
 * This file writes the Fuchsia trace format. The format's documentation
 * (reference/tracing/trace-format) defines the numbers below.
 *
 * Each stream becomes a process, and each track becomes a thread of the format. The object id of a
 * process or thread is the number of its track, which is unique and small, because some readers
 * keep only 32 bits of an id. The life of a thread is an asynchronous operation, because durations
 * on one track must nest and a life may end before a duration inside of the life. A flow must begin
 * and end in a duration, so an instant with a flow is written as a duration of length 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "exporter.h"
#include "fxt.h"
#include "output.h"
#include "seed.h"

#define MAGIC		0x0016547846040010u
#define PER_SECOND	1000000000u
#define STRINGS_MAX	32767u
#define STRING_BYTES	(8u << 20)
#define INTERN_MAX	256u   /* bytes of a string in the table */
#define INLINE_MAX	16000u /* bytes of any other string: two fit into a record */
#define PROVIDER_MAX	255u
#define OBJECT_PROCESS	1u
#define OBJECT_THREAD	2u
#define REF_INLINE	0x8000u
#define METADATA_SOURCE 1u

enum record { RECORD_METADATA, RECORD_BEGINNING, RECORD_STRING, RECORD_THREAD, RECORD_EVENT, RECORD_OBJECT = 7 };

enum event {
	EVENT_INSTANT,
	EVENT_COUNTER,
	EVENT_DURATION_BEGIN,
	EVENT_DURATION_END,
	EVENT_ASYNC_BEGIN = 5,
	EVENT_ASYNC_END = 7,
	EVENT_FLOW_BEGIN,
	EVENT_FLOW_END = 10,
};

enum argument { ARGUMENT_INT64 = 3, ARGUMENT_STRING = 6, ARGUMENT_OBJECT = 8 };

/* A reference to a string: an index in the string table, or REF_INLINE and the length of TEXT. */
struct ref {
	uint16_t value;
	const char *text; /* the string if VALUE has REF_INLINE; else NULL */
	size_t bytes;
};

/* ---- records */

static void begin(struct fxt *f, enum record type, uint64_t fields)
{
	f->record[0] = type | fields;
	f->n = 1;
}

static void word(struct fxt *f, uint64_t w)
{
	f->record[f->n++] = w;
}

static void bytes(struct fxt *f, const char *text, size_t len)
{
	size_t words = (len + 7) / 8;

	if (!words)
		return;
	f->record[f->n + words - 1] = 0;
	memcpy(f->record + f->n, text, len);
	f->n += (unsigned int)words;
}

static int end(struct fxt *f)
{
	f->record[0] |= (uint64_t)f->n << 4;
	writer_put(f->out, f->record, f->n * sizeof(*f->record));
	return -f->out->error;
}

/*
 * Return a reference to a string of LEN bytes. I is the index of the string in F's string table. If
 * I is TEXT_NONE, the string is not in the table: the reference holds the string itself, cut to
 * INLINE_MAX bytes. KNOWN is the number of strings that were in the table before; if I equals
 * KNOWN, the string is new, and a record that defines the string is written first.
 */
static struct ref reference(struct fxt *f, uint32_t i, uint32_t known, const char *text, size_t len)
{
	if (i == TEXT_NONE) {
		len = utf8_cut(text, len, INLINE_MAX);
		return (struct ref){.value = (uint16_t)(REF_INLINE | len), .text = text, .bytes = len};
	}
	if (i == known) {
		begin(f, RECORD_STRING, (uint64_t)(i + 1) << 16 | (uint64_t)len << 32);
		bytes(f, text, len);
		end(f);
	}
	return (struct ref){.value = (uint16_t)(i + 1)};
}

/*
 * Return a reference to a string. Add the string to the string table if the string has at most
 * INTERN_MAX bytes and the table has room. This function may write a record, so call it only before
 * begin().
 */
static struct ref refer(struct fxt *f, const char *text, size_t len)
{
	uint32_t known = f->strings.n, i = TEXT_NONE;

	if (!len)
		return (struct ref){0};
	if (len <= INTERN_MAX)
		i = texts_add(&f->strings, text, len);
	return reference(f, i, known, text, len);
}

static struct ref refer_constant(struct fxt *f, const char *text)
{
	uint32_t known = f->strings.n, i = texts_add_constant(&f->strings, &f->constants, text);

	if (i < known)
		return (struct ref){.value = (uint16_t)(i + 1)};
	return reference(f, i, known, text, strlen(text));
}

/* Return a reference to the name of EVENT. GROUP is a reference to CATEGORY. */
static struct ref refer_name(struct fxt *f, const struct slice_event *event, const char *category, struct ref group)
{
	if (event->name == category)
		return group;
	return event->constant_name ? refer_constant(f, event->name) : refer(f, event->name, event->name_bytes);
}

static void inline_text(struct fxt *f, const struct ref *ref)
{
	if (ref->text)
		bytes(f, ref->text, ref->bytes);
}

/*
 * Return the index of TRACK, from 1, in the format's thread table. If the entry has another track,
 * write a record that replaces that track by TRACK.
 */
static unsigned int thread_index(struct fxt *f, uint32_t process, uint32_t track)
{
	unsigned int i = track % FXT_THREADS;

	if (f->threads[i] != track) {
		f->threads[i] = track;
		begin(f, RECORD_THREAD, (uint64_t)(i + 1) << 16);
		word(f, process);
		word(f, track);
		end(f);
	}
	return i + 1;
}

/* ---- events */
struct arguments {
	struct ref key[SLICE_NOTES_MAX], text[SLICE_NOTES_MAX];
	const struct slice_note *notes;
	unsigned int n;
};

static void refer_arguments(struct fxt *f, struct arguments *a, const struct slice_note *notes, unsigned int n)
{
	a->notes = notes;
	for (a->n = 0; a->n < n; a->n++) {
		a->key[a->n] = refer_constant(f, notes[a->n].key);
		if (notes[a->n].text)
			a->text[a->n] = refer(f, notes[a->n].text, notes[a->n].text_bytes);
	}
}

static void put_arguments(struct fxt *f, const struct arguments *a)
{
	unsigned int at;

	for (unsigned int i = 0; i < a->n; i++) {
		bool text = a->notes[i].text;

		at = f->n;
		word(f, (text ? ARGUMENT_STRING : ARGUMENT_INT64) | (uint64_t)a->key[i].value << 16);
		inline_text(f, &a->key[i]);
		if (text) {
			f->record[at] |= (uint64_t)a->text[i].value << 32;
			inline_text(f, &a->text[i]);
		} else {
			word(f, (uint64_t)a->notes[i].number);
		}
		f->record[at] |= (uint64_t)(f->n - at) << 4;
	}
}

/*
 * Write one event record with the track, time and name of EVENT. If LAST is not NULL, *LAST becomes
 * the last word of the record. Return 0 or -errno.
 */
static int put_event(struct fxt *f, enum event type, const struct slice_event *event, const char *category,
		     const struct slice_note *notes, unsigned int n_notes, const uint64_t *last)
{
	uint32_t track = type == EVENT_COUNTER ? event->actor : event->track;
	struct ref group = refer_constant(f, category), name = refer_name(f, event, category, group);
	unsigned int thread = thread_index(f, event->process, track);
	struct arguments arguments;

	refer_arguments(f, &arguments, notes, n_notes);
	begin(f, RECORD_EVENT,
	      (uint64_t)type << 16 | (uint64_t)n_notes << 20 | (uint64_t)thread << 24 | (uint64_t)group.value << 32 |
		      (uint64_t)name.value << 48);
	word(f, event->time);
	inline_text(f, &group);
	inline_text(f, &name);
	put_arguments(f, &arguments);
	if (last)
		word(f, *last);
	return end(f);
}

/*
 * Write EVENT, at which a flow begins or ends, as a duration of length 0 with the flow inside of
 * it.
 */
static int put_flow(struct fxt *f, const struct slice_event *event)
{
	enum event type = event->flow == SLICE_FLOW_BEGINS ? EVENT_FLOW_BEGIN : EVENT_FLOW_END;
	int r = put_event(f, EVENT_DURATION_BEGIN, event, event->category, event->notes, event->n_notes, NULL);

	r = r ? r : put_event(f, type, event, "flow", NULL, 0, &event->flow_id);
	return r ? r : put_event(f, EVENT_DURATION_END, event, event->category, NULL, 0, NULL);
}

static int put_value(struct fxt *f, const struct slice_event *event)
{
	const struct slice_note notes[] = {{.key = "value", .number = event->value}};
	const uint64_t id = 0;

	/* Write no other arguments: a viewer would draw each as a counter of its own. */
	return put_event(f, EVENT_COUNTER, event, event->category, notes, 1, &id);
}

static int on_event(void *context, const struct slice_event *event)
{
	struct fxt *f = context;
	uint64_t id = event->track;

	switch (event->kind) {
	case SLICE_BEGIN:
	case SLICE_END:
		if (event->life)
			return put_event(f, event->kind == SLICE_BEGIN ? EVENT_ASYNC_BEGIN : EVENT_ASYNC_END, event,
					 event->category, event->notes, event->n_notes, &id);
		return put_event(f, event->kind == SLICE_BEGIN ? EVENT_DURATION_BEGIN : EVENT_DURATION_END, event,
				 event->category, event->notes, event->n_notes, NULL);
	case SLICE_INSTANT:
		if (event->flow != SLICE_FLOW_NONE)
			return put_flow(f, event);
		return put_event(f, EVENT_INSTANT, event, event->category, event->notes, event->n_notes, NULL);
	case SLICE_VALUE:
		return put_value(f, event);
	}
	return 0;
}

/* Write the name of a process or thread. Readers use the last name that was written. */
static int on_track(void *context, const struct slice_track *track)
{
	struct fxt *f = context;
	bool process = track->kind == TRACK_PROCESS;
	struct ref name, key;

	if (track->kind == TRACK_COUNTER)
		return 0;
	/* Each thread has another name, so the string table would not shorten it. */
	name = track->kind == TRACK_THREAD ? reference(f, TEXT_NONE, 0, track->name, track->name_bytes)
					   : refer(f, track->name, track->name_bytes);
	key = refer_constant(f, "process");
	begin(f, RECORD_OBJECT,
	      (process ? OBJECT_PROCESS : OBJECT_THREAD) << 16 | (uint64_t)name.value << 24 | (uint64_t)!process << 40);
	word(f, track->track);
	inline_text(f, &name);
	if (!process) {
		unsigned int at = f->n;

		word(f, ARGUMENT_OBJECT | (uint64_t)key.value << 16);
		inline_text(f, &key);
		word(f, track->process);
		f->record[at] |= (uint64_t)(f->n - at) << 4;
	}
	return end(f);
}

int fxt_begin(struct fxt *f, const char *name)
{
	CLEANUP(utf8_deinit) struct utf8 u = {0};
	const uint64_t magic = MAGIC;
	size_t len;

	if (utf8_set(&u, name, strlen(name)))
		return -ENOMEM;
	len = utf8_cut(u.text, u.bytes, PROVIDER_MAX);
	writer_put(f->out, &magic, sizeof(magic));
	begin(f, RECORD_METADATA, METADATA_SOURCE << 16 | 1u << 20 | (uint64_t)len << 52);
	bytes(f, u.text, len);
	end(f);
	begin(f, RECORD_BEGINNING, 0);
	word(f, PER_SECOND);
	return end(f);
}

void fxt_init(struct fxt *f, struct writer *out)
{
	*f = (struct fxt){.out = out};
	f->ops = (struct slice_ops){.track = on_track, .event = on_event, .context = f};
	texts_init(&f->strings, STRINGS_MAX, STRING_BYTES, seed_new(f));
}

void fxt_deinit(struct fxt *f)
{
	texts_deinit(&f->strings);
}

struct fxt_export {
	struct slices slices;
	struct fxt fxt;
};

static int fxt_open(struct export_job *job, struct consumer *consumer)
{
	struct fxt_export *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	job->state = x;
	fxt_init(&x->fxt, job->out);
	slices_init(&x->slices, &x->fxt.ops, job->trace, seed_new(x), spool_file);
	*consumer = slices_consumer(&x->slices);
	return fxt_begin(&x->fxt, job->trace);
}

static int fxt_finish(struct export_job *job)
{
	struct fxt_export *x = job->state;
	int r = slices_finish(&x->slices);

	slices_report_refused(&x->slices);
	return r;
}

static void fxt_close(struct export_job *job)
{
	struct fxt_export *x = job->state;

	if (!x)
		return;
	slices_deinit(&x->slices);
	fxt_deinit(&x->fxt);
	free(x);
	job->state = NULL;
}

const struct exporter export_fxt = {
	.name = "fxt",
	.what = "the Fuchsia trace format",
	.suffix = ".fxt",
	.open = fxt_open,
	.finish = fxt_finish,
	.close = fxt_close,
};
