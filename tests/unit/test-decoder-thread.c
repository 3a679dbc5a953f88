/*
 * The thread that decodes while the caller receives: the same events as without the thread, however
 * the bytes are cut; events of few bytes come without waiting for more; an error ends all.
 */
#include <errno.h>
#include <semaphore.h>

#include "check.h"
#include "decoder-thread.h"
#include "trace-make.h"

#define EVENTS 40000

struct seen {
	uint64_t n, last;
	uint64_t refuse_at; /* number of events from which on the consumer refuses; 0: never */
	bool disordered;
	sem_t came; /* posted after each batch */
};

static struct make made;

static int on_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct seen *s = context;

	(void)stream;
	for (size_t i = 0; i < n; i++) {
		s->disordered = s->disordered || events[i].raw.timestamp != s->last + 1;
		s->last = events[i].raw.timestamp;
	}
	s->n += n;
	sem_post(&s->came);
	return s->refuse_at && s->n >= s->refuse_at ? -EFBIG : 0;
}

static void make_all(void)
{
	uint64_t time = 0;

	for (uint16_t packet = 0; packet < 100; packet++) {
		make_packet(&made);
		for (int i = 0; i < EVENTS / 100; i++)
			make_event(&made, ++time, MPROF_EVENT_switch, i, 0, 0, NULL);
		make_close(&made, packet, 0);
	}
}

/* Give all bytes to a thread, PIECE bytes at once. Return its result. */
static int run(struct seen *seen, size_t piece)
{
	const struct consumer consumer = {.events = on_events, .context = seen};
	struct stream_decoder decoder;
	struct decoder_thread *t;
	int r = 0, stopped;

	sem_init(&seen->came, 0, 0);
	CHECK(stream_decoder_init(&decoder, &consumer, "test", STREAM_DECODER_STREAM));
	t = decoder_thread_start(&decoder);
	if (!CHECK(t != NULL))
		return -1;
	for (size_t at = 0; at < made.used && !r; at += piece)
		r = decoder_thread_put(t, made.bytes + at, made.used - at < piece ? made.used - at : piece);
	stopped = decoder_thread_stop(t);
	CHECK(!r || r == stopped);
	r = stopped ? stopped : stream_decoder_end(&decoder);
	stream_decoder_deinit(&decoder);
	sem_destroy(&seen->came);
	return r;
}

static void test_pieces(void)
{
	static const size_t pieces[] = {7, 1000, 16384, 65536, 262144, 262145, sizeof(made.bytes)};

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct seen seen = {0};

		CHECK_EQ_INT(run(&seen, pieces[i]), 0);
		CHECK_EQ_UINT(seen.n, EVENTS);
		CHECK(!seen.disordered);
	}
}

/* The consumer's error reaches the caller, and the consumer gets no more events. */
static void test_refused(void)
{
	static const uint64_t at[] = {1, EVENTS / 2, EVENTS};

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct seen seen = {.refuse_at = at[i]};

		CHECK_EQ_INT(run(&seen, 16384), -EFBIG);
		CHECK(seen.n >= at[i] && seen.n < at[i] + 1000);
	}
}

/* Events of few bytes reach the consumer although no more bytes come. */
static void test_few(void)
{
	struct seen seen = {0};
	const struct consumer consumer = {.events = on_events, .context = &seen};
	struct stream_decoder decoder;
	struct decoder_thread *t;

	sem_init(&seen.came, 0, 0);
	CHECK(stream_decoder_init(&decoder, &consumer, "test", STREAM_DECODER_STREAM));
	t = decoder_thread_start(&decoder);
	if (!CHECK(t != NULL))
		return;
	for (size_t at = 0; at < 3000; at += 1000) {
		CHECK_EQ_INT(decoder_thread_put(t, made.bytes + at, 1000), 0);
		sem_wait(&seen.came);
	}
	CHECK_EQ_INT(decoder_thread_stop(t), 0);
	CHECK(seen.n > 100 && !seen.disordered);
	stream_decoder_deinit(&decoder);
	sem_destroy(&seen.came);
}

static void test_nothing(void)
{
	struct seen seen = {0};
	const struct consumer consumer = {.events = on_events, .context = &seen};
	struct stream_decoder decoder;

	CHECK(stream_decoder_init(&decoder, &consumer, "test", STREAM_DECODER_STREAM));
	CHECK_EQ_INT(decoder_thread_stop(decoder_thread_start(&decoder)), 0);
	CHECK_EQ_INT(decoder_thread_stop(NULL), 0);
	stream_decoder_deinit(&decoder);
}

int main(void)
{
	make_all();
	CHECK_RUN(test_pieces);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_few);
	CHECK_RUN(test_nothing);
	return check_done();
}
