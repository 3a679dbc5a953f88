/*
 * Bodies are made twice: once for length, entity tag and cuts, once for their bytes.  Between the two, rows may go.  What was
 * promised is therefore compared with what came out, in bytes and in place, before the last bytes are given away: a body that lost rows
 * never looks complete.
 */
#include <string.h>

#include "body.h"
#include "clock.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

void plan_init(struct plan *p, struct reader *reader, struct scratch *scratch, const struct selection *selection)
{
	*p = (struct plan){.selection = *selection, .hash = 0x6d70726f66, .hash_rows = 0x6d70726f66};
	packet_walk_init(&p->walk, reader, scratch, &p->selection);
	p->hash = mix(mix(mix(p->hash, (uint64_t)selection->run), selection->number), selection->raw);
}

static void plan_add(struct plan *p, const struct packet_view *v)
{
	if (v->cut) {
		if (p->cut_packets == 0)
			p->first_cut = (struct position){p->selection.run, p->selection.number, v->sequence,
							 v->room ? v->end : v->begin};
		p->cut_packets++;
		p->cut_bytes += v->cut;
	}
	if (!v->room)
		return;
	p->packets++;
	p->total += packet_view_bytes(v);
	p->last = (struct body_place){v->sequence, packet_view_bytes(v)};
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
		if (clock_mono() >= until)
			break;
	}
	return rc;
}

void plan_locate(struct plan *p)
{
	packet_walk_init(&p->walk, p->walk.reader, p->walk.scratch, &p->selection);
	p->located = 0;
	p->done = false;
	p->to = p->last;
}

int plan_locate_step(struct plan *p, uint64_t first, uint64_t last, uint64_t until)
{
	struct packet_view view;
	bool have = true;
	uint64_t bytes;
	int rc = 0;

	while (rc == 0 && !p->done && clock_mono() < until) {
		rc = packet_walk_next(&p->walk, &view, &have);
		p->done = rc == 0 && !have;
		if (rc != 0 || !have || !view.room)
			continue;
		bytes = packet_view_bytes(&view);
		if (first >= p->located && first - p->located < bytes)
			p->from = (struct body_place){view.sequence, first - p->located};
		if (last >= p->located && last - p->located < bytes) {
			p->to = (struct body_place){view.sequence, last - p->located + 1};
			p->done = true;
		}
		p->located += bytes;
	}
	return rc;
}

int body_init(struct body *b, struct reader *reader, struct scratch *scratch, const struct plan *plan, bool zstd,
	      bool range, uint64_t bytes)
{
	*b = (struct body){
		.selection = plan->selection,
		.zstd = zstd,
		.last = range ? plan->to : plan->last,
		.from = range ? plan->from : (struct body_place){0},
		.left = bytes,
	};
	packet_walk_init(&b->walk, reader, scratch, &b->selection);
	if (range)
		packet_walk_seek(&b->walk, b->from.sequence);
	return emitter_init(&b->emitter, reader, scratch, &b->selection, zstd);
}

void body_deinit(struct body *b)
{
	emitter_deinit(&b->emitter);
}

/* Begin the next packet that is served. */
static int body_next(struct body *b)
{
	struct packet_view view;
	bool have;
	int rc;

	do {
		rc = packet_walk_next(&b->walk, &view, &have);
		if (rc != 0)
			return rc;
		if (!have)
			return b->left ? BODY_E_CHANGED : BODY_E_END;
	} while (!view.room || view.sequence < b->from.sequence);
	if (b->left == 0) /* there is more than was planned */
		return BODY_E_CHANGED;
	emitter_begin(&b->emitter, &view);
	if (b->from.bytes) {
		if (view.sequence != b->from.sequence || b->from.bytes >= packet_view_bytes(&view))
			return BODY_E_CHANGED;
		emitter_skip(&b->emitter, b->from.bytes);
		b->from.bytes = 0;
	}
	if (b->zstd) {
		if (packet_view_bytes(&view) > b->left)
			return BODY_E_CHANGED;
		b->left -= packet_view_bytes(&view);
		if (b->left == 0 && view.sequence != b->last.sequence)
			return BODY_E_CHANGED;
	}
	b->in_packet = true;
	return 0;
}

/* How many bytes of the packet are out, or ready to be. */
static uint64_t packet_place(const struct emitter *e)
{
	return e->header_at + (uint64_t)(e->at - e->view.begin) - (e->buffer_len - e->buffer_at);
}

int body_pull(struct body *b, char *out, size_t max, size_t *n)
{
	size_t got;
	int rc = 0;

	*n = 0;
	if (!b->zstd && b->left == 0)
		return BODY_E_END;
	while (*n < max && (b->zstd || b->left)) {
		rc = b->in_packet ? 0 : body_next(b);
		if (rc != 0)
			break;
		got = max - *n;
		if (!b->zstd && got > b->left)
			got = (size_t)b->left;
		rc = emitter_pull(&b->emitter, out + *n, got, &got);
		if (rc != 0)
			break;
		b->in_packet = got != 0;
		*n += got;
		if (!b->zstd) {
			b->left -= got;
			if (b->left == 0 && (b->emitter.view.sequence != b->last.sequence ||
					     packet_place(&b->emitter) != b->last.bytes))
				return BODY_E_CHANGED;
		}
	}
	return rc == BODY_E_END && *n ? 0 : rc;
}
