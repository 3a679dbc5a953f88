/* Shared by the queue's files, and private to them. */
#ifndef COLLECT_QUEUE_STATE_H
#define COLLECT_QUEUE_STATE_H

#include <pthread.h>

#include "queue.h"

struct lane {
	struct lane *next, *prev;
	struct account *account;
	void *owner;
	struct item *first, *last;
	size_t bytes;	/* bytes of its items, as accounted */
	size_t content; /* bytes of the ring's content among them */
	size_t quarter; /* bytes of content that are committed soon */
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct item *head, *tail;
	struct lane *lanes;
	size_t bytes;	       /* bytes of all items that exist, pushed or not */
	size_t waiting;	       /* bytes of items in the list HEAD */
	size_t taken;	       /* number of items that queue_take() returned and that are not freed yet */
	uint64_t taken_oldest; /* when the oldest of them was pushed */
	size_t evictable;      /* bytes of items in lanes */
	size_t limit, per_guest, reserve;
	uint64_t ticket;
	bool hurry, closed;
	bool soon;	  /* a commit is wanted at SOON_AT or later */
	uint64_t soon_at; /* CLOCK_MONOTONIC ns */
};

/* Call all of these functions with the mutex held. */

/* queue.c */
void queue_unlink(struct queue *queue, struct item *item);
void account_unref(struct account *account); /* accepts NULL */
/*
 * Subtract BYTES from ACCOUNT and drop the item's reference to it. OF_END: the bytes count as the
 * guest's end. ACCOUNT may be NULL.
 */
void account_less(struct queue *queue, struct account *account, size_t bytes, bool of_end);

/* queue-room.c */
/* Return by how many bytes the end of a dead guest may grow. */
size_t queue_dead_room(const struct queue *queue, const struct account *account);
void lane_add(struct queue *queue, struct item *item);
void lane_remove(struct queue *queue, struct item *item); /* does nothing if the item is in no lane */

#endif
