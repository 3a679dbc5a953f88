/*
 * /.../packets: a list of packets, or an overview of packets in buckets of guest time. Neither
 * decodes events.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mprof/ring.h>

#include "clock.h"
#include "json-whole.h"
#include "packet-walk.h"
#include "resource.h"
#include "routes.h"
#include "row-json.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MOST    1000u
#define BUCKETS_MOST  4096u
#define GAPS_MOST     1000u

struct bucket {
	uint64_t packets, bytes, lost, skipped;
};

struct listing {
	struct selection selection;
	struct packet_walk walk;
	/* Fields of the list. */
	uint64_t limit;
	json_t *packets;
	struct position first, end; /* positions of the query; offset 0 = not given */
	struct span span;	    /* the gaps that are left for this page and later ones */
	/* Fields of the overview. */
	size_t n_buckets;
	struct bucket *buckets;
	uint64_t from, to;	   /* begin and end of the time axis in guest time, both included */
	uint64_t gaps_at;	   /* packet from which on gaps were not counted yet */
	uint64_t gap_time;	   /* guest time of the newest packet before */
	struct span_losses losses; /* counted so far */
	bool measured;		   /* FROM and TO are known, and the packets are counted */
	bool any;
};

static void listing_free(void *work)
{
	struct listing *l = work;

	json_decref(l->packets);
	free(l->buckets);
	free(l);
}

static json_t *stamp_json(struct reader *r, const struct archive_end *end)
{
	return json_pack("{s:I, s:o, s:o, s:o}", "offset", (json_int_t)end->offset, "mono", json_ns(end->mono), "real",
			 json_time(end->real), "real_corrected",
			 json_corrected(end->real, reader_correction(r, end->mono, end->real)));
}

static json_t *newest_json(struct reader *r, const struct reader_ends *ends)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ends->n; i++)
		json_add_item(&list, stamp_json(r, &ends->end[i]));
	return list;
}

/*
 * Return in *JSON when the packet's chunks were copied, and the time of an event of the last one.
 * Return what the reader returns.
 */
static int copied_json(struct exchange *x, int64_t stream, const struct packet_view *v, json_t **json)
{
	struct reader *r = exchange_reader(x);
	struct reader_ends ends = {.n = 0};
	struct archive_end first;
	uint64_t last_chunk;
	bool known = false;
	int rc = v->room ? reader_ends_below(r, stream, v->sequence, v->chunks_end, &ends) : ARCHIVE_E_ABSENT;

	if (rc == 0)
		rc = reader_end_above(r, stream, v->sequence, 0, 0, &first);
	if (rc == 0 && packet_view_ends(v))
		rc = packet_last_chunk(r, exchange_scratch(x), stream, v->sequence, &ends, &last_chunk, &known);
	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	if (rc != 0) {
		*json = json_null();
		return 0;
	}
	*json = json_pack("{s:o, s:o}", "first", stamp_json(r, &first), "last", stamp_json(r, &ends.end[ends.n - 1]));
	if (ends.n > 2)
		json_add_member(json, "newest", newest_json(r, &ends));
	if (known)
		json_add_member(json, "last_chunk", json_ns(last_chunk));
	return 0;
}

static int list_packet(struct exchange *x, struct listing *l, const struct packet_view *v)
{
	const struct selection *s = &l->selection;
	uint32_t tail = v->end > v->chunks_end ? v->end - v->chunks_end : 0;
	uint32_t resumed = v->resume ? v->end - v->resume : 0;
	json_t *copied, *json;
	int rc = copied_json(x, s->stream, v, &copied);

	if (rc != 0)
		return rc;
	if (v->resume > v->chunks_end) /* the hole lies in the tail */
		tail -= v->resume - v->hole;
	if (l->first.offset == 0)
		l->first = (struct position){s->run, s->number, v->sequence, v->begin};
	l->end = (struct position){s->run, s->number, v->sequence, v->end};
	json = json_pack("{s:o, s:o, s:I, s:I, s:b, s:b, s:b, s:I, s:I, s:I, s:o}", "sequence", json_count(v->sequence),
			 "first_timestamp",
			 v->end > MPROF_PACKET_HEADER_BYTES ? json_ns(v->first_timestamp) : json_null(), "bytes",
			 (json_int_t)(v->room ? packet_view_bytes(v) : 0), "room", (json_int_t)v->room, "complete",
			 (int)v->complete, "unproven", (int)v->unproven, "clock_stepped", (int)v->clock, "tail_bytes",
			 (json_int_t)tail, "cut", (json_int_t)v->cut, "resumed", (json_int_t)resumed, "copied", copied);
	return json && json_array_append_new(l->packets, json) == 0 ? 0 : -ENOMEM;
}

struct gap_list {
	struct reader *reader;
	json_t *json;
	uint64_t begin; /* after_sequence of the last gap */
	uint64_t most;	/* gaps that begin behind this packet are for the next page */
};

static int take_gap(void *context, const struct archive_gap *gap)
{
	struct gap_list *list = context;
	json_t *json = gap->after_sequence <= list->most ? json_gap(list->reader, gap) : NULL;

	if (gap->after_sequence > list->most)
		return 0;
	list->begin = gap->after_sequence;
	return json && json_array_append_new(list->json, json) == 0 ? 0 : -ENOMEM;
}

/* End the page before SEQUENCE, because the gaps from there on are too many for this page. */
static void page_cut(struct listing *l, json_t *gaps, uint64_t sequence)
{
	const char *key = "after_sequence";

	for (size_t n = json_array_size(gaps); n; n--) {
		if ((uint64_t)json_integer_value(json_object_get(json_array_get(gaps, n - 1), key)) < sequence)
			break;
		json_array_remove(gaps, n - 1);
	}
	for (size_t n = json_array_size(l->packets); n && l->end.sequence >= sequence; n--) {
		const json_t *last = json_array_get(l->packets, n - 2);
		uint32_t bytes = (uint32_t)json_integer_value(json_object_get(last, "bytes"));

		/* The cut bytes of such a packet lie before its end. */
		if (json_integer_value(json_object_get(last, "resumed")))
			bytes += (uint32_t)json_integer_value(json_object_get(last, "cut"));

		json_array_remove(l->packets, n - 1);
		if (!last)
			l->first = l->end = (struct position){0};
		else
			l->end.sequence = (uint64_t)json_integer_value(json_object_get(last, "sequence"));
		if (last)
			l->end.offset =
				(l->end.sequence == l->first.sequence ? l->first.offset : MPROF_PACKET_HEADER_BYTES) +
				(bytes ? bytes - MPROF_PACKET_HEADER_BYTES : 0);
	}
}

static json_t *optional_position(const struct position *p)
{
	return p->offset ? json_position(p) : json_null();
}

static enum outcome list_answer(struct exchange *x, struct listing *l, bool more)
{
	const struct selection *s = &l->selection;
	CLEANUP(json_unrefp) json_t *next = NULL, *all = json_array();
	struct gap_list gaps = {.reader = exchange_reader(x), .json = all, .most = more ? l->end.sequence : UINT64_MAX};
	struct span span = l->span;
	int rc;

	if (more && l->end.sequence < span.last)
		span_end(&span, l->end.sequence, UINT32_MAX);
	rc = span_gaps(exchange_reader(x), &span, GAPS_MOST + 1, take_gap, &gaps);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "");
	if (json_array_size(all) > GAPS_MOST && gaps.begin > span.first) {
		page_cut(l, all, gaps.begin);
		next = json_sprintf("%" PRIu64, gaps.begin);
	} else {
		next = more ? json_sprintf("%" PRIu64, l->end.sequence + 1) : json_null();
	}
	return exchange_json(x, MHD_HTTP_OK,
			     json_pack("{s:I, s:I, s:o, s:o, s:O, s:O, s:O}", "run", (json_int_t)s->run, "stream",
				       (json_int_t)s->number, "first", optional_position(&l->first), "end",
				       optional_position(&l->end), "packets", l->packets, "gaps", all, "next", next));
}

static enum outcome list_step(struct exchange *x, struct listing *l)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	struct packet_view view;
	bool have;
	int rc;

	while (json_array_size(l->packets) < l->limit) {
		if (clock_mono() >= until)
			return OUTCOME_AGAIN;
		rc = packet_walk_next(&l->walk, &view, &have);
		if (rc == 0 && have)
			rc = list_packet(x, l, &view);
		if (rc != 0)
			return exchange_reader_problem(x, rc, "");
		if (!have)
			return list_answer(x, l, false);
	}
	return list_answer(x, l, true);
}

/* Return the bucket for the guest time TIME. */
static struct bucket *bucket_at(struct listing *l, uint64_t time)
{
	uint64_t width = (l->to - l->from) / l->n_buckets + 1;
	uint64_t i = time < l->from ? 0 : (time - l->from) / width;

	return &l->buckets[i < l->n_buckets ? i : l->n_buckets - 1];
}

/* Count GAP in the bucket of the packet before it. */
static int count_gap(void *context, const struct archive_gap *gap)
{
	struct listing *l = context;
	struct bucket *b = bucket_at(l, l->gap_time);

	b->lost -= l->losses.packets;
	b->skipped -= l->losses.skipped;
	span_losses_add(&l->losses, &l->span, gap);
	b->lost += l->losses.packets;
	b->skipped += l->losses.skipped;
	return 0;
}

/* Count the gaps that begin before packet NEXT, and were not counted yet. Return what the reader returns. */
static int count_gaps(struct exchange *x, struct listing *l, uint64_t next)
{
	struct span span = l->span;
	int rc;

	span.begins_missing &= l->gaps_at == l->span.first;
	span.first = l->gaps_at;
	if (next <= span.first)
		return 0;
	l->gaps_at = next;
	if (next <= span.last)
		span_end(&span, next - 1, UINT32_MAX);
	rc = span_gaps(exchange_reader(x), &span, GAPS_MOST, count_gap, l);
	return rc;
}

/*
 * Count a packet in its bucket without reading its bytes: an overview counts all bytes that are
 * archived, also unproven ones.
 */
static int overview_packet(struct exchange *x, struct listing *l, const struct packet_view *v)
{
	bool timed = v->end > MPROF_PACKET_HEADER_BYTES;
	uint64_t time = timed ? v->first_timestamp : l->from;
	struct bucket *b;
	int rc;

	if (!l->measured) {
		if (timed && (!l->any || v->first_timestamp < l->from))
			l->from = v->first_timestamp;
		if (timed && (!l->any || v->first_timestamp > l->to))
			l->to = v->first_timestamp;
		l->any |= timed;
		return 0;
	}
	rc = count_gaps(x, l, v->sequence);
	l->gap_time = time;
	b = bucket_at(l, time);
	b->packets += v->room != 0;
	b->bytes += v->room ? packet_view_bytes(v) : 0;
	return rc;
}

static enum outcome overview_answer(struct exchange *x, struct listing *l)
{
	uint64_t width = (l->to - l->from) / l->n_buckets + 1;
	json_t *buckets = json_array();

	for (size_t i = 0; l->any && i < l->n_buckets; i++) {
		const struct bucket *b = &l->buckets[i];
		uint64_t from = l->from + i * width;

		json_add_item(&buckets, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "from", json_ns(from), "to",
						  json_ns(from + width - 1), "packets", json_count(b->packets), "bytes",
						  json_count(b->bytes), "lost_packets", json_count(b->lost),
						  "skipped_packets", json_count(b->skipped)));
	}
	return exchange_json(x, MHD_HTTP_OK,
			     json_pack("{s:I, s:I, s:o, s:o, s:o}", "run", (json_int_t)l->selection.run, "stream",
				       (json_int_t)l->selection.number, "from", l->any ? json_ns(l->from) : json_null(),
				       "to", l->any ? json_ns(l->to) : json_null(), "buckets", buckets));
}

static enum outcome overview_step(struct exchange *x, struct listing *l)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	struct packet_view view;
	bool have;
	int rc;

	while (clock_mono() < until) {
		rc = packet_walk_next(&l->walk, &view, &have);
		if (rc == 0 && have)
			rc = overview_packet(x, l, &view);
		if (rc != 0)
			return exchange_reader_problem(x, rc, "");
		if (have)
			continue;
		if (l->measured) {
			rc = count_gaps(x, l, UINT64_MAX);
			return rc == 0 ? overview_answer(x, l) : exchange_reader_problem(x, rc, "");
		}
		l->measured = true;
		l->gap_time = l->from;
		packet_walk_init(&l->walk, exchange_reader(x), exchange_scratch(x), &l->selection);
	}
	return OUTCOME_AGAIN;
}

static enum outcome listing_step(struct exchange *x)
{
	struct listing *l = x->work;

	return l->n_buckets ? overview_step(x, l) : list_step(x, l);
}

static enum outcome packets_begin(struct exchange *x, struct resource *res)
{
	const struct resource_stream *stream;
	struct selection selection;
	uint64_t limit, buckets, cursor;
	struct listing *l;

	if (!exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &limit) ||
	    !exchange_number(x, "buckets", 1, BUCKETS_MOST, 0, &buckets) ||
	    !exchange_number(x, "cursor", 0, INT64_MAX, 0, &cursor) || !resource_pick(x, res, NULL, &stream))
		return OUTCOME_DONE;
	if (!stream)
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, "The run has no stream yet.");
	if (!resource_select(x, res, stream, NULL, &selection))
		return OUTCOME_DONE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return exchange_reader_problem(x, -ENOMEM, "");
	x->work = l;
	x->work_free = listing_free;
	*l = (struct listing){.selection = selection, .limit = limit, .n_buckets = buckets, .packets = json_array()};
	l->buckets = buckets ? calloc(buckets, sizeof(*l->buckets)) : NULL;
	l->span = selection.span;
	if (cursor)
		span_begin(&l->span, cursor);
	l->gaps_at = l->span.first;
	if (cursor > l->selection.first)
		l->selection.first = cursor, l->selection.first_offset = MPROF_PACKET_HEADER_BYTES;
	if (cursor > l->selection.last)
		l->selection.empty = true;
	if (!l->packets || (buckets && !l->buckets))
		return exchange_reader_problem(x, -ENOMEM, "");
	packet_walk_init(&l->walk, exchange_reader(x), exchange_scratch(x), &l->selection);
	return listing_step(x);
}

enum outcome get_domain_packets(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};

	if (x->work)
		return listing_step(x);
	return resource_domain(x, NULL, &res) ? packets_begin(x, &res) : OUTCOME_DONE;
}

enum outcome get_capture_packets(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};

	if (x->work)
		return listing_step(x);
	return resource_capture(x, &res) ? packets_begin(x, &res) : OUTCOME_DONE;
}
