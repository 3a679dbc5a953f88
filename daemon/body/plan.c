/*
 * Plan a body: walk over its selection once, and compute all that must be known before the first
 * byte is sent. The plan of a short body stores nothing per packet; that of a long one has marks, and is remembered.
 *
 * With a remembered plan the walk only looks for the places of the range, from the marks before them.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "plan.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

void plan_init(struct plan *p, struct reader *reader, struct scratch *scratch, const struct selection *selection)
{
	*p = (struct plan){
		.selection = *selection, .hash = 0x6d70726f66, .hash_rows = 0x6d70726f66, .range_last = UINT64_MAX};
	packet_walk_init(&p->walk, reader, scratch, &p->selection);
	p->hash = mix(mix(mix(p->hash, (uint64_t)selection->run), selection->number), selection->raw);
}

void plan_range(struct plan *p, uint64_t first, uint64_t last)
{
	struct selection selection = p->selection;

	free(p->marks);
	plan_init(p, p->walk.reader, p->walk.scratch, &selection);
	p->range_first = first;
	p->range_last = last;
}

void plan_deinit(struct plan *p)
{
	free(p->marks);
	p->marks = NULL;
}

/*
 * Packet SEQUENCE has the bytes of the body from AT on, BYTES of them. If the range begins or ends in these bytes, set
 * FROM or TO. Return whether it ends there.
 */
static bool plan_locate(struct plan *p, uint64_t sequence, uint64_t at, uint64_t bytes)
{
	bool ends = p->range_last >= at && p->range_last - at < bytes;

	if (p->range_first >= at && p->range_first - at < bytes) {
		p->from = (struct body_place){sequence, p->range_first - at};
		p->from_found = true;
	}
	if (ends)
		p->to = (struct body_place){sequence, p->range_last - at + 1};
	return ends;
}

/* ---- plans that are remembered ---- */

void plan_name_of(const struct selection *s, const struct reader *reader, struct plan_name *name)
{
	*name = (struct plan_name){.archives = reader_archives(reader),
				   .run = s->run,
				   .stream = s->stream,
				   .capture = s->capture,
				   .first = s->first,
				   .last = s->last,
				   .number = s->number,
				   .ring_packets = s->ring_packets,
				   .first_offset = s->first_offset,
				   .last_offset = s->last_offset,
				   .empty = s->empty,
				   .raw = s->raw};
}

static int read_state(const struct plan *p, struct reader_stream_state *state)
{
	const struct selection *s = &p->selection;

	return reader_stream_state(p->walk.reader, (struct reader_source){.stream = s->stream, .capture = s->capture},
				   s->last, state);
}

static bool is_same_state(const struct reader_stream_state *a, const struct reader_stream_state *b)
{
	return memcmp(a->numbers, b->numbers, sizeof(a->numbers)) == 0;
}

/* The body is long: begin its marks, unless the archive has changed since the walk began. */
static void begin_marks(struct plan *p)
{
	struct reader_version now;

	if (reader_version(p->walk.reader, &now) != 0 || now.commits != p->version.commits ||
	    now.archives != p->version.archives || read_state(p, &p->state) != 0)
		return;
	p->marks = malloc(sizeof(*p->marks));
	if (!p->marks)
		return;
	p->marks->every = PLAN_LONG;
	p->marks->n = 1;
	p->marks->list[0] = (struct plan_mark){p->begin.sequence, 0};
}

/* The walk is done: remember the plan, unless rows of the stream have changed meanwhile. */
static void remember(struct plan *p)
{
	struct plan_record r = {.name = p->name, .state = p->state, .marks = p->marks};
	struct reader_stream_state now;

	if (!p->marks || reader_archives(p->walk.reader) != p->name.archives || read_state(p, &now) != 0 ||
	    !is_same_state(&now, &p->state))
		return;
	r.summary = (struct plan_summary){.total = p->total,
					  .packets = p->packets,
					  .cut_bytes = p->cut_bytes,
					  .cut_packets = p->cut_packets,
					  .hash = p->hash,
					  .hash_rows = p->hash_rows,
					  .first_cut = p->first_cut,
					  .end = p->end,
					  .last = p->last};
	p->marks = NULL;
	plan_cache_put(&p->walk.scratch->plans, &r);
}

/* Take the summary of R, and go to the mark before the range. */
static void take_record(struct plan *p, const struct plan_record *r)
{
	const struct plan_summary *s = &r->summary;

	p->total = s->total;
	p->packets = s->packets;
	p->cut_bytes = s->cut_bytes;
	p->cut_packets = s->cut_packets;
	p->hash = s->hash;
	p->hash_rows = s->hash_rows;
	p->first_cut = s->first_cut;
	p->end = s->end;
	p->last = p->to = s->last;
	p->remembered = true;
	p->from = (struct body_place){r->marks->list[0].sequence, 0};
	p->from_found = p->range_first == 0;
	/* A range that begins behind the end has no places. */
	p->done = p->range_first >= p->total || (p->from_found && p->range_last >= p->total);
	p->to_mark = plan_marks_before(r->marks, p->range_last);
	p->at = p->from_found ? p->to_mark : plan_marks_before(r->marks, p->range_first);
	if (!p->done)
		packet_walk_seek(&p->walk, p->at.sequence);
}

/* Take the plan that is remembered, if there is one and rows of the stream have not changed. */
static int recall(struct plan *p)
{
	struct plan_cache *plans = &p->walk.scratch->plans;
	const struct plan_record *r;
	int rc = reader_version(p->walk.reader, &p->version);

	if (rc != 0)
		return rc;
	p->begun = true;
	plan_name_of(&p->selection, p->walk.reader, &p->name);
	r = p->fresh ? NULL : plan_cache_find(plans, &p->name);
	if (!r)
		return 0;
	rc = read_state(p, &p->state);
	if (rc == 0 && is_same_state(&p->state, &r->state))
		take_record(p, r);
	else
		plan_cache_forget(plans, &p->name);
	return rc;
}

/* Look for the places of the range in the next packet. */
static int find_places(struct plan *p)
{
	struct packet_view view;
	bool have, ends;
	int rc = packet_walk_next(&p->walk, &view, &have);

	if (rc != 0)
		return rc;
	if (!have) { /* rows were deleted since */
		plan_cache_forget(&p->walk.scratch->plans, &p->name);
		plan_range(p, p->range_first, p->range_last);
		return 0;
	}
	if (!view.room || view.sequence < p->at.sequence)
		return 0;
	ends = plan_locate(p, view.sequence, p->at.bytes, packet_view_bytes(&view));
	p->at.bytes += packet_view_bytes(&view);
	p->at.sequence = view.sequence + 1;
	p->done = p->from_found && (ends || p->range_last >= p->total);
	if (p->from_found && !p->done && p->to_mark.bytes > p->at.bytes) {
		p->at = p->to_mark;
		packet_walk_seek(&p->walk, p->at.sequence);
	}
	return 0;
}

/* ---- the walk ---- */

static void plan_add(struct plan *p, const struct packet_view *v)
{
	uint64_t bytes = packet_view_bytes(v);
	uint32_t cut_at = v->resume ? v->hole : v->end;

	if (v->cut) {
		if (p->cut_packets == 0)
			p->first_cut = (struct position){p->selection.run, p->selection.number, v->sequence,
							 v->room ? cut_at : v->begin};
		p->cut_packets++;
		p->cut_bytes += v->cut;
	}
	if (!v->room)
		return;
	if (p->packets == 0)
		p->begin = (struct body_place){v->sequence, 0};
	if (p->packets == PLAN_LONG)
		begin_marks(p);
	if (p->marks)
		plan_marks_note(p->marks, p->packets, v->sequence, p->total);
	plan_locate(p, v->sequence, p->total, bytes);
	p->packets++;
	p->total += bytes;
	p->last = (struct body_place){v->sequence, bytes};
	p->end = (struct position){p->selection.run, p->selection.number, v->sequence, v->end};
	p->hash = mix(mix(p->hash, v->sequence), (uint64_t)v->begin << 32 | v->end);
	if (v->resume)
		p->hash = mix(p->hash, (uint64_t)v->hole << 32 | v->resume);
	p->hash_rows = mix(mix(p->hash_rows, v->stamp), v->chunks_end);
}

static int plan_next(struct plan *p)
{
	struct packet_view view;
	bool have;
	int rc = packet_walk_next(&p->walk, &view, &have);

	if (rc == 0 && have)
		plan_add(p, &view);
	p->done = rc == 0 && !have;
	if (p->done && p->range_last >= p->total)
		p->to = p->last;
	if (p->done)
		remember(p);
	return rc;
}

int plan_step(struct plan *p, uint64_t until)
{
	int rc = 0;

	while (rc == 0 && !p->done) {
		rc = !p->begun ? recall(p) : p->remembered ? find_places(p) : plan_next(p);
		if (clock_mono() >= until)
			break;
	}
	return rc;
}
