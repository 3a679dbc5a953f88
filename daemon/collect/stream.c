/*
 * Turn the bytes of a ring into items of the queue, and poll the ring as its guest's policy and
 * captures need it.
 *
 * The items of a stream are queued in this order: the stream's record, then chunks and gaps in the
 * order in which the ring handed them over. The items of a capture are its tails, and last its
 * range. So if the archive has a capture's range, it has all bytes of the stream in that capture.
 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ring.h>

#include "guest.h"
#include "log.h"
#include "printable.h"
#include "stream-stamp.h"

#define FULL_NS	      (5 * NS_PER_MS)	/* time to the next poll if the queue was full */
#define SKIP_NS	      (250 * NS_PER_MS) /* time between polls of a ring of which only snapshots are taken */
#define GAP_NS	      NS_PER_S		/* a gap is queued after this time even if no bytes follow it */
#define GAPS_IN_QUEUE 4096u

static struct stream *stream_of(struct ring_sink *sink)
{
	return (struct stream *)((char *)sink - offsetof(struct stream, sink));
}

static struct item *stream_item(const struct stream *stream, enum item_kind kind, size_t n, bool dead)
{
	struct item *item = queue_item(stream->guest->shared->queue, stream->guest->account, kind, n, dead);

	if (item)
		item->stream = stream->id;
	return item;
}

/* ---- the sink -------------------------------------------------------------------------------- */

void stream_flush(struct stream *stream)
{
	if (stream->gap)
		queue_push(stream->guest->shared->queue, stream->gap);
	stream->gap = NULL;
}

static bool is_dead(const struct stream *stream)
{
	return stream->capture.wanted && stream->guest->capture.dead;
}

/*
 * Note that the queue had no room for STREAM, or evicted its items. The next gap of STREAM then has
 * that as its reason.
 */
static void starve(struct stream *stream)
{
	stream->starved = true;
	stream->disk = stream->disk || !stream->guest->shared->archiving;
	if (is_dead(stream))
		queue_hurry(stream->guest->shared->queue);
}

/*
 * For N bytes of the dead stream DEAD: evict items of a living guest, and move the cursor of that
 * guest's ring back. Return false if no eviction would make enough room.
 */
static bool evict(struct stream *dead, size_t n)
{
	struct guest_shared *shared = dead->guest->shared;
	struct evicted evicted;
	struct stream *stream;

	if (!queue_evict(shared->queue, dead->guest->account, n, &evicted))
		return false;
	stream = evicted.owner;
	if (stream->gap) {
		evicted.packets += stream->gap->gap.packets;
		evicted.gaps++;
		evicted.at_least = evicted.at_least || stream->gap->gap.at_least;
		queue_item_free(shared->queue, TAKE_PTR(stream->gap));
	}
	stream->recount.packets += evicted.packets;
	stream->recount.gaps += evicted.gaps;
	shared->counters.evicted_bytes += evicted.bytes;
	starve(stream);
	ring_rewind(&stream->ring, &evicted.to, evicted.at_least);
	return true;
}

/*
 * Put ITEM into the stream's lane, so that it can be evicted. STAYS: the item belongs to a capture,
 * so neither it nor any item before it may be evicted.
 */
static void lane_place(struct stream *stream, struct item *item, bool stays)
{
	if (stays) {
		lane_seal(stream->guest->shared->queue, stream->lane);
		return;
	}
	item->lane = stream->lane;
	item->from = stream->ring.cursor;
}

static struct item *piece_item(struct stream *stream, size_t n, bool tail)
{
	const struct guest *guest = stream->guest;
	enum item_kind kind = tail ? ITEM_TAIL : ITEM_CHUNK;
	bool dead = is_dead(stream);
	struct item *item;

	if (dead && stream->capture.floor &&
	    queue_room(guest->shared->queue, guest->account, true) < stream->capture.floor + sizeof(*item) + n)
		return NULL;
	do
		item = stream_item(stream, kind, n, dead);
	while (!item && dead && evict(stream, n));
	return item;
}

static uint8_t *sink_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct stream *stream = stream_of(sink);

	/*
	 * Ask for one byte more than N: an item without data always finds room, and even an empty
	 * chunk must be refused when there is none.
	 */
	stream->reserved = piece_item(stream, n + 1, tail);
	if (!stream->reserved) {
		starve(stream);
		stream->guest->shared->counters.queue_full++;
		return NULL;
	}
	return stream->reserved->data;
}

static void sink_drop(struct ring_sink *sink)
{
	struct stream *stream = stream_of(sink);

	stream->guest->shared->counters.dropped_copies++;
	queue_item_free(stream->guest->shared->queue, TAKE_PTR(stream->reserved));
}

static int record_queue(struct stream *stream)
{
	struct item *item = stream_item(stream, ITEM_STREAM, 0, false);

	if (!item)
		return -ENOMEM;
	item->record = (struct archive_stream){
		.id = stream->id,
		.run = stream->guest->run,
		.number = stream->number,
		.name = stream->label,
		.ring_bytes = stream->ring.bytes,
		.ring_packets = stream->ring.n,
		.flags = stream->flags,
		.has_begins = stream->has_begins,
		.begins = stream->begins,
	};
	item->texts = texts_copy((const char **[]){&item->record.name}, 1);
	if (!item->texts) {
		queue_item_free(stream->guest->shared->queue, item);
		return -ENOMEM;
	}
	queue_push(stream->guest->shared->queue, item);
	return 0;
}

/* If CHUNK or the ring changes the stream's flags, queue the stream's record again. */
static void note_flags(struct stream *stream, const struct ring_chunk *chunk)
{
	const char *name = stream->guest->name;
	uint32_t flags = stream->flags;

	if (stream->ring.proof.several_writers)
		flags |= ARCHIVE_STREAM_WRITERS;
	if (chunk->clock)
		flags |= ARCHIVE_STREAM_CLOCK;
	if (flags == stream->flags)
		return;
	if (flags & ~stream->flags & ARCHIVE_STREAM_WRITERS)
		log_write(LOG_LEVEL_WARNING, name, "several writers share the ring; nothing in it can be proven");
	stream->flags = flags;
	record_queue(stream);
}

static void sink_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct stream *stream = stream_of(sink);
	struct item *item = TAKE_PTR(stream->reserved);

	stream_flush(stream);
	note_flags(stream, chunk);
	stream_stamp_chunk(stream, chunk, item->data);
	item->piece.capture = stream->guest->capture.id;
	item->piece.chunk = *chunk;
	if (!chunk->tail)
		lane_place(stream, item, stream->capture.wanted);
	stream->guest->shared->counters.bytes += chunk->length;
	queue_push(stream->guest->shared->queue, item);
}

static const char *gap_reason(const struct stream *stream, const struct ring_gap *gap)
{
	switch (gap->reason) {
	case RING_GAP_DAMAGED:
		return "writer"; /* the archive's own `damaged` says that it had the bytes */
	case RING_GAP_POLICY:
		return "policy";
	case RING_GAP_RESTART:
		return "restart";
	case RING_GAP_LAPPED:
		break;
	}
	if (!stream->starved)
		return "lapped";
	/*
	 * The gap is often declared only when there is room again. Its reason is why there was no
	 * room.
	 */
	return stream->disk ? "disk" : "queue";
}

/*
 * If GAP follows the pending gap directly and has the same KIND, add it to the pending gap and
 * return true.
 */
static bool gap_join(struct stream *stream, const struct ring_gap *gap, const char *kind)
{
	struct archive_gap *waiting = stream->gap ? &stream->gap->gap : NULL;

	if (!waiting || waiting->next_sequence != gap->after_sequence ||
	    gap->after_offset > MPROF_PACKET_HEADER_BYTES || strcmp(waiting->kind, kind) != 0)
		return false;
	waiting->next_sequence = gap->next_sequence;
	waiting->packets += gap->packets;
	waiting->at_least = waiting->at_least || gap->at_least;
	return true;
}

static struct item *gap_item(const struct stream *stream, const struct ring_gap *gap, const char *kind)
{
	struct item *item;

	/*
	 * Refuse a gap if the stream has no room and very many gaps are queued already: a later
	 * poll declares it again. Do not refuse a gap of a dead guest, or while the
	 * ring owes bytes after a rewind (struct ring_debt), because nothing would declare it later.
	 */
	if (stream->starved && !is_dead(stream) && !ring_owes(&stream->ring) &&
	    account_bytes(stream->guest->shared->queue, stream->guest->account) > GAPS_IN_QUEUE * sizeof(*item))
		return NULL;
	item = stream_item(stream, ITEM_GAP, 0, false);
	if (!item)
		return NULL;
	item->gap = (struct archive_gap){
		.stream = stream->id,
		.kind = kind,
		.reason = gap_reason(stream, gap),
		.after_sequence = gap->after_sequence,
		.after_offset = gap->after_offset,
		.next_sequence = gap->next_sequence,
		.packets = gap->packets,
		.at_least = gap->at_least,
		.real = gap->found.real,
		.mono = gap->found.mono,
	};
	item->queued = gap->found.mono;
	item->soon = true;
	return item;
}

/*
 * Count a gap of PACKETS, but not the gaps and packets that were counted before their gap was
 * evicted. LOST: they are lost, not skipped. JOINED: the gap was joined to the pending one. After an
 * eviction the ring may still have a packet that was counted as lost: stream_detach() counts such
 * packets as recovered.
 */
static void gap_count(struct stream *stream, uint64_t packets, bool lost, bool joined)
{
	struct guest_shared *shared = stream->guest->shared;
	uint64_t again = packets < stream->recount.packets ? packets : stream->recount.packets;

	if (!lost) {
		shared->counters.skipped_packets += packets;
	} else {
		stream->recount.packets -= again;
		shared->counters.lost_packets += packets - again;
	}
	if (joined)
		return;
	if (stream->recount.gaps)
		stream->recount.gaps--;
	else
		shared->counters.gaps++;
}

static bool sink_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct stream *stream = stream_of(sink);
	bool lost = gap->reason != RING_GAP_POLICY, joined;
	const char *kind = lost ? "lost" : "skipped";

	joined = gap_join(stream, gap, kind);
	if (!joined) {
		stream_flush(stream);
		stream->gap = gap_item(stream, gap, kind);
		if (!stream->gap) {
			starve(stream); /* the disk may have become full since the last refusal */
			stream->guest->shared->counters.queue_full++;
			return false;
		}
		lane_place(stream, stream->gap, stream->capture.wanted || !lost);
	}
	gap_count(stream, gap->packets, lost, joined);
	return true;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Add to the metrics what RING has counted since BEFORE. */
static void count(struct guest_shared *shared, const struct ring *ring, const struct ring_counters *before)
{
	shared->counters.bad_sizes += ring->counters.bad_sizes - before->bad_sizes;
	shared->counters.unsteady += ring->counters.unsteady - before->unsteady;
}

int stream_attach(struct stream *stream, struct guest *guest, uint32_t number, const char *label,
		  const struct memory *memory, uint64_t bytes, const struct archive_resume *resume, bool dead,
		  const char **fault)
{
	const bool any = resume && resume->any;
	/* mprofd was killed before the first commit of the stream's bytes. */
	const bool unseen = resume && resume->stream && !any && guest->policy.mode == POLICY_CONTINUOUS;
	struct ring_resume at = {0};
	int r;

	*stream = (struct stream){
		.number = number,
		.label = label ? strdup(label) : NULL,
		.sink = {.reserve = sink_reserve, .chunk = sink_chunk, .drop = sink_drop, .gap = sink_gap},
	};
	if (any)
		at = (struct ring_resume){
			.sequence = resume->sequence,
			.offset = resume->offset,
			.last_sequence = resume->last_sequence,
			.first_timestamp = resume->first_timestamp,
			.last_mono = resume->last_mono,
			.last = resume->last,
			.n_last = resume->n_last,
		};
	if (unseen)
		at = (struct ring_resume){.sequence = resume->sequence, .unseen = true, .known = resume->has_begins};
	at.passed = at.known && resume->begins > 0;
	if (unseen && resume->has_begins && at.sequence < resume->begins)
		at.sequence = resume->begins;
	r = label && !stream->label
		    ? -ENOMEM
		    : ring_attach(&stream->ring, memory, bytes, any || unseen ? &at : NULL, dead, fault);
	if (r) {
		free(stream->label);
		*stream = (struct stream){0};
		return r;
	}
	/* RESUME may have a run without this stream, if mprofd was killed between writing both. */
	stream->has_begins = !(resume && resume->stream) && guest->policy.mode == POLICY_CONTINUOUS;
	stream->begins = stream->ring.cursor.sequence;
	stream->id = resume && resume->stream ? resume->stream : ++guest->shared->last_stream;
	count(guest->shared, &stream->ring, &(struct ring_counters){0});
	if (guest->policy.mode != POLICY_CONTINUOUS)
		ring_skip(&stream->ring);
	guest_add(guest, stream);
	/* If memory is short there is no lane, and no item of the stream is evicted. */
	stream->lane = lane_open(guest->shared->queue, guest->account, stream, bytes);
	return 0;
}

/* Declare that at least a part of a packet is lost behind the cursor. */
static void declare_loss(struct stream *stream)
{
	const struct archive_resume end = {
		.stream = stream->id,
		.sequence = stream->ring.cursor.sequence,
		.offset = stream->ring.cursor.offset,
	};

	ring_declare_owed(&stream->ring, &stream->sink);
	stream_flush(stream);
	if (guest_report_loss(stream->guest->shared, &end, "lapped"))
		log_warning("%s: out of memory", stream->guest->name);
}

void stream_declare_unseen(struct stream *stream)
{
	const struct ring *ring = &stream->ring;
	bool any = ring->writer.written || ring->cursor.sequence || ring->cursor.offset > MPROF_PACKET_HEADER_BYTES;

	if (stream->announced && !ring->skipping && any)
		declare_loss(stream);
}

void stream_detach(struct stream *stream)
{
	if (!stream->guest)
		return;
	ring_declare_owed(&stream->ring, &stream->sink);
	stream_flush(stream);
	stream->guest->shared->counters.recovered_packets += stream->recount.packets;
	stream_capture_end(stream);
	stream->lane = lane_close(stream->guest->shared->queue, stream->lane);
	ring_detach(&stream->ring);
	guest_remove(stream->guest, stream);
	free(stream->label);
	*stream = (struct stream){0};
}

int stream_announce(struct stream *stream)
{
	int r = stream->announced ? 0 : record_queue(stream);

	stream->announced = r == 0;
	return r;
}

/* ---- captures -------------------------------------------------------------------------------- */

static int range_queue(struct stream *stream)
{
	struct item *item = stream_item(stream, ITEM_RANGE, 0, false);
	const struct ring *ring = &stream->ring;
	uint64_t oldest = ring_oldest(ring);

	if (!item)
		return -ENOMEM;
	item->range = (struct archive_capture_stream){
		.capture = stream->guest->capture.id,
		.stream = stream->id,
		.first_sequence = oldest < ring->cursor.sequence ? oldest : ring->cursor.sequence,
		.last_sequence = ring->cursor.sequence,
		.last_offset = ring->cursor.offset,
	};
	queue_push(stream->guest->shared->queue, item);
	return 0;
}

void stream_capture_end(struct stream *stream)
{
	if (!stream->capture.wanted)
		return;
	if (stream->capture.begun && !stream->guest->capture.dead)
		range_queue(stream);
	memset(&stream->capture, 0, sizeof(stream->capture));
	stream_flush(stream);
	if (stream->guest->policy.mode != POLICY_CONTINUOUS)
		ring_skip(&stream->ring);
	guest_capture_less(stream->guest);
}

/*
 * For a dead ring whose remaining bytes do not fit into the queue. While the guest's patience
 * lasts, copy the oldest packets as the commit thread makes room, but keep room (capture.floor) for
 * the newest. When its patience is over, or if nothing is archived, declare all packets lost but
 * the newest that fit. Return 0, or as ring_remaining().
 */
static int fit(struct stream *stream, uint64_t now)
{
	const struct guest *guest = stream->guest;
	const uint32_t cost = sizeof(struct item) + 1;
	size_t room = queue_room(guest->shared->queue, guest->account, true) / guest->capture.streams;
	uint64_t left, lost = guest->shared->counters.lost_packets;
	int r = ring_remaining(&stream->ring, &stream->sink, cost, &stream->capture.at, &left);

	if (r)
		return r;
	if (left <= room) {
		stream->capture.floor = 0;
		return 0;
	}
	if (now < guest->capture.give_up && guest->shared->archiving) {
		if (!stream->capture.floor)
			stream->capture.floor = room / 2 + 1;
		return 0;
	}
	stream->capture.floor = 0;
	starve(stream);
	r = ring_keep_newest(&stream->ring, &stream->sink, cost, &stream->capture.at, room);
	if (guest->shared->counters.lost_packets != lost)
		log_write_limited(&guest->shared->cut, LOG_LEVEL_WARNING, guest->name,
				  "there is no room for all of a ring that goes; its newest packets are kept");
	return r;
}

/*
 * Begin the stream's part of a capture: copy the proven bytes. A ring that was skipped is copied
 * from its oldest packet on. Return 0, or as ring_poll() to try again.
 */
static int capture_begin(struct stream *stream, uint64_t now)
{
	const struct guest_capture *capture = &stream->guest->capture;
	int r = ring_seek(&stream->ring, &stream->sink, capture->dead);

	if (r == 0 && capture->dead)
		r = fit(stream, now);
	if (r == 0)
		r = ring_poll(&stream->ring, &stream->sink);
	if (r == RING_E_FULL && now < capture->give_up)
		return r;
	if (r == RING_E_RENEWED || (r != 0 && r != RING_E_FULL && !capture->dead))
		return r;
	stream->capture.cut = capture->dead && r == RING_E_FULL;
	/* The capture includes the items that are queued: they must not be evicted. */
	stream_flush(stream);
	lane_seal(stream->guest->shared->queue, stream->lane);
	stream->capture.begun = true;
	return 0;
}

/*
 * Give up the bytes of the capture for which there was no room. A dead ring's bytes are declared
 * lost. A living guest's bytes are still in the ring for later polls.
 */
static void capture_cut(struct stream *stream)
{
	const struct guest *guest = stream->guest;

	if (guest->capture.dead)
		ring_declare_rest(&stream->ring, &stream->sink, &stream->capture.at);
	log_write_limited(&guest->shared->cut, LOG_LEVEL_WARNING, guest->name,
			  "the end of capture %lld found no room and is left out", (long long)guest->capture.id);
}

/*
 * The ring of a dead guest was initialised again since its last poll. Its bytes are of another ring: end the capture at the cursor. The
 * source declares what was lost behind that, but not if the policy skips the ring: then only the capture misses it. Return RING_E_RENEWED.
 */
static int capture_renewed(struct stream *stream)
{
	if (stream->announced && stream->guest->policy.mode != POLICY_CONTINUOUS)
		declare_loss(stream);
	range_queue(stream);
	stream->capture.begun = false;
	stream_capture_end(stream);
	return RING_E_RENEWED;
}

/* Take the next step of the guest's capture for this stream. Return as stream_poll(). */
static int capture_step(struct stream *stream, uint64_t now)
{
	const struct guest *guest = stream->guest;
	const struct guest_capture *capture = &guest->capture;
	int r = 0;

	if (!stream->capture.begun)
		r = capture_begin(stream, now);
	else if (capture->dead && fit(stream, now) == RING_E_RENEWED)
		r = RING_E_RENEWED;
	if (r == RING_E_RENEWED && capture->dead)
		return capture_renewed(stream);
	if (r)
		return r;
	r = ring_capture(&stream->ring, &stream->sink, capture->dead, &stream->capture.at);
	if (r == RING_E_FULL && now < capture->give_up)
		return r;
	if (range_queue(stream))
		return RING_E_FULL;
	if (r == RING_E_FULL || stream->capture.cut)
		capture_cut(stream);
	stream->capture.begun = false;
	stream_capture_end(stream);
	return r == RING_E_FULL ? 0 : r;
}

/* ---- polls ----------------------------------------------------------------------------------- */

/*
 * Poll while no capture is taken. With the policy `continuous` the ring must be copied. It is not
 * copied yet if the guest had another policy until it was renamed: ring_seek() begins the copy.
 */
static int plain_poll(struct stream *stream)
{
	int r = 0;

	if (stream->guest->policy.mode == POLICY_CONTINUOUS)
		r = ring_seek(&stream->ring, &stream->sink, false);
	return r ? r : ring_poll(&stream->ring, &stream->sink);
}

int stream_poll(struct stream *stream, uint64_t now, uint64_t *next)
{
	struct guest *guest = stream->guest;
	struct guest_shared *shared = guest->shared;
	const struct ring *ring = &stream->ring;
	const struct ring_counters before = ring->counters;
	bool fast = stream->cadence.interval <= CADENCE_MIN;
	uint64_t cpu = fast ? clock_thread() : 0, cost, mean;
	int r;

	if (!stream->announced && guest_is_archived(guest)) {
		stream_announce(stream);
		queue_hurry(shared->queue);
	}
	guest_period(guest, now);
	r = stream->capture.wanted ? capture_step(stream, now) : plain_poll(stream);
	stream_stamp_poll(stream, now);
	/*
	 * The time that another thread took the processor would make the next poll of a fast ring so
	 * late that its guest could lap it. Asking for the processor's time is a system call, which a
	 * thousand slow rings do without.
	 */
	cost = fast ? clock_thread() - cpu : clock_mono() - now;
	shared->counters.polls++;
	count(shared, ring, &before);
	if (stream->gap && now - stream->gap->queued > GAP_NS)
		stream_flush(stream);
	if (r == 0)
		stream->starved = stream->disk = false;
	mean = ring->n ? ring->bytes / ring->n : ring->bytes;
	*next = cadence_next(&stream->cadence, &shared->budget, ring->bytes, mean, ring->writer.written,
			     ring_pending(ring), now, cost);
	if (stream->capture.wanted || r == RING_E_FULL)
		*next = now + FULL_NS;
	else if (ring->skipping && *next < now + SKIP_NS)
		*next = now + SKIP_NS;
	if (guest->policy.mode == POLICY_PERIODIC && guest->next_period < *next)
		*next = guest->next_period;
	return r;
}
