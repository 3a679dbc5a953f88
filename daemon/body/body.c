/*
 * Emit a planned body. Rows may be deleted between plan and body. So the body is compared with the
 * plan, by bytes and places, before its last bytes are emitted. A body that has lost rows is broken
 * off, so the client notices.
 */
#include <errno.h>
#include <string.h>

#include "body.h"

int body_init(struct body *b, struct reader *reader, struct scratch *scratch, const struct plan *plan, bool zstd,
	      bool range, uint64_t bytes)
{
	*b = (struct body){
		.reader = reader,
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

/* As body_pull(); with LATER as emitter_pull(). */
static int pull(struct body *b, char *out, size_t max, struct decode_batch *later, size_t *n)
{
	size_t got, most;
	int rc = 0;

	while (*n < max && (b->zstd || b->left)) {
		rc = b->in_packet ? 0 : body_next(b);
		if (rc != 0)
			break;
		most = b->zstd || max - *n < b->left ? max - *n : (size_t)b->left;
		rc = emitter_pull(&b->emitter, out + *n, most, later, &got);
		if (rc == EMIT_E_ROOM && most == b->left) /* only a part of the last row is wanted */
			rc = emitter_pull(&b->emitter, out + *n, most, NULL, &got);
		if (rc != 0)
			break;
		b->in_packet = got != 0;
		*n += got;
		if (!b->zstd) {
			b->left -= got;
			if (b->left == 0 && (b->emitter.view.sequence != b->last.sequence ||
					     emitter_place(&b->emitter) != b->last.bytes))
				return BODY_E_CHANGED;
		}
	}
	return (rc == BODY_E_END || rc == EMIT_E_ROOM) && *n ? 0 : rc;
}

/* The rows are not those of the plan. */
static void forget_plan(struct body *b)
{
	struct plan_name name;

	plan_name_of(&b->selection, b->reader, &name);
	plan_cache_forget(&b->walk.scratch->plans, &name);
}

/* Pull in one transaction: the rows of a block lie beside each other. */
static int pull_at_once(struct body *b, char *out, size_t max, struct decode_batch *later, size_t *n)
{
	int rc;

	*n = 0;
	if (!b->zstd && b->left == 0)
		return BODY_E_END;
	rc = reader_begin(b->reader);
	if (rc != 0)
		return rc;
	rc = pull(b, out, max, later, n);
	reader_end(b->reader);
	if (rc == BODY_E_CHANGED || rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT)
		forget_plan(b);
	return rc;
}

int body_pull(struct body *b, char *out, size_t max, size_t *n)
{
	return pull_at_once(b, out, max, NULL, n);
}

int body_fill(void *context, struct block *block)
{
	struct body *b = context;
	size_t room;
	int rc;

	for (;;) {
		rc = pull_at_once(b, (char *)block->data, block->capacity, b->zstd ? NULL : &block->batch,
				  &block->bytes);
		if (rc != EMIT_E_ROOM)
			break;
		/* With room for the header of the next packet; else that would be a block of its own. */
		room = emitter_room(&b->emitter) + MPROF_PACKET_HEADER_BYTES;
		rc = room > block->capacity ? block_reserve(block, room) : -EINVAL;
		if (rc < 0)
			break;
	}
	if (rc != 0) {
		block->bytes = 0;
		decode_batch_clear(&block->batch);
	}
	return rc;
}

int body_stream_init(struct body_stream *s, struct reader *reader, struct scratch *scratch,
		     struct decode_thread *thread, const struct plan *plan, bool zstd, bool range, uint64_t bytes)
{
	*s = (struct body_stream){0};
	blocks_init(&s->blocks, thread, body_fill, &s->body);
	return body_init(&s->body, reader, scratch, plan, zstd, range, bytes);
}

void body_stream_deinit(struct body_stream *s)
{
	blocks_deinit(&s->blocks);
	body_deinit(&s->body);
}

int body_stream_pull(struct body_stream *s, char *out, size_t max, size_t *n)
{
	const struct decode_frame *damage;
	int rc;

	if (s->body.zstd)
		return body_pull(&s->body, out, max, n);
	rc = blocks_read(&s->blocks, out, max, n, &damage);
	if (rc == ARCHIVE_E_DAMAGED && damage)
		reader_note_damage(s->body.reader, damage->source, damage->sequence);
	return rc;
}
