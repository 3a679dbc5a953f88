/*
 * The queue between the collector's loop and the commit thread: order, limits, accounts, eviction,
 * and when a commit is due.
 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "clock.h"
#include "queue.h"

#define KIB 1024u

static struct item *chunk(struct queue *queue, struct account *account, size_t n)
{
	return queue_item(queue, account, ITEM_CHUNK, n, false);
}

static void free_all(struct queue *queue, struct item *list)
{
	while (list) {
		struct item *next = list->next;

		queue_item_free(queue, list);
		list = next;
	}
}

static void test_order(void)
{
	struct queue *queue = queue_new(1 << 20, 1 << 20, 0);
	struct item *list;
	uint64_t last = 0;
	int n = 0;

	for (int i = 0; i < 10; i++) {
		struct item *item = chunk(queue, NULL, 10);

		item->stream = i;
		CHECK(queue_push(queue, item) > last);
		last = item->ticket;
	}
	list = queue_take(queue, 1 << 20, 0, 0);
	for (struct item *i = list; i; i = i->next)
		CHECK_EQ_INT(i->stream, n++);
	CHECK_EQ_INT(n, 10);
	free_all(queue, list);
	CHECK_EQ_UINT(queue_level(queue).bytes, 0);
	queue_free(queue);
}

static void test_limits(void)
{
	struct queue *queue = queue_new(100 * KIB, 60 * KIB, 90 * KIB);
	struct account *a = account_new(), *b = account_new();
	struct item *first = chunk(queue, a, 50 * KIB), *second, *third, *tail;

	CHECK(first != NULL);
	CHECK(chunk(queue, a, 20 * KIB) == NULL); /* more than the guest's limit */
	second = chunk(queue, b, 40 * KIB);
	CHECK(second != NULL);
	CHECK(chunk(queue, b, 15 * KIB) == NULL); /* more than the queue's limit */
	tail = queue_item(queue, b, ITEM_TAIL, 25 * KIB, true);
	/* Dead guests have a reserve beyond these limits. */
	CHECK(tail != NULL);
	/* One guest may take only a part of the reserve. */
	CHECK(queue_item(queue, b, ITEM_TAIL, 25 * KIB, true) == NULL);
	third = queue_item(queue, a, ITEM_GAP, 0, false);
	CHECK(third != NULL); /* an item without data always finds room */
	queue_item_free(queue, first);
	queue_item_free(queue, tail);
	first = chunk(queue, a, 50 * KIB);
	CHECK(first != NULL);
	account_release(queue, a); /* the account is released before its items */
	queue_item_free(queue, first);
	queue_item_free(queue, second);
	queue_item_free(queue, third);
	account_release(queue, b);
	CHECK_EQ_UINT(queue_level(queue).bytes, 0);
	queue_free(queue);
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* Queue a chunk of N bytes for packet SEQUENCE in LANE. */
static void wait_chunk(struct queue *queue, struct account *account, struct lane *lane, uint64_t sequence, size_t n)
{
	struct item *item = chunk(queue, account, n);

	CHECK(item != NULL);
	if (!item)
		return;
	item->lane = lane;
	item->from = (struct ring_cursor){.sequence = sequence, .offset = 30};
	item->piece.chunk.length = (uint32_t)n;
	queue_push(queue, item);
}

static void wait_gap(struct queue *queue, struct account *account, struct lane *lane, uint64_t sequence)
{
	struct item *item = queue_item(queue, account, ITEM_GAP, 0, false);

	item->lane = lane;
	item->from = (struct ring_cursor){.sequence = sequence, .offset = 30};
	item->gap.packets = 5;
	item->gap.at_least = true;
	queue_push(queue, item);
}

static unsigned count(const struct item *list)
{
	unsigned n = 0;

	for (; list; list = list->next)
		n++;
	return n;
}

/*
 * Eviction takes the newest chunks of the guest that has the most waiting bytes. Items that the
 * commit thread has taken, and the older items of the stream, stay.
 */
static void test_evict(void)
{
	struct queue *queue = queue_new(1024 * KIB, 1024 * KIB, 128 * KIB);
	struct account *account = account_new(), *other = account_new(), *dead = account_new();
	struct lane *lane = lane_open(queue, account, &account, UINT64_MAX),
		    *small = lane_open(queue, other, &other, UINT64_MAX);
	struct evicted evicted;
	struct item *list;

	for (uint64_t i = 0; i < 12; i++) {
		wait_chunk(queue, account, lane, i, 60 * KIB);
		if (i < 4)
			wait_chunk(queue, other, small, i, 60 * KIB);
	}
	list = queue_take(queue, 10 * KIB, 0, 0); /* the two oldest items */
	CHECK_EQ_UINT(count(list), 2);
	wait_gap(queue, account, lane, 12);
	account_died(queue, dead, true);
	CHECK(!queue_evict(queue, dead, 10 * KIB, &evicted)); /* there is room already */
	CHECK(queue_item(queue, dead, ITEM_CHUNK, 300 * KIB, true) == NULL);
	CHECK(queue_evict(queue, dead, 300 * KIB, &evicted));
	CHECK(evicted.owner == &account);
	CHECK_EQ_UINT(evicted.to.sequence, 10); /* no more than needed */
	CHECK_EQ_UINT(evicted.bytes, 120 * KIB);
	CHECK(evicted.packets == 5 && evicted.gaps == 1 && evicted.at_least);
	CHECK(!queue_evict(queue, dead, 2000 * KIB, &evicted)); /* no eviction makes that much room */
	free_all(queue, list);
	list = queue_take(queue, 10000 * KIB, 0, 0);
	CHECK_EQ_UINT(count(list), 12); /* 1 to 9 of the first guest, 1 to 3 of the second */
	free_all(queue, list);
	CHECK_EQ_UINT(queue_level(queue).bytes, 0);
	lane_close(queue, lane);
	lane_close(queue, small);
	account_release(queue, account);
	account_release(queue, other);
	account_release(queue, dead);
	queue_free(queue);
}

/* Eviction chooses the lane with the most waiting bytes. Bytes that were committed do not count. */
static void test_evict_after_commit(void)
{
	struct queue *queue = queue_new(1000 * KIB, 1000 * KIB, 0);
	struct account *first = account_new(), *second = account_new(), *dead = account_new();
	struct lane *large = lane_open(queue, first, &first, UINT64_MAX),
		    *small = lane_open(queue, second, &second, UINT64_MAX);
	struct evicted evicted;

	for (uint64_t i = 0; i < 6; i++)
		wait_chunk(queue, first, large, i, 100 * KIB);
	free_all(queue, queue_take(queue, 500 * KIB, 0, 0));
	wait_chunk(queue, first, large, 6, 100 * KIB);
	for (uint64_t i = 0; i < 4; i++)
		wait_chunk(queue, second, small, i, 100 * KIB);
	wait_chunk(queue, NULL, NULL, 0, 300 * KIB);
	account_died(queue, dead, true);
	CHECK(queue_evict(queue, dead, 200 * KIB, &evicted));
	CHECK(evicted.owner == &second);
	free_all(queue, queue_take(queue, 10000 * KIB, 0, 0));
	lane_close(queue, large);
	lane_close(queue, small);
	account_release(queue, first);
	account_release(queue, second);
	account_release(queue, dead);
	queue_free(queue);
}

/* Eviction never takes items of dead guests, of captures, or of detached rings. */
static void test_evict_not(void)
{
	struct queue *queue = queue_new(1000 * KIB, 1000 * KIB, 0);
	struct account *account = account_new(), *dead = account_new();
	struct lane *lane = lane_open(queue, account, &account, UINT64_MAX);
	struct evicted evicted;
	struct item *fill;

	account_died(queue, dead, true);
	wait_chunk(queue, account, lane, 1, 600 * KIB);
	account_died(queue, account, true);
	wait_chunk(queue, account, lane, 2, 100 * KIB);
	CHECK(queue_item(queue, dead, ITEM_CHUNK, 310 * KIB, true) == NULL);
	CHECK(!queue_evict(queue, dead, 310 * KIB, &evicted));
	account_died(queue, account, false);
	wait_chunk(queue, account, lane, 3, 100 * KIB);
	lane_seal(queue, lane);
	wait_chunk(queue, account, lane, 4, 150 * KIB);
	CHECK(queue_evict(queue, dead, 80 * KIB, &evicted));
	CHECK_EQ_UINT(evicted.to.sequence, 4);
	/*
	 * There is no room again. Eviction of the sealed 100 KiB would make some, and does not
	 * happen.
	 */
	fill = queue_item(queue, NULL, ITEM_CHUNK, 130 * KIB, false);
	CHECK(fill != NULL && !queue_evict(queue, dead, 80 * KIB, &evicted));
	queue_item_free(queue, fill);
	wait_chunk(queue, account, lane, 4, 150 * KIB);
	lane_close(queue, lane);
	CHECK(!queue_evict(queue, dead, 80 * KIB, &evicted));
	account_release(queue, account);
	account_release(queue, dead);
	queue_free(queue);
}

/* A large guest that dies leaves room for many small guests that die at the same time or later. */
static void test_share(void)
{
	struct queue *queue = queue_new(64 * KIB * KIB, 32 * KIB * KIB, 64 * KIB * KIB);
	struct account *large = account_new(), *small[60];
	struct item *items[60], *list = NULL;
	size_t had = 0;

	account_died(queue, large, true);
	for (struct item *item; (item = queue_item(queue, large, ITEM_CHUNK, 1024 * KIB, true)) != NULL; had++) {
		item->next = list;
		list = item;
	}
	CHECK(had >= 60 && had <= 64);
	CHECK(queue_room(queue, large, true) < 1024 * KIB);
	for (int i = 0; i < 60; i++) {
		small[i] = account_new();
		CHECK(queue_room(queue, small[i], true) > 1024 * KIB);
		items[i] = queue_item(queue, small[i], ITEM_CHUNK, 1024 * KIB, true);
		CHECK(items[i] != NULL);
	}
	for (int i = 0; i < 60; i++) {
		queue_item_free(queue, items[i]);
		account_release(queue, small[i]);
	}
	free_all(queue, list);
	account_release(queue, large);
	queue_free(queue);
}

/* When a guest dies, bytes that waited already do not count against its part of the reserve. */
static void test_full_share(void)
{
	struct queue *queue = queue_new(1024 * KIB, 1024 * KIB, 1024 * KIB);
	struct account *account = account_new();
	struct item *list = NULL, *item;

	while ((item = queue_item(queue, account, ITEM_CHUNK, 64 * KIB, false)) != NULL) {
		item->next = list;
		list = item;
	}
	account_died(queue, account, true);
	CHECK(queue_room(queue, account, true) >= 512 * KIB);
	item = queue_item(queue, account, ITEM_TAIL, 500 * KIB, true);
	CHECK(item != NULL);
	CHECK(queue_room(queue, account, true) < 64 * KIB);
	queue_item_free(queue, item);
	CHECK(queue_room(queue, account, true) >= 512 * KIB);
	free_all(queue, list);
	account_release(queue, account);
	queue_free(queue);
}

static void test_when(void)
{
	struct queue *queue = queue_new(1 << 20, 1 << 20, 0);
	struct item *item, *list;
	uint64_t began = clock_mono();

	queue_push(queue, chunk(queue, NULL, 10));
	/* The item is neither old enough, nor are there enough bytes. */
	CHECK(queue_take(queue, KIB, 10 * NS_PER_S, 0) == NULL);
	item = chunk(queue, NULL, 10);
	item->urgent = true;
	queue_push(queue, item);
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list && list->next == item);
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 2 * KIB));
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list != NULL); /* enough bytes wait */
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 10));
	queue_hurry(queue);
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list != NULL);
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 10));
	list = queue_take(queue, KIB, 20 * NS_PER_MS, NS_PER_S);
	CHECK(list != NULL && clock_mono() - began >= 20 * NS_PER_MS); /* the item is old enough */
	/* While it is being committed, it is still the oldest. */
	queue_push(queue, chunk(queue, NULL, 10));
	CHECK(queue_level(queue).oldest == list->queued);
	free_all(queue, list);
	list = queue_take(queue, KIB, 0, 0);
	CHECK(list && queue_level(queue).oldest == list->queued);
	free_all(queue, list);
	CHECK_EQ_UINT(queue_level(queue).oldest, 0);
	queue_free(queue);
}

/* Push a chunk with N bytes of content, in LANE unless LANE is NULL. */
static struct item *push(struct queue *queue, struct account *account, struct lane *lane, uint32_t n)
{
	struct item *item = chunk(queue, account, n);

	if (!CHECK(item != NULL))
		return NULL;
	item->piece.chunk.length = n;
	item->lane = lane;
	queue_push(queue, item);
	return item;
}

/* Take the items that are due now and free them. Return their number. */
static unsigned take(struct queue *queue)
{
	struct item *list = queue_take(queue, 1 << 20, 3600 * NS_PER_S, 0);
	unsigned n = count(list);

	free_all(queue, list);
	return n;
}

/*
 * Items that guests and clients can cause at will (item.soon) are due at once, but at most ten
 * times a second.
 */
static void test_soon(void)
{
	struct queue *queue = queue_new(1 << 20, 1 << 20, 0);
	struct account *account = account_new(), *other = account_new();
	struct item *item, *list;
	uint64_t began = clock_mono(), first;

	push(queue, account, NULL, 10);
	CHECK_EQ_UINT(take(queue), 0);
	item = queue_item(queue, account, ITEM_GAP, 0, false);
	item->soon = true;
	queue_push(queue, item);
	CHECK_EQ_UINT(take(queue), 2);
	item = queue_item(queue, NULL, ITEM_MARK, 0, false);
	item->soon = true;
	first = queue_push(queue, item);
	CHECK_EQ_UINT(first, queue_last(queue));
	list = queue_take(queue, 1 << 20, 3600 * NS_PER_S, 300 * NS_PER_S);
	CHECK(list && list->kind == ITEM_MARK && clock_mono() - began >= 100 * NS_PER_MS);
	free_all(queue, list);
	/*
	 * account_follow makes the items of one guest due: those that wait, and those that come
	 * later.
	 */
	push(queue, account, NULL, 10);
	push(queue, other, NULL, 10);
	CHECK(queue_level(queue).oldest >= began);
	CHECK_EQ_UINT(take(queue), 0);
	account_follow(queue, account, clock_mono() + 3600 * NS_PER_S);
	list = queue_take(queue, 1 << 20, 3600 * NS_PER_S, 300 * NS_PER_S);
	CHECK(list && list->next);
	free_all(queue, list);
	CHECK_EQ_UINT(queue_level(queue).oldest, 0);
	push(queue, other, NULL, 10);
	CHECK(queue_take(queue, 1 << 20, 3600 * NS_PER_S, 150 * NS_PER_MS) == NULL);
	push(queue, account, NULL, 10);
	CHECK_EQ_UINT(take(queue), 2);
	account_follow(queue, account, clock_mono());
	push(queue, account, NULL, 10);
	CHECK(queue_take(queue, 1 << 20, 3600 * NS_PER_S, 150 * NS_PER_MS) == NULL);
	/* The followed guest has no item in the queue. */
	account_follow(queue, other, clock_mono() + 3600 * NS_PER_S);
	CHECK_EQ_UINT(take(queue), 0);
	/* An urgent commit is due at once, however recent the last one is. */
	for (int i = 0; i < 20; i++) {
		item = push(queue, account, NULL, 10);
		queue_hurry(queue);
		CHECK(take(queue) > 0);
	}
	account_release(queue, account);
	account_release(queue, other);
	queue_free(queue);
}

/* A quarter of a ring's bytes is due at once, and so are the bytes of a ring that was removed. */
static void test_ring(void)
{
	struct queue *queue = queue_new(1 << 20, 1 << 20, 0);
	struct account *account = account_new();
	struct lane *lane = lane_open(queue, account, &account, 40 * KIB);

	push(queue, account, lane, 6 * KIB);
	push(queue, account, lane, 4 * KIB - 1);
	CHECK_EQ_UINT(take(queue), 0);
	push(queue, account, lane, 1);
	CHECK_EQ_UINT(take(queue), 3);
	push(queue, account, lane, 10 * KIB - 1);
	CHECK(queue_take(queue, 1 << 20, 3600 * NS_PER_S, 150 * NS_PER_MS) == NULL);
	lane_close(queue, lane);
	CHECK_EQ_UINT(take(queue), 1);
	account_release(queue, account);
	queue_free(queue);
}

/* Items are due when half of the room, or of a guest's room, is taken. */
static void test_short(void)
{
	struct queue *queue = queue_new(100 * KIB, 30 * KIB, 0);
	struct account *account[3] = {account_new(), account_new(), account_new()};

	push(queue, account[0], NULL, 14 * KIB);
	CHECK_EQ_UINT(take(queue), 0);
	push(queue, account[0], NULL, 1 * KIB);
	CHECK_EQ_UINT(take(queue), 2); /* half of the guest's room is taken */
	for (int i = 0; i < 3; i++)
		push(queue, account[i], NULL, 14 * KIB);
	CHECK_EQ_UINT(take(queue), 0);
	push(queue, NULL, NULL, 8 * KIB);
	CHECK_EQ_UINT(take(queue), 4); /* half of the queue's room is taken */
	push(queue, account[0], NULL, 14 * KIB);
	CHECK(chunk(queue, account[0], 17 * KIB) == NULL);
	CHECK_EQ_UINT(take(queue), 1); /* an item found no room */
	CHECK(chunk(queue, account[0], 31 * KIB) == NULL);
	CHECK_EQ_UINT(take(queue), 0); /* no room for this item either, but no item waits */
	for (int i = 0; i < 3; i++)
		account_release(queue, account[i]);
	queue_free(queue);
}

static void *consume(void *context)
{
	struct queue *queue = context;
	uint64_t *taken = malloc(sizeof(*taken)), last = 0;

	*taken = 0;
	while (!queue_closed(queue) || queue_level(queue).bytes) {
		struct item *list = queue_take(queue, 4 * KIB, NS_PER_MS, 10 * NS_PER_MS);

		for (struct item *i = list; i; i = i->next) {
			if (i->ticket <= last || i->data[0] != (uint8_t)i->stream)
				*taken = UINT64_MAX / 2;
			last = i->ticket;
			++*taken;
		}
		free_all(queue, list);
	}
	return taken;
}

static void test_threads(void)
{
	struct queue *queue = queue_new(64 * KIB, 64 * KIB, 0);
	struct account *account = account_new();
	uint64_t pushed = 0;
	pthread_t thread;
	void *taken;

	CHECK_EQ_INT(pthread_create(&thread, NULL, consume, queue), 0);
	for (int i = 0; i < 20000; i++) {
		struct item *item = chunk(queue, account, (size_t)(1 + i % 3000));

		if (!item) {
			sched_yield();
			continue;
		}
		item->stream = i % 200;
		item->data[0] = (uint8_t)item->stream;
		queue_push(queue, item);
		pushed++;
	}
	queue_close(queue);
	CHECK_EQ_INT(pthread_join(thread, &taken), 0);
	CHECK_EQ_UINT(*(uint64_t *)taken, pushed);
	free(taken);
	account_release(queue, account);
	queue_free(queue);
}

int main(void)
{
	CHECK_RUN(test_order);
	CHECK_RUN(test_limits);
	CHECK_RUN(test_evict);
	CHECK_RUN(test_evict_after_commit);
	CHECK_RUN(test_evict_not);
	CHECK_RUN(test_share);
	CHECK_RUN(test_full_share);
	CHECK_RUN(test_when);
	CHECK_RUN(test_soon);
	CHECK_RUN(test_ring);
	CHECK_RUN(test_short);
	CHECK_RUN(test_threads);
	return check_done();
}
