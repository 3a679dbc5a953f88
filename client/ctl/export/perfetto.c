/*
 * Write one sequence of packets. Frequent strings are written once and get a number: categories and
 * keys always, names if they are short and fit the table. The first packet that uses a string
 * defines it, so that a reader only needs earlier packets.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "exporter.h"
#include "perfetto.h"
#include "perfetto.pb-c.h"

#define SEQUENCE	 1u
#define NAMES_MAX	 65536u
#define NAME_TEXTS_MAX	 (8u << 20)
#define NAME_INTERN_MAX	 256u
#define CLOCK_REALTIME_	 1u
#define CLOCK_MONOTONIC_ 3u
#define PACKET_TAG	 0x0a /* field 1 of a trace, with a length */

/* A packet and all that it points to. */
struct draft {
	Perfetto__Protos__TracePacket packet;
	Perfetto__Protos__TrackEvent event;
	Perfetto__Protos__DebugAnnotation notes[SLICE_NOTES_MAX];
	Perfetto__Protos__DebugAnnotation *note_list[SLICE_NOTES_MAX];
	Perfetto__Protos__InternedData interned;
	Perfetto__Protos__EventCategory category;
	Perfetto__Protos__EventCategory *category_list[1];
	Perfetto__Protos__EventName name;
	Perfetto__Protos__EventName *name_list[1];
	Perfetto__Protos__DebugAnnotationName keys[SLICE_NOTES_MAX];
	Perfetto__Protos__DebugAnnotationName *key_list[SLICE_NOTES_MAX];
	uint64_t category_iid;
	uint64_t flow_id;
	char *own_name; /* copies with a NUL */
	char *own_text;
};

static void draft_init(struct draft *d)
{
	memset(d, 0, sizeof(*d));
	perfetto__protos__trace_packet__init(&d->packet);
	perfetto__protos__interned_data__init(&d->interned);
}

static void draft_deinit(struct draft *d)
{
	free(d->own_name);
	free(d->own_text);
}

static int reserve(struct perfetto *p, size_t n)
{
	uint8_t *packet;

	if (n <= p->packet_room)
		return 0;
	packet = realloc(p->packet, n);
	if (!packet)
		return -ENOMEM;
	p->packet = packet;
	p->packet_room = n;
	return 0;
}

static int put_packet(struct perfetto *p, struct draft *d)
{
	size_t n, head = 0, left;
	uint8_t bytes[12] = {PACKET_TAG};

	d->packet.trusted_packet_sequence_id = SEQUENCE;
	d->packet.has_trusted_packet_sequence_id = true;
	d->packet.has_sequence_flags = true;
	d->packet.sequence_flags |= PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_NEEDS_INCREMENTAL_STATE;
	if (!p->begun) {
		d->packet.sequence_flags |=
			PERFETTO__PROTOS__TRACE_PACKET__SEQUENCE_FLAGS__SEQ_INCREMENTAL_STATE_CLEARED;
		d->packet.has_first_packet_on_sequence = d->packet.first_packet_on_sequence = true;
	}
	p->begun = true;
	if (d->interned.n_event_categories || d->interned.n_event_names || d->interned.n_debug_annotation_names)
		d->packet.interned_data = &d->interned;
	n = perfetto__protos__trace_packet__get_packed_size(&d->packet);
	if (reserve(p, n))
		return -ENOMEM;
	perfetto__protos__trace_packet__pack(&d->packet, p->packet);
	for (left = n; left >= 0x80; left >>= 7)
		bytes[++head] = (uint8_t)(left | 0x80);
	bytes[++head] = (uint8_t)left;
	writer_put(p->out, bytes, head + 1);
	writer_put(p->out, p->packet, n);
	return -p->out->error;
}

/* ---- strings under numbers */

static uint64_t constant(struct perfetto_constants *c, const char *text, bool *is_new)
{
	uint32_t i;

	for (i = 0; i < c->n && c->at[i] != text && strcmp(c->at[i], text) != 0; i++)
		;
	*is_new = i == c->n;
	if (*is_new)
		c->at[c->n++] = text;
	return i + 1;
}

static void set_category(struct perfetto *p, struct draft *d, const char *category)
{
	bool is_new;

	d->category_iid = constant(&p->categories, category, &is_new);
	d->event.category_iids = &d->category_iid;
	d->event.n_category_iids = 1;
	if (!is_new)
		return;
	perfetto__protos__event_category__init(&d->category);
	d->category.iid = d->category_iid;
	d->category.has_iid = true;
	d->category.name = (char *)category;
	d->category_list[0] = &d->category;
	d->interned.event_categories = d->category_list;
	d->interned.n_event_categories = 1;
}

static char *copy(const char *text, size_t len)
{
	char *s = malloc(len + 1);

	if (!s)
		return NULL;
	memcpy(s, text, len);
	s[len] = 0;
	return s;
}

static int set_name(struct perfetto *p, struct draft *d, const char *name, size_t len)
{
	uint32_t before = p->names.n, i = TEXT_NONE;

	if (len && len <= NAME_INTERN_MAX)
		i = texts_add(&p->names, name, len);
	if (i == TEXT_NONE || i == before) {
		d->own_name = copy(name, len);
		if (!d->own_name)
			return -ENOMEM;
	}
	if (i == TEXT_NONE) {
		d->event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME;
		d->event.name = d->own_name;
		return 0;
	}
	d->event.name_field_case = PERFETTO__PROTOS__TRACK_EVENT__NAME_FIELD_NAME_IID;
	d->event.name_iid = i + 1;
	if (i != before)
		return 0;
	perfetto__protos__event_name__init(&d->name);
	d->name.iid = i + 1;
	d->name.has_iid = true;
	d->name.name = d->own_name;
	d->name_list[0] = &d->name;
	d->interned.event_names = d->name_list;
	d->interned.n_event_names = 1;
	return 0;
}

static void set_key(struct perfetto *p, struct draft *d, Perfetto__Protos__DebugAnnotation *note, const char *key)
{
	size_t n = d->interned.n_debug_annotation_names;
	bool is_new;

	note->name_field_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
	note->name_iid = constant(&p->keys, key, &is_new);
	if (!is_new)
		return;
	perfetto__protos__debug_annotation_name__init(&d->keys[n]);
	d->keys[n].iid = note->name_iid;
	d->keys[n].has_iid = true;
	d->keys[n].name = (char *)key;
	d->key_list[n] = &d->keys[n];
	d->interned.debug_annotation_names = d->key_list;
	d->interned.n_debug_annotation_names = n + 1;
}

static int set_note(struct perfetto *p, struct draft *d, const struct slice_note *from)
{
	Perfetto__Protos__DebugAnnotation *note = &d->notes[d->event.n_debug_annotations];

	perfetto__protos__debug_annotation__init(note);
	set_key(p, d, note, from->key);
	if (from->text) {
		d->own_text = copy(from->text, from->text_bytes);
		if (!d->own_text)
			return -ENOMEM;
		note->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
		note->string_value = d->own_text;
	} else {
		note->value_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_INT_VALUE;
		note->int_value = from->number;
	}
	d->note_list[d->event.n_debug_annotations++] = note;
	d->event.debug_annotations = d->note_list;
	return 0;
}

/* ---- slice events */

static void set_kind(struct draft *d, const struct slice_event *event)
{
	static const Perfetto__Protos__TrackEvent__Type types[] = {
		[SLICE_BEGIN] = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
		[SLICE_END] = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
		[SLICE_INSTANT] = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT,
		[SLICE_VALUE] = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER,
	};

	perfetto__protos__track_event__init(&d->event);
	d->event.type = types[event->kind];
	d->event.has_type = true;
	d->event.track_uuid = event->track;
	d->event.has_track_uuid = true;
	d->event.counter_value = event->value;
	d->event.has_counter_value = event->kind == SLICE_VALUE;
	d->flow_id = event->flow_id;
	if (event->flow == SLICE_FLOW_BEGINS) {
		d->event.flow_ids = &d->flow_id;
		d->event.n_flow_ids = 1;
	} else if (event->flow == SLICE_FLOW_ENDS) {
		d->event.terminating_flow_ids = &d->flow_id;
		d->event.n_terminating_flow_ids = 1;
	}
}

static int on_event(void *context, const struct slice_event *event)
{
	struct perfetto *p = context;
	struct draft d;
	int r = 0;

	draft_init(&d);
	d.packet.timestamp = event->time;
	d.packet.has_timestamp = true;
	d.packet.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_TRACK_EVENT;
	d.packet.track_event = &d.event;
	set_kind(&d, event);
	/* An END ends the last slice that began on the track. A counter's track has its name. */
	if (event->kind != SLICE_END)
		set_category(p, &d, event->category);
	if (event->kind == SLICE_BEGIN || event->kind == SLICE_INSTANT)
		r = set_name(p, &d, event->name, event->name_bytes);
	for (unsigned int i = 0; i < event->n_notes && !r; i++)
		r = set_note(p, &d, &event->notes[i]);
	r = r ? r : put_packet(p, &d);
	draft_deinit(&d);
	return r;
}

static int on_track(void *context, const struct slice_track *track)
{
	struct perfetto *p = context;
	Perfetto__Protos__TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;
	struct draft d;
	int r;

	draft_init(&d);
	d.own_name = copy(track->name, track->name_bytes);
	d.own_text = copy(track->name, track->scale_bytes);
	d.packet.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	d.packet.track_descriptor = &descriptor;
	descriptor.uuid = track->track;
	descriptor.has_uuid = true;
	descriptor.name = d.own_name;
	if (track->kind == TRACK_PROCESS) {
		process.pid = p->first_pid + (int32_t)track->stream;
		process.has_pid = true;
		process.process_name = d.own_name;
		descriptor.process = &process;
	} else {
		descriptor.parent_uuid = track->process;
		descriptor.has_parent_uuid = true;
		descriptor.sibling_merge_behavior =
			PERFETTO__PROTOS__TRACK_DESCRIPTOR__SIBLING_MERGE_BEHAVIOR__SIBLING_MERGE_BEHAVIOR_NONE;
		descriptor.has_sibling_merge_behavior = true;
	}
	if (track->kind == TRACK_COUNTER) {
		counter.y_axis_share_key = d.own_text;
		descriptor.counter = &counter;
	}
	r = d.own_name && d.own_text ? put_packet(p, &d) : -ENOMEM;
	draft_deinit(&d);
	return r;
}

int perfetto_clocks(struct perfetto *p, uint64_t monotonic, uint64_t realtime)
{
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	Perfetto__Protos__ClockSnapshot__Clock clocks[2] = {
		PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT,
		PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT,
	};
	Perfetto__Protos__ClockSnapshot__Clock *list[2] = {&clocks[0], &clocks[1]};
	struct draft d;

	clocks[0].clock_id = CLOCK_MONOTONIC_;
	clocks[0].timestamp = monotonic;
	clocks[1].clock_id = CLOCK_REALTIME_;
	clocks[1].timestamp = realtime;
	clocks[0].has_clock_id = clocks[1].has_clock_id = true;
	clocks[0].has_timestamp = clocks[1].has_timestamp = true;
	snapshot.clocks = list;
	snapshot.n_clocks = 2;
	snapshot.primary_trace_clock = CLOCK_MONOTONIC_;
	snapshot.has_primary_trace_clock = true;
	draft_init(&d);
	d.packet.timestamp = monotonic;
	d.packet.has_timestamp = true;
	d.packet.data_case = PERFETTO__PROTOS__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	d.packet.clock_snapshot = &snapshot;
	return put_packet(p, &d);
}

void perfetto_init(struct perfetto *p, struct writer *out, int32_t first_pid)
{
	*p = (struct perfetto){.out = out, .first_pid = first_pid};
	p->ops = (struct slice_ops){.track = on_track, .event = on_event, .context = p};
	texts_init(&p->names, NAMES_MAX, NAME_TEXTS_MAX);
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
	slices_init(&x->slices, &x->perfetto.ops, job->trace);
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
