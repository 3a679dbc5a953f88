/*
 * The caller fills buffers, and the thread decodes them in the same order. The thread takes a buffer when
 * it is full; or before that, if the next bytes do not come within WAIT_MS, so that a slow server does
 * not keep the events of the last bytes from a user who watches.
 *
 * Invariant: LOCK protects all fields but BUFFERS' bytes. The caller writes the bytes of the buffer behind
 * the TAKEN and FULL ones; the thread reads those of the oldest one.
 */
#include "decoder-thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUFFERS	     4u
#define BUFFER_BYTES (256u << 10)
#define WAIT_MS	     20

struct decoder_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work; /* a buffer is full, or the caller has ended */
	pthread_cond_t room; /* a buffer is free, or the thread has stopped decoding */
	struct stream_decoder *decoder;
	uint8_t *bytes;	 /* all buffers, owned */
	unsigned oldest; /* index of the oldest buffer that is full, or that is being filled */
	unsigned full;	 /* number of full buffers, the one that is being decoded included */
	size_t sizes[BUFFERS];
	size_t filled; /* bytes in the buffer that is being filled */
	bool ended;    /* no more bytes come */
	int result;    /* result of the decoder */
};

static uint8_t *buffer_at(const struct decoder_thread *t, unsigned i)
{
	return t->bytes + (size_t)(i % BUFFERS) * BUFFER_BYTES;
}

/* Let the thread decode the buffer that is being filled. The caller has the lock. */
static void close_buffer(struct decoder_thread *t)
{
	t->sizes[(t->oldest + t->full) % BUFFERS] = t->filled;
	t->filled = 0;
	t->full++;
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* Wait for a buffer to decode. Return false at the end. The caller has the lock. */
static bool wait_work(struct decoder_thread *t)
{
	struct timespec until;

	while (!t->full && !(t->ended && !t->filled)) {
		until = soon();
		if ((t->ended || pthread_cond_timedwait(&t->work, &t->lock, &until) == ETIMEDOUT) && !t->full &&
		    t->filled)
			close_buffer(t);
	}
	return t->full;
}

static void *decode(void *context)
{
	struct decoder_thread *t = context;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	while (wait_work(t)) {
		const uint8_t *bytes = buffer_at(t, t->oldest);
		size_t n = t->sizes[t->oldest % BUFFERS];

		pthread_mutex_unlock(&t->lock);
		r = r ? r : stream_decoder_put(t->decoder, bytes, n);
		pthread_mutex_lock(&t->lock);
		t->result = r;
		t->oldest++;
		t->full--;
		pthread_cond_signal(&t->room);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void free_all(struct decoder_thread *t)
{
	pthread_cond_destroy(&t->room);
	pthread_cond_destroy(&t->work);
	pthread_mutex_destroy(&t->lock);
	free(t->bytes);
	free(t);
}

struct decoder_thread *decoder_thread_start(struct stream_decoder *decoder)
{
	struct decoder_thread *t = calloc(1, sizeof(*t));
	pthread_condattr_t monotonic;

	if (!t)
		return NULL;
	t->decoder = decoder;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_cond_init(&t->room, NULL);
	t->bytes = malloc((size_t)BUFFERS * BUFFER_BYTES);
	if (t->bytes && pthread_create(&t->thread, NULL, decode, t) == 0)
		return t;
	free_all(t);
	return NULL;
}

int decoder_thread_put(struct decoder_thread *t, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t n;
	int r;

	pthread_mutex_lock(&t->lock);
	while (len && !t->result) {
		if (t->full == BUFFERS) {
			pthread_cond_wait(&t->room, &t->lock);
			continue;
		}
		n = BUFFER_BYTES - t->filled < len ? BUFFER_BYTES - t->filled : len;
		memcpy(buffer_at(t, t->oldest + t->full) + t->filled, p, n);
		t->filled += n;
		p += n;
		len -= n;
		if (t->filled < BUFFER_BYTES)
			break;
		close_buffer(t);
		pthread_cond_signal(&t->work);
	}
	r = t->result;
	pthread_mutex_unlock(&t->lock);
	return r;
}

int decoder_thread_stop(struct decoder_thread *t)
{
	int r;

	if (!t)
		return 0;
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->work);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	r = t->result;
	free_all(t);
	return r;
}
