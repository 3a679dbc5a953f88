/* What the queue's files share.  Nobody else includes this. */
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
	size_t bytes;	  /* of items made and not freed yet, pushed or not */
	size_t waiting;	  /* of items in the list */
	size_t evictable; /* of those, in lanes */
	size_t limit, per_guest, reserve;
	uint64_t ticket;
	bool hurry, closed;
};

/* All with the mutex held. */

/* queue.c */
void queue_unlink(struct queue *queue, struct item *item);
void account_unref(struct account *account); /* NULL too */
/* BYTES of ACCOUNT's are gone, and the reference of their item; NULL too. */
void account_less(struct queue *queue, struct account *account, size_t bytes, bool of_end);

/* queue-room.c */
/* How many bytes more a dead guest may have. */
size_t queue_dead_room(const struct queue *queue, const struct account *account);
void lane_add(struct queue *queue, struct item *item);
void lane_remove(struct queue *queue, struct item *item); /* one that is in none too */

#endif
