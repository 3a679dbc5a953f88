/* Read single packets of a stream, and verify unproven bytes. */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include <mprof/event.h>
#include <mprof/ring.h>

#include "packet.h"

#define HEADER		 MPROF_PACKET_HEADER_BYTES
#define RECOMPRESS_LEVEL 1

int scratch_init(struct scratch *s)
{
	s->window = malloc(2 * ARCHIVE_PIECE_MAX);
	s->before = malloc(2 * ARCHIVE_PIECE_MAX);
	s->piece = malloc(ARCHIVE_PIECE_MAX);
	s->zstd = ZSTD_createCCtx();
	if (s->window && s->before && s->piece && s->zstd &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, RECOMPRESS_LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1)))
		return 0;
	scratch_deinit(s);
	return -ENOMEM;
}

void scratch_deinit(struct scratch *s)
{
	free(s->window);
	free(s->before);
	free(s->piece);
	ZSTD_freeCCtx(s->zstd);
	tail_ends_deinit(&s->tails);
	plan_cache_deinit(&s->plans);
	*s = (struct scratch){0};
}

int stream_oldest(struct reader *r, int64_t stream, struct reader_packet *p)
{
	size_t n = 1;
	int rc = reader_packets(r, (struct reader_source){.stream = stream}, 0, INT64_MAX, false, p, &n);

	return rc == 0 && n == 0 ? ARCHIVE_E_ABSENT : rc;
}

int stream_newest(struct reader *r, int64_t stream, struct reader_packet *p)
{
	size_t n = 1;
	int rc = reader_packets(r, (struct reader_source){.stream = stream}, 0, INT64_MAX, true, p, &n);

	return rc == 0 && n == 0 ? ARCHIVE_E_ABSENT : rc;
}

int packet_chunks_end(struct reader *r, int64_t stream, const struct reader_packet *p, uint32_t *end)
{
	struct archive_end e;
	int rc;

	*end = p->end;
	/* The rows must follow each other from offset 30 on; if not, some are missing. */
	if (!p->whole || p->begin != HEADER)
		return reader_note_damage(r, (struct reader_source){.stream = stream}, p->sequence);
	if (p->complete)
		return 0;
	rc = reader_end_below(r, stream, p->sequence, UINT32_MAX, &e);
	*end = rc == 0 ? (e.offset < p->end ? e.offset : p->end) : 0;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/*
 * Set *NEWEST to the timestamp of the last whole event in the LEN bytes at P. If there is none,
 * *NEWEST stays as it is.
 */
static void last_timestamp(const uint8_t *p, size_t len, uint64_t *newest)
{
	struct mprof_raw_event e;

	for (size_t at = 0; at < len && mprof_event_load(&e, p + at, len - at) == MPROF_EVENT_OK; at += e.bytes)
		*newest = e.timestamp;
}

int packet_last_chunk(struct reader *r, struct scratch *scratch, int64_t stream, uint64_t sequence,
		      const struct reader_ends *ends, uint64_t *ns, bool *known)
{
	struct reader_source source = {.stream = stream};
	uint8_t time[8];
	size_t got = 0;
	int rc = 0;

	if (ends->n > 1)
		rc = reader_bytes(r, source, sequence, ends->end[ends->n - 2].offset, sizeof(time), time,
				  scratch->piece, &got);
	*known = rc == 0 && got == sizeof(time);
	if (*known)
		*ns = mprof_load64(time);
	return rc;
}

int packet_newest(struct reader *r, struct scratch *scratch, int64_t stream, uint64_t sequence, uint32_t end,
		  uint64_t *newest)
{
	struct archive_end e = {.offset = HEADER};
	size_t got;
	int rc;

	if (end <= HEADER)
		return 0;
	rc = reader_end_below(r, stream, sequence, end - 1, &e);
	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		return rc;
	if (rc == ARCHIVE_E_ABSENT || e.offset < HEADER)
		e.offset = HEADER;
	if (end - e.offset > 2 * ARCHIVE_PIECE_MAX)
		return 0;
	rc = reader_bytes(r, (struct reader_source){.stream = stream}, sequence, e.offset, end - e.offset,
			  scratch->window, scratch->piece, &got);
	if (rc == 0)
		last_timestamp(scratch->window, got, newest);
	return rc;
}

/*
 * Read at most LEN bytes at offset FROM of the packet that the slot of U's packet held before into the scratch.
 * Set TAIL's BEFORE. Return what the reader returns.
 */
static int load_before(struct reader *r, struct scratch *scratch, const struct unproven *u, uint32_t from, size_t len,
		       struct mprof_tail *tail)
{
	int rc = 0;

	tail->before = scratch->before;
	tail->before_bytes = 0;
	if (u->sequence >= u->ring_packets)
		rc = reader_bytes(r, (struct reader_source){.stream = u->source.stream}, u->sequence - u->ring_packets,
				  from, len, scratch->before, scratch->piece, &tail->before_bytes);
	/* The clock was set back if the first event is earlier than the packet before, and not of an earlier lap. */
	if (tail->begins && (u->sequence < u->ring_packets || tail->before_bytes))
		tail->not_before = 0;
	return rc;
}

/* Set *TIME to that of the first event of the packet before U. Return what the reader returns. */
static int time_before(struct reader *r, const struct unproven *u, uint64_t *time)
{
	struct reader_packet p;
	size_t n = 1;
	int rc = 0;

	if (u->sequence)
		rc = reader_packets(r, (struct reader_source){.stream = u->source.stream}, 0, u->sequence - 1, true, &p,
				    &n);
	if (rc == 0 && u->sequence && n)
		*time = p.first_timestamp;
	return rc;
}

/*
 * Find the events that go on behind the invalid one at END->valid of U (mprof_tail_resume()), and set
 * END->resume. Return what the reader returns.
 */
static int tail_resume(struct reader *r, struct scratch *scratch, const struct unproven *u, struct mprof_tail *tail,
		       uint64_t newest, struct tail_end *end)
{
	size_t fill = 0, len = u->to - end->valid, want, got = 1;
	int rc = 0;

	if (len > 2 * ARCHIVE_PIECE_MAX)
		return 0;
	while (rc == 0 && got && fill < len) {
		want = len - fill < ARCHIVE_PIECE_MAX ? len - fill : ARCHIVE_PIECE_MAX;
		rc = reader_bytes(r, u->source, u->sequence, end->valid + (uint32_t)fill, want, scratch->window + fill,
				  scratch->piece, &got);
		fill += got;
	}
	if (rc == 0 && !newest && !tail->earlier)
		rc = time_before(r, u, &tail->earlier);
	if (rc == 0 && fill == len)
		rc = load_before(r, scratch, u, end->valid, len, tail);
	if (rc != 0 || fill < len)
		return rc;
	tail->settled |= u->sequence < u->ring_packets;
	end->resume = end->valid + (uint32_t)mprof_tail_resume(tail, scratch->window, len, 0, newest);
	return 0;
}

int tail_verify(struct reader *r, struct scratch *scratch, const struct unproven *u, const struct mprof_tail *limits,
		struct tail_end *end)
{
	struct mprof_tail tail = *limits;
	struct mprof_raw_event e;
	size_t fill = 0, got, want, n;
	uint64_t newest = 0;
	int rc;

	*end = (struct tail_end){.valid = u->from, .resume = u->to};
	tail.begins = u->from == HEADER;
	while (end->valid + fill < u->to) {
		want = u->to - end->valid - fill;
		rc = reader_bytes(r, u->source, u->sequence, end->valid + (uint32_t)fill,
				  want < ARCHIVE_PIECE_MAX ? want : ARCHIVE_PIECE_MAX, scratch->window + fill,
				  scratch->piece, &got);
		if (rc != 0)
			return rc;
		if (got == 0)
			break;
		fill += got;
		rc = load_before(r, scratch, u, end->valid, fill, &tail);
		if (rc != 0)
			return rc;
		n = mprof_tail_walk_times(&tail, scratch->window, fill, &newest);
		if (n && tail.begins) {
			tail.not_before = mprof_load64(scratch->window);
			tail.begins = false;
		}
		end->valid += (uint32_t)n;
		fill -= n;
		memmove(scratch->window, scratch->window + n, fill);
		/*
		 * If the event is cut by the end of the row, try again with the next row appended.
		 * An event that is longer than a row is invalid.
		 */
		if (fill &&
		    (fill > ARCHIVE_PIECE_MAX || mprof_event_load(&e, scratch->window, fill) != MPROF_EVENT_CUT))
			break;
	}
	return u->ends && end->valid < u->to ? tail_resume(r, scratch, u, &tail, newest, end) : 0;
}
