/* The heads of captures and runs: what a guest causes makes them no larger than the hub takes. */
#include <errno.h>
#include <jansson.h>

#include "archive-fixture.h"
#include "head.h"

#define HUB_MOST 65536u /* bytes of a head in the hub's own form */

struct world {
	struct fixture f;
	struct reader *r;
};

/* Make a run with a packet, and a capture of it. */
static bool world_init(struct world *w, const char *guest)
{
	struct archive_capture capture = {.id = 1, .run = 1, .kind = "crash", .real = 5};
	struct archive_capture_stream range = {.capture = 1, .stream = 1, .last_sequence = 3, .last_offset = 1030};

	*w = (struct world){0};
	if (!fixture_init(&w->f) || !CHECK_EQ_INT(reader_new(&w->r, w->f.state), 0))
		return false;
	CHECK_EQ_INT(fixture_put(&w->f, 1, guest, "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&w->f, 1, 3, 1030, 100), 0);
	CHECK_EQ_INT(archive_writer_begin(w->f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(w->f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(w->f.w, &range), 0);
	return CHECK_EQ_INT(archive_writer_commit(w->f.w), 0);
}

static void world_deinit(struct world *w)
{
	reader_free(w->r);
	fixture_deinit(&w->f);
}

static void add_gaps(struct world *w, int n)
{
	fixture_number(&w->f,
		       "INSERT INTO gaps (stream, kind, reason, after_sequence, after_offset, next_sequence, packets,"
		       " at_least, real, mono) WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
		       " WHERE n < %d) SELECT 1, 'lost', 'lapped', 1, 1048576, 2, 65535, 0, 1, 1 FROM c",
		       n);
	fixture_number(&w->f, "UPDATE row_sums SET unchecked = 1000000");
}

/* Add 300 streams of the run, each with a label of 64 bytes. */
static void add_streams(struct world *w)
{
	fixture_number(&w->f,
		       "INSERT INTO streams (id, run, number, name, ring_bytes, ring_packets) WITH RECURSIVE c (n) AS"
		       " (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < 301)"
		       " SELECT n, 1, n, replace(hex(zeroblob(8)), '00', '\\x1f\"\"\"\"'), 1048576, 4 FROM c");
	fixture_number(&w->f, "UPDATE row_sums SET unchecked = 1000000");
}

/* Return the head, and check that the hub takes it. */
static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	CHECK(json != NULL);
	CHECK(json_dumpb(json, NULL, 0, 0) <= HUB_MOST);
	return json;
}

static json_t *capture_head(struct world *w)
{
	struct head head;
	json_t *json;

	CHECK_EQ_INT(head_of_capture(w->r, 1, &head), 0);
	json = parse(head.json);
	head_deinit(&head);
	return json;
}

/* Return the member KEY of the head's first gap. */
static const char *of_gap(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(json, "gaps"), 0), key));
}

static void test_small(void)
{
	struct world w;
	json_t *json;

	if (!world_init(&w, "web"))
		return;
	add_gaps(&w, 3);
	json = capture_head(&w);
	CHECK(!json_object_get(json, "cut"));
	CHECK_EQ_UINT(json_array_size(json_object_get(json, "gaps")), 3);
	CHECK_EQ_STR(of_gap(json, "real"), "1");
	CHECK_EQ_STR(of_gap(json, "mono"), "1");
	CHECK_EQ_UINT(json_array_size(json_object_get(json, "streams")), 1);
	CHECK_EQ_STR(json_string_value(json_object_get(json, "guest")), "web");
	json_decref(json);
	world_deinit(&w);
}

static void test_gaps(void)
{
	struct world w;
	json_t *json;

	if (!world_init(&w, "web"))
		return;
	add_gaps(&w, 600);
	json = capture_head(&w);
	CHECK(json_is_true(json_object_get(json, "cut")));
	CHECK(json_array_size(json_object_get(json, "gaps")) > 100);
	CHECK(!of_gap(json, "real") && !of_gap(json, "mono")); /* these go first */
	CHECK_EQ_UINT(json_array_size(json_object_get(json, "streams")), 1);
	CHECK_EQ_INT(json_integer_value(json_object_get(json, "lost_packets")), 600 * 65535);
	json_decref(json);
	world_deinit(&w);
}

static void test_streams(void)
{
	CLEANUP(freep) char *text = NULL;
	size_t streams;
	struct world w;
	json_t *json;

	if (!world_init(&w, "web"))
		return;
	add_gaps(&w, 600);
	add_streams(&w);
	fixture_number(&w.f, "INSERT INTO capture_streams (capture, stream, first_sequence, last_sequence, last_offset,"
			     " tail_bytes) SELECT 1, id, 0, 3, 30, 0 FROM streams WHERE id > 1");
	json = capture_head(&w);
	CHECK(json_is_true(json_object_get(json, "cut")));
	CHECK(json_array_size(json_object_get(json, "streams")) > 50);
	CHECK_EQ_INT(json_integer_value(json_object_get(json, "lost_packets")), 600 * 65535);
	json_decref(json);
	CHECK_EQ_INT(head_of_run(w.r, 1, &text, &streams), 0);
	json = parse(text);
	CHECK(json_is_true(json_object_get(json, "cut")));
	CHECK(json_array_size(json_object_get(json, "streams")) > 50);
	json_decref(json);
	world_deinit(&w);
}

/* A head has room for a memory profile, however large it is. Times that are not known are left out. */
static void test_profile(void)
{
	struct head_profile profile = {
		INT32_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
	};
	struct world w;
	struct head head;
	json_t *json, *one;

	if (!world_init(&w, "web"))
		return;
	for (int n = 0; n < 30; n++) {
		CLEANUP(freep) char *text = NULL;

		CHECK_EQ_INT(head_of_capture(w.r, 1, &head), 0);
		CHECK_EQ_INT(head_with_profile(&head, &profile, &text), 0);
		json = parse(text);
		one = json_object_get(json, "profile");
		CHECK_EQ_INT(json_integer_value(json_object_get(one, "recording")), INT32_MAX);
		CHECK_EQ_STR(json_string_value(json_object_get(one, "began_mono")), "9223372036854775807");
		CHECK_EQ_UINT(json_object_size(one), profile.ended_real ? 6 : 4);
		json_decref(json);
		head_deinit(&head);
		add_gaps(&w, 17);
		profile.ended_real = profile.ended_mono = 0;
	}
	world_deinit(&w);
}

/* A name that is no UTF-8 is no reason to refuse the capture. */
static void test_name(void)
{
	struct world w;
	json_t *json;

	if (!world_init(&w, "w\xff"))
		return;
	json = capture_head(&w);
	CHECK_EQ_STR(json_string_value(json_object_get(json, "guest")), "?");
	json_decref(json);
	world_deinit(&w);
}

static long fail_in; /* allocations of jansson that succeed before one fails */

static void *scarce(size_t size)
{
	return fail_in-- == 0 ? NULL : malloc(size);
}

/* Make the head while allocation N from now on fails. Return whether it could be made; it must be WHOLE then. */
static bool whole_or_none(struct world *w, long n, const char *whole)
{
	struct head head;
	int r;

	fail_in = n;
	r = head_of_capture(w->r, 1, &head);
	if (r == 0)
		CHECK_EQ_STR(head.json, whole);
	else
		CHECK_EQ_INT(r, -ENOMEM);
	head_deinit(&head);
	return r == 0;
}

/* Let each STEPth allocation of a head with GAPS gaps fail, one after the other. */
static void check_no_memory(int gaps, long step)
{
	CLEANUP(freep) char *whole = NULL;
	bool made = false;
	int failed = 0;
	struct head head;
	struct world w;

	if (!world_init(&w, "web"))
		return;
	add_gaps(&w, gaps);
	CHECK_EQ_INT(head_of_capture(w.r, 1, &head), 0);
	whole = TAKE_PTR(head.json);
	head_deinit(&head);
	json_set_alloc_funcs(scarce, free);
	for (long n = 0; !made && n < 100000; n += step) {
		made = whole_or_none(&w, n, whole);
		failed += !made;
	}
	json_set_alloc_funcs(malloc, free);
	CHECK(made);
	CHECK(failed > 100);
	world_deinit(&w);
}

/* Whatever allocation fails: a head is whole, or there is none. The second one is too large, and is shortened. */
static void test_no_memory(void)
{
	check_no_memory(2, 1);
	check_no_memory(600, 97);
}

int main(void)
{
	CHECK_RUN(test_small);
	CHECK_RUN(test_gaps);
	CHECK_RUN(test_profile);
	CHECK_RUN(test_streams);
	CHECK_RUN(test_name);
	CHECK_RUN(test_no_memory);
	return check_done();
}
