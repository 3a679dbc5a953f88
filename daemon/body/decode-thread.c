/*
 * Decode frames ahead.
 *
 * The thread touches the frames of batches and the places for their content, and nothing else: no
 * archive, no client. One lock guards the queue and the counts of each batch; nobody decodes while
 * holding it. A batch is in the queue while it has frames that nobody has begun.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "codec.h"
#include "decode-thread.h"
#include "thread.h"

struct decode_thread {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t work;	     /* a batch was queued, or the thread must end */
	pthread_cond_t done;	     /* the thread has decoded a frame of WAITED */
	bool ending;		     /* guarded by LOCK, like the rest */
	struct decode_batch *oldest; /* in the queue */
	struct decode_batch **end;   /* of the queue */
	const struct decode_batch *waited;
	struct codec_reader own, callers; /* of the thread, and of decode_wait() */
};

int decode_batch_add(struct decode_batch *b, const struct decode_frame *origin, const uint8_t *frame, size_t bytes)
{
	uint8_t *more;

	if (b->n == DECODE_FRAMES)
		return -ENOSPC;
	if (b->capacity - b->used < bytes) {
		more = realloc(b->bytes, b->used + bytes);
		if (!more)
			return -ENOMEM;
		b->bytes = more;
		b->capacity = b->used + bytes;
	}
	memcpy(b->bytes + b->used, frame, bytes);
	b->frames[b->n] = *origin;
	b->frames[b->n].at = b->used;
	b->frames[b->n++].bytes = bytes;
	b->used += bytes;
	return 0;
}

void decode_batch_clear(struct decode_batch *b)
{
	b->n = 0;
	b->used = 0;
}

void decode_batch_deinit(struct decode_batch *b)
{
	free(b->bytes);
	*b = (struct decode_batch){0};
}

/* Take B, which is queued, out of the queue. */
static void unqueue(struct decode_thread *t, struct decode_batch *b)
{
	struct decode_batch **at = &t->oldest;

	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	if (t->end == &b->next)
		t->end = at;
	b->queued = false;
}

/* Decode the next frame of B with CODEC. Call it with the lock; it decodes without. */
static void decode_next(struct decode_thread *t, struct decode_batch *b, struct codec_reader *codec)
{
	const struct decode_frame *f = &b->frames[b->begun++];
	bool ok;

	if (b->begun == b->n && b->queued)
		unqueue(t, b);
	pthread_mutex_unlock(&t->lock);
	ok = (f->place.store && decoded_read(&f->place, f->out)) ||
	     codec_decode(codec, CODEC_ZSTD, b->bytes + f->at, f->bytes, f->out, f->length);
	pthread_mutex_lock(&t->lock);
	b->done++;
	if (!ok)
		b->damage = f;
}

static void *decode_thread_run(void *context)
{
	struct decode_thread *t = context;
	struct decode_batch *b;

	pthread_setname_np(pthread_self(), "decode-thread");
	pthread_mutex_lock(&t->lock);
	while (!t->ending) {
		b = t->oldest;
		if (!b) {
			pthread_cond_wait(&t->work, &t->lock);
			continue;
		}
		decode_next(t, b, &t->own);
		if (t->waited == b)
			pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

int decode_thread_new(struct decode_thread **tp)
{
	struct decode_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (codec_reader_init(&t->own) < 0 || codec_reader_init(&t->callers) < 0) {
		codec_reader_deinit(&t->own);
		free(t);
		return -ENOMEM;
	}
	t->end = &t->oldest;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->done, NULL);
	t->started = thread_start(&t->thread, decode_thread_run, t) == 0;
	*tp = t;
	return 0;
}

struct decode_thread *decode_thread_free(struct decode_thread *t)
{
	if (!t)
		return NULL;
	if (t->started) {
		pthread_mutex_lock(&t->lock);
		t->ending = true;
		pthread_cond_signal(&t->work);
		pthread_mutex_unlock(&t->lock);
		pthread_join(t->thread, NULL);
	}
	pthread_cond_destroy(&t->done);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
	codec_reader_deinit(&t->own);
	codec_reader_deinit(&t->callers);
	free(t);
	return NULL;
}

void decode_begin(struct decode_thread *t, struct decode_batch *b)
{
	b->begun = b->done = 0;
	b->damage = NULL;
	b->next = NULL;
	b->queued = b->n && t->started;
	if (!b->queued)
		return;
	pthread_mutex_lock(&t->lock);
	*t->end = b;
	t->end = &b->next;
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
}

/* Wait until the thread has no frame of B. Call it with the lock, when B is not queued. */
static void wait_for_thread(struct decode_thread *t, const struct decode_batch *b)
{
	t->waited = b;
	while (b->done < b->begun)
		pthread_cond_wait(&t->done, &t->lock);
	t->waited = NULL;
}

const struct decode_frame *decode_wait(struct decode_thread *t, struct decode_batch *b)
{
	pthread_mutex_lock(&t->lock);
	while (b->begun < b->n)
		decode_next(t, b, &t->callers);
	wait_for_thread(t, b);
	pthread_mutex_unlock(&t->lock);
	return b->damage;
}

void decode_drop(struct decode_thread *t, struct decode_batch *b)
{
	pthread_mutex_lock(&t->lock);
	if (b->queued)
		unqueue(t, b);
	wait_for_thread(t, b);
	pthread_mutex_unlock(&t->lock);
}
