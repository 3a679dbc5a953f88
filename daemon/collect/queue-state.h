/* Shared by the queue's files. Private to them. */
#ifndef COLLECT_QUEUE_STATE_H
#define COLLECT_QUEUE_STATE_H

#include <pthread.h>

#include "queue.h"

struct lane {
	struct lane *next, *prev;
	struct account *account;
	void *owner;
	struct item *first, *last;
	size_t bytes; /* accounted */
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct item *head, *tail;
	struct lane *lanes;
	size_t bytes;	  /* of items that were made and not freed, pushed or not */
	size_t waiting;	  /* bytes of items in the list */
	size_t evictable; /* bytes of waiting items in lanes */
	size_t limit, per_guest, reserve;
	uint64_t ticket;
	bool hurry, closed;
};

/* All of these are called with the mutex held. */

/* queue.c */
void queue_unlink(struct queue *queue, struct item *item);
void account_unref(struct account *account); /* accepts NULL */
/* Take BYTES off ACCOUNT, and drop their item's reference. Accept NULL. */
void account_less(struct queue *queue, struct account *account, size_t bytes, bool of_end);

/* queue-room.c */
/* Return how many more bytes a dead guest may have. */
size_t queue_dead_room(const struct queue *queue, const struct account *account);
void lane_add(struct queue *queue, struct item *item);
void lane_remove(struct queue *queue, struct item *item); /* accepts one that is in no lane */

#endif
