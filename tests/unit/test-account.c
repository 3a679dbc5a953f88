/*
 * Rate limits of guests in the sink: a bucket that fills at a rate, and accounts, which cover all
 * streams of a guest.
 */
#include "account.h"
#include "check.h"
#include "clock.h"

#define S NS_PER_S

static void test_bucket(void)
{
	struct bucket b = {0};

	CHECK_EQ_UINT(bucket_take(&b, 0, S, UINT64_MAX), UINT64_MAX); /* a rate of 0 is no limit */
	CHECK_EQ_UINT(bucket_take(&b, 100, 5 * S, 900), 900);
	CHECK_EQ_UINT(bucket_take(&b, 100, 5 * S, 1000), 100); /* a full bucket holds the bytes of ten seconds */
	CHECK_EQ_UINT(bucket_take(&b, 100, 5 * S, 1), 0);
	CHECK_EQ_UINT(bucket_take(&b, 100, 6 * S, 100), 100);
	CHECK_EQ_UINT(bucket_take(&b, 100, 6 * S, 1), 0);
	/* A full bucket does not fill further, however long the guest is silent. */
	CHECK_EQ_UINT(bucket_take(&b, 100, 600 * S, 1000), 1000);
	CHECK_EQ_UINT(bucket_take(&b, 100, 600 * S, 1), 0);
	CHECK_EQ_UINT(bucket_take(&b, 100, 601 * S, 101), 100);
	CHECK_EQ_UINT(bucket_take(&b, UINT64_MAX, 700 * S, UINT64_MAX / 2), UINT64_MAX / 2);
}

static void test_accounts(void)
{
	struct accounts all = {0};
	struct account *web = account_enter(&all, "uuid", "10.0.0.5", 5), *again, *other;

	CHECK_EQ_UINT(web->bytes, 5);
	other = account_enter(&all, NULL, "10.0.0.5", 1);
	again = account_enter(&all, "uuid", "fe80::5", 7);
	CHECK(web == again && web != other);
	account_add(&all, again, 10);
	CHECK_EQ_UINT(web->bytes, 22);
	CHECK_EQ_UINT(web->streams, 2);
	CHECK_EQ_UINT(all.bytes, 23);
	account_leave(&all, again, 17, 100 * S);
	CHECK_EQ_UINT(web->bytes, 5);
	CHECK_EQ_UINT(all.bytes, 6);
	accounts_tidy(&all, 200 * S); /* the account has streams, so it stays */
	CHECK(account_enter(&all, "uuid", "x", 0) == web);
	account_leave(&all, web, 0, 100 * S);
	CHECK_EQ_UINT(bucket_take(&web->bucket, 100, 100 * S, 1000), 1000);
	account_leave(&all, web, 5, 100 * S);
	accounts_tidy(&all, 109 * S);
	/* The bucket is not full yet, so the account is still there. */
	again = account_enter(&all, "uuid", "x", 0);
	CHECK(again == web && bucket_take(&again->bucket, 100, 100 * S, 1000) == 0);
	account_leave(&all, again, 0, 109 * S);
	/* The guest sent nothing, so its bucket is full and the account is removed. */
	account_leave(&all, other, 1, 109 * S);
	CHECK(all.first == web && !web->next);
	accounts_tidy(&all, 110 * S);
	CHECK(!all.first);
	CHECK_EQ_UINT(all.bytes, 0);
	account_enter(&all, NULL, "10.0.0.6", 0);
	accounts_deinit(&all);
	CHECK(!all.first);
}

int main(void)
{
	CHECK_RUN(test_bucket);
	CHECK_RUN(test_accounts);
	return check_done();
}
