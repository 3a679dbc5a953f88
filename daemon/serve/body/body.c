/*
 * Emit a planned body. Rows may be deleted between plan and body. So the body is compared with the
 * plan, by bytes and places, before its last bytes are emitted. A body that has lost rows is broken
 * off, so the client notices.
 */
#include <string.h>

#include "body.h"

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

/*
 * Move to the next packet that is served, and give it to the emitter. Return 0, BODY_E_END,
 * BODY_E_CHANGED or what the reader returns.
 */
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
	if (b->left == 0) /* the archive has more bytes than the plan */
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

/*
 * Return how many bytes of the current packet were emitted, not counting those in the emitter's
 * buffer.
 */
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
