/*
 * Copy the words of a ring that a program may overwrite meanwhile.
 *
 * The program moves the head behind all words that it will overwrite, before it writes them. So a
 * copy is good from the head on that is read *after* the copy; everything before that head is thrown
 * away and counted as lost. Head and tail are always at the border of two items.
 *
 * Invariants: HEAD <= AT <= TARGET, or AT > TARGET if the program overtook the reader; the words from
 * AT to TO are as the program wrote them.
 */
#include <stdlib.h>

#include "runtime-ring.h"

#define RING_HEADER_BYTES 80u
#define HEADERS		  64u
#define LOADS_MAX	  8 /* loads of head and tail until two are equal */

/*
 * On processors that reorder stores, the words of an item can become visible before the head that was
 * stored in front of them. There a copy during which the head moved is thrown away as a whole.
 */
#ifndef STORES_MOVE
#if defined(__x86_64__) || defined(__i386__)
#define STORES_MOVE false
#else
#define STORES_MOVE true
#endif
#endif

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static bool load_header(const struct runtime_source *s, uint32_t i, uint64_t *head, uint64_t *tail)
{
	uint8_t bytes[16];

	if (!s->memory.load(s->memory.context, HEADERS + (uint64_t)i * RING_HEADER_BYTES, bytes, 2))
		return false;
	*head = mprof_load64(bytes);
	*tail = mprof_load64(bytes + 8);
	return true;
}

/* Move AT to HEAD, if the words before it were overwritten. */
static void move_to(struct runtime_ring *r, uint64_t head)
{
	if (head > r->at) {
		r->lost = add(r->lost, head - r->at);
		r->at = head;
	}
	r->head = head;
}

/* Take HEAD and TAIL, which stand still, so they must agree. Return as runtime_ring_poll(). */
static enum runtime_ring_status take_header(struct runtime_ring *r, const struct runtime_source *s, uint64_t head,
					    uint64_t tail)
{
	if (tail < head || tail - head >= s->layout.ring_words || head < r->head || tail < r->target)
		return RUNTIME_RING_BAD;
	r->target = tail;
	move_to(r, head);
	return r->at < tail ? RUNTIME_RING_OK : RUNTIME_RING_EMPTY;
}

enum runtime_ring_status runtime_ring_poll(struct runtime_ring *r, const struct runtime_source *s, uint32_t i)
{
	uint64_t head, tail, head2, tail2;

	if (!load_header(s, i, &head, &tail))
		return RUNTIME_RING_CUT;
	for (int n = 0; n < LOADS_MAX; n++, head = head2, tail = tail2) {
		if (!load_header(s, i, &head2, &tail2))
			return RUNTIME_RING_CUT;
		if (head == head2 && tail == tail2)
			return take_header(r, s, head, tail);
	}
	/*
	 * The program moves both all the time. A head may then be loaded long before its tail: the copy's
	 * check finds out which words between them are good.
	 */
	if (head < r->head || tail < r->target || tail < head)
		return RUNTIME_RING_BAD;
	r->target = tail;
	move_to(r, head);
	return r->at < tail ? RUNTIME_RING_OK : RUNTIME_RING_EMPTY;
}

/* Copy the N words from AT on. They may go over the end of the ring's memory. */
static bool copy(struct runtime_ring *r, const struct runtime_source *s, uint32_t i, uint64_t n)
{
	uint64_t data = s->layout.data + i * s->layout.ring_words * 8, place = r->at & (s->layout.ring_words - 1);
	uint64_t first = s->layout.ring_words - place < n ? s->layout.ring_words - place : n;

	r->from = r->to = r->at;
	if (!s->memory.load(s->memory.context, data + place * 8, r->words, (size_t)first))
		return false;
	if (n > first && !s->memory.load(s->memory.context, data, r->words + first * 8, (size_t)(n - first)))
		return false;
	r->to = r->at + n;
	return true;
}

/*
 * Load the head again, after a copy, and throw away what was overwritten. Return OK when a part of the
 * copy is good.
 */
static enum runtime_ring_status check(struct runtime_ring *r, const struct runtime_source *s, uint32_t i)
{
	uint64_t head, tail, good;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!load_header(s, i, &head, &tail))
		return RUNTIME_RING_CUT;
	if (head < r->head)
		return RUNTIME_RING_BAD;
	good = STORES_MOVE && head != r->head && head < r->target ? r->target : head;
	move_to(r, good);
	r->head = head; /* the program's, with which the next one is compared */
	return r->at < r->to ? RUNTIME_RING_OK : RUNTIME_RING_EMPTY;
}

enum runtime_ring_status runtime_ring_fill(struct runtime_ring *r, const struct runtime_source *s, uint32_t i)
{
	enum runtime_ring_status status = RUNTIME_RING_EMPTY;
	uint64_t n;

	if (!r->words)
		r->words = malloc(s->piece * 8);
	if (!r->words)
		return RUNTIME_RING_NOMEM;
	while (r->at < r->target && status == RUNTIME_RING_EMPTY) {
		n = r->target - r->at < s->piece ? r->target - r->at : s->piece;
		n = n < s->layout.ring_words ? n : s->layout.ring_words;
		status = copy(r, s, i, n) ? check(r, s, i) : RUNTIME_RING_CUT;
	}
	return status;
}

void runtime_ring_skip(struct runtime_ring *r)
{
	if (r->target > r->at)
		move_to(r, r->target);
	r->from = r->to = r->at;
}

void runtime_ring_deinit(struct runtime_ring *r)
{
	free(r->words);
	r->words = NULL;
}
