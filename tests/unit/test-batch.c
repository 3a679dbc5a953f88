/* Batches of items that the sink's loop hands to its commit thread. */
#include <stdlib.h>

#include "batch.h"
#include "check.h"

/*
 * batch_move keeps the order of the items. An item that is added to one batch afterwards is not in
 * the other batch.
 */
static void test_move(void)
{
	struct batch from, to;

	batch_init(&from);
	batch_init(&to);
	CHECK_EQ_INT(batch_append(&from, 1, 0, malloc(5), 5), 0);
	CHECK_EQ_INT(batch_append(&from, 1, 5, malloc(7), 7), 0);
	batch_move(&from, &to);
	CHECK(!from.first && from.bytes == 0 && to.bytes == 12);
	CHECK(batch_add(&to, ITEM_DELETE, 2) && batch_add(&from, ITEM_DELETE, 3));
	if (CHECK(to.first && to.first->next && to.first->next->next && !to.first->next->next->next)) {
		CHECK_EQ_UINT(to.first->length, 5);
		CHECK_EQ_UINT(to.first->next->offset, 5);
		CHECK_EQ_INT(to.first->next->next->recording, 2);
	}
	CHECK(from.first && from.first->recording == 3 && !from.first->next);
	batch_deinit(&from);
	batch_deinit(&to);
}

static void test_move_nothing(void)
{
	struct batch from, to;

	batch_init(&from);
	batch_init(&to);
	batch_move(&from, &to);
	CHECK(batch_add(&to, ITEM_DELETE, 2));
	CHECK(!from.first);
	CHECK(to.first && to.first->recording == 2);
	batch_deinit(&from);
	batch_deinit(&to);
}

/* An item has a copy of the recording, which later changes do not reach. */
static void test_put(void)
{
	char name[] = "web";
	const struct memtrace recording = {
		.id = 4, .name = name, .state = "recording", .address = "10.0.0.5", .bytes = 9};
	struct batch b;
	struct item *item;

	batch_init(&b);
	item = batch_put(&b, &recording);
	name[0] = 'x';
	if (CHECK(item)) {
		CHECK(item == b.first && item->kind == ITEM_PUT && item->recording == 4);
		CHECK_EQ_STR(item->put->name, "web");
		CHECK_EQ_STR(item->put->uuid, NULL);
		CHECK_EQ_STR(item->put->address, "10.0.0.5");
		CHECK_EQ_STR(item->put->state, "recording");
		CHECK_EQ_UINT(item->put->bytes, 9);
	}
	batch_deinit(&b);
}

int main(void)
{
	CHECK_RUN(test_move);
	CHECK_RUN(test_move_nothing);
	CHECK_RUN(test_put);
	return check_done();
}
