/*
 * One run of a guest: what its ring hands over becomes items of the queue; what its policy and captures ask for becomes looks.
 */
#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ring.h>

#include "log.h"
#include "text.h"

#define FULL_NS	      (5 * NS_PER_MS)	/* the queue was full: how soon to come again */
#define SKIP_NS	      (250 * NS_PER_MS) /* a ring of which only snapshots are wanted */
#define CAPTURE_NS    (10 * NS_PER_S)	/* a capture that finds no room for so long is cut */
#define GAP_NS	      NS_PER_S		/* a gap is queued at the latest after this */
#define GAPS_IN_QUEUE 4096u

static struct guest *guest_of(struct ring_sink *sink)
{
	return (struct guest *)((char *)sink - offsetof(struct guest, sink));
}

/* ---- the sink --------------------------------------------------------------------------------------------------- */

static void gap_queue(struct guest *guest)
{
	if (guest->gap)
		queue_push(guest->shared->queue, guest->gap);
	guest->gap = NULL;
}

static uint8_t *sink_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct guest *guest = guest_of(sink);

	/* One byte more, so that also an empty chunk is an item with data: those are refused when there is no room. */
	guest->reserved = queue_item(guest->shared->queue, guest->account, tail ? ITEM_TAIL : ITEM_CHUNK, n + 1, tail);
	if (!guest->reserved) {
		guest->starved = true;
		guest->disk = guest->disk || !guest->shared->archiving;
		guest->shared->counters.queue_full++;
		return NULL;
	}
	return guest->reserved->data;
}

static void sink_drop(struct ring_sink *sink)
{
	struct guest *guest = guest_of(sink);

	guest->shared->counters.dropped_copies++;
	queue_item_free(guest->shared->queue, TAKE_PTR(guest->reserved));
}

static int stream_queue(struct guest *guest)
{
	struct item *item = queue_item(guest->shared->queue, guest->account, ITEM_STREAM, 0, false);

	if (!item)
		return -ENOMEM;
	item->record = (struct archive_stream){
		.id = guest->stream,
		.run = guest->run,
		.ring_bytes = guest->ring.bytes,
		.ring_packets = guest->ring.n,
		.flags = guest->flags,
	};
	queue_push(guest->shared->queue, item);
	return 0;
}

/* What a chunk shows of its stream's state is said once. */
static void note_flags(struct guest *guest, const struct ring_chunk *chunk)
{
	uint32_t flags = guest->flags;

	if (guest->ring.several_writers)
		flags |= ARCHIVE_STREAM_WRITERS;
	if (chunk->clock)
		flags |= ARCHIVE_STREAM_CLOCK;
	if (flags == guest->flags)
		return;
	if (flags & ~guest->flags & ARCHIVE_STREAM_WRITERS)
		log_write(LOG_LEVEL_WARNING, guest->name,
			  "%s: several writers share the ring; nothing in it can be proven", guest->name);
	guest->flags = flags;
	stream_queue(guest);
}

static void sink_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct guest *guest = guest_of(sink);
	struct item *item = TAKE_PTR(guest->reserved);

	gap_queue(guest);
	note_flags(guest, chunk);
	item->stream = guest->stream;
	item->piece.capture = guest->capture.id;
	item->piece.chunk = *chunk;
	item->urgent = chunk->tail;
	guest->shared->counters.bytes += chunk->length;
	queue_push(guest->shared->queue, item);
}

static const char *gap_reason(const struct guest *guest, const struct ring_gap *gap)
{
	switch (gap->reason) {
	case RING_GAP_DAMAGED:
		return "damaged";
	case RING_GAP_POLICY:
		return "policy";
	case RING_GAP_RESTART:
		return "restart";
	case RING_GAP_LAPPED:
		break;
	}
	if (!guest->starved)
		return "lapped";
	/* Such a gap is often declared when there is room again: what counts is why there was none. */
	return guest->disk ? "disk" : "queue";
}

/* Make GAP part of the one that waits, if it goes on where that one ends. */
static bool gap_join(struct guest *guest, const struct ring_gap *gap, const char *kind)
{
	struct archive_gap *waiting = guest->gap ? &guest->gap->gap : NULL;

	if (!waiting || waiting->next_sequence != gap->after_sequence ||
	    gap->after_offset > MPROF_PACKET_HEADER_BYTES || strcmp(waiting->kind, kind) != 0)
		return false;
	waiting->next_sequence = gap->next_sequence;
	waiting->packets += gap->packets;
	waiting->at_least = waiting->at_least || gap->at_least;
	return true;
}

static bool sink_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct guest *guest = guest_of(sink);
	const char *kind = gap->reason == RING_GAP_POLICY ? "skipped" : "lost";
	struct item *item;

	if (!gap_join(guest, gap, kind)) {
		gap_queue(guest);
		/* Data is refused when there is no room, and so are floods of gaps. */
		if (guest->account->bytes > GAPS_IN_QUEUE * sizeof(*item) && guest->starved)
			return false;
		item = queue_item(guest->shared->queue, guest->account, ITEM_GAP, 0, false);
		if (!item)
			return false;
		item->stream = guest->stream;
		item->gap = (struct archive_gap){
			.stream = guest->stream,
			.kind = kind,
			.reason = gap_reason(guest, gap),
			.after_sequence = gap->after_sequence,
			.after_offset = gap->after_offset,
			.next_sequence = gap->next_sequence,
			.packets = gap->packets,
			.at_least = gap->at_least,
			.real = gap->found.real,
			.mono = gap->found.mono,
		};
		item->queued = gap->found.mono;
		guest->gap = item;
		guest->shared->counters.gaps++;
	}
	if (gap->reason == RING_GAP_POLICY)
		guest->shared->counters.skipped_packets += gap->packets;
	else
		guest->shared->counters.lost_packets += gap->packets;
	return true;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

int guest_init(struct guest *guest, struct guest_shared *shared, const char *source, const char *name, const char *key)
{
	*guest = (struct guest){
		.shared = shared,
		.name = text_printable(name),
		.key = strdup(key),
		.source = source,
		.account = account_new(),
		.sink = {.reserve = sink_reserve, .chunk = sink_chunk, .drop = sink_drop, .gap = sink_gap},
	};
	if (!guest->name || !guest->key || !guest->account) {
		guest_deinit(guest);
		return -ENOMEM;
	}
	guest->policy = config_policy(shared->config, guest->name);
	return 0;
}

void guest_deinit(struct guest *guest)
{
	if (!guest->shared)
		return;
	gap_queue(guest);
	guest_detach(guest);
	free(guest->name);
	free(guest->key);
	if (guest->account)
		account_release(guest->shared->queue, guest->account);
	*guest = (struct guest){0};
}

int guest_attach(struct guest *guest, const struct memory *memory, uint64_t bytes, const struct archive_resume *resume,
		 bool dead, const char **fault)
{
	struct ring_resume at = {0};
	int r;

	if (resume && resume->any)
		at = (struct ring_resume){
			.sequence = resume->sequence,
			.offset = resume->offset,
			.last_sequence = resume->last_sequence,
			.first_timestamp = resume->first_timestamp,
			.last_real = resume->last_real,
		};
	r = ring_attach(&guest->ring, memory, bytes, resume && resume->any ? &at : NULL, dead, fault);
	if (r)
		return r;
	guest->run = resume ? resume->run : ++guest->shared->last_run;
	/* A kill may have come between a run and its stream. */
	guest->stream = resume && resume->stream ? resume->stream : ++guest->shared->last_stream;
	guest->began_real = clock_real();
	guest->attached = true;
	guest->cadence = (struct cadence){0};
	if (guest->policy.mode != POLICY_CONTINUOUS)
		ring_skip(&guest->ring);
	return 0;
}

void guest_detach(struct guest *guest)
{
	if (guest->attached)
		ring_detach(&guest->ring);
	guest->attached = false;
}

static int text_copy(const char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

/* Queue a copy of RUN, with texts of its own. */
static int run_queue(struct guest_shared *shared, struct account *account, const struct archive_run *run)
{
	struct item *item = queue_item(shared->queue, account, ITEM_RUN, 0, false);

	if (!item)
		return -ENOMEM;
	item->run = *run;
	item->run.source = item->run.key = item->run.name = item->run.uuid = item->run.state = item->run.reason = NULL;
	item->urgent = true;
	if (text_copy(&item->run.source, run->source) || text_copy(&item->run.key, run->key) ||
	    text_copy(&item->run.name, run->name) || text_copy(&item->run.uuid, run->uuid) ||
	    text_copy(&item->run.state, run->state) || text_copy(&item->run.reason, run->reason)) {
		queue_item_free(shared->queue, item);
		return -ENOMEM;
	}
	queue_push(shared->queue, item);
	return 0;
}

int guest_was(struct guest_shared *shared, const struct archive_resume *resume)
{
	const struct archive_run run = {
		.id = resume->run,
		.domid = -1,
		.source = resume->source,
		.key = resume->key,
		.name = resume->name,
		.state = "ended",
		.reason = "ended",
		.ended_real = resume->any ? resume->last_real : clock_real(),
	};

	return run_queue(shared, NULL, &run);
}

int guest_set_running(struct guest *guest, bool running, const char *reason)
{
	const struct archive_run run = {
		.id = guest->run,
		.domid = -1,
		.source = guest->source,
		.key = guest->key,
		.name = guest->name,
		.state = running ? "running" : "ended",
		.reason = running ? NULL : reason,
		.began_real = guest->began_real,
		.ended_real = running ? 0 : clock_real(),
	};
	int r;

	gap_queue(guest);
	r = run_queue(guest->shared, guest->account, &run);
	if (r)
		return r;
	guest->running = running;
	return guest->attached && running ? stream_queue(guest) : 0;
}

/* ---- captures ----------------------------------------------------------------------------------------------------- */

int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead)
{
	struct moment now = moment_now();
	struct item *item;

	if (!guest->attached || guest->capture.id)
		return 0;
	item = queue_item(guest->shared->queue, guest->account, ITEM_CAPTURE, 0, false);
	if (!item)
		return -ENOMEM;
	item->capture = (struct archive_capture){
		.id = guest->shared->last_capture + 1,
		.run = guest->run,
		.kind = kind,
		.real = now.real,
		.mono = now.mono,
	};
	if (text_copy(&item->capture.note, note)) {
		queue_item_free(guest->shared->queue, item);
		return -ENOMEM;
	}
	guest->capture = (struct guest_capture){
		.id = ++guest->shared->last_capture,
		.dead = dead,
		.give_up = now.mono + CAPTURE_NS,
	};
	guest->shared->counters.captures++;
	queue_push(guest->shared->queue, item);
	return guest->capture.id;
}

bool guest_capture_done(const struct guest *guest)
{
	return guest->capture.id == 0;
}

static int range_queue(struct guest *guest)
{
	struct item *item = queue_item(guest->shared->queue, guest->account, ITEM_RANGE, 0, false);
	uint64_t oldest = ring_oldest(&guest->ring);

	if (!item)
		return -ENOMEM;
	item->range = (struct archive_capture_stream){
		.capture = guest->capture.id,
		.stream = guest->stream,
		.first_sequence = oldest < guest->ring.sequence ? oldest : guest->ring.sequence,
		.last_sequence = guest->ring.sequence,
		.last_offset = guest->ring.offset,
	};
	queue_push(guest->shared->queue, item);
	return 0;
}

/* Go on with the capture that is under way. */
static int capture_step(struct guest *guest, uint64_t now)
{
	struct guest_capture *capture = &guest->capture;
	int r;

	if (!capture->begun) {
		r = ring_seek(&guest->ring, &guest->sink, capture->dead);
		if (r == 0)
			r = ring_look(&guest->ring, &guest->sink);
		if (r == RING_E_FULL && now < capture->give_up)
			return r;
		if (r != 0 && r != RING_E_FULL && !capture->dead)
			return r;
		r = range_queue(guest);
		if (r)
			return r;
		capture->begun = true;
	}
	r = ring_capture(&guest->ring, &guest->sink, capture->dead, &capture->at);
	if (r == RING_E_FULL && now < capture->give_up)
		return r;
	if (r == RING_E_FULL)
		log_write(LOG_LEVEL_WARNING, guest->name, "%s: the end of capture %lld found no room and is left out",
			  guest->name, (long long)capture->id);
	*capture = (struct guest_capture){0};
	gap_queue(guest);
	if (guest->policy.mode != POLICY_CONTINUOUS)
		ring_skip(&guest->ring);
	queue_hurry(guest->shared->queue);
	return r == RING_E_FULL ? 0 : r;
}

/* ---- looks ---------------------------------------------------------------------------------------------------------- */

/* Begin the snapshot of a guest of policy `periodic` when it is due. */
static void period(struct guest *guest, uint64_t now)
{
	if (guest->policy.mode != POLICY_PERIODIC || guest->capture.id || now < guest->next_period)
		return;
	if (guest->next_period && guest->running)
		guest_capture_begin(guest, "periodic", NULL, false);
	guest->next_period = now + guest->policy.interval_ns;
}

int guest_look(struct guest *guest, uint64_t now, uint64_t *next)
{
	struct ring *ring = &guest->ring;
	uint64_t cost, mean;
	int r;

	period(guest, now);
	r = guest->capture.id ? capture_step(guest, now) : ring_look(ring, &guest->sink);
	cost = clock_mono() - now;
	guest->shared->counters.looks++;
	if (guest->gap && now - guest->gap->queued > GAP_NS)
		gap_queue(guest);
	if (r == 0)
		guest->starved = guest->disk = false;
	mean = ring->n ? ring->bytes / ring->n : ring->bytes;
	*next = cadence_next(&guest->cadence, &guest->shared->budget, ring->bytes, mean, ring->written,
			     ring_pending(ring), now, cost);
	if (guest->capture.id)
		*next = now + FULL_NS;
	else if (r == RING_E_FULL)
		*next = now + FULL_NS;
	else if (ring->skipping && *next < now + SKIP_NS)
		*next = now + SKIP_NS;
	if (guest->policy.mode == POLICY_PERIODIC && guest->next_period < *next)
		*next = guest->next_period;
	return r;
}
