/*
 * The server's selections of packets, and the bodies made of them: how a tail joins the chunks,
 * where a body is cut, and bodies whose rows were deleted.
 */
#include "archive-fixture.h"
#include "body.h"
#include "clock.h"
#include "rate.h"

#include <mprof/event.h>

#define STREAM 5
#define EVENT  17u
#define PACKET 4u /* events of a packet */

/* Make N events with the timestamps TIMESTAMP, TIMESTAMP + 1 and so on. Return their size in bytes. */
static size_t put_events(uint8_t *out, uint64_t timestamp, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		mprof_store64(out + i * EVENT, timestamp + i);
		out[i * EVENT + 8] = 7;
		mprof_store64(out + i * EVENT + 9, timestamp + i);
	}
	return (size_t)n * EVENT;
}

/* Append N events of packet SEQUENCE from OFFSET on, with timestamps from 100 * SEQUENCE on. */
static void append(struct fixture *f, uint64_t sequence, uint32_t offset, unsigned n, uint32_t flags)
{
	uint8_t data[64 * EVENT];
	uint64_t time = 100 * sequence + (offset - 30) / EVENT;
	struct archive_end end = {.mono = 2000 + sequence, .real = 3000 + sequence};
	struct archive_piece p = {.stream = STREAM,
				  .sequence = sequence,
				  .offset = offset,
				  .length = (uint32_t)put_events(data, time, n),
				  .flags = flags,
				  .packet_bytes = 4096,
				  .first_timestamp = 100 * sequence,
				  .ends = &end,
				  .n_ends = 1,
				  .data = data};

	end.offset = offset + p.length;
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_append(f->w, &p), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* Put a capture of the run's end. Its proven bytes end at LAST_OFFSET of packet LAST. */
static void capture(struct fixture *f, uint64_t last, uint32_t last_offset)
{
	struct archive_capture c = {.id = 1, .run = 1, .kind = "ended", .mono = 5000, .real = 6000};
	struct archive_capture_stream range = {1, STREAM, 0, last, last_offset, 0};

	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &c), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

static void tail(struct fixture *f, uint64_t sequence, uint32_t offset, unsigned n)
{
	uint8_t data[64 * EVENT];
	struct archive_piece p = {.stream = STREAM,
				  .sequence = sequence,
				  .offset = offset,
				  .length = (uint32_t)put_events(data, 100 * sequence + (offset - 30) / EVENT, n),
				  .packet_bytes = 4096,
				  .first_timestamp = 100 * sequence,
				  .data = data};

	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_tail(f->w, 1, &p), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* An archive and a reader of it. */
struct served {
	struct fixture f;
	struct reader *reader;
	struct scratch scratch;
};

static bool served_init(struct served *s, unsigned packets)
{
	*s = (struct served){0};
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0) || !CHECK_EQ_INT(scratch_init(&s->scratch), 0))
		return false;
	for (unsigned i = 0; i < packets; i++)
		append(&s->f, i, 30, PACKET, ARCHIVE_CHUNK_LAST);
	return true;
}

static void served_deinit(struct served *s)
{
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	fixture_deinit(&s->f);
}

static struct selection all(struct served *s, int64_t capture_id)
{
	struct selection selection = {.run = 1, .stream = STREAM, .ring_packets = 4, .capture = capture_id};

	CHECK_EQ_INT(selection_all(&selection, s->reader), 0);
	return selection;
}

/* Return the last packet of SELECTION, and store the number of packets in *N. */
static struct packet_view last_view(struct served *s, const struct selection *selection, unsigned *n)
{
	struct packet_view v = {0}, last = {0};
	struct packet_walk w;
	bool have;

	packet_walk_init(&w, s->reader, &s->scratch, selection);
	for (*n = 0; CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0) && have; ++*n)
		last = v;
	return last;
}

/* A tail is joined if it begins at the end of the chunks. Any other tail is cut off. */
static void test_tail_joined(void)
{
	static const struct {
		/* Events between the chunks and the tail's pieces. SECOND is 0 without one. */
		uint32_t at, second;
		/* Events of the tail that are joined, and events that are cut off. */
		unsigned joined, cut;
	} cases[] = {{0, 0, 2, 0}, {0, 2, 4, 0}, {1, 0, 0, 2}, {1, 3, 0, 4}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct packet_view v;
		struct selection selection;
		uint32_t end = 30 + PACKET * EVENT;
		struct served s;
		unsigned n;

		if (!served_init(&s, 2))
			return;
		append(&s.f, 2, 30, PACKET, 0);
		capture(&s.f, 2, end);
		tail(&s.f, 2, end + cases[i].at * EVENT, 2);
		if (cases[i].second)
			tail(&s.f, 2, end + cases[i].second * EVENT, 2);
		selection = all(&s, 1);
		v = last_view(&s, &selection, &n);
		CHECK_EQ_UINT(n, 3);
		CHECK_EQ_UINT(v.sequence, 2);
		CHECK_EQ_UINT(v.chunks_end, end);
		CHECK_EQ_UINT(v.end, end + cases[i].joined * EVENT);
		CHECK_EQ_UINT(v.cut, cases[i].cut * EVENT);
		served_deinit(&s);
	}
}

/*
 * The collector writes a packet's tail in adjacent pieces, so a hole shows that a row is missing.
 */
static void test_tail_with_a_hole(void)
{
	uint32_t end = 30 + PACKET * EVENT;
	struct selection selection;
	struct packet_walk w;
	struct packet_view v;
	struct served s;
	bool have;

	if (!served_init(&s, 2))
		return;
	append(&s.f, 2, 30, PACKET, 0);
	capture(&s.f, 2, end);
	tail(&s.f, 2, end, 2);
	tail(&s.f, 2, end + 3 * EVENT, 2);
	selection = all(&s, 1);
	packet_walk_init(&w, s.reader, &s.scratch, &selection);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
	CHECK_EQ_INT(packet_walk_next(&w, &v, &have), ARCHIVE_E_DAMAGED);
	served_deinit(&s);
}

/* A limit deletes a packet, of which a part was archived, and the gap that declares its rest, after the packet was read: that is no damage. */
static void test_deleted_meanwhile(void)
{
	const uint32_t end = 30 + PACKET * EVENT;
	const struct archive_gap gap = {.stream = STREAM,
					.kind = "lost",
					.reason = "queue",
					.after_sequence = 1,
					.after_offset = end,
					.next_sequence = 2,
					.packets = 1};
	struct selection selection;
	struct packet_walk w;
	struct packet_view v;
	struct served s;
	bool have, more;

	if (!served_init(&s, 1))
		return;
	append(&s.f, 1, 30, PACKET, 0);
	CHECK_EQ_INT(archive_writer_begin(s.f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(s.f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(s.f.w), 0);
	for (unsigned i = 2; i < 5; i++)
		append(&s.f, i, 30, PACKET, ARCHIVE_CHUNK_LAST);
	selection = all(&s, 0);
	packet_walk_init(&w, s.reader, &s.scratch, &selection);
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
	CHECK_EQ_UINT(v.sequence, 1);
	CHECK_EQ_INT(archive_writer_enforce(s.f.w, "web", 1, 0, 2, &more), 0);
	CHECK_EQ_INT(fixture_number(&s.f, "SELECT min(sequence) FROM chunks"), 2);
	CHECK_EQ_INT(fixture_number(&s.f, "SELECT count(*) FROM gaps"), 0);
	CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
	CHECK(have);
	CHECK_EQ_UINT(v.sequence, 2);
	served_deinit(&s);
}

/* A text that has no end within the largest window is no event. */
static void test_tail_without_an_end(void)
{
	static uint8_t data[ARCHIVE_PIECE_MAX];
	struct archive_piece p = {.stream = STREAM,
				  .sequence = 2,
				  .offset = 30,
				  .length = sizeof(data),
				  .packet_bytes = 8 * ARCHIVE_PIECE_MAX,
				  .first_timestamp = 200,
				  .data = data};
	const struct mprof_tail limits = {.not_after = UINT64_MAX};
	struct unproven u = {.source = {.stream = STREAM, .capture = 1}, .ring_packets = 4, .sequence = 2, .from = 30};
	struct tail_end end;
	struct served s;

	if (!served_init(&s, 2))
		return;
	capture(&s.f, 1, 30 + PACKET * EVENT);
	memset(data, 'a', sizeof(data));
	mprof_store64(data, 200);
	data[8] = MPROF_EVENT_label;
	for (unsigned i = 0; i < 4; i++, p.offset += p.length) {
		CHECK_EQ_INT(archive_writer_begin(s.f.w), 0);
		CHECK_EQ_INT(archive_writer_tail(s.f.w, 1, &p), 0);
		CHECK_EQ_INT(archive_writer_commit(s.f.w), 0);
		memset(data, 'a', 9);
	}
	u.to = p.offset;
	CHECK_EQ_INT(tail_verify(s.reader, &s.scratch, &u, &limits, &end), 0);
	CHECK_EQ_UINT(end.valid, 30);
	served_deinit(&s);
}

/* Put 40 tail packets of four events behind packet 2. In packet 9 the third event is older than the second. */
static void long_tail(struct fixture *f)
{
	uint32_t end = 30 + PACKET * EVENT;

	append(f, 2, 30, PACKET, 0);
	capture(f, 2, end);
	tail(f, 2, end, 2);
	for (uint64_t i = 3; i < 43; i++) {
		tail(f, i, 30, i == 9 ? 2 : PACKET);
		if (i == 9) { /* this piece has the timestamps of packet 8 */
			uint8_t data[2 * EVENT];
			struct archive_piece p = {.stream = STREAM,
						  .sequence = i,
						  .offset = 30 + 2 * EVENT,
						  .length = (uint32_t)put_events(data, 800, 2),
						  .packet_bytes = 4096,
						  .first_timestamp = 900,
						  .data = data};

			CHECK_EQ_INT(archive_writer_begin(f->w), 0);
			CHECK_EQ_INT(archive_writer_tail(f->w, 1, &p), 0);
			CHECK_EQ_INT(archive_writer_commit(f->w), 0);
		}
	}
}

/* Walk over SELECTION, compare the views with VIEWS if COMPARE is set, and return the number of statements. */
static uint64_t walk_all(struct served *s, const struct selection *selection, struct packet_view views[64],
			 bool compare)
{
	uint64_t before = reader_begun(s->reader);
	struct packet_view v;
	struct packet_walk w;
	bool have;

	packet_walk_init(&w, s->reader, &s->scratch, selection);
	for (unsigned i = 0; i < 64 && CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0) && have; i++) {
		if (compare) {
			CHECK_EQ_UINT(v.sequence, views[i].sequence);
			CHECK_EQ_UINT(v.end, views[i].end);
			CHECK_EQ_UINT(v.cut, views[i].cut);
			CHECK_EQ_INT(v.tail, views[i].tail);
		}
		views[i] = v;
	}
	return reader_begun(s->reader) - before;
}

/* The first walk over a tail reads its events; a second one has the same views, and reads no byte of it. */
static void test_tail_is_verified_once(void)
{
	struct packet_view views[64] = {0};
	struct selection selection;
	uint64_t first, second;
	struct served s;

	if (!served_init(&s, 2))
		return;
	long_tail(&s.f);
	selection = all(&s, 1);
	first = walk_all(&s, &selection, views, false);
	CHECK_EQ_UINT(views[2].end, 30 + (PACKET + 2) * EVENT);
	CHECK_EQ_UINT(views[9].end, 30 + 2 * EVENT);
	CHECK_EQ_UINT(views[9].cut, 2 * EVENT);
	CHECK_EQ_UINT(views[42].end, 30 + PACKET * EVENT);
	second = walk_all(&s, &selection, views, true);
	CHECK(first >= second + 41);
	tail_ends_deinit(&s.scratch.tails);
	CHECK_EQ_UINT(walk_all(&s, &selection, views, true), first);
	served_deinit(&s);
}

/* A walk that begins in a verified tail reads neither the packets before it nor its events. */
static void test_seek_into_a_verified_tail(void)
{
	struct packet_view views[64] = {0}, v;
	struct selection selection;
	struct packet_walk w;
	struct served s;
	bool have;

	if (!served_init(&s, 2))
		return;
	long_tail(&s.f);
	selection = all(&s, 1);
	walk_all(&s, &selection, views, false);
	for (unsigned at = 3; at < 43; at++) {
		packet_walk_init(&w, s.reader, &s.scratch, &selection);
		packet_walk_seek(&w, at);
		CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
		CHECK(have);
		CHECK_EQ_UINT(v.sequence, at);
		CHECK_EQ_UINT(v.end, views[at].end);
		CHECK_EQ_UINT(v.cut, views[at].cut);
	}
	served_deinit(&s);
}

/* A walk goes on where another one ended. */
static void test_tail_verified_in_parts(void)
{
	struct packet_view views[64] = {0}, v;
	struct selection selection;
	struct packet_walk w;
	struct served s;
	bool have;

	if (!served_init(&s, 2))
		return;
	long_tail(&s.f);
	selection = all(&s, 1);
	packet_walk_init(&w, s.reader, &s.scratch, &selection);
	for (unsigned i = 0; i < 12; i++)
		CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
	walk_all(&s, &selection, views, false);
	CHECK_EQ_UINT(views[9].cut, 2 * EVENT);
	CHECK_EQ_UINT(views[42].cut, 0);
	for (unsigned i = 12; i < 43; i++) {
		CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
		CHECK_EQ_UINT(v.end, views[i].end);
	}
	served_deinit(&s);
}

/* The rate of a stream counts the content of packets without their headers. */
static void test_rate(void)
{
	struct served s;
	struct reader_packet newest;
	uint64_t rate;
	size_t n = 1;

	if (!served_init(&s, 0))
		return;
	append(&s.f, 0, 30, 60, 0);
	CHECK_EQ_INT(
		reader_packets(s.reader, (struct reader_source){.stream = STREAM}, 0, UINT64_MAX, true, &newest, &n),
		0);
	CHECK_EQ_UINT(n, 1);
	CHECK_EQ_INT(rate_of_stream(s.reader, STREAM, &newest, RATE_SECONDS * NS_PER_S + 2999, &rate), 0);
	CHECK_EQ_UINT(rate, 60 * EVENT / RATE_SECONDS);
	CHECK_EQ_INT(rate_of_stream(s.reader, STREAM, &newest, RATE_SECONDS * NS_PER_S + 3000, &rate), 0);
	CHECK_EQ_UINT(rate, 0);
	served_deinit(&s);
}

/* A period includes the tail if it reaches the tail's packet. */
static void test_times_and_the_tail(void)
{
	static const struct {
		uint64_t from, to;
		unsigned packets;
		uint64_t last;
		bool tail;
	} cases[] = {
		{0, UINT64_MAX, 4, 3, true},   {0, 250, 4, 3, true}, {0, 199, 2, 1, false},
		{100, 103, 1, 1, false},       {0, 200, 4, 3, true}, {150, 199, 1, 1, false},
		{201, UINT64_MAX, 2, 3, true},
	};
	struct packet_view v;
	struct selection selection;
	struct served s;
	unsigned n;

	if (!served_init(&s, 2))
		return;
	append(&s.f, 2, 30, PACKET, 0);
	capture(&s.f, 2, 30 + PACKET * EVENT);
	tail(&s.f, 2, 30 + PACKET * EVENT, 2);
	tail(&s.f, 3, 30, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		selection = all(&s, 1);
		CHECK_EQ_INT(selection_times(&selection, s.reader, cases[i].from, cases[i].to), 0);
		v = last_view(&s, &selection, &n);
		CHECK_EQ_UINT(n, cases[i].packets);
		CHECK_EQ_UINT(v.sequence, cases[i].last);
		CHECK_EQ_INT(v.tail, cases[i].tail);
		CHECK_EQ_INT(selection.capture != 0, cases[i].tail);
	}
	served_deinit(&s);
}

/* The period ends before the first packet. */
static void test_times_before_all(void)
{
	struct selection selection;
	struct served s;
	unsigned n;

	if (!served_init(&s, 0))
		return;
	append(&s.f, 5, 30, PACKET, 0);
	capture(&s.f, 5, 30 + PACKET * EVENT);
	tail(&s.f, 5, 30 + PACKET * EVENT, 2);
	for (uint64_t to = 498; to <= 501; to++) {
		selection = all(&s, 1);
		CHECK_EQ_INT(selection_times(&selection, s.reader, 0, to), 0);
		last_view(&s, &selection, &n);
		CHECK_EQ_UINT(n, to >= 500);
	}
	served_deinit(&s);
}

/* selection_last_bytes selects the fewest newest packets that have the bytes. */
static void test_last_bytes(void)
{
	const uint64_t bytes = 30 + PACKET * EVENT;
	struct selection selection;
	struct served s;

	if (!served_init(&s, 5))
		return;
	for (uint64_t want = 1; want <= 6 * bytes; want++) {
		uint64_t packets = (want + bytes - 1) / bytes;

		selection = all(&s, 0);
		CHECK_EQ_INT(selection_last_bytes(&selection, s.reader, want), 0);
		CHECK_EQ_UINT(selection.first, packets < 5 ? 5 - packets : 0);
		CHECK_EQ_UINT(selection.last, 4);
	}
	served_deinit(&s);
}

static struct plan plan_of(struct served *s, const struct selection *selection)
{
	struct plan p;

	plan_init(&p, s->reader, &s->scratch, selection);
	while (CHECK_EQ_INT(plan_step(&p, UINT64_MAX), 0) && !p.done)
		;
	return p;
}

/* Any change of the bytes changes the hash of the selection. */
static void test_hash(void)
{
	struct selection selection;
	struct served s;
	uint64_t hashes[8];
	size_t n = 0;

	if (!served_init(&s, 3))
		return;
	selection = all(&s, 0);
	hashes[n++] = plan_of(&s, &selection).hash;
	CHECK_EQ_UINT(plan_of(&s, &selection).hash, hashes[0]);
	selection.first_offset = 30 + EVENT;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.first_offset = 30 + 2 * EVENT;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.first_offset = 30;
	selection.last_offset = 30 + EVENT;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.last = 1;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.first = 1;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.number = 1;
	hashes[n++] = plan_of(&s, &selection).hash;
	selection.run = 2;
	hashes[n++] = plan_of(&s, &selection).hash;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(hashes[i] != hashes[k]);
	served_deinit(&s);
}

/* Read the whole body of PLAN. Return the last result, and store the number of bytes in *N. */
static int pull(struct served *s, const struct plan *plan, bool zstd, bool range, uint64_t bytes, uint64_t *n)
{
	struct body b;
	char out[50];
	size_t got;
	int rc;

	CHECK_EQ_INT(body_init(&b, s->reader, &s->scratch, plan, zstd, range, bytes), 0);
	for (*n = 0; (rc = body_pull(&b, out, sizeof(out), &got)) == 0; *n += got)
		;
	body_deinit(&b);
	return rc;
}

/*
 * Rows are deleted after the plan was made. A body that lacks them never looks complete. A stream
 * without its first or last row is damaged in every body.
 */
static void test_rows_that_went(void)
{
	const uint64_t bytes = 30 + PACKET * EVENT;

	/*
	 * The whole body; the whole body in zstd frames; a range from inside packet 1 to inside
	 * packet 3.
	 */
	for (unsigned mode = 0; mode < 3; mode++) {
		for (int gone = -1; gone < 6; gone++) {
			uint64_t first = bytes + 40, last = 3 * bytes + 59, want, n;
			struct selection selection;
			struct plan plan;
			struct served s;
			bool affected = mode == 2 ? gone >= 0 && gone != 4 : gone >= 0;
			int rc;

			if (!served_init(&s, 6))
				return;
			selection = all(&s, 0);
			plan = plan_of(&s, &selection);
			want = mode == 2 ? last - first + 1 : plan.total;
			CHECK_EQ_UINT(plan.total, 6 * bytes);
			if (mode == 2) {
				plan_range(&plan, first, last);
				while (CHECK_EQ_INT(plan_step(&plan, UINT64_MAX), 0) && !plan.done)
					;
			}
			fixture_number(&s.f, "DELETE FROM chunks WHERE sequence = %d", gone);
			rc = pull(&s, &plan, mode == 1, mode == 2, want, &n);
			CHECK_EQ_INT(rc == BODY_E_END, !affected);
			if (mode != 1)
				CHECK_EQ_INT(rc == BODY_E_END && n == want, !affected);
			served_deinit(&s);
		}
	}
}

/* A packet without one of its middle rows is damaged. */
static void test_row_missing_inside(void)
{
	struct reader_packet p;
	struct served s;
	uint32_t end;

	if (!served_init(&s, 1))
		return;
	append(&s.f, 1, 30, 2, 0);
	append(&s.f, 1, 30 + 2 * EVENT, 1, 0);
	append(&s.f, 1, 30 + 3 * EVENT, 1, 0);
	CHECK_EQ_INT(stream_newest(s.reader, STREAM, &p), 0);
	CHECK_EQ_INT(packet_chunks_end(s.reader, STREAM, &p, &end), 0);
	CHECK_EQ_UINT(end, 30 + 4 * EVENT);
	fixture_number(&s.f, "DELETE FROM chunks WHERE sequence = 1 AND offset = %u", 30 + 2 * EVENT);
	CHECK_EQ_INT(stream_newest(s.reader, STREAM, &p), 0);
	CHECK_EQ_INT(packet_chunks_end(s.reader, STREAM, &p, &end), ARCHIVE_E_DAMAGED);
	served_deinit(&s);
}

/*
 * A packet is added after the plan was made. A body of plain bytes has the planned bytes, and a
 * body of zstd frames breaks off.
 */
static void test_rows_that_came(void)
{
	for (unsigned zstd = 0; zstd < 2; zstd++) {
		struct selection selection;
		struct plan plan;
		struct served s;
		uint64_t n;

		if (!served_init(&s, 3))
			return;
		selection = all(&s, 0);
		plan = plan_of(&s, &selection);
		append(&s.f, 3, 30, PACKET, ARCHIVE_CHUNK_LAST);
		plan.selection.last = 3;
		CHECK_EQ_INT(pull(&s, &plan, zstd, false, plan.total, &n), zstd ? BODY_E_CHANGED : BODY_E_END);
		CHECK(zstd || n == plan.total);
		served_deinit(&s);
	}
}

/*
 * A selection may begin inside a gap. The packet before the gap is not part of it, which is no
 * damage.
 */
static void test_begin_inside_a_gap(void)
{
	static const struct archive_gap gap = {.stream = STREAM,
					       .kind = "lost",
					       .reason = "lapped",
					       .after_sequence = 9,
					       .after_offset = 30 + PACKET * EVENT,
					       .next_sequence = 20,
					       .packets = 10};
	struct selection selection;
	struct packet_walk w;
	struct packet_view v;
	struct served s;
	bool have;
	unsigned n;

	if (!served_init(&s, 10))
		return;
	CHECK_EQ_INT(archive_writer_begin(s.f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(s.f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(s.f.w), 0);
	append(&s.f, 20, 30, PACKET, ARCHIVE_CHUNK_LAST);
	append(&s.f, 21, 30, PACKET, ARCHIVE_CHUNK_LAST);
	selection = all(&s, 0);
	packet_walk_init(&w, s.reader, &s.scratch, &selection);
	packet_walk_seek(&w, 15);
	CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0);
	CHECK(have && v.sequence == 20);
	selection.first = 15;
	CHECK_EQ_UINT(last_view(&s, &selection, &n).sequence, 21);
	CHECK_EQ_UINT(n, 2);
	served_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_tail_joined);
	CHECK_RUN(test_rate);
	CHECK_RUN(test_tail_with_a_hole);
	CHECK_RUN(test_deleted_meanwhile);
	CHECK_RUN(test_tail_without_an_end);
	CHECK_RUN(test_tail_is_verified_once);
	CHECK_RUN(test_seek_into_a_verified_tail);
	CHECK_RUN(test_tail_verified_in_parts);
	CHECK_RUN(test_times_and_the_tail);
	CHECK_RUN(test_times_before_all);
	CHECK_RUN(test_last_bytes);
	CHECK_RUN(test_hash);
	CHECK_RUN(test_rows_that_went);
	CHECK_RUN(test_row_missing_inside);
	CHECK_RUN(test_rows_that_came);
	CHECK_RUN(test_begin_inside_a_gap);
	return check_done();
}
