/*
 * A stream of the sink: the collector's answer, the limit of streams, and bytes that come. The test
 * replaces the receiver and the collector.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mprof/bytes.h>

#include "called-guest.h"
#include "check.h"
#include "collector-questions.h"
#include "guest-stream.h"
#include "receiver.h"

#define MOST 3u /* limit of the streams of a guest */

void receiver_dirty(struct receiver *receiver)
{
	(void)receiver;
}

static uint64_t room = UINT64_MAX; /* bytes that receiver_room() still allows */

uint64_t receiver_room(struct receiver *receiver, struct account *account, uint64_t bytes, const char **reason)
{
	uint64_t n = bytes < room ? bytes : room;

	(void)receiver;
	(void)account;
	room -= n;
	*reason = n < bytes ? "rate" : NULL;
	return n;
}

void receiver_complain(struct receiver *receiver, const char *address, const char *what)
{
	(void)receiver;
	(void)address;
	(void)what;
}

void collector_ask_who(struct stream *s)
{
	(void)s;
}

void guest_recording(struct guest *g)
{
	(void)g;
}

void guest_ended(struct guest *g, const char *reason, bool recorded)
{
	(void)g;
	(void)reason;
	(void)recorded;
}

/* Add a stream that is being recorded. Its guest is not known yet. */
static struct stream *stream_make(struct receiver *receiver, int64_t recording)
{
	struct stream *s = calloc(1, sizeof(*s));

	s->receiver = receiver;
	s->fd = -1;
	s->state = STREAM_RECORDING;
	s->about = (struct memtrace){.id = recording, .domid = -1, .state = "recording", .address = s->address};
	snprintf(s->address, sizeof(s->address), "10.0.0.%d", (int)recording);
	s->account = account_enter(&receiver->accounts, NULL, s->address, 0);
	s->next = receiver->streams;
	receiver->streams = s;
	receiver->n_streams++;
	return s;
}

static const struct memtrace *last_put(const struct receiver *receiver)
{
	const struct memtrace *put = NULL;

	for (const struct item *i = receiver->batch.first; i; i = i->next)
		put = i->kind == ITEM_PUT ? i->put : put;
	return put;
}

/* The streams of all addresses of a guest count for the guest's limit. */
static void test_streams_of_a_guest(void)
{
	const struct config config = {.sink_guest_streams = MOST};
	struct receiver receiver = {.config = &config};
	const struct memtrace *put;

	batch_init(&receiver.batch);
	for (unsigned i = 1; i <= MOST + 1; i++) {
		stream_identify(stream_make(&receiver, i), 4, "web", "a-uuid", 5);
		CHECK_EQ_UINT(receiver.n_streams, i <= MOST ? i : MOST);
		CHECK_EQ_UINT(receiver.counts.refused, i > MOST);
	}
	put = last_put(&receiver);
	if (CHECK(put)) {
		CHECK_EQ_INT(put->id, MOST + 1);
		CHECK_EQ_STR(put->state, "ended");
		CHECK_EQ_STR(put->reason, "quota");
	}
	/* A second answer for the same stream does not count the stream twice. */
	stream_identify(receiver.streams, 4, "web", "a-uuid", 5);
	CHECK_EQ_UINT(receiver.n_streams, MOST);
	while (receiver.streams)
		stream_end(receiver.streams, "ended");
	accounts_deinit(&receiver.accounts);
	batch_deinit(&receiver.batch);
}

/* The collector's answer is put into the archive even if no bytes came after it. */
static void test_identity(void)
{
	const struct config config = {.sink_guest_streams = MOST};
	struct receiver receiver = {.config = &config};
	const struct memtrace *put;
	struct stream *s;

	batch_init(&receiver.batch);
	s = stream_make(&receiver, 1);
	stream_flush(s, &receiver.batch);
	CHECK(!receiver.batch.first);
	stream_identify(s, 4, "web", "a-uuid", 5);
	stream_flush(s, &receiver.batch);
	put = last_put(&receiver);
	if (CHECK(put)) {
		CHECK_EQ_INT(put->run, 4);
		CHECK_EQ_INT(put->domid, 5);
		CHECK_EQ_STR(put->name, "web");
		CHECK_EQ_STR(put->uuid, "a-uuid");
	}
	stream_end(s, "ended");
	accounts_deinit(&receiver.accounts);
	batch_deinit(&receiver.batch);
}

/* When a stream ends, the bytes behind its last whole packet are counted as dropped, once. */
static void test_cut(void)
{
	const struct config config = {.sink_guest_streams = MOST};
	struct receiver receiver = {.config = &config, .held = 70};
	const struct memtrace *put;
	struct stream *s;

	batch_init(&receiver.batch);
	s = stream_make(&receiver, 1);
	s->block = calloc(1, 70);
	s->room = s->len = 70;
	s->whole = 66;
	stream_end(s, "reset");
	CHECK_EQ_UINT(receiver.counts.dropped, 4);
	CHECK_EQ_UINT(receiver.held, 66); /* whole packets are held until they are committed */
	put = last_put(&receiver);
	if (CHECK(put)) {
		CHECK_EQ_UINT(put->dropped, 4);
		CHECK_EQ_UINT(put->bytes, 66);
		CHECK_EQ_STR(put->reason, "reset");
	}
	accounts_deinit(&receiver.accounts);
	batch_deinit(&receiver.batch);
}

/*
 * Write the first packet of a profile to P: version 2, rate 1/2, words of 64 bits, three texts, a
 * process id, a context. Return its bytes.
 */
static size_t info_put(uint8_t *p)
{
	static const char texts[] = "web\0host\0v=0\0\x07\0\0\0\0\0\0\0";
	const double rate = 0.5;
	size_t n = 66 + 13 + sizeof(texts);
	uint64_t bits;

	memset(p, 0, n);
	memcpy(p, "\xc1\x1f\xfc\xc1", 4);
	mprof_store32(p + 4, (uint32_t)n * 8);
	mprof_store16(p + 28, 2);
	memcpy(&bits, &rate, sizeof(bits));
	mprof_store64(p + 66 + 4, bits);
	p[66 + 12] = 64;
	memcpy(p + 66 + 13, texts, sizeof(texts));
	return n;
}

/* A packet may come in pieces of any size. */
static void test_few_bytes(void)
{
	const struct config config = {.sink_guest_streams = MOST};
	uint8_t packet[256];
	size_t n = info_put(packet);

	for (size_t first = 0; first < 8; first++) {
		struct receiver receiver = {.config = &config};
		struct stream *s;
		int fds[2];

		batch_init(&receiver.batch);
		CHECK(sd_event_new(&receiver.event) >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
		s = stream_new(&receiver, fds[0], "10.0.0.5", 4242, NULL);
		for (size_t at = 0, end = first; at < n; at = end, end = n) {
			if (end == at)
				continue;
			CHECK(write(fds[1], packet + at, end - at) == (ssize_t)(end - at));
			CHECK(sd_event_run(receiver.event, UINT64_MAX) > 0);
		}
		if (CHECK(receiver.streams == s && s->state == STREAM_RECORDING)) {
			CHECK_EQ_UINT(s->whole, n);
			CHECK_EQ_UINT(s->about.packets, 1);
			CHECK_EQ_STR(s->about.program, "web");
			stream_end(s, "closed");
		}
		close(fds[1]);
		sd_event_unref(receiver.event);
		accounts_deinit(&receiver.accounts);
		batch_deinit(&receiver.batch);
	}
}

/* At a limit a recording keeps the packets that fit, however many bytes one read brings. */
static void test_limit(void)
{
	const struct config config = {.sink_guest_streams = MOST};
	struct receiver receiver = {.config = &config};
	static uint8_t bytes[4096];
	size_t first = info_put(bytes), n = first;
	const struct memtrace *put;
	int fds[2];

	batch_init(&receiver.batch);
	for (unsigned i = 0; i < 10; i++, n += 300) {
		memcpy(bytes + n, bytes, 66);
		mprof_store32(bytes + n + 4, 300 * 8);
	}
	room = first + 5 * 300 + 120;
	CHECK(sd_event_new(&receiver.event) >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	stream_new(&receiver, fds[0], "10.0.0.5", 4242, NULL);
	CHECK(write(fds[1], bytes, n) == (ssize_t)n);
	CHECK(sd_event_run(receiver.event, UINT64_MAX) > 0);
	CHECK(!receiver.streams);
	put = last_put(&receiver);
	if (CHECK(put)) {
		CHECK_EQ_STR(put->reason, "rate");
		CHECK_EQ_UINT(put->bytes, first + 5 * 300);
		CHECK_EQ_UINT(put->packets, 6);
		CHECK_EQ_UINT(put->dropped, 5 * 300);
	}
	CHECK_EQ_UINT(receiver.counts.dropped, 5 * 300);
	CHECK_EQ_UINT(receiver.held, first + 5 * 300);
	close(fds[1]);
	sd_event_unref(receiver.event);
	accounts_deinit(&receiver.accounts);
	batch_deinit(&receiver.batch);
	room = UINT64_MAX;
}

int main(void)
{
	CHECK_RUN(test_streams_of_a_guest);
	CHECK_RUN(test_identity);
	CHECK_RUN(test_cut);
	CHECK_RUN(test_few_bytes);
	CHECK_RUN(test_limit);
	return check_done();
}
