/* Steps of live bodies, which are kept so that other followers of the stream can use them. */
#include "check.h"
#include "live-steps.h"

static const struct live_cursor here = {.stream = 1, .sequence = 2, .offset = 30, .deletions = 4, .sent_any = true};
static const struct live_cursor there = {.stream = 1, .sequence = 2, .offset = 47, .deletions = 4, .sent_any = true};

static void test_found(void)
{
	struct live_steps l = {0};
	const struct live_step *s;

	CHECK(live_steps_find(&l, &here) == NULL);
	live_steps_add(&l, &here, &there, "bytes", 5);
	live_steps_add(&l, &there, &there, NULL, 0);
	s = live_steps_find(&l, &here);
	if (CHECK(s != NULL)) {
		CHECK_EQ_UINT(s->n, 5);
		CHECK_EQ_MEM(s->bytes, "bytes", 5);
		CHECK_EQ_UINT(s->to.offset, 47);
	}
	s = live_steps_find(&l, &there);
	CHECK(s && s->n == 0);
	live_steps_forget(&l);
	CHECK(live_steps_find(&l, &here) == NULL && live_steps_find(&l, &there) == NULL);
	live_steps_deinit(&l);
}

/* A step is found only if all members of the cursor are equal. */
static void test_cursors(void)
{
	struct live_cursor others[] = {here, here, here, here, here, here, here};
	struct live_steps l = {0};

	others[0].stream++;
	others[1].sequence++;
	others[2].offset++;
	others[3].deletions++;
	others[4].sent_any = false;
	others[5].abandoned = true;
	others[6].zstd = true;
	live_steps_add(&l, &here, &there, "bytes", 5);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(live_steps_find(&l, &others[i]) == NULL);
	CHECK(live_steps_find(&l, &here) != NULL);
	live_steps_deinit(&l);
}

/* A new step replaces the oldest one. A step that is too long is not kept. */
static void test_bounded(void)
{
	static const char bytes[LIVE_STEP_BYTES + 1];
	struct live_cursor from = here;
	struct live_steps l = {0};

	for (unsigned i = 0; i < 3 * LIVE_STEPS; i++) {
		from.sequence = i;
		live_steps_add(&l, &from, &there, bytes, LIVE_STEP_BYTES);
	}
	for (unsigned i = 0; i < 3 * LIVE_STEPS; i++) {
		from.sequence = i;
		CHECK_EQ_INT(live_steps_find(&l, &from) != NULL, i >= 2 * LIVE_STEPS);
	}
	from.sequence = 999;
	live_steps_add(&l, &from, &there, bytes, sizeof(bytes));
	CHECK(live_steps_find(&l, &from) == NULL);
	live_steps_deinit(&l);
}

int main(void)
{
	CHECK_RUN(test_found);
	CHECK_RUN(test_cursors);
	CHECK_RUN(test_bounded);
	return check_done();
}
