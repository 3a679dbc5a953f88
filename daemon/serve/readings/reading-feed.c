/* Feed a reader. The bytes are those that clients get, so the reader sees nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reading-feed.h"

#define HEADER MPROF_PACKET_HEADER_BYTES
#define PART   (256u << 10)
#define PAGE   64u

/* ---- the streams of the capture ---- */

static int note_run(void *context, const struct reader_capture *capture)
{
	*(int64_t *)context = capture->capture.run;
	return 0;
}

static int note_range(void *context, const struct reader_capture_range *range)
{
	struct feed *f = context;

	f->cut |= range->tail_bytes < range->tail_marked;
	if (f->n == READING_STREAMS_MAX || archive_range_is_lost(range->range.last_offset, range->tail_marked)) {
		f->cut = true;
		return 0;
	}
	f->streams[f->n++] = (struct feed_stream){
		.selection = {.number = range->number,
			      .stream = range->range.stream,
			      .capture = f->capture,
			      .first = range->range.first_sequence,
			      .last = range->range.last_sequence,
			      .last_offset = range->range.last_offset},
		.tail_bytes = range->tail_bytes,
	};
	return 0;
}

static int note_stream(void *context, const struct reader_stream *stream)
{
	struct feed *f = context;

	for (uint32_t i = 0; i < f->n; i++)
		if (f->streams[i].selection.stream == stream->stream.id)
			f->streams[i].selection.ring_packets = stream->stream.ring_packets;
	return 0;
}

/* Select all that the capture has of stream S, whose selection has the capture's range. */
static int select_range(struct feed *f, struct feed_stream *s)
{
	struct selection range = s->selection, *all = &s->selection;
	int rc = selection_all(all, f->reader);

	all->capture = range.capture;
	if (rc == 0 && range.last_offset > HEADER)
		f->cut |= all->empty || all->last < range.last ||
			  (all->last == range.last && all->last_offset < range.last_offset);
	if (rc != 0 || all->empty)
		return rc;
	if (range.last < all->last || (range.last == all->last && range.last_offset < all->last_offset)) {
		all->last = range.last;
		all->last_offset = range.last_offset;
	}
	if (range.first > all->first)
		all->first = range.first;
	all->empty = all->first > all->last;
	return 0;
}

int feed_open(struct feed *f, struct reader *reader, struct scratch *scratch, int64_t capture)
{
	bool lacks = false;
	int64_t run = 0;
	int rc;

	*f = (struct feed){.reader = reader, .scratch = scratch, .capture = capture};
	f->streams = calloc(READING_STREAMS_MAX, sizeof(*f->streams));
	f->part = malloc(PART);
	if (!f->streams || !f->part) {
		feed_close(f);
		return -ENOMEM;
	}
	rc = reader_capture(reader, capture, note_run, &run);
	if (rc == 0)
		rc = reader_capture_ranges(reader, capture, note_range, f, &lacks);
	f->cut |= lacks;
	if (rc == 0)
		rc = f->n ? reader_streams(reader, run, note_stream, f) : ARCHIVE_E_ABSENT;
	for (uint32_t i = 0; i < f->n && rc == 0; i++) {
		f->streams[i].selection.run = run;
		rc = select_range(f, &f->streams[i]);
	}
	if (rc != 0)
		feed_close(f);
	return rc;
}

void feed_close(struct feed *f)
{
	if (f->in_body)
		body_deinit(&f->body);
	plan_deinit(&f->plan);
	free(f->streams);
	free(f->part);
	*f = (struct feed){0};
}

bool feed_plans_done(const struct feed *f)
{
	return f->stage > FEED_WHOLE;
}

/* ---- the steps ---- */

/* Go on with stream 0 in STAGE. */
static void next_stage(struct feed *f, enum feed_stage stage)
{
	f->stage = stage;
	f->at = 0;
	f->planning = false;
}

static void plan_begin(struct feed *f, const struct selection *selection)
{
	plan_deinit(&f->plan);
	plan_init(&f->plan, f->reader, f->scratch, selection);
	f->planning = true;
}

/* Plan the tail of the next stream, with the last packet before it: their events tell how the guest ended. */
static int step_tails(struct feed *f, uint64_t until)
{
	struct feed_stream *s = &f->streams[f->at];
	const bool has_end = s->tail_bytes || !s->selection.empty;
	struct selection tail = s->selection;
	int rc = 0;

	if (!tail.empty) {
		tail.first = tail.last;
		tail.first_offset = HEADER;
	}
	if (!f->planning)
		plan_begin(f, &tail);
	f->plan.fresh = true;
	if (has_end)
		rc = plan_step(&f->plan, until);
	if (rc != 0 || (has_end && !f->plan.done))
		return rc ? rc : FEED_E_AGAIN;
	if (s->tail_bytes)
		s->tail = f->plan.walk.tail;
	f->cut |= has_end && f->plan.cut_packets;
	f->planning = false;
	if (++f->at == f->n)
		next_stage(f, FEED_WHOLE);
	return FEED_E_AGAIN;
}

/* Plan all that the capture has of the next stream, if that is long, as a client's request does. */
static int step_whole(struct feed *f, uint64_t until)
{
	const struct selection *s = &f->streams[f->at].selection;
	int rc = 0;

	if (!f->planning)
		plan_begin(f, s);
	if (!s->empty && s->last - s->first >= PLAN_LONG)
		rc = plan_step(&f->plan, until);
	else
		f->plan.done = true;
	if (rc == 0 && !f->plan.done)
		return FEED_E_AGAIN;
	/* Damage somewhere in the range does not keep the reader from its end. */
	f->planning = false;
	if (++f->at == f->n)
		next_stage(f, FEED_HEAD);
	return FEED_E_AGAIN;
}

/* Narrow S to the packets of its tail that have its last BYTES. Return what the reader returns. */
static int narrow_tail(struct feed *f, struct selection *s, uint64_t bytes)
{
	struct reader_source source = {.stream = s->stream, .capture = s->capture};
	struct reader_packet page[PAGE];
	uint64_t sum = 0, at = INT64_MAX;
	size_t n;
	int rc;

	do {
		n = PAGE;
		rc = reader_packets(f->reader, source, 0, at, true, page, &n);
		for (size_t i = 0; i < n && sum < bytes; i++) {
			sum += page[i].end;
			at = page[i].sequence;
		}
	} while (rc == 0 && n && sum < bytes && at-- > 0);
	if (rc == 0 && sum >= bytes && (s->empty || at > s->last)) {
		s->first = at;
		s->first_offset = HEADER;
	} else if (rc == 0 && !s->empty) {
		s->first = s->last;
		s->first_offset = HEADER;
	}
	return rc;
}

/* Select the newest bytes of stream S, at most a share of FEED_BYTES_MOST. */
static int select_newest(struct feed *f, const struct feed_stream *s, struct selection *selection)
{
	uint64_t share = FEED_BYTES_MOST / f->n;

	*selection = s->selection;
	if (s->tail_bytes >= share)
		return narrow_tail(f, selection, share);
	return selection_last_bytes(selection, f->reader, share - s->tail_bytes);
}

static int step_head(struct feed *f, const uint8_t **bytes, size_t *n)
{
	struct reading_head head = {.magic = f->cut ? READING_MAGIC_CUT : READING_MAGIC, .streams = f->n};

	memcpy(f->part, &head, sizeof(head));
	*bytes = f->part;
	*n = sizeof(head);
	next_stage(f, FEED_PLAN);
	return 0;
}

static int step_plan(struct feed *f, uint64_t until, const uint8_t **bytes, size_t *n)
{
	struct selection selection;
	int rc = 0;

	if (!f->planning) {
		rc = select_newest(f, &f->streams[f->at], &selection);
		plan_begin(f, &selection);
	}
	if (rc == 0)
		rc = plan_step(&f->plan, until);
	if (rc != 0 || !f->plan.done)
		return rc ? rc : FEED_E_AGAIN;
	rc = body_init(&f->body, f->reader, f->scratch, &f->plan, false, false, f->plan.total);
	if (rc != 0)
		return rc;
	f->in_body = true;
	f->planning = false;
	f->stage = FEED_BODY;
	memcpy(f->part, &f->plan.total, sizeof(f->plan.total));
	*bytes = f->part;
	*n = sizeof(f->plan.total);
	return 0;
}

static int step_body(struct feed *f, const uint8_t **bytes, size_t *n)
{
	int rc = body_pull(&f->body, (char *)f->part, PART, n);

	*bytes = f->part;
	if (rc != BODY_E_END)
		return rc;
	body_deinit(&f->body);
	f->in_body = false;
	f->stage = ++f->at == f->n ? FEED_END : FEED_PLAN;
	return FEED_E_AGAIN;
}

int feed_step(struct feed *f, uint64_t until, const uint8_t **bytes, size_t *n)
{
	switch (f->stage) {
	case FEED_TAILS:
		return step_tails(f, until);
	case FEED_WHOLE:
		return step_whole(f, until);
	case FEED_HEAD:
		return step_head(f, bytes, n);
	case FEED_PLAN:
		return step_plan(f, until, bytes, n);
	case FEED_BODY:
		return step_body(f, bytes, n);
	default:
		return FEED_E_END;
	}
}
