/*
 * A guest of the collector: its states, captures, gaps and name, with three streams over rings in
 * memory, and a real queue that only the test empties.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "check.h"
#include "guest.h"

#include <mprof/packet.h>

/* Number of calls of strdup and texts_copy that succeed before one fails. Below 0 none fails. */
static long copies_left = -1;

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_texts_copy(const char **const texts[], size_t n);
char *__wrap_texts_copy(const char **const texts[], size_t n);

char *__wrap_strdup(const char *text)
{
	return copies_left >= 0 && copies_left-- == 0 ? NULL : __real_strdup(text);
}

char *__wrap_texts_copy(const char **const texts[], size_t n)
{
	return copies_left >= 0 && copies_left-- == 0 ? NULL : __real_texts_copy(texts, n);
}

#define MIB	     (1u << 20)
#define PACKETS	     4u
#define PACKET_BYTES 1024u
#define STREAMS	     3u
#define EVENT_BYTES  17u

/* ---- rings ---- */

/* A ring and its writer, which makes its stores in the recorder's order. */
struct toy {
	uint8_t bytes[PACKETS * PACKET_BYTES];
	struct memory_array memory;
	uint64_t sequence, time;
	uint32_t used;
};

static void toy_header(struct toy *toy, uint64_t sequence)
{
	struct mprof_packet_header h = {
		.packet_bytes = PACKET_BYTES,
		.content_bytes = MPROF_PACKET_HEADER_BYTES,
		.count = (uint16_t)sequence,
	};

	mprof_packet_store(&h, toy->bytes + sequence % PACKETS * PACKET_BYTES);
}

static void toy_init(struct toy *toy)
{
	memset(toy, 0, sizeof(*toy));
	for (uint32_t i = 0; i < PACKETS; i++)
		toy_header(toy, i);
	toy->used = MPROF_PACKET_HEADER_BYTES;
	toy->time = 1000000;
	memory_array_init(&toy->memory, toy->bytes, sizeof(toy->bytes));
}

static void toy_write(struct toy *toy, unsigned n)
{
	while (n--) {
		uint8_t *packet;

		if (toy->used + EVENT_BYTES >= PACKET_BYTES) {
			toy->used = MPROF_PACKET_HEADER_BYTES;
			toy_header(toy, ++toy->sequence);
		}
		packet = toy->bytes + toy->sequence % PACKETS * PACKET_BYTES;
		toy->time += 10;
		mprof_store64(packet + toy->used, toy->time);
		packet[toy->used + 8] = 7;
		mprof_store64(packet + toy->used + 9, toy->time);
		toy->used += EVENT_BYTES;
		mprof_store32(packet + 26, toy->used * 8);
	}
}

/* ---- the queue ---- */

/* Items that were taken from the queue. */
struct tape {
	struct queue *queue;
	struct item *list;
};

static struct tape tape_take(struct queue *queue)
{
	return (struct tape){.queue = queue, .list = queue_take(queue, MIB, 0, 0)};
}

static void tape_free(struct tape *tape)
{
	while (tape->list) {
		struct item *next = tape->list->next;

		queue_item_free(tape->queue, tape->list);
		tape->list = next;
	}
}

static int64_t item_stream(const struct item *item)
{
	return item->kind == ITEM_RANGE ? item->range.stream : item->stream;
}

/* Return item number NTH (from 0) of KIND and STREAM (0: of any stream), or NULL. */
static const struct item *tape_nth(const struct tape *tape, enum item_kind kind, int64_t stream, unsigned nth)
{
	for (const struct item *i = tape->list; i; i = i->next)
		if (i->kind == kind && (!stream || item_stream(i) == stream) && nth-- == 0)
			return i;
	return NULL;
}

static unsigned tape_count(const struct tape *tape, enum item_kind kind, int64_t stream)
{
	unsigned n = 0;

	while (tape_nth(tape, kind, stream, n))
		n++;
	return n;
}

/* Return whether every item of KIND precedes every item of LATER in STREAM. */
static bool tape_before(const struct tape *tape, enum item_kind kind, enum item_kind later, int64_t stream)
{
	bool seen = false;

	for (const struct item *i = tape->list; i; i = i->next) {
		if (i->kind == later && item_stream(i) == stream)
			seen = true;
		if (i->kind == kind && item_stream(i) == stream && seen)
			return false;
	}
	return true;
}

/* ---- a guest ---- */

struct world {
	struct config config;
	struct guest_shared shared;
	struct guest guest;
	struct toy toys[STREAMS];
	struct stream streams[STREAMS];
};

static const char policies[] = "[policy periodic*]\nmode = periodic\ninterval = 1s\n"
			       "[policy crash*]\nmode = on-crash\n";

static bool config_make(struct config *config)
{
	char path[] = "/tmp/mprof-test-XXXXXX", error[256];
	int fd = mkstemp(path), r;

	if (!CHECK(fd >= 0))
		return false;
	r = write(fd, policies, strlen(policies)) == (ssize_t)strlen(policies) ? 0 : -1;
	close(fd);
	if (r == 0)
		r = config_load(config, path, error, sizeof(error));
	unlink(path);
	return CHECK_EQ_INT(r, 0);
}

static bool world_guest(struct world *w, const char *name, uint64_t patience)
{
	const struct guest_identity identity = {
		.source = "xen", .name = name, .key = "boot 5 uuid 0", .uuid = "a-uuid", .domid = 5};

	return CHECK_EQ_INT(guest_init(&w->guest, &w->shared, &identity, 0, patience), 0);
}

static bool world_attach(struct world *w, unsigned k)
{
	static const char *const labels[STREAMS] = {NULL, "vcpu-1", "vcpu-2"};
	const char *fault = "";

	toy_init(&w->toys[k]);
	return CHECK_EQ_INT(stream_attach(&w->streams[k], &w->guest, k, labels[k], &w->toys[k].memory.memory,
					  sizeof(w->toys[k].bytes), NULL, false, &fault),
			    0);
}

static bool world_init(struct world *w, const char *name, size_t limit, size_t reserve, uint64_t patience)
{
	*w = (struct world){0};
	if (!config_make(&w->config))
		return false;
	w->shared = (struct guest_shared){
		.config = &w->config,
		.queue = queue_new(limit, limit, reserve),
		.budget = {.share = 1, .burst_rate = MIB},
		.last_run = 40,
		.last_stream = 70,
		.last_capture = 90,
		.archiving = true,
	};
	if (!CHECK(w->shared.queue != NULL) || !world_guest(w, name, patience))
		return false;
	for (unsigned k = 0; k < STREAMS; k++)
		if (!world_attach(w, k))
			return false;
	return CHECK_EQ_INT(guest_set_state(&w->guest, "running", NULL), 0);
}

static void world_deinit(struct world *w)
{
	guest_deinit(&w->guest);
	for (unsigned k = 0; k < STREAMS; k++)
		CHECK(w->streams[k].guest == NULL);
	w->shared.queue = queue_free(w->shared.queue);
	config_deinit(&w->config);
}

static int poll_stream(struct world *w, unsigned k)
{
	uint64_t next;

	return stream_poll(&w->streams[k], clock_mono(), &next);
}

/*
 * Write N events to each attached stream, and poll after each event. Then all events but the newest
 * are proven.
 */
static void world_write(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < STREAMS; k++) {
			toy_write(&w->toys[k], 1);
			if (w->streams[k].guest)
				CHECK_EQ_INT(poll_stream(w, k), 0);
		}
}

/* Take all items from the queue and free them. */
static void world_clear(struct world *w)
{
	struct tape tape;

	do {
		tape = tape_take(w->shared.queue);
		w->shared.archiving = tape.list != NULL;
		tape_free(&tape);
	} while (w->shared.archiving);
	w->shared.archiving = true;
}

/* ---- tests ---- */

static bool (*plain_load)(const struct memory *memory, uint64_t offset, void *to, size_t n);
static useconds_t pause_us; /* time that the next load sleeps */

static bool slow_load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	useconds_t us = pause_us;

	pause_us = 0;
	if (us)
		usleep(us);
	return plain_load(memory, offset, to, n);
}

/*
 * A poll of a fast ring that lost the processor for 20 ms cost little, so the next poll is due at
 * once and not three times as much later.
 */
static void test_interrupted_poll(void)
{
	uint64_t now, next = 0;
	struct world w;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_write(&w, 20);
	plain_load = w.toys[0].memory.memory.load;
	w.toys[0].memory.memory.load = slow_load;
	pause_us = 20000;
	toy_write(&w.toys[0], 1);
	now = clock_mono();
	CHECK_EQ_INT(stream_poll(&w.streams[0], now, &next), 0);
	CHECK(pause_us == 0 && clock_mono() - now >= 20 * NS_PER_MS);
	CHECK(next - now < 20 * NS_PER_MS);
	world_deinit(&w);
}

static void test_rows_first(void)
{
	struct world w;
	struct tape tape;
	const struct item *run, *record;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	CHECK_EQ_INT(w.guest.run, 41);
	world_write(&w, 20);
	tape = tape_take(w.shared.queue);
	run = tape.list;
	if (CHECK(run && run->kind == ITEM_RUN)) {
		CHECK_EQ_INT(run->run.id, 41);
		CHECK_EQ_STR(run->run.source, "xen");
		CHECK_EQ_STR(run->run.key, "boot 5 uuid 0");
		CHECK_EQ_STR(run->run.name, "web");
		CHECK_EQ_STR(run->run.uuid, "a-uuid");
		CHECK_EQ_INT(run->run.domid, 5);
		CHECK_EQ_STR(run->run.state, "running");
		CHECK(run->run.began_real != 0 && run->run.ended_real == 0 && !run->run.reason);
	}
	for (unsigned k = 0; k < STREAMS; k++) {
		int64_t id = w.streams[k].id;

		record = tape_nth(&tape, ITEM_STREAM, id, 0);
		if (CHECK(record != NULL)) {
			CHECK_EQ_INT(record->record.run, 41);
			CHECK_EQ_UINT(record->record.number, k);
			CHECK_EQ_STR(record->record.name, w.streams[k].label);
			CHECK_EQ_UINT(record->record.ring_packets, PACKETS);
		}
		CHECK(tape_count(&tape, ITEM_STREAM, id) == 1 && tape_count(&tape, ITEM_CHUNK, id) > 0);
		CHECK(tape_before(&tape, ITEM_STREAM, ITEM_CHUNK, id));
	}
	tape_free(&tape);
	CHECK_EQ_INT(w.shared.last_stream, 73);
	/* A change of state queues the run again, but not its streams. */
	CHECK_EQ_INT(guest_set_state(&w.guest, "running", NULL), 0);
	tape = tape_take(w.shared.queue);
	CHECK(tape_count(&tape, ITEM_RUN, 0) == 1 && tape_count(&tape, ITEM_STREAM, 0) == 0);
	tape_free(&tape);
	world_deinit(&w);
}

/* If the source does not announce a ring that is published late, the ring's first poll does. */
static void test_late_stream(void)
{
	struct world w;
	struct tape tape;
	int64_t id;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	stream_detach(&w.streams[2]);
	stream_detach(&w.streams[2]);
	world_clear(&w);
	if (!world_attach(&w, 2))
		return;
	id = w.streams[2].id;
	CHECK_EQ_INT(id, 74);
	CHECK_EQ_INT(w.guest.run, 41);
	world_write(&w, 10);
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_STREAM, 0), 1);
	CHECK(tape_count(&tape, ITEM_CHUNK, id) > 0 && tape_before(&tape, ITEM_STREAM, ITEM_CHUNK, id));
	tape_free(&tape);
	CHECK_EQ_INT(stream_announce(&w.streams[2]), 0);
	CHECK(tape_take(w.shared.queue).list == NULL);
	world_deinit(&w);
}

static void check_captured(const struct tape *tape, int64_t capture, const struct stream *stream)
{
	const struct item *range = tape_nth(tape, ITEM_RANGE, stream->id, 0);

	CHECK_EQ_UINT(tape_count(tape, ITEM_RANGE, stream->id), 1);
	CHECK(tape_count(tape, ITEM_TAIL, stream->id) > 0);
	/* The range is queued last: if the archive has the range, it has every tail. */
	CHECK(tape_before(tape, ITEM_TAIL, ITEM_RANGE, stream->id));
	if (!CHECK(range != NULL))
		return;
	CHECK_EQ_INT(range->range.capture, capture);
	CHECK_EQ_UINT(range->range.last_sequence, stream->ring.cursor.sequence);
	CHECK_EQ_UINT(range->range.last_offset, stream->ring.cursor.offset);
}

static void test_capture(bool dead)
{
	struct world w;
	struct tape tape;
	int64_t capture, gone;

	if (!world_init(&w, "web", MIB, MIB, NS_PER_S))
		return;
	world_write(&w, 10);
	world_clear(&w);
	capture = guest_capture_begin(&w.guest, dead ? "crash" : "manual", "why", dead, NULL);
	CHECK_EQ_INT(capture, 91);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "manual", NULL, false, NULL), 0);
	CHECK_EQ_INT(poll_stream(&w, 0), 0);
	CHECK(!guest_capture_done(&w.guest) && !w.streams[0].capture.wanted && w.streams[1].capture.wanted);
	/* Stream 1 is detached during the capture. */
	gone = w.streams[1].id;
	stream_detach(&w.streams[1]);
	CHECK(!guest_capture_done(&w.guest));
	/* A stream that is attached during the capture is not part of the capture. */
	CHECK(world_attach(&w, 1) && !w.streams[1].capture.wanted);
	CHECK_EQ_INT(poll_stream(&w, 2), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	if (CHECK(tape.list && tape.list->kind == ITEM_CAPTURE)) {
		CHECK_EQ_INT(tape.list->capture.id, capture);
		CHECK_EQ_INT(tape.list->capture.run, 41);
		CHECK_EQ_STR(tape.list->capture.kind, dead ? "crash" : "manual");
		CHECK_EQ_STR(tape.list->capture.note, "why");
	}
	CHECK_EQ_UINT(tape_count(&tape, ITEM_CAPTURE, 0), 1);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_RANGE, 0), 2);
	check_captured(&tape, capture, &w.streams[0]);
	check_captured(&tape, capture, &w.streams[2]);
	CHECK(tape_count(&tape, ITEM_TAIL, gone) == 0);
	tape_free(&tape);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "manual", NULL, false, NULL), 92);
	CHECK_EQ_UINT(w.shared.counters.captures, 2);
	world_deinit(&w);
}

static void test_capture_living(void)
{
	test_capture(false);
}

static void test_capture_dead(void)
{
	test_capture(true);
}

static void test_capture_only(void)
{
	struct world w;
	struct tape tape;

	if (!world_init(&w, "web", MIB, 0, NS_PER_S))
		return;
	world_write(&w, 10);
	world_clear(&w);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "ended", NULL, true, &w.streams[1]), 91);
	CHECK(poll_stream(&w, 0) == 0 && poll_stream(&w, 2) == 0 && !guest_capture_done(&w.guest));
	CHECK(poll_stream(&w, 1) == 0 && guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_RANGE, 0), 1);
	check_captured(&tape, 91, &w.streams[1]);
	tape_free(&tape);
	/* There is no capture of a stream that is not attached, nor of a guest without one. */
	stream_detach(&w.streams[1]);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "ended", NULL, true, &w.streams[1]), 0);
	for (unsigned k = 0; k < STREAMS; k++)
		stream_detach(&w.streams[k]);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "crash", NULL, true, NULL), 0);
	CHECK_EQ_INT(w.shared.last_capture, 91);
	world_deinit(&w);
}

/*
 * The queue has no room. Dead guests use the reserve, and running guests wait. No capture waits for
 * ever.
 */
static void test_no_room(void)
{
	struct world w;
	struct item *fill;
	struct tape tape;
	uint64_t next, now;

	if (!world_init(&w, "web", MIB, 64 << 10, 0))
		return;
	world_write(&w, 10);
	world_clear(&w);
	fill = queue_item(w.shared.queue, NULL, ITEM_CHUNK, MIB - 2 * sizeof(struct item), false);
	if (!CHECK(fill != NULL))
		return;
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "manual", NULL, false, NULL), 91);
	now = clock_mono();
	CHECK_EQ_INT(stream_poll(&w.streams[0], now, &next), RING_E_FULL);
	CHECK(next > now && next <= now + 10 * NS_PER_MS);
	CHECK(!guest_capture_done(&w.guest) && w.shared.counters.queue_full > 0);
	for (unsigned k = 0; k < STREAMS; k++)
		CHECK_EQ_INT(stream_poll(&w.streams[k], now + 11 * NS_PER_S, &next), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	CHECK(tape_count(&tape, ITEM_RANGE, 0) == STREAMS && tape_count(&tape, ITEM_TAIL, 0) == 0);
	tape_free(&tape);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "crash", NULL, true, NULL), 92);
	for (unsigned k = 0; k < STREAMS; k++)
		CHECK_EQ_INT(poll_stream(&w, k), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	for (unsigned k = 0; k < STREAMS; k++)
		check_captured(&tape, 92, &w.streams[k]);
	tape_free(&tape);
	queue_item_free(w.shared.queue, fill);
	world_deinit(&w);
}

/*
 * A manual capture finds no room, and then the guest dies. The manual capture is ended before the
 * crash capture begins.
 */
static void test_abandon(void)
{
	struct world w;
	struct item *fill;
	struct tape tape;

	if (!world_init(&w, "web", MIB, MIB, NS_PER_S))
		return;
	world_write(&w, 10);
	world_clear(&w);
	fill = queue_item(w.shared.queue, NULL, ITEM_CHUNK, MIB - 2 * sizeof(struct item), false);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "manual", NULL, false, NULL), 91);
	CHECK_EQ_INT(poll_stream(&w, 0), RING_E_FULL);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "crash", NULL, true, NULL), 0);
	guest_capture_abandon(&w.guest);
	CHECK(guest_capture_done(&w.guest));
	guest_capture_abandon(&w.guest);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "crash", NULL, true, NULL), 92);
	for (unsigned k = 0; k < STREAMS; k++)
		CHECK_EQ_INT(poll_stream(&w, k), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_CAPTURE, 0), 2);
	/* Three ranges of the crash capture, and one of the manual capture. */
	CHECK_EQ_UINT(tape_count(&tape, ITEM_RANGE, 0), 4);
	CHECK_EQ_INT(tape_nth(&tape, ITEM_RANGE, w.streams[0].id, 0)->range.capture, 91);
	CHECK_EQ_INT(tape_nth(&tape, ITEM_RANGE, w.streams[0].id, 1)->range.capture, 92);
	tape_free(&tape);
	queue_item_free(w.shared.queue, fill);
	world_deinit(&w);
}

/*
 * A capture that a kill of the daemon interrupted continues under its number. Rings that are
 * detached before they are captured get no range.
 */
static void test_capture_again(void)
{
	struct world w;
	struct tape tape;

	if (!world_init(&w, "web", MIB, MIB, NS_PER_S))
		return;
	world_write(&w, 10);
	world_clear(&w);
	CHECK_EQ_INT(guest_capture_again(&w.guest, 17, true), 17);
	CHECK_EQ_INT(guest_capture_again(&w.guest, 18, true), 0);
	CHECK_EQ_INT(poll_stream(&w, 0), 0);
	for (unsigned k = 0; k < STREAMS; k++)
		stream_detach(&w.streams[k]);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	CHECK(tape_count(&tape, ITEM_CAPTURE, 0) == 0 && tape_count(&tape, ITEM_RANGE, 0) == 1);
	CHECK_EQ_INT(tape_nth(&tape, ITEM_RANGE, 0, 0)->range.capture, 17);
	tape_free(&tape);
	CHECK_EQ_INT(w.shared.last_capture, 90);
	world_deinit(&w);
}

static void test_states(void)
{
	static const struct {
		const char *state, *reason;
		bool running, told;
	} steps[] = {
		{"suspended", NULL, false, true}, {"running", NULL, true, true},       {"ended", "crash", false, false},
		{"running", NULL, true, true},	  {"ended", "poweroff", false, false},
	};
	struct world w;
	struct tape tape;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	CHECK(guest_is_running(&w.guest) && guest_is_archived(&w.guest));
	world_clear(&w);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		CHECK_EQ_INT(guest_set_state(&w.guest, steps[i].state, steps[i].reason), 0);
		CHECK_EQ_INT(guest_is_running(&w.guest), steps[i].running);
		CHECK_EQ_INT(guest_is_archived(&w.guest), steps[i].told);
		/* The change of state is due at once. */
		tape = (struct tape){w.shared.queue, queue_take(w.shared.queue, MIB, 100 * NS_PER_S, 0)};
		if (CHECK(tape.list && tape.list->kind == ITEM_RUN && !tape.list->next)) {
			CHECK_EQ_STR(tape.list->run.state, steps[i].state);
			CHECK_EQ_STR(tape.list->run.reason, steps[i].reason);
			CHECK_EQ_INT(tape.list->run.ended_real != 0, !steps[i].told);
			CHECK_EQ_INT(tape.list->run.id, 41);
		}
		tape_free(&tape);
	}
	guest_deinit(&w.guest);
	/* A guest that never had a ring gets no rows. */
	if (world_guest(&w, "idle", 0)) {
		CHECK_EQ_INT(guest_set_state(&w.guest, "ended", "crash"), 0);
		CHECK(tape_take(w.shared.queue).list == NULL && w.guest.run == 0);
	}
	world_deinit(&w);
}

static void test_rename(void)
{
	struct world w;
	struct tape tape;

	if (!world_init(&w, "w\x1b", MIB, 0, 0))
		return;
	CHECK_EQ_STR(w.guest.name, "w\\x1b");
	world_write(&w, 10);
	world_clear(&w);
	CHECK_EQ_INT(guest_rename(&w.guest, "w\x1b"), 0);
	CHECK(tape_take(w.shared.queue).list == NULL);
	CHECK_EQ_INT(guest_rename(&w.guest, "crash\n"), 0);
	CHECK_EQ_INT(w.guest.policy.mode, POLICY_ON_CRASH);
	world_write(&w, 10);
	tape = tape_take(w.shared.queue);
	if (CHECK(tape.list && tape.list->kind == ITEM_RUN && !tape.list->next)) {
		CHECK_EQ_STR(tape.list->run.name, "crash\\x0a");
		CHECK_EQ_STR(tape.list->run.state, "running");
	}
	tape_free(&tape);
	/* The new name's policy records every packet again. */
	world_write(&w, 300);
	CHECK_EQ_INT(guest_rename(&w.guest, "web"), 0);
	world_write(&w, 30);
	stream_flush(&w.streams[0]);
	tape = tape_take(w.shared.queue);
	CHECK(tape_count(&tape, ITEM_CHUNK, w.streams[0].id) > 0);
	if (CHECK(tape_count(&tape, ITEM_GAP, w.streams[0].id) == 1))
		CHECK_EQ_STR(tape_nth(&tape, ITEM_GAP, w.streams[0].id, 0)->gap.kind, "skipped");
	tape_free(&tape);
	/* After the end of a run, a new name queues nothing. */
	CHECK_EQ_INT(guest_set_state(&w.guest, "ended", "ended"), 0);
	world_clear(&w);
	CHECK_EQ_INT(guest_rename(&w.guest, "other"), 0);
	CHECK_EQ_STR(w.guest.name, "other");
	CHECK(tape_take(w.shared.queue).list == NULL);
	world_deinit(&w);
}

static void test_on_crash(void)
{
	struct world w;
	struct tape tape;

	if (!world_init(&w, "crash-me", MIB, MIB, NS_PER_S))
		return;
	world_clear(&w);
	world_write(&w, 400);
	CHECK(tape_take(w.shared.queue).list == NULL);
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "crash", NULL, true, NULL), 91);
	for (unsigned k = 0; k < STREAMS; k++)
		CHECK_EQ_INT(poll_stream(&w, k), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	for (unsigned k = 0; k < STREAMS; k++) {
		int64_t id = w.streams[k].id;

		check_captured(&tape, 91, &w.streams[k]);
		CHECK(tape_count(&tape, ITEM_CHUNK, id) > 0 && tape_before(&tape, ITEM_CHUNK, ITEM_RANGE, id));
		if (CHECK(tape_count(&tape, ITEM_GAP, id) == 1)) {
			CHECK_EQ_STR(tape_nth(&tape, ITEM_GAP, id, 0)->gap.kind, "skipped");
			CHECK_EQ_STR(tape_nth(&tape, ITEM_GAP, id, 0)->gap.reason, "policy");
		}
		CHECK(w.streams[k].ring.skipping);
	}
	tape_free(&tape);
	CHECK_EQ_UINT(w.shared.counters.gaps, STREAMS);
	CHECK(w.shared.counters.skipped_packets > 0 && w.shared.counters.lost_packets == 0);
	world_deinit(&w);
}

static void test_periodic(void)
{
	struct world w;
	struct tape tape;
	uint64_t next, now;

	if (!world_init(&w, "periodic", MIB, 0, 0))
		return;
	world_clear(&w);
	world_write(&w, 100);
	CHECK(tape_take(w.shared.queue).list == NULL && guest_capture_done(&w.guest));
	now = clock_mono() + 2 * NS_PER_S;
	/*
	 * The first ring that is polled when a snapshot is due begins the snapshot for all rings.
	 * The others follow at their next polls.
	 */
	CHECK_EQ_INT(stream_poll(&w.streams[1], now, &next), 0);
	CHECK(!guest_capture_done(&w.guest) && w.streams[0].capture.wanted && w.streams[2].capture.wanted);
	CHECK_EQ_INT(stream_poll(&w.streams[0], now, &next), 0);
	CHECK_EQ_INT(stream_poll(&w.streams[2], now, &next), 0);
	CHECK(guest_capture_done(&w.guest));
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_CAPTURE, 0), 1);
	CHECK_EQ_STR(tape_nth(&tape, ITEM_CAPTURE, 0, 0)->capture.kind, "periodic");
	for (unsigned k = 0; k < STREAMS; k++)
		check_captured(&tape, 91, &w.streams[k]);
	tape_free(&tape);
	CHECK_EQ_INT(stream_poll(&w.streams[0], now + NS_PER_S / 2, &next), 0);
	CHECK(guest_capture_done(&w.guest) && next <= now + NS_PER_S);
	CHECK_EQ_INT(stream_poll(&w.streams[0], now + NS_PER_S, &next), 0);
	CHECK(!guest_capture_done(&w.guest));
	guest_capture_abandon(&w.guest);
	/* A guest that is not running gets no snapshots. */
	CHECK_EQ_INT(guest_set_state(&w.guest, "suspended", NULL), 0);
	CHECK_EQ_INT(stream_poll(&w.streams[0], now + 3 * NS_PER_S, &next), 0);
	CHECK(guest_capture_done(&w.guest));
	world_deinit(&w);
}

static bool declare(struct stream *stream, uint64_t after, uint32_t offset, uint64_t next, enum ring_gap_reason reason)
{
	const struct ring_gap gap = {
		.after_sequence = after,
		.after_offset = offset,
		.next_sequence = next,
		.packets = next - after,
		.reason = reason,
		.found = {.mono = clock_mono()},
	};

	return stream->sink.gap(&stream->sink, &gap);
}

static void test_gaps(void)
{
	struct world w;
	struct stream *one, *two;
	const struct item *gap;
	struct tape tape;
	uint64_t now, next;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_clear(&w);
	one = &w.streams[0];
	two = &w.streams[1];
	/*
	 * Adjacent gaps of one kind and stream are joined. Gaps of other streams or kinds, and gaps
	 * with bytes between them, are not.
	 */
	CHECK(declare(one, 5, 100, 9, RING_GAP_LAPPED) && declare(two, 9, 30, 12, RING_GAP_LAPPED));
	CHECK(declare(one, 9, 30, 14, RING_GAP_LAPPED) && declare(one, 14, 30, 15, RING_GAP_DAMAGED));
	CHECK(declare(one, 15, 30, 20, RING_GAP_POLICY) && declare(one, 20, 60, 21, RING_GAP_POLICY));
	CHECK_EQ_INT(guest_set_state(&w.guest, "running", NULL), 0);
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_GAP, one->id), 3);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_GAP, two->id), 1);
	gap = tape_nth(&tape, ITEM_GAP, one->id, 0);
	if (CHECK(gap != NULL)) {
		CHECK(gap->gap.after_sequence == 5 && gap->gap.after_offset == 100 && gap->gap.next_sequence == 15);
		CHECK_EQ_UINT(gap->gap.packets, 10);
		CHECK_EQ_STR(gap->gap.reason, "lapped");
		CHECK_EQ_STR(gap->gap.kind, "lost");
		CHECK_EQ_INT(gap->gap.stream, one->id);
	}
	tape_free(&tape);
	CHECK_EQ_UINT(w.shared.counters.gaps, 4);
	CHECK_EQ_UINT(w.shared.counters.lost_packets, 13);
	CHECK_EQ_UINT(w.shared.counters.skipped_packets, 6);
	/* A gap that waits for others to join is queued after a second without bytes. */
	CHECK(declare(two, 10, 30, 12, RING_GAP_LAPPED));
	now = clock_mono();
	CHECK_EQ_INT(stream_poll(two, now, &next), 0);
	CHECK(tape_take(w.shared.queue).list == NULL);
	CHECK_EQ_INT(stream_poll(two, now + 2 * NS_PER_S, &next), 0);
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_GAP, two->id), 1);
	tape_free(&tape);
	/* A waiting gap is queued when its ring is removed. */
	CHECK(declare(two, 12, 30, 13, RING_GAP_LAPPED));
	CHECK(tape_take(w.shared.queue).list == NULL);
	stream_detach(two);
	tape = tape_take(w.shared.queue);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_GAP, 0), 1);
	tape_free(&tape);
	world_deinit(&w);
}

static void test_was(void)
{
	struct archive_resume resume = {
		.run = 7,
		.stream = 9,
		.source = "xen",
		.key = "a key",
		.name = "web",
		.uuid = "its uuid",
		.domid = 3,
		.state = "running",
		.any = true,
		.last_real = 12345,
	};
	static const struct {
		const char *state, *captured_as, *reason;
	} cases[] = {{"running", NULL, "ended"}, {"running", "crash", "crash"}, {"suspended", NULL, "suspend"}};
	struct world w;
	struct tape tape;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_clear(&w);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		resume.state = cases[i].state;
		resume.captured_as = cases[i].captured_as;
		CHECK_EQ_INT(guest_report_end(&w.shared, &resume), 0);
		tape = tape_take(w.shared.queue);
		if (CHECK(tape.list && tape.list->kind == ITEM_RUN)) {
			CHECK_EQ_INT(tape.list->run.id, 7);
			CHECK_EQ_STR(tape.list->run.state, "ended");
			CHECK_EQ_STR(tape.list->run.reason, cases[i].reason);
			CHECK_EQ_STR(tape.list->run.uuid, "its uuid");
			CHECK_EQ_INT(tape.list->run.domid, 3);
			CHECK_EQ_UINT(tape.list->run.ended_real, 12345);
		}
		tape_free(&tape);
	}
	world_deinit(&w);
}

static void test_context(void)
{
	struct world w;
	struct tape tape;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_clear(&w);
	CHECK_EQ_INT(guest_capture_context(&w.shared, 91, strdup("{}")), 0);
	tape = tape_take(w.shared.queue);
	if (CHECK(tape.list && tape.list->kind == ITEM_PATCH)) {
		CHECK_EQ_INT(tape.list->patch.capture, 91);
		CHECK_EQ_INT(tape.list->patch.pinned, -1);
		CHECK_EQ_STR(tape.list->patch.context, "{}");
		CHECK(!tape.list->patch.note);
	}
	tape_free(&tape);
	world_deinit(&w);
}

/*
 * Check that stream K has exactly one gap, waiting or queued, with the reason REASON. Then empty
 * the queue.
 */
static void check_reason(struct world *w, unsigned k, const char *reason)
{
	struct tape tape;
	const struct item *gap;

	stream_flush(&w->streams[k]);
	tape = tape_take(w->shared.queue);
	gap = tape_nth(&tape, ITEM_GAP, w->streams[k].id, 0);
	CHECK_EQ_UINT(tape_count(&tape, ITEM_GAP, w->streams[k].id), 1);
	if (CHECK(gap != NULL))
		CHECK_EQ_STR(gap->gap.reason, reason);
	tape_free(&tape);
	world_clear(w);
}

/*
 * A ring is lapped between two polls, then while the queue has no room or the disk is full, and
 * then between two polls again. Each gap gets its own reason.
 */
static void test_reasons(void)
{
	struct world w;
	struct item *fill;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_write(&w, 10);
	world_clear(&w);
	for (unsigned round = 0; round < 2; round++) {
		toy_write(&w.toys[0], 400);
		CHECK_EQ_INT(poll_stream(&w, 0), 0);
		world_write(&w, 3);
		check_reason(&w, 0, "lapped");

		fill = queue_item(w.shared.queue, NULL, ITEM_CHUNK, MIB - 2 * sizeof(struct item), false);
		w.shared.archiving = round == 0;
		toy_write(&w.toys[0], 20);
		CHECK_EQ_INT(poll_stream(&w, 0), RING_E_FULL);
		toy_write(&w.toys[0], 400);
		poll_stream(&w, 0);
		w.shared.archiving = true;
		queue_item_free(w.shared.queue, fill);
		CHECK_EQ_INT(poll_stream(&w, 0), 0);
		world_write(&w, 3);
		check_reason(&w, 0, round == 0 ? "queue" : "disk");
	}
	toy_write(&w.toys[0], 400);
	CHECK_EQ_INT(poll_stream(&w, 0), 0);
	world_write(&w, 3);
	check_reason(&w, 0, "lapped");
	world_deinit(&w);
}

/* The collector's counters are the sums of all rings' counters. */
static void test_counters(void)
{
	struct world w;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	world_write(&w, 5);
	CHECK_EQ_UINT(w.shared.counters.bad_sizes, 0);
	for (unsigned k = 0; k < 2; k++) {
		mprof_store32(w.toys[k].bytes + 26, (PACKET_BYTES + 1) * 8);
		CHECK_EQ_INT(poll_stream(&w, k), 0);
	}
	CHECK(w.streams[0].ring.counters.bad_sizes > 0);
	CHECK_EQ_UINT(w.shared.counters.bad_sizes,
		      w.streams[0].ring.counters.bad_sizes + w.streams[1].ring.counters.bad_sizes);
	CHECK_EQ_UINT(w.shared.counters.polls, 17);
	world_deinit(&w);
}

/*
 * A call that fails for lack of memory changes no account of the queue, and succeeds when it is
 * repeated.
 */
static void test_without_memory(void)
{
	struct world w;
	size_t bytes;
	long n = 0;
	int r;

	if (!world_init(&w, "web", MIB, 0, 0))
		return;
	bytes = account_bytes(w.shared.queue, w.guest.account);
	do {
		copies_left = n++;
		r = guest_set_state(&w.guest, "suspended", "suspend");
		copies_left = -1;
		if (r) {
			CHECK_EQ_INT(r, -ENOMEM);
			CHECK_EQ_STR(w.guest.state, "running");
			CHECK_EQ_UINT(account_bytes(w.shared.queue, w.guest.account), bytes);
		}
	} while (r && n < 100);
	CHECK(n > 1);
	bytes = account_bytes(w.shared.queue, w.guest.account);
	copies_left = 0;
	CHECK_EQ_INT(guest_capture_begin(&w.guest, "snapshot", "a note", false, NULL), -ENOMEM);
	copies_left = -1;
	CHECK(guest_capture_done(&w.guest));
	CHECK_EQ_UINT(account_bytes(w.shared.queue, w.guest.account), bytes);
	world_deinit(&w);
}

/*
 * A stamp of a stream says when an event was written: after one poll and before another one. The
 * ring is polled at each event, now and then, and rarely; the guest's clock counts from somewhere else.
 */
static void test_stamps(void)
{
	static const unsigned shares[] = {1, 3, 40};
	static struct world w;
	static uint64_t written[4000]; /* for each event when it was written, CLOCK_MONOTONIC ns */

	for (unsigned s = 0; s < ARRAY_SIZE(shares); s++) {
		uint64_t first, seen = 0, numbers = 0;

		if (!world_init(&w, "web", 64u * MIB, MIB, NS_PER_S))
			break;
		w.guest.policy.vcpu = true;
		first = w.toys[1].time + 10;
		for (unsigned i = 0; i < ARRAY_SIZE(written); i++) {
			const struct stream_stamp *stamp = &w.streams[1].stamp;
			uint64_t event;

			written[i] = clock_mono();
			toy_write(&w.toys[1], 1);
			if (i % shares[s] == 0)
				poll_stream(&w, 1);
			if (stamp->number == numbers)
				continue;
			numbers = stamp->number;
			event = (stamp->guest_ns - first) / 10;
			if (!CHECK(event <= i && event >= seen))
				break;
			CHECK(stamp->after <= written[event] && written[event] <= stamp->before);
			CHECK(!stamp->stepped);
			seen = event;
		}
		CHECK(numbers > (shares[s] > 10 ? 2 : 100));
		world_deinit(&w);
	}
}

/* A guest whose vCPUs are not recorded has no stamps, and nothing is watched for them. */
static void test_no_stamps(void)
{
	struct world w;

	if (!world_init(&w, "web", 64u * MIB, MIB, NS_PER_S))
		return;
	for (unsigned i = 0; i < 1000; i++) {
		toy_write(&w.toys[1], 1);
		poll_stream(&w, 1);
	}
	CHECK_EQ_UINT(w.streams[1].stamp.number, 0);
	CHECK(!w.streams[1].watch.on && !w.streams[1].polled);
	world_deinit(&w);
}

int main(void)
{
	CHECK_RUN(test_interrupted_poll);
	CHECK_RUN(test_rows_first);
	CHECK_RUN(test_late_stream);
	CHECK_RUN(test_capture_living);
	CHECK_RUN(test_capture_dead);
	CHECK_RUN(test_capture_only);
	CHECK_RUN(test_no_room);
	CHECK_RUN(test_abandon);
	CHECK_RUN(test_capture_again);
	CHECK_RUN(test_states);
	CHECK_RUN(test_rename);
	CHECK_RUN(test_on_crash);
	CHECK_RUN(test_periodic);
	CHECK_RUN(test_gaps);
	CHECK_RUN(test_reasons);
	CHECK_RUN(test_was);
	CHECK_RUN(test_context);
	CHECK_RUN(test_counters);
	CHECK_RUN(test_without_memory);
	CHECK_RUN(test_stamps);
	CHECK_RUN(test_no_stamps);
	return check_done();
}
