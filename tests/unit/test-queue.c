/* The queue: order, limits, accounts, and two threads at its ends. */
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
	struct queue *queue = queue_new(100 * KIB, 60 * KIB, 50 * KIB);
	struct account *a = account_new(), *b = account_new();
	struct item *first = chunk(queue, a, 50 * KIB), *second, *third, *tail;

	CHECK(first != NULL);
	CHECK(chunk(queue, a, 20 * KIB) == NULL); /* its own share */
	second = chunk(queue, b, 40 * KIB);
	CHECK(second != NULL);
	CHECK(chunk(queue, b, 15 * KIB) == NULL); /* the whole */
	tail = queue_item(queue, b, ITEM_TAIL, 45 * KIB, true);
	CHECK(tail != NULL); /* the dead have room beside it */
	CHECK(queue_item(queue, b, ITEM_TAIL, 45 * KIB, true) == NULL);
	third = queue_item(queue, a, ITEM_GAP, 0, false);
	CHECK(third != NULL); /* what is small is never lost */
	queue_item_free(queue, first);
	queue_item_free(queue, tail);
	first = chunk(queue, a, 50 * KIB);
	CHECK(first != NULL);
	account_release(queue, a); /* the guest goes before its items */
	queue_item_free(queue, first);
	queue_item_free(queue, second);
	queue_item_free(queue, third);
	account_release(queue, b);
	CHECK_EQ_UINT(queue_level(queue).bytes, 0);
	queue_free(queue);
}

static void test_when(void)
{
	struct queue *queue = queue_new(1 << 20, 1 << 20, 0);
	struct item *item, *list;
	uint64_t began = clock_mono();

	queue_push(queue, chunk(queue, NULL, 10));
	CHECK(queue_take(queue, KIB, 10 * NS_PER_S, 0) == NULL); /* neither old nor much */
	item = chunk(queue, NULL, 10);
	item->urgent = true;
	queue_push(queue, item);
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list && list->next == item);
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 2 * KIB));
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list != NULL); /* much */
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 10));
	queue_hurry(queue);
	list = queue_take(queue, KIB, 10 * NS_PER_S, 0);
	CHECK(list != NULL);
	free_all(queue, list);

	queue_push(queue, chunk(queue, NULL, 10));
	list = queue_take(queue, KIB, 20 * NS_PER_MS, NS_PER_S);
	CHECK(list != NULL && clock_mono() - began >= 20 * NS_PER_MS); /* old */
	free_all(queue, list);
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
	CHECK_RUN(test_when);
	CHECK_RUN(test_threads);
	return check_done();
}
