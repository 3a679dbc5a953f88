/*
 * Loader of streams.
 *
 * Invariant: a stream's input exists until the stream has ended and all its events are in the
 * model. Its counts stay until the loader is freed.
 */
#include "loader.h"

#include <stdlib.h>

#include "grow.h"

#define BATCH 256u /* number of events that are added together: so many fit the first-level cache */

#define LARGE	     ((uint64_t)1 << 40) /* hints of more bytes are ignored */
#define ESTIMATE_MIN ((uint64_t)1 << 19)

struct loader_stream {
	struct input *in;
	struct loader_counts counts;
	uint64_t lost; /* number of missing packets that the model was told */
	uint32_t guest;
	bool shared;	  /* the stream shares its guest with another stream, and is held until the end */
	uint32_t next, n; /* when merging: position in EVENTS, and number of events there */
	struct mprof_event *events;
};

struct damage_entry {
	struct mprof_damage damage;
	uint32_t stream;
};

struct loader {
	struct mprof_model *model;
	struct grow streams; /* struct loader_stream */
	struct grow damages;
	uint64_t expected; /* sum of the hints of all streams, bytes */
	uint64_t came;
	uint64_t next_estimate; /* number of bytes after which to estimate the model's size again */
	struct mprof_event events[BATCH];
};

struct loader *loader_new(const struct mprof_model_options *options)
{
	struct loader *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->model = mprof_model_new(options);
	return l->model ? l : loader_free(l);
}

static struct loader_stream *stream_at(const struct loader *l, uint32_t i)
{
	return (struct loader_stream *)l->streams.items + i;
}

static void stream_close(struct loader_stream *s)
{
	s->in = input_free(s->in);
	free(s->events);
	s->events = NULL;
}

struct loader *loader_free(struct loader *l)
{
	if (!l)
		return NULL;
	for (uint32_t i = 0; i < l->streams.n; i++)
		stream_close(stream_at(l, i));
	grow_deinit(&l->streams);
	grow_deinit(&l->damages);
	mprof_model_free(l->model);
	free(l);
	return NULL;
}

/*
 * Return true when another stream has the guest GUEST. Then hold both: no byte of either is decoded
 * yet.
 */
static bool share(const struct loader *l, uint32_t guest)
{
	bool shared = false;

	for (uint32_t i = 0; i < l->streams.n; i++)
		if (stream_at(l, i)->guest == guest) {
			shared = true;
			stream_at(l, i)->shared = true;
			input_hold(stream_at(l, i)->in);
		}
	return shared;
}

uint32_t loader_stream(struct loader *l, const struct mprof_model_source *source, enum input_kind kind)
{
	struct loader_stream *a;
	uint32_t stream;

	if (!grow_reserve(&l->streams, sizeof(*a), 1))
		return MPROF_NONE;
	a = (struct loader_stream *)l->streams.items + l->streams.n;
	*a = (struct loader_stream){.guest = source->guest, .shared = share(l, source->guest)};
	a->in = input_new(a->shared ? INPUT_HELD : kind);
	if (!a->in || mprof_model_stream(l->model, source, &stream) != MPROF_OK) {
		stream_close(a);
		return MPROF_NONE;
	}
	return l->streams.n++;
}

void loader_expect(struct loader *l, uint32_t stream, uint64_t bytes)
{
	input_expect(stream_at(l, stream)->in, bytes);
	if (bytes < LARGE - l->expected)
		l->expected += bytes;
	l->next_estimate = l->expected / 64;
}

uint8_t *loader_room(struct loader *l, uint32_t stream, size_t n)
{
	return input_room(stream_at(l, stream)->in, n);
}

/*
 * Keep the last damage of STREAM, and add a gap to the model, unless the damage is a bad line of a
 * log.
 */
static enum mprof_status on_damage(struct loader *l, uint32_t stream)
{
	struct loader_stream *a = stream_at(l, stream);
	const struct mprof_damage *damage = input_damage(a->in);
	struct damage_entry *entry = l->damages.n < LOADER_DAMAGES_MAX ? grow_add(&l->damages, sizeof(*entry)) : NULL;

	if (entry)
		*entry = (struct damage_entry){.damage = *damage, .stream = stream};
	a->counts.damages++;
	a->counts.skipped += damage->skipped;
	return damage->reason == MPROF_DAMAGE_LINE ? MPROF_OK : mprof_model_gap(l->model, stream, 0);
}

static enum mprof_status add(struct loader *l, uint32_t stream, const struct mprof_event *events, size_t n)
{
	uint64_t *by_type = stream_at(l, stream)->counts.events_by_type;
	uint16_t packet;
	size_t added;

	if (input_packet(stream_at(l, stream)->in, &packet))
		mprof_model_packet(l->model, stream, packet);
	if (mprof_model_add_batch(l->model, stream, events, n, &added) != MPROF_OK)
		return MPROF_NOMEM;
	for (size_t i = 0; i < n; i++)
		by_type[events[i].raw.id] += mprof_event_is_program(&events[i].raw);
	return MPROF_OK;
}

/* Add a gap for the packets that are missing before the events just decoded. */
static enum mprof_status add_gap(struct loader *l, uint32_t stream)
{
	struct loader_stream *a = stream_at(l, stream);
	uint64_t lost = input_totals(a->in)->lost_packets, packets = lost - a->lost;

	a->lost = lost;
	return packets ? mprof_model_gap(l->model, stream, packets) : MPROF_OK;
}

/*
 * Store the next events of STREAM in EVENTS, and handle damage before them. Return their number.
 * When there are none, return 0, with *STATUS MPROF_MORE, MPROF_END or MPROF_NOMEM.
 */
static uint32_t next(struct loader *l, uint32_t stream, struct mprof_event *events, enum mprof_status *status)
{
	uint32_t n;

	do {
		n = (uint32_t)input_next(stream_at(l, stream)->in, events, BATCH, status);
		if (!n && *status == MPROF_CORRUPT && on_damage(l, stream) != MPROF_OK)
			*status = MPROF_NOMEM;
	} while (!n && *status == MPROF_CORRUPT);
	return n;
}

/* Add to the model all events of STREAM that can be decoded now. */
static enum mprof_status drain(struct loader *l, uint32_t stream)
{
	enum mprof_status status = MPROF_OK;
	uint32_t n;

	while ((n = next(l, stream, l->events, &status)))
		if (add_gap(l, stream) != MPROF_OK || add(l, stream, l->events, n) != MPROF_OK)
			return MPROF_NOMEM;
	return status == MPROF_NOMEM ? MPROF_NOMEM : MPROF_OK;
}

/*
 * Reserve the model's arrays for all events, as estimated from the share of the bytes loaded so
 * far. This avoids copying and fragmentation.
 */
static void expect_rest(struct loader *l)
{
	uint64_t last = l->expected - l->expected / 4;

	if (l->came < l->next_estimate || l->came >= l->expected || l->came < ESTIMATE_MIN)
		return;
	mprof_model_expect(l->model, (double)l->came / (double)l->expected);
	l->next_estimate = l->came >= last ? UINT64_MAX : l->came * 4 < last ? l->came * 4 : last;
}

enum mprof_status loader_came(struct loader *l, uint32_t stream, size_t n)
{
	struct loader_stream *a = stream_at(l, stream);
	enum mprof_status status;

	input_came(a->in, n);
	l->came += n;
	if (input_wrapped(a->in))
		return MPROF_CORRUPT;
	if (a->shared)
		return MPROF_OK;
	status = drain(l, stream);
	expect_rest(l);
	return status;
}

static void count(struct loader_stream *s)
{
	const struct mprof_totals *totals = input_totals(s->in);

	s->counts.bytes = input_bytes(s->in);
	s->counts.packets = totals->packets;
	s->counts.lost_packets = totals->lost_packets;
	s->counts.unknown_texts = totals->unknown_texts;
	s->counts.skipped_extras = totals->skipped_extras;
	s->counts.unproven = totals->unproven;
	s->counts.steps = totals->steps;
	s->counts.step_at = totals->step_at;
	s->counts.step_ns = totals->step_ns;
}

static enum mprof_status finish_stream(struct loader *l, uint32_t stream, enum mprof_status status)
{
	struct loader_stream *a = stream_at(l, stream);

	if (status != MPROF_OK)
		return status;
	status = add_gap(l, stream); /* packets that are missing after the last event */
	count(a);
	stream_close(a);
	return status;
}

enum mprof_status loader_end(struct loader *l, uint32_t stream)
{
	struct loader_stream *a = stream_at(l, stream);

	input_end(a->in);
	return a->shared ? MPROF_OK : finish_stream(l, stream, drain(l, stream));
}

static uint64_t head(const struct loader_stream *s)
{
	return s->events[s->next].raw.timestamp;
}

/* Decode the next events of stream I, which is being merged. At its end, close it. */
static enum mprof_status refill(struct loader *l, uint32_t i)
{
	struct loader_stream *a = stream_at(l, i);
	enum mprof_status status = MPROF_OK;

	if (!a->events)
		a->events = malloc(BATCH * sizeof(*a->events));
	if (!a->events)
		return MPROF_NOMEM;
	a->next = 0;
	a->n = next(l, i, a->events, &status);
	if (a->n)
		return add_gap(l, i);
	return finish_stream(l, i, status == MPROF_NOMEM ? status : MPROF_OK);
}

/*
 * Return the stream whose next event is the oldest, and store in *ELSEWHERE the time of the oldest
 * next event of the other streams.
 */
static uint32_t oldest(const struct loader *l, uint64_t *elsewhere)
{
	uint32_t best = MPROF_NONE;

	*elsewhere = UINT64_MAX;
	for (uint32_t i = 0; i < l->streams.n; i++) {
		const struct loader_stream *a = stream_at(l, i);

		if (!a->shared || !a->n)
			continue;
		if (best == MPROF_NONE || head(a) < head(stream_at(l, best))) {
			*elsewhere = best == MPROF_NONE ? *elsewhere : head(stream_at(l, best));
			best = i;
		} else if (head(a) < *elsewhere) {
			*elsewhere = head(a);
		}
	}
	return best;
}

static enum mprof_status advance(struct loader *l, uint32_t i, uint64_t elsewhere)
{
	struct loader_stream *a = stream_at(l, i);
	uint32_t from = a->next;
	enum mprof_status status;

	do
		a->next++;
	while (a->next < a->n && head(a) <= elsewhere);
	status = add(l, i, a->events + from, a->next - from);
	return status == MPROF_OK && a->next == a->n ? refill(l, i) : status;
}

enum mprof_status loader_finish(struct loader *l)
{
	enum mprof_status status = MPROF_OK;
	uint64_t elsewhere;
	uint32_t i;

	for (i = 0; i < l->streams.n && status == MPROF_OK; i++)
		if (stream_at(l, i)->shared && stream_at(l, i)->in)
			status = refill(l, i);
	while (status == MPROF_OK && (i = oldest(l, &elsewhere)) != MPROF_NONE)
		status = advance(l, i, elsewhere);
	return status == MPROF_OK ? mprof_model_finish(l->model) : status;
}

struct mprof_model *loader_model(const struct loader *l)
{
	return l->model;
}

void loader_counts(const struct loader *l, uint32_t stream, struct loader_counts *counts)
{
	*counts = stream_at(l, stream)->counts;
}

const struct mprof_damage *loader_damage(const struct loader *l, uint32_t i, uint32_t *stream)
{
	const struct damage_entry *damage_entry = l->damages.items;

	if (i >= l->damages.n)
		return NULL;
	*stream = damage_entry[i].stream;
	return &damage_entry[i].damage;
}
