/* The ends of tails that are remembered: what is found, what is forgotten, and how much memory that takes. */
#include "check.h"
#include "tail-ends.h"

static struct tail_name name_of(int64_t capture)
{
	return (struct tail_name){
		.archives = 1, .stream = 5, .capture = capture, .begin_sequence = 10, .begin_offset = 98};
}

static void test_found(void)
{
	struct tail_ends t = {0};
	struct tail_name name = name_of(1), other = name_of(1);
	struct tail_record *r;
	struct tail_end end = {0};

	CHECK(!tail_ends_find(&t, &name));
	r = tail_ends_begin(&t, &name, 700, 900);
	CHECK(r && r->not_before == 700 && r->not_after == 900);
	CHECK(!tail_record_end(r, 10, 98, 200, &end));
	tail_ends_note(&t, r, 10, NULL, 710);
	tail_ends_note(&t, r, 12, &(struct tail_end){.valid = 64}, 720);
	tail_ends_note(&t, r, 13, &(struct tail_end){81, 115}, 730);
	tail_ends_note(&t, r, 11, &(struct tail_end){.valid = 47}, 999); /* it is verified */
	CHECK_EQ_UINT(r->not_before, 730);
	CHECK(tail_record_end(r, 10, 98, 200, &end) && end.valid == 200 && end.resume == 200);
	CHECK(tail_record_end(r, 11, 30, 300, &end) && end.valid == 300 && end.resume == 300);
	CHECK(tail_record_end(r, 12, 30, 300, &end) && end.valid == 64 && end.resume == 300);
	CHECK(tail_record_end(r, 13, 30, 300, &end) && end.valid == 81 && end.resume == 115);
	CHECK(tail_record_end(r, 13, 30, 100, &end) && end.valid == 81 && end.resume == 100);
	CHECK(!tail_record_end(r, 14, 30, 300, &end));
	CHECK(tail_ends_begin(&t, &name, 1, 2) == r && r->not_before == 730);
	for (unsigned i = 0; i < 5; i++) {
		other = name;
		other.archives += i == 0;
		other.stream += i == 1;
		other.capture += i == 2;
		other.begin_sequence += i == 3;
		other.begin_offset += i == 4;
		CHECK(!tail_ends_find(&t, &other));
	}
	tail_ends_deinit(&t);
}

/* No end leaves the rows of its packet. */
static void test_rows_limit_ends(void)
{
	struct tail_ends t = {0};
	struct tail_name name = name_of(1);
	struct tail_record *r = tail_ends_begin(&t, &name, 0, UINT64_MAX);
	struct tail_end end;

	tail_ends_note(&t, r, 10, &(struct tail_end){120, 150}, 1);
	CHECK(tail_record_end(r, 10, 98, 110, &end) && end.valid == 110 && end.resume == 110);
	CHECK(tail_record_end(r, 10, 130, 200, &end) && end.valid == 130 && end.resume == 150);
	tail_ends_deinit(&t);
}

/* The record that was used last stays, the oldest goes. */
static void test_records_are_bounded(void)
{
	struct tail_ends t = {0};
	struct tail_name first = name_of(1), name;

	for (unsigned i = 0; i < 3 * TAIL_RECORDS_MOST; i++) {
		name = name_of((int64_t)i + 1);
		CHECK(tail_ends_begin(&t, &name, 0, UINT64_MAX));
		CHECK(tail_ends_find(&t, &first));
	}
	CHECK_EQ_UINT(t.n, TAIL_RECORDS_MOST);
	name = name_of(2);
	CHECK(!tail_ends_find(&t, &name));
	tail_ends_deinit(&t);
}

/* Tails with many cuts push each other out; one with more cuts than there may be is remembered up to these. */
static void test_cuts_are_bounded(void)
{
	struct tail_ends t = {0};
	struct tail_name a = name_of(1), b = name_of(2);
	struct tail_record *r = tail_ends_begin(&t, &a, 0, UINT64_MAX);
	const struct tail_end cut = {.valid = 47};
	struct tail_end end;

	for (uint64_t i = 0; i < 1000; i++)
		tail_ends_note(&t, r, 10 + i, &cut, i);
	r = tail_ends_begin(&t, &b, 0, UINT64_MAX);
	for (uint64_t i = 0; i < 2 * (uint64_t)TAIL_CUTS_MOST; i++)
		tail_ends_note(&t, r, 10 + i, i != 2 * TAIL_CUTS_MOST - 1 ? &cut : NULL, i);
	CHECK(t.cuts <= TAIL_CUTS_MOST);
	CHECK(!tail_ends_find(&t, &a));
	CHECK_EQ_UINT(r->next, 10 + TAIL_CUTS_MOST);
	CHECK(tail_record_end(r, 9 + TAIL_CUTS_MOST, 30, 64, &end) && end.valid == 47 && end.resume == 64);
	CHECK(!tail_record_end(r, 10 + TAIL_CUTS_MOST, 30, 64, &end));
	r = tail_ends_begin(&t, &a, 0, UINT64_MAX);
	CHECK(r && r->next == 10);
	tail_ends_deinit(&t);
}

int main(void)
{
	CHECK_RUN(test_found);
	CHECK_RUN(test_rows_limit_ends);
	CHECK_RUN(test_records_are_bounded);
	CHECK_RUN(test_cuts_are_bounded);
	return check_done();
}
