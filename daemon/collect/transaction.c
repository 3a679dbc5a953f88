/*
 * Order of the items: first runs that begin and streams; then each stream's chunks and gaps, in the order in which they were queued;
 * then captures, and last runs that end and changes of captures. Adjacent chunks of one packet become one row, a *piece*.
 */
#include "transaction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int transaction_init(struct transaction *t, struct archive_writer *w)
{
	*t = (struct transaction){.w = w, .row = malloc(ARCHIVE_PIECE_MAX)};
	return t->row ? 0 : -ENOMEM;
}

void transaction_deinit(struct transaction *t)
{
	free(t->row);
	*t = (struct transaction){0};
}

static int row_write(struct transaction *t)
{
	int r;

	if (!t->open)
		return 0;
	t->open = false;
	t->piece.data = t->row;
	t->piece.ends = t->ends;
	r = archive_writer_append(t->w, &t->piece);
	if (r != ARCHIVE_E_ABSENT)
		return r;
	/*
	 * The stream was deleted from the archive, or the chunk does not follow the archive's last
	 * byte of the stream: drop the chunk.
	 */
	log_write_limited(&t->orphans, LOG_LEVEL_WARNING, NULL,
			  "A piece has no place in the archive: stream=%lld sequence=%llu", (long long)t->piece.stream,
			  (unsigned long long)t->piece.sequence);
	return 0;
}

static uint32_t chunk_flags(const struct ring_chunk *c)
{
	return (c->last ? ARCHIVE_CHUNK_LAST : 0u) | (c->unproven ? ARCHIVE_CHUNK_UNPROVEN : 0u) |
	       (c->clock ? ARCHIVE_CHUNK_CLOCK : 0u);
}

/* Return whether the chunk of ITEM follows the open row and fits into it. */
static bool row_continues(const struct transaction *t, const struct item *item)
{
	const struct ring_chunk *c = &item->piece.chunk;
	const struct archive_piece *p = &t->piece;

	return t->open && p->stream == item->stream && p->sequence == c->sequence &&
	       p->offset + p->length == c->offset && p->length + c->length <= ARCHIVE_PIECE_MAX &&
	       p->n_ends < TRANSACTION_ENDS && !(p->flags & ARCHIVE_CHUNK_LAST);
}

static int write_chunk(struct transaction *t, const struct item *item)
{
	const struct ring_chunk *c = &item->piece.chunk;
	int r;

	if (!row_continues(t, item)) {
		r = row_write(t);
		if (r)
			return r;
		t->piece = (struct archive_piece){
			.stream = item->stream,
			.sequence = c->sequence,
			.offset = c->offset,
			.packet_bytes = c->packet_bytes,
			.first_timestamp = c->first_timestamp,
		};
		t->open = true;
	}
	memcpy(t->row + t->piece.length, item->data, c->length);
	t->piece.length += c->length;
	t->piece.flags |= chunk_flags(c);
	if (c->end && c->length)
		t->ends[t->piece.n_ends++] = (struct archive_end){
			.offset = c->offset + c->length,
			.mono = c->copied.mono,
			.real = c->copied.real,
		};
	return 0;
}

static int write_tail(struct transaction *t, const struct item *item)
{
	const struct ring_chunk *c = &item->piece.chunk;
	struct archive_piece piece = {
		.stream = item->stream,
		.sequence = c->sequence,
		.offset = c->offset,
		.length = c->length,
		.packet_bytes = c->packet_bytes,
		.first_timestamp = c->first_timestamp,
		.data = item->data,
	};

	return archive_writer_tail(t->w, item->piece.capture, &piece);
}

static int change_capture(struct transaction *t, const struct item *item)
{
	return archive_writer_change_capture(t->w, &(struct archive_capture_change){
							   .capture = item->patch.capture,
							   .pinned = item->patch.pinned,
							   .note = item->patch.note,
							   .marks = item->patch.marks,
							   .context = item->patch.context,
							   .version = item->patch.version,
						   });
}

static int send_again(struct transaction *t, const struct item *item)
{
	if (item->again.capture)
		return archive_writer_send_again(t->w, item->again.capture);
	return archive_writer_send_packets_again(t->w, item->again.stream, item->again.first, item->again.last);
}

static int write_row(struct transaction *t, const struct item *item)
{
	switch (item->kind) {
	case ITEM_RUN:
		return archive_writer_put_run(t->w, &item->run);
	case ITEM_STREAM:
		return archive_writer_put_stream(t->w, &item->record);
	case ITEM_GAP:
		return archive_writer_gap(t->w, &item->gap);
	case ITEM_CAPTURE:
		return archive_writer_put_capture(t->w, &item->capture);
	case ITEM_RANGE:
		return archive_writer_put_capture_stream(t->w, &item->range);
	case ITEM_TAIL:
		return write_tail(t, item);
	case ITEM_PATCH:
		return change_capture(t, item);
	case ITEM_DELETE:
		return archive_writer_delete_capture(t->w, item->patch.capture);
	case ITEM_FINISH:
		return archive_writer_finish_capture(t->w, item->patch.capture);
	case ITEM_SENT:
		return archive_writer_sent(t->w, &item->sent);
	case ITEM_AGAIN:
		return send_again(t, item);
	case ITEM_CHUNK:
	case ITEM_DAMAGE:
	case ITEM_JUDGE:
	case ITEM_MARK:
		break;
	}
	return 0;
}

static int write_item(struct transaction *t, const struct item *item)
{
	int r;

	if (item->kind == ITEM_CHUNK)
		return write_chunk(t, item);
	if (item->kind == ITEM_MARK) /* it has nothing to write */
		return 0;
	if (item->kind == ITEM_DAMAGE || item->kind == ITEM_JUDGE) /* these have transactions of their own */
		return 0;
	r = row_write(t);
	if (r == 0)
		r = write_row(t, item);
	/*
	 * The row that the item belongs to may have been deleted. That is no failure of the
	 * archive.
	 */
	if (r != 0 && r != ARCHIVE_E_ABSENT && r != ARCHIVE_E_CHANGED)
		return r;
	if (item->result)
		*item->result = r;
	return 0;
}

/* Return the rank by which a flush is sorted: items of lower rank are written first. */
static int64_t item_rank(const struct item *item)
{
	if (item->kind == ITEM_RUN)
		return item->run.ended_real ? INT64_MAX : -1;
	if (item->kind == ITEM_STREAM)
		return -1;
	if (item->kind == ITEM_CHUNK || item->kind == ITEM_GAP)
		return item->stream;
	return INT64_MAX;
}

static int item_compare(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
	int64_t rx = item_rank(x), ry = item_rank(y);

	if (rx != ry)
		return rx < ry ? -1 : 1;
	return x->ticket < y->ticket ? -1 : 1;
}

void transaction_sort(struct item **items, size_t n)
{
	qsort(items, n, sizeof(*items), item_compare);
}

int transaction_write(struct transaction *t, struct item **items, size_t n)
{
	int r = archive_writer_begin(t->w);

	t->open = false;
	for (size_t i = 0; i < n && r == 0; i++)
		r = write_item(t, items[i]);
	if (r == 0)
		r = row_write(t);
	if (r == 0)
		return archive_writer_commit(t->w);
	t->open = false;
	archive_writer_rollback(t->w);
	return r;
}
