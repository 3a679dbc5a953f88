/*
 * Room in the queue, and the eviction of items.
 *
 * To make room for the last bytes of a dead guest, the queue drops (*evicts*) waiting items of a
 * living stream, newest first, and moves the cursor of that stream's ring back to the first dropped
 * byte. The ring mostly still has these bytes.
 *
 * A *lane* lists the waiting items of one stream that may be evicted, oldest first. They are always
 * the stream's newest items, without a hole between them, so evicting from the end leaves the
 * stream whole up to a position. If an item must stay (it belongs to a dead guest, a capture, or a
 * detached ring), all items before it must stay too: they are taken off the lane (*sealed*), but
 * not off the queue. The commit thread takes items from the head of the queue, so they leave a lane
 * at its head.
 */
#include "queue-state.h"

#include <stdlib.h>

#define EVICT_MIN ((size_t)64 << 10) /* bytes to evict at least; fewer are not worth moving a cursor back */

/* ---- lanes ----------------------------------------------------------------------------------- */

static size_t item_content(const struct item *item)
{
	return item->kind == ITEM_CHUNK ? item->piece.chunk.length : 0;
}

void lane_add(struct queue *queue, struct item *item)
{
	struct lane *lane = item->lane;

	item->lane_next = NULL;
	item->lane_prev = lane->last;
	*(lane->last ? &lane->last->lane_next : &lane->first) = item;
	lane->last = item;
	lane->bytes += item->bytes;
	lane->content += item_content(item);
	queue->evictable += item->bytes;
	if (lane->content >= lane->quarter)
		queue->soon = true;
}

void lane_remove(struct queue *queue, struct item *item)
{
	struct lane *lane = item->lane;

	if (!lane)
		return;
	*(item->lane_prev ? &item->lane_prev->lane_next : &lane->first) = item->lane_next;
	*(item->lane_next ? &item->lane_next->lane_prev : &lane->last) = item->lane_prev;
	lane->bytes -= item->bytes;
	lane->content -= item_content(item);
	queue->evictable -= item->bytes;
	item->lane = NULL;
}

static void seal(struct queue *queue, struct lane *lane)
{
	while (lane->first)
		lane_remove(queue, lane->first);
}

struct lane *lane_open(struct queue *queue, struct account *account, void *owner, uint64_t ring_bytes)
{
	struct lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->account = account;
	lane->owner = owner;
	lane->quarter = ring_bytes / 4;
	pthread_mutex_lock(&queue->mutex);
	account->refs++;
	lane->next = queue->lanes;
	if (lane->next)
		lane->next->prev = lane;
	queue->lanes = lane;
	pthread_mutex_unlock(&queue->mutex);
	return lane;
}

struct lane *lane_close(struct queue *queue, struct lane *lane)
{
	if (!lane)
		return NULL;
	pthread_mutex_lock(&queue->mutex);
	if (lane->first) {
		queue->hurry = true;
		pthread_cond_signal(&queue->wake);
	}
	seal(queue, lane);
	*(lane->prev ? &lane->prev->next : &queue->lanes) = lane->next;
	if (lane->next)
		lane->next->prev = lane->prev;
	account_unref(lane->account);
	pthread_mutex_unlock(&queue->mutex);
	free(lane);
	return NULL;
}

void lane_seal(struct queue *queue, struct lane *lane)
{
	if (!lane)
		return;
	pthread_mutex_lock(&queue->mutex);
	seal(queue, lane);
	pthread_mutex_unlock(&queue->mutex);
}

void account_died(struct queue *queue, struct account *account, bool dead)
{
	pthread_mutex_lock(&queue->mutex);
	account->dead = dead;
	for (struct lane *lane = queue->lanes; lane && dead; lane = lane->next)
		if (lane->account == account)
			seal(queue, lane);
	pthread_mutex_unlock(&queue->mutex);
}

/* ---- room ------------------------------------------------------------------------------------ */

/*
 * Return the number of bytes by which the end of ACCOUNT's guest may grow (or of any dead guest, if
 * ACCOUNT is NULL). The end of one guest may take at most as many bytes as it leaves free for the
 * ends of others: end + x <= free - x. Items from before the guest's death do not count as its end.
 * Bytes that can be evicted count as free for a dead guest, but not for a ring that a living guest
 * withdraws.
 */
size_t queue_dead_room(const struct queue *queue, const struct account *account)
{
	size_t all = queue->limit + queue->reserve + (account && account->dead ? queue->evictable : 0);
	size_t left = all > queue->bytes ? all - queue->bytes : 0;

	if (!account)
		return left;
	return account->end < left ? (left - account->end) / 2 : 0;
}

static size_t living_room(const struct queue *queue, const struct account *account)
{
	size_t left = queue->limit > queue->bytes ? queue->limit - queue->bytes : 0;
	size_t own = account->bytes < queue->per_guest ? queue->per_guest - account->bytes : 0;

	return own < left ? own : left;
}

size_t queue_room(struct queue *queue, struct account *account, bool dead)
{
	size_t room;

	pthread_mutex_lock(&queue->mutex);
	room = dead ? queue_dead_room(queue, account) : living_room(queue, account);
	pthread_mutex_unlock(&queue->mutex);
	return room;
}

/* ---- eviction -------------------------------------------------------------------------------- */

static struct lane *fullest(const struct queue *queue)
{
	struct lane *most = NULL;

	for (struct lane *lane = queue->lanes; lane; lane = lane->next)
		if (lane->first && (!most || lane->bytes > most->bytes))
			most = lane;
	return most;
}

/*
 * Remove items from the end of LANE until they make WANT bytes, and sum them up in EVICTED. Return
 * the removed items as a list.
 */
static struct item *take_back(struct queue *queue, struct lane *lane, size_t want, struct evicted *evicted)
{
	struct item *items = NULL;
	size_t taken = 0;

	while (lane->last && taken < want) {
		struct item *item = lane->last;

		lane_remove(queue, item);
		queue_unlink(queue, item);
		taken += item->bytes;
		account_less(queue, item->account, item->bytes, item->of_end);
		evicted->to = item->from;
		if (item->kind == ITEM_CHUNK) {
			evicted->bytes += item->piece.chunk.length;
		} else {
			evicted->packets += item->gap.packets;
			evicted->gaps++;
			evicted->at_least = evicted->at_least || item->gap.at_least;
		}
		item->next = items;
		items = item;
	}
	return items;
}

bool queue_evict(struct queue *queue, struct account *account, size_t n, struct evicted *evicted)
{
	size_t bytes = sizeof(struct item) + n, limit = queue->limit + queue->reserve;
	struct item *items = NULL;
	struct lane *lane;

	*evicted = (struct evicted){0};
	pthread_mutex_lock(&queue->mutex);
	lane = fullest(queue);
	if (lane && account->dead && queue->bytes + bytes > limit && bytes <= queue_dead_room(queue, account)) {
		size_t want = queue->bytes + bytes - limit;

		evicted->owner = lane->owner;
		items = take_back(queue, lane, want > EVICT_MIN ? want : EVICT_MIN, evicted);
	}
	pthread_mutex_unlock(&queue->mutex);
	if (!items)
		return false;
	while (items) {
		struct item *next = items->next;

		free(items); /* a chunk or gap owns no other memory */
		items = next;
	}
	return true;
}
