/*
 * The queue between the loop and the commit thread. One mutex protects it; no function does
 * anything slow while it holds the mutex.
 */
#include "queue-state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define SOON_NS (100 * NS_PER_MS) /* at least, between two commits that were asked for soon */

struct queue *queue_new(size_t limit, size_t per_guest, size_t reserve)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	pthread_mutex_init(&queue->mutex, NULL);
	clock_cond_init(&queue->wake);
	queue->limit = limit;
	queue->per_guest = per_guest;
	queue->reserve = reserve;
	return queue;
}

struct queue *queue_free(struct queue *queue)
{
	if (!queue)
		return NULL;
	while (queue->head) {
		struct item *item = queue->head;

		queue_unlink(queue, item);
		queue_item_free(queue, item);
	}
	pthread_cond_destroy(&queue->wake);
	pthread_mutex_destroy(&queue->mutex);
	free(queue);
	return NULL;
}

struct account *account_new(void)
{
	struct account *account = calloc(1, sizeof(*account));

	if (account)
		account->refs = 1;
	return account;
}

void account_unref(struct account *account)
{
	if (account && --account->refs == 0)
		free(account);
}

void account_release(struct queue *queue, struct account *account)
{
	pthread_mutex_lock(&queue->mutex);
	account_unref(account);
	pthread_mutex_unlock(&queue->mutex);
}

size_t account_bytes(struct queue *queue, const struct account *account)
{
	size_t bytes;

	pthread_mutex_lock(&queue->mutex);
	bytes = account->bytes;
	pthread_mutex_unlock(&queue->mutex);
	return bytes;
}

/* Return whether an item of BYTES finds room. The mutex is held. */
static bool has_room(const struct queue *queue, const struct account *account, size_t bytes, bool dead)
{
	if (queue->bytes + bytes > queue->limit + (dead ? queue->reserve : 0))
		return false;
	if (dead)
		return bytes <= queue_dead_room(queue, account);
	return !account || account->bytes + bytes <= queue->per_guest;
}

/* Count an item of BYTES. ACCOUNT may be NULL. The mutex is held. */
static void account_add(struct queue *queue, struct account *account, size_t bytes, bool of_end)
{
	queue->bytes += bytes;
	if (!account)
		return;
	account->bytes += bytes;
	account->end += of_end ? bytes : 0;
	account->refs++;
}

void account_less(struct queue *queue, struct account *account, size_t bytes, bool of_end)
{
	queue->bytes -= bytes;
	if (!account)
		return;
	account->bytes -= bytes;
	account->end -= of_end ? bytes : 0;
	account_unref(account);
}

/* Commit what waits. The mutex is held. */
static void hurry(struct queue *queue)
{
	queue->hurry = queue->hurry || queue->head;
	pthread_cond_signal(&queue->wake);
}

struct item *queue_item(struct queue *queue, struct account *account, enum item_kind kind, size_t n, bool dead)
{
	size_t bytes = sizeof(struct item) + n;
	struct item *item;
	bool room;

	pthread_mutex_lock(&queue->mutex);
	room = n == 0 || has_room(queue, account, bytes, dead);
	if (room)
		account_add(queue, account, bytes, dead);
	else
		hurry(queue);
	pthread_mutex_unlock(&queue->mutex);
	if (!room)
		return NULL;
	item = malloc(bytes);
	if (!item) {
		pthread_mutex_lock(&queue->mutex);
		account_less(queue, account, bytes, dead);
		pthread_mutex_unlock(&queue->mutex);
		return NULL;
	}
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	item->account = account;
	item->bytes = bytes;
	item->of_end = dead;
	return item;
}

void queue_item_free(struct queue *queue, struct item *item)
{
	if (!item)
		return;
	free(item->texts);
	if (item->kind == ITEM_PATCH) {
		free(item->patch.note);
		free(item->patch.marks);
		free(item->patch.context);
	}
	pthread_mutex_lock(&queue->mutex);
	account_less(queue, item->account, item->bytes, item->of_end);
	queue->taken -= item->taken;
	pthread_mutex_unlock(&queue->mutex);
	free(item);
}

void queue_unlink(struct queue *queue, struct item *item)
{
	*(item->prev ? &item->prev->next : &queue->head) = item->next;
	*(item->next ? &item->next->prev : &queue->tail) = item->prev;
	queue->waiting -= item->bytes;
}

/* Return true if so much waits that new bytes may soon find no room. The mutex is held. */
static bool room_is_short(const struct queue *queue, const struct account *account)
{
	return queue->bytes >= queue->limit / 2 || (account && account->bytes >= queue->per_guest / 2);
}

uint64_t queue_push(struct queue *queue, struct item *item)
{
	uint64_t ticket;

	item->queued = clock_mono();
	item->next = NULL;
	pthread_mutex_lock(&queue->mutex);
	ticket = item->ticket = ++queue->ticket;
	item->prev = queue->tail;
	*(queue->tail ? &queue->tail->next : &queue->head) = item;
	queue->tail = item;
	queue->waiting += item->bytes;
	if (item->account && item->account->dead)
		item->lane = NULL;
	if (item->lane)
		lane_add(queue, item);
	queue->hurry = queue->hurry || item->urgent || room_is_short(queue, item->account);
	queue->soon = queue->soon || item->soon || (item->account && item->queued < item->account->followed_until);
	pthread_cond_signal(&queue->wake);
	pthread_mutex_unlock(&queue->mutex);
	return ticket;
}

/*
 * Take the first items, about BYTES of them, off the queue and return them as a list. The mutex is
 * held.
 */
static struct item *cut(struct queue *queue, size_t bytes)
{
	struct item *first = queue->head, *last = NULL;
	size_t taken = 0;

	for (struct item *item = first; item && (taken < bytes || taken == 0); item = item->next) {
		lane_remove(queue, item);
		taken += item->bytes;
		item->taken = true;
		if (!queue->taken++)
			queue->taken_oldest = item->queued;
		last = item;
	}
	if (!last)
		return NULL;
	queue->head = last->next;
	if (queue->head) {
		queue->head->prev = NULL;
	} else {
		queue->tail = NULL;
		queue->hurry = queue->soon = false;
	}
	last->next = NULL;
	queue->waiting -= taken;
	return first;
}

/* Return when the waiting items are due. The mutex is held. */
static uint64_t due_at(const struct queue *queue, size_t bytes, uint64_t interval)
{
	uint64_t due = queue->head->queued + interval;

	if (queue->hurry || queue->closed || queue->waiting >= bytes)
		return 0;
	return queue->soon && queue->soon_at < due ? queue->soon_at : due;
}

struct item *queue_take(struct queue *queue, size_t bytes, uint64_t interval, uint64_t wait)
{
	uint64_t give_up = clock_mono() + wait;
	struct item *items = NULL;

	pthread_mutex_lock(&queue->mutex);
	for (;;) {
		uint64_t now = clock_mono(), until = give_up;

		if (queue->head) {
			uint64_t due = due_at(queue, bytes, interval);

			if (now >= due) {
				if (queue->soon)
					queue->soon_at = now + SOON_NS;
				items = cut(queue, 8 * bytes);
				break;
			}
			if (due < until)
				until = due;
		} else if (queue->closed) {
			break;
		}
		if (now >= give_up)
			break;
		clock_wait(&queue->wake, &queue->mutex, until);
	}
	pthread_mutex_unlock(&queue->mutex);
	return items;
}

void queue_hurry(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	hurry(queue);
	pthread_mutex_unlock(&queue->mutex);
}

uint64_t queue_last(struct queue *queue)
{
	uint64_t ticket;

	pthread_mutex_lock(&queue->mutex);
	ticket = queue->ticket;
	pthread_mutex_unlock(&queue->mutex);
	return ticket;
}

void account_follow(struct queue *queue, struct account *account, uint64_t until)
{
	pthread_mutex_lock(&queue->mutex);
	account->followed_until = until;
	queue->soon = queue->soon || (queue->head && account->bytes);
	pthread_cond_signal(&queue->wake);
	pthread_mutex_unlock(&queue->mutex);
}

void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->closed = true;
	pthread_cond_signal(&queue->wake);
	pthread_mutex_unlock(&queue->mutex);
}

bool queue_closed(struct queue *queue)
{
	bool closed;

	pthread_mutex_lock(&queue->mutex);
	closed = queue->closed;
	pthread_mutex_unlock(&queue->mutex);
	return closed;
}

struct queue_level queue_level(struct queue *queue)
{
	struct queue_level level;

	pthread_mutex_lock(&queue->mutex);
	level = (struct queue_level){
		.bytes = queue->bytes,
		.limit = queue->limit,
		.oldest = queue->taken	? queue->taken_oldest
			  : queue->head ? queue->head->queued
					: 0,
	};
	pthread_mutex_unlock(&queue->mutex);
	return level;
}
