/*
 * A remembered plan is that of a new walk, for the whole body and for any range of it, after every change of
 * the rows; and it needs no walk over the packets.
 */
#include "archive-fixture.h"
#include "body.h"

#include <mprof/event.h>

#define STREAM	5
#define EVENT	17u
#define PACKETS 1500u

struct served {
	struct fixture f;
	struct reader *reader;
	struct scratch scratch;
	uint64_t seed;
};

static uint64_t draw(struct served *s, uint64_t below)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (s->seed >> 33) % below;
}

static struct archive_piece piece(uint8_t *data, uint64_t sequence, uint32_t offset, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		mprof_store64(data + i * EVENT, 100 * sequence + (offset - 30) / EVENT + i);
		data[i * EVENT + 8] = 7;
		mprof_store64(data + i * EVENT + 9, 1);
	}
	return (struct archive_piece){.stream = STREAM,
				      .sequence = sequence,
				      .offset = offset,
				      .length = n * EVENT,
				      .packet_bytes = 4096,
				      .first_timestamp = 100 * sequence,
				      .data = data};
}

/* Append packet SEQUENCE with N events. Call it in a transaction. */
static void append(struct served *s, uint64_t sequence, unsigned n)
{
	uint8_t data[8 * EVENT];
	struct archive_piece p = piece(data, sequence, 30, n);
	struct archive_end end = {.offset = 30 + n * EVENT, .mono = 2000 + sequence, .real = 3000 + sequence};

	p.flags = ARCHIVE_CHUNK_LAST;
	p.ends = &end;
	p.n_ends = 1;
	CHECK_EQ_INT(archive_writer_append(s->f.w, &p), 0);
}

static void put_gap(struct served *s, uint64_t after, uint64_t next)
{
	struct archive_gap gap = {.stream = STREAM,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = after,
				  .after_offset = 4096,
				  .next_sequence = next,
				  .packets = next - after - 1};

	CHECK_EQ_INT(archive_writer_gap(s->f.w, &gap), 0);
}

/* Put packets with holes, and capture 1 with a tail. */
static void put_all(struct served *s)
{
	struct archive_capture c = {.id = 1, .run = 1, .kind = "ended", .mono = 5000, .real = 6000};
	struct archive_capture_stream range = {
		.capture = 1, .stream = STREAM, .last_sequence = PACKETS, .last_offset = 30 + EVENT};
	uint8_t data[8 * EVENT];

	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	for (uint64_t i = 0; i < PACKETS; i++)
		if (i % 97 == 13)
			put_gap(s, i - 1, i + 1);
		else
			append(s, i, 1 + (unsigned)draw(s, 5));
	append(s, PACKETS, 1);
	CHECK_EQ_INT(archive_writer_put_capture(s->f.w, &c), 0);
	for (uint64_t i = PACKETS + 1; i < PACKETS + 300; i++) {
		struct archive_piece p = piece(data, i, 30, 1 + (unsigned)draw(s, 5));

		if (i == PACKETS + 200)
			mprof_store64(data, 1);
		CHECK_EQ_INT(archive_writer_tail(s->f.w, 1, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_put_capture_stream(s->f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
}

static bool served_init(struct served *s)
{
	*s = (struct served){.seed = 7};
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0) || !CHECK_EQ_INT(scratch_init(&s->scratch), 0))
		return false;
	put_all(s);
	return true;
}

static void served_deinit(struct served *s)
{
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	fixture_deinit(&s->f);
}

static struct selection all(struct served *s)
{
	struct selection selection = {.run = 1, .stream = STREAM, .ring_packets = 4096, .capture = 1};

	CHECK_EQ_INT(selection_all(&selection, s->reader), 0);
	return selection;
}

/* Plan SELECTION, or the range from FIRST to LAST of it. Return what plan_step() returns last. */
static int make(struct served *s, const struct selection *selection, bool fresh, uint64_t first, uint64_t last,
		struct plan *p)
{
	int rc;

	plan_init(p, s->reader, &s->scratch, selection);
	plan_range(p, first, last);
	p->fresh = fresh;
	do
		rc = plan_step(p, fresh ? UINT64_MAX : 0);
	while (rc == 0 && !p->done);
	plan_deinit(p);
	return rc;
}

static bool is_place(struct body_place a, struct body_place b)
{
	return a.sequence == b.sequence && a.bytes == b.bytes;
}

static bool is_position(const struct position *a, const struct position *b)
{
	return a->run == b->run && a->stream == b->stream && a->sequence == b->sequence && a->offset == b->offset;
}

/* Compare the plan of SELECTION with that of a new walk. Return whether the new walk succeeds. */
static bool check_plan(struct served *s, const struct selection *selection, uint64_t first, uint64_t last)
{
	struct plan a, b;
	int rc = make(s, selection, false, first, last, &a);

	CHECK_EQ_INT(make(s, selection, true, first, last, &b), rc);
	if (rc != 0)
		return false;
	CHECK_EQ_UINT(a.total, b.total);
	CHECK_EQ_UINT(a.packets, b.packets);
	CHECK_EQ_UINT(a.cut_bytes, b.cut_bytes);
	CHECK_EQ_UINT(a.cut_packets, b.cut_packets);
	CHECK_EQ_UINT(a.hash, b.hash);
	CHECK_EQ_UINT(a.hash_rows, b.hash_rows);
	CHECK(is_position(&a.first_cut, &b.first_cut) && is_position(&a.end, &b.end));
	CHECK(is_place(a.last, b.last));
	CHECK(first >= b.total || is_place(a.from, b.from));
	CHECK(first >= b.total || is_place(a.to, b.to));
	return true;
}

/* Compare plans of the whole body and of ranges with those of new walks. */
static void check_plans(struct served *s)
{
	struct selection selection = all(s);
	struct plan whole;

	if (!check_plan(s, &selection, 0, UINT64_MAX))
		return;
	CHECK_EQ_INT(make(s, &selection, false, 0, UINT64_MAX, &whole), 0);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t first = draw(s, whole.total), last = first + draw(s, i % 2 ? 300 : whole.total);

		check_plan(s, &selection, first, last);
	}
	check_plan(s, &selection, 0, 0);
	check_plan(s, &selection, whole.total - 1, whole.total - 1);
	check_plan(s, &selection, whole.total - 1, UINT64_MAX);
	check_plan(s, &selection, whole.total, whole.total + 1);
}

static void test_no_walk(void)
{
	struct selection selection;
	struct served s;
	struct plan p;
	uint64_t before, total;

	if (!served_init(&s))
		return;
	selection = all(&s);
	before = reader_begun(s.reader);
	CHECK_EQ_INT(make(&s, &selection, false, 0, UINT64_MAX, &p), 0);
	CHECK(reader_begun(s.reader) - before > PACKETS / PACKET_WALK_PAGE);
	total = p.total;
	before = reader_begun(s.reader);
	CHECK_EQ_INT(make(&s, &selection, false, 0, UINT64_MAX, &p), 0);
	CHECK_EQ_UINT(p.total, total);
	CHECK(reader_begun(s.reader) - before <= 2);
	check_plans(&s);
	served_deinit(&s);
}

/* ---- changes of the rows ---- */

static void change_gap(struct served *s)
{
	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	put_gap(s, PACKETS + 5, PACKETS + 7);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
}

static void change_append(struct served *s)
{
	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	append(s, PACKETS + 1, 3);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
}

/* Damage packet SEQUENCE in TABLE, and have it repaired. */
static void repair(struct served *s, const char *table, uint64_t sequence, int64_t capture)
{
	bool damaged;

	fixture_number(&s->f, "UPDATE %s SET first_timestamp = first_timestamp + 1 WHERE sequence = %u", table,
		       (unsigned)sequence);
	CHECK_EQ_INT(archive_writer_repair(s->f.w, STREAM, sequence, capture, &damaged), 0);
	CHECK(damaged);
}

static void change_middle(struct served *s)
{
	repair(s, "chunks", 700, 0);
}

static void change_tail(struct served *s)
{
	repair(s, "tails", PACKETS + 9, 1);
}

static void change_last(struct served *s)
{
	repair(s, "chunks", PACKETS, 0);
}

static void change_deletion(struct served *s)
{
	fixture_number(&s->f, "DELETE FROM chunks WHERE sequence < 300");
	fixture_number(&s->f, "UPDATE streams SET deletions = deletions + 1, oldest = 300, checksum = NULL");
	fixture_number(&s->f, "UPDATE row_sums SET unchecked = 1000");
}

/* After each change a plan is that of a new walk, also if an older one is remembered. */
static void test_changes(void)
{
	static void (*const changes[])(struct served *) = {change_gap,	change_append, change_middle,
							   change_tail, change_last,   change_deletion};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct selection selection;
		struct served s;
		struct plan p;

		if (!served_init(&s))
			return;
		selection = all(&s);
		CHECK_EQ_INT(make(&s, &selection, false, 0, UINT64_MAX, &p), 0);
		changes[i](&s);
		check_plan(&s, &selection, 0, UINT64_MAX);
		check_plan(&s, &selection, 5000, 9000);
		check_plans(&s);
		served_deinit(&s);
	}
}

/*
 * Rows go without a trace in the state, which no writer does: the body breaks off, and the plan is forgotten
 * with it. A range behind them has the planned bytes, as before.
 */
static void test_unnoticed(void)
{
	struct selection selection;
	struct served s;
	struct plan p;
	struct body b;
	char out[65536];
	size_t n;
	int rc;

	if (!served_init(&s))
		return;
	selection = all(&s);
	CHECK_EQ_INT(make(&s, &selection, false, 0, UINT64_MAX, &p), 0);
	fixture_number(&s.f, "DELETE FROM chunks WHERE sequence = 800");
	CHECK_EQ_INT(make(&s, &selection, false, 0, UINT64_MAX, &p), 0);
	CHECK_EQ_INT(body_init(&b, s.reader, &s.scratch, &p, false, false, p.total), 0);
	while ((rc = body_pull(&b, out, sizeof(out), &n)) == 0)
		;
	CHECK(rc != BODY_E_END);
	body_deinit(&b);
	CHECK(!check_plan(&s, &selection, 0, UINT64_MAX));
	served_deinit(&s);
}

/* The cache has the newest plans, and marks of a long body get sparser. */
static void test_bounds(void)
{
	CLEANUP(plan_cache_deinit) struct plan_cache c = {0};
	struct plan_marks *marks;

	for (uint64_t i = 1; i <= PLAN_RECORDS_MOST + 10; i++) {
		struct plan_record r = {.name = {.archives = 1, .last = i}};

		marks = calloc(1, sizeof(*marks));
		marks->every = 4;
		for (uint64_t k = 0; k < i * 1000; k++)
			plan_marks_note(marks, k, 2 * k, 10 * k);
		CHECK(marks->n <= PLAN_MARKS_MOST && marks->n >= i * 1000 / marks->every);
		for (uint32_t k = 0; k < marks->n; k++)
			CHECK(marks->list[k].bytes == k * marks->every * 10 &&
			      marks->list[k].sequence == k * marks->every * 2);
		CHECK_EQ_UINT(plan_marks_before(marks, 0).bytes, 0);
		CHECK_EQ_UINT(plan_marks_before(marks, 10 * marks->every - 1).bytes, 0);
		CHECK_EQ_UINT(plan_marks_before(marks, 10 * marks->every).bytes, 10 * marks->every);
		CHECK_EQ_UINT(plan_marks_before(marks, UINT64_MAX).bytes, (marks->n - 1) * marks->every * 10);
		r.marks = marks;
		plan_cache_put(&c, &r);
	}
	for (uint64_t i = 1; i <= PLAN_RECORDS_MOST + 10; i++)
		CHECK_EQ_INT(plan_cache_find(&c, &(struct plan_name){.archives = 1, .last = i}) != NULL, i > 10);
	plan_cache_forget(&c, &(struct plan_name){.archives = 1, .last = 20});
	CHECK(!plan_cache_find(&c, &(struct plan_name){.archives = 1, .last = 20}));
	CHECK(!plan_cache_find(&c, &(struct plan_name){0}));
}

int main(void)
{
	CHECK_RUN(test_no_walk);
	CHECK_RUN(test_changes);
	CHECK_RUN(test_unnoticed);
	CHECK_RUN(test_bounds);
	return check_done();
}
