/*
 * Plan a body: walk over its selection once, and compute all that must be known before the first
 * byte is sent. The plan stores nothing per packet, so its memory does not depend on the length of
 * the body.
 */
#include "plan.h"
#include "clock.h"

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

	plan_init(p, p->walk.reader, p->walk.scratch, &selection);
	p->range_first = first;
	p->range_last = last;
}

/*
 * Packet SEQUENCE adds BYTES to the body. If the range begins or ends in these bytes, set FROM or
 * TO.
 */
static void plan_locate(struct plan *p, uint64_t sequence, uint64_t bytes)
{
	if (p->range_first >= p->total && p->range_first - p->total < bytes)
		p->from = (struct body_place){sequence, p->range_first - p->total};
	if (p->range_last >= p->total && p->range_last - p->total < bytes)
		p->to = (struct body_place){sequence, p->range_last - p->total + 1};
}

static void plan_add(struct plan *p, const struct packet_view *v)
{
	uint64_t bytes = packet_view_bytes(v);

	if (v->cut) {
		if (p->cut_packets == 0)
			p->first_cut = (struct position){p->selection.run, p->selection.number, v->sequence,
							 v->room ? v->end : v->begin};
		p->cut_packets++;
		p->cut_bytes += v->cut;
	}
	if (!v->room)
		return;
	plan_locate(p, v->sequence, bytes);
	p->packets++;
	p->total += bytes;
	p->last = (struct body_place){v->sequence, bytes};
	p->end = (struct position){p->selection.run, p->selection.number, v->sequence, v->end};
	p->hash = mix(mix(p->hash, v->sequence), (uint64_t)v->begin << 32 | v->end);
	p->hash_rows = mix(mix(p->hash_rows, v->stamp), v->chunks_end);
}

int plan_step(struct plan *p, uint64_t until)
{
	struct packet_view view;
	bool have = true;
	int rc = 0;

	while (rc == 0 && !p->done) {
		rc = packet_walk_next(&p->walk, &view, &have);
		if (rc == 0 && have)
			plan_add(p, &view);
		p->done = rc == 0 && !have;
		if (p->done && p->range_last >= p->total)
			p->to = p->last;
		if (clock_mono() >= until)
			break;
	}
	return rc;
}
