/*
 * This file writes a Perfetto trace as one sequence of packets. A frequent string is written once,
 * with a number, and later packets use the number: each category and key, and a name of at most
 * NAME_INTERN_MAX bytes while the table of names has room. The first packet that uses a string
 * defines its number, so a reader needs only earlier packets.
 *
 * The fields of a packet are written from the last to the first, as proto.h explains.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "output.h"
#include "perfetto.h"
#include "proto.h"
#include "seed.h"

#define SEQUENCE	 1u
#define NAMES_MAX	 65536u
#define NAME_TEXTS_MAX	 (8u << 20)
#define NAME_INTERN_MAX	 256u
#define CLOCK_REALTIME_	 1u
#define CLOCK_MONOTONIC_ 3u
#define PACKET_FIXED_MAX 1024u /* bytes of a packet without names and texts of the trace */

/* Numbers of the fields in perfetto.proto. */
enum { TRACE_PACKET = 1 };

enum packet_field {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST = 87,
};

enum sequence_flag { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum snapshot_field { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2 };
enum clock_field { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum process_field { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum counter_field { COUNTER_SHARE_KEY = 7 };
enum interned_field { INTERNED_CATEGORIES = 1, INTERNED_NAMES, INTERNED_KEYS };
enum string_field { STRING_IID = 1, STRING_NAME };
enum note_field { NOTE_KEY_IID = 1, NOTE_INT = 4, NOTE_STRING = 6 };

enum descriptor_field {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	DESCRIPTOR_MERGE = 15,
};

#define MERGE_NONE 2u /* of SiblingMergeBehavior */

enum event_field {
	EVENT_CATEGORY = 3,
	EVENT_NOTES = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};

/* The number of a string; 0 = none. */
struct ref {
	uint64_t iid;
	bool is_new;
};

/* Numbers of the strings of an event. */
struct refs {
	struct ref category, name, keys[SLICE_NOTES_MAX];
};

/*
 * Begin a packet. Make room for PACKET_FIXED_MAX bytes and MORE bytes of names and texts, and set
 * OUT to the end of the buffer. Return 0 or -ENOMEM.
 */
static int begin(struct perfetto *p, struct proto *out, size_t more)
{
	size_t n = PACKET_FIXED_MAX + more;
	uint8_t *packet;

	if (n > p->packet_room) {
		packet = realloc(p->packet, n);
		if (!packet)
			return -ENOMEM;
		p->packet = packet;
		p->packet_room = n;
	}
	out->at = p->packet + p->packet_room;
	return 0;
}

/*
 * Mark the first packet of the sequence by the field first_packet_on_sequence. Call this function
 * first, because the field is the last one of its packet.
 */
static void put_first(const struct perfetto *p, struct proto *out)
{
	if (!p->begun)
		proto_number(out, PACKET_FIRST, 1);
}

static void put_flags(const struct perfetto *p, struct proto *out)
{
	proto_number(out, PACKET_SEQUENCE_FLAGS, p->begun ? NEEDS_STATE : NEEDS_STATE | STATE_CLEARED);
}

/* Complete the packet and write it to the output. Return 0 or -errno. */
static int end(struct perfetto *p, struct proto *out)
{
	const uint8_t *last = p->packet + p->packet_room;

	proto_message(out, TRACE_PACKET, last);
	writer_put(p->out, out->at, (size_t)(last - out->at));
	p->begun = true;
	return -p->out->error;
}

/* ---- strings under numbers */

static struct ref constant(struct perfetto_constants *c, const char *text)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i] == text)
			return (struct ref){.iid = i + 1};
	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->at[i], text) == 0)
			return (struct ref){.iid = i + 1};
	c->at[c->n++] = text;
	return (struct ref){.iid = c->n, .is_new = true};
}

static struct ref refer_name(struct perfetto *p, const struct slice_event *event)
{
	uint32_t before = p->names.n, i = TEXT_NONE;

	if (event->constant_name)
		i = texts_add_constant(&p->names, &p->constants, event->name);
	else if (event->name_bytes && event->name_bytes <= NAME_INTERN_MAX)
		i = texts_add(&p->names, event->name, event->name_bytes);
	if (i == TEXT_NONE)
		return (struct ref){0};
	return (struct ref){.iid = (uint64_t)i + 1, .is_new = i == before};
}

static bool has_name(const struct slice_event *event)
{
	return event->kind == SLICE_BEGIN || event->kind == SLICE_INSTANT;
}

/*
 * Set REFS to the numbers of EVENT's strings; 0 = no string. A SLICE_END has neither category nor
 * name, because it ends the last slice that began on its track. A SLICE_VALUE has no name, because
 * the track of a counter has that name.
 */
static void refer(struct perfetto *p, const struct slice_event *event, struct refs *refs)
{
	refs->category = refs->name = (struct ref){0};
	if (event->kind != SLICE_END)
		refs->category = constant(&p->categories, event->category);
	if (has_name(event))
		refs->name = refer_name(p, event);
	for (unsigned int i = 0; i < event->n_notes; i++)
		refs->keys[i] = constant(&p->keys, event->notes[i].key);
}

static void define(struct proto *out, enum interned_field field, const struct ref *ref, const char *text, size_t len)
{
	const uint8_t *last = out->at;

	if (!ref->is_new)
		return;
	proto_string(out, STRING_NAME, text, len);
	proto_number(out, STRING_IID, ref->iid);
	proto_message(out, field, last);
}

/* Write into the packet the definitions of the strings that EVENT is the first to use. */
static void put_interned(struct proto *out, const struct slice_event *event, const struct refs *refs)
{
	const uint8_t *last = out->at;

	for (unsigned int i = event->n_notes; i--;)
		define(out, INTERNED_KEYS, &refs->keys[i], event->notes[i].key, strlen(event->notes[i].key));
	define(out, INTERNED_NAMES, &refs->name, event->name, event->name_bytes);
	define(out, INTERNED_CATEGORIES, &refs->category, event->category, strlen(event->category));
	if (out->at != last)
		proto_message(out, PACKET_INTERNED_DATA, last);
}

/* ---- slice events */

static void put_note(struct proto *out, const struct slice_note *note, const struct ref *key)
{
	const uint8_t *last = out->at;

	if (note->text)
		proto_string(out, NOTE_STRING, note->text, note->text_bytes);
	else
		proto_number(out, NOTE_INT, (uint64_t)note->number);
	proto_number(out, NOTE_KEY_IID, key->iid);
	proto_message(out, EVENT_NOTES, last);
}

static void put_track_event(struct proto *out, const struct slice_event *event, const struct refs *refs)
{
	static const uint8_t types[] = {[SLICE_BEGIN] = 1, [SLICE_END] = 2, [SLICE_INSTANT] = 3, [SLICE_VALUE] = 4};
	const uint8_t *last = out->at;

	if (event->flow != SLICE_FLOW_NONE)
		proto_fixed64(out, event->flow == SLICE_FLOW_BEGINS ? EVENT_FLOW : EVENT_FLOW_END, event->flow_id);
	if (event->kind == SLICE_VALUE)
		proto_number(out, EVENT_VALUE, (uint64_t)event->value);
	if (has_name(event) && !refs->name.iid)
		proto_string(out, EVENT_NAME, event->name, event->name_bytes);
	proto_number(out, EVENT_TRACK, event->track);
	if (refs->name.iid)
		proto_number(out, EVENT_NAME_IID, refs->name.iid);
	proto_number(out, EVENT_TYPE, types[event->kind]);
	for (unsigned int i = event->n_notes; i--;)
		put_note(out, &event->notes[i], &refs->keys[i]);
	if (refs->category.iid)
		proto_number(out, EVENT_CATEGORY, refs->category.iid);
	proto_message(out, PACKET_TRACK_EVENT, last);
}

static int on_event(void *context, const struct slice_event *event)
{
	struct perfetto *p = context;
	size_t texts = event->name_bytes;
	struct proto out;
	struct refs refs;
	int r;

	for (unsigned int i = 0; i < event->n_notes; i++)
		texts += event->notes[i].text ? event->notes[i].text_bytes : 0;
	r = begin(p, &out, texts);
	if (r)
		return r;
	refer(p, event, &refs);
	put_first(p, &out);
	put_flags(p, &out);
	put_interned(&out, event, &refs);
	put_track_event(&out, event, &refs);
	proto_number(&out, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&out, PACKET_TIMESTAMP, event->time);
	return end(p, &out);
}

static void put_process(const struct perfetto *p, struct proto *out, const struct slice_track *track)
{
	const uint8_t *last = out->at;

	proto_string(out, PROCESS_NAME, track->name, track->name_bytes);
	proto_number(out, PROCESS_PID, (uint64_t)(p->first_pid + (int64_t)track->stream));
	proto_message(out, DESCRIPTOR_PROCESS, last);
}

static void put_descriptor(const struct perfetto *p, struct proto *out, const struct slice_track *track)
{
	const uint8_t *last = out->at, *counter;

	if (track->kind != TRACK_PROCESS)
		proto_number(out, DESCRIPTOR_MERGE, MERGE_NONE);
	if (track->kind == TRACK_COUNTER) {
		counter = out->at;
		proto_string(out, COUNTER_SHARE_KEY, track->name, track->scale_bytes);
		proto_message(out, DESCRIPTOR_COUNTER, counter);
	}
	if (track->kind == TRACK_PROCESS)
		put_process(p, out, track);
	else
		proto_number(out, DESCRIPTOR_PARENT, track->process);
	proto_string(out, DESCRIPTOR_NAME, track->name, track->name_bytes);
	proto_number(out, DESCRIPTOR_UUID, track->track);
	proto_message(out, PACKET_TRACK_DESCRIPTOR, last);
}

static int on_track(void *context, const struct slice_track *track)
{
	struct perfetto *p = context;
	struct proto out;
	int r = begin(p, &out, 2 * track->name_bytes + track->scale_bytes);

	if (r)
		return r;
	put_first(p, &out);
	put_descriptor(p, &out, track);
	put_flags(p, &out);
	proto_number(&out, PACKET_SEQUENCE, SEQUENCE);
	return end(p, &out);
}

static void put_clock(struct proto *out, uint64_t id, uint64_t timestamp)
{
	const uint8_t *last = out->at;

	proto_number(out, CLOCK_TIMESTAMP, timestamp);
	proto_number(out, CLOCK_ID, id);
	proto_message(out, SNAPSHOT_CLOCKS, last);
}

int perfetto_clocks(struct perfetto *p, uint64_t monotonic, uint64_t realtime)
{
	const uint8_t *snapshot;
	struct proto out;
	int r = begin(p, &out, 0);

	if (r)
		return r;
	put_first(p, &out);
	put_flags(p, &out);
	proto_number(&out, PACKET_SEQUENCE, SEQUENCE);
	proto_number(&out, PACKET_TIMESTAMP, monotonic);
	snapshot = out.at;
	proto_number(&out, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_);
	put_clock(&out, CLOCK_REALTIME_, realtime);
	put_clock(&out, CLOCK_MONOTONIC_, monotonic);
	proto_message(&out, PACKET_CLOCK_SNAPSHOT, snapshot);
	return end(p, &out);
}

void perfetto_init(struct perfetto *p, struct writer *out, int32_t first_pid)
{
	*p = (struct perfetto){.out = out, .first_pid = first_pid};
	p->ops = (struct slice_ops){.track = on_track, .event = on_event, .context = p};
	texts_init(&p->names, NAMES_MAX, NAME_TEXTS_MAX, seed_new(p));
}

void perfetto_deinit(struct perfetto *p)
{
	texts_deinit(&p->names);
	free(p->packet);
	p->packet = NULL;
}

struct perfetto_export {
	struct slices slices;
	struct perfetto perfetto;
};

static int perfetto_open(struct export_job *job, struct consumer *consumer)
{
	struct perfetto_export *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	job->state = x;
	perfetto_init(&x->perfetto, job->out, 1);
	slices_init(&x->slices, &x->perfetto.ops, job->trace, seed_new(x), spool_file);
	*consumer = slices_consumer(&x->slices);
	return 0;
}

static int perfetto_finish(struct export_job *job)
{
	struct perfetto_export *x = job->state;
	int r = slices_finish(&x->slices);

	slices_report_refused(&x->slices);
	return r;
}

static void perfetto_close(struct export_job *job)
{
	struct perfetto_export *x = job->state;

	if (!x)
		return;
	slices_deinit(&x->slices);
	perfetto_deinit(&x->perfetto);
	free(x);
	job->state = NULL;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.what = "Perfetto's track events, for ui.perfetto.dev and trace_processor",
	.suffix = ".pftrace",
	.open = perfetto_open,
	.finish = perfetto_finish,
	.close = perfetto_close,
};
