/* The counts of streams' bytes, when transactions are committed and rolled back. */
#include "check.h"
#include "usage.h"

static void test_rollback(void)
{
	struct usage usage = {0};

	CHECK_EQ_INT(usage_add_stream(&usage, 1), 0);
	usage_add(&usage, 1, 100);
	usage_commit(&usage);
	CHECK_EQ_INT(usage_add_stream(&usage, 2), 0);
	usage_add(&usage, 2, 50);
	usage_add(&usage, 1, -30);
	CHECK(usage_bytes(&usage, 1) == 70 && usage_bytes(&usage, 2) == 50);
	usage_rollback(&usage);
	CHECK(usage_bytes(&usage, 1) == 100 && !usage_has(&usage, 2));
	usage_remove_stream(&usage, 1);
	CHECK(!usage_has(&usage, 1));
	usage_rollback(&usage);
	CHECK(usage_has(&usage, 1) && usage_bytes(&usage, 1) == 100);
	usage_remove_stream(&usage, 1);
	usage_commit(&usage);
	usage_rollback(&usage);
	CHECK(!usage_has(&usage, 1));
	usage_deinit(&usage);
}

/* A stream without bytes is added and removed with its transaction, too. */
static void test_empty_stream(void)
{
	struct usage usage = {0};

	CHECK_EQ_INT(usage_add_stream(&usage, 1), 0);
	usage_rollback(&usage);
	CHECK(!usage_has(&usage, 1));
	CHECK_EQ_INT(usage_add_stream(&usage, 1), 0);
	usage_commit(&usage);
	usage_add(&usage, 1, 5);
	usage_rollback(&usage);
	CHECK(usage_has(&usage, 1) && usage_bytes(&usage, 1) == 0);
	usage_deinit(&usage);
}

/*
 * A stream that is deleted and put again in the same transaction has the right count, after a
 * rollback too.
 */
static void test_put_again(void)
{
	struct usage usage = {0};

	CHECK_EQ_INT(usage_add_stream(&usage, 1), 0);
	usage_add(&usage, 1, 100);
	usage_commit(&usage);
	usage_add(&usage, 1, -100);
	usage_remove_stream(&usage, 1);
	CHECK_EQ_INT(usage_add_stream(&usage, 1), 0);
	usage_add(&usage, 1, 7);
	CHECK_EQ_INT(usage_bytes(&usage, 1), 7);
	usage_rollback(&usage);
	CHECK_EQ_INT(usage_bytes(&usage, 1), 100);
	usage_deinit(&usage);
}

int main(void)
{
	CHECK_RUN(test_rollback);
	CHECK_RUN(test_empty_stream);
	CHECK_RUN(test_put_again);
	return check_done();
}
