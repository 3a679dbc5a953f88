/*
 * The recorder: the bytes of each event, the move to the next packet, dropped events and the
 * reasons, and the order of the recorder's stores as another process sees them.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mprof/extra.h>
#include <mprof/packet.h>
#include <mprof/recorder.h>

#include "check.h"

#define RING_BYTES 4096u
/* Offset of the first event behind the declaration that begins a packet. */
#define FIRST (MPROF_PACKET_HEADER_BYTES + MPROF_DECLARATION_EVENT)

static _Alignas(8) uint8_t ring[RING_BYTES + 64];
static struct mprof_recorder recorder;
static uint64_t ticks;

/* Clock that returns one more at each call. */
static uint64_t tick(void *context)
{
	(void)context;
	return ++ticks;
}

static void setup(size_t size, unsigned packets)
{
	memset(ring, 0xee, sizeof(ring));
	ticks = 1000;
	CHECK_EQ_INT(mprof_recorder_init(&recorder, ring, size, packets, tick, NULL), MPROF_RECORDER_OK);
}

static struct mprof_packet_header header_at(const uint8_t *p)
{
	struct mprof_packet_header h;

	CHECK_EQ_INT(mprof_packet_load(&h, p, MPROF_PACKET_HEADER_BYTES), MPROF_PACKET_OK);
	return h;
}

/*
 * Return the newest event, which begins at offset AT of the active packet. The event must end where
 * the content ends.
 */
static struct mprof_raw_event newest(uint32_t at)
{
	struct mprof_packet_header h = header_at(recorder.packet);
	struct mprof_raw_event e;

	CHECK_EQ_INT(mprof_event_load(&e, recorder.packet + at, h.content_bytes - at), MPROF_EVENT_OK);
	CHECK_EQ_UINT(at + e.bytes, h.content_bytes);
	return e;
}

/* Return the event at offset *AT of the active packet, and move *AT behind it. */
static struct mprof_raw_event newest_of(uint32_t *at)
{
	struct mprof_packet_header h = header_at(recorder.packet);
	struct mprof_raw_event e;

	CHECK_EQ_INT(mprof_event_load(&e, recorder.packet + *at, h.content_bytes - *at), MPROF_EVENT_OK);
	*at += (uint32_t)e.bytes;
	return e;
}

/* Return the offset in the active packet where the next event will begin, if it fits. */
static uint32_t event_at(void)
{
	return recorder.content > MPROF_PACKET_HEADER_BYTES ? recorder.content : FIRST;
}

/* Call the function CALL of the recorder, and check the event that it records. */
#define CHECK_EVENT(call, want_id, want_context, want_number, want_text) \
	do {                                                             \
		uint32_t at_ = event_at();                               \
		struct mprof_raw_event e_;                               \
		call;                                                    \
		e_ = newest(at_);                                        \
		CHECK_EQ_INT(e_.id, want_id);                            \
		CHECK_EQ_INT(e_.context, want_context);                  \
		CHECK_EQ_INT(e_.number, want_number);                    \
		CHECK_EQ_STR(e_.text, want_text);                        \
		CHECK_EQ_UINT(e_.timestamp, ticks);                      \
	} while (0)

static void test_new_ring(void)
{
	struct mprof_packet_header h;

	setup(RING_BYTES, 0);
	for (unsigned i = 0; i < 4; i++) {
		h = header_at(ring + i * 1024);
		CHECK_EQ_UINT(h.packet_bytes, 1024);
		CHECK_EQ_UINT(h.content_bytes, MPROF_PACKET_HEADER_BYTES);
		CHECK_EQ_UINT(h.count, i);
		CHECK_EQ_UINT(mprof_load64(ring + i * 1024 + MPROF_PACKET_HEADER_BYTES), 0);
	}
	CHECK_EQ_UINT(ring[RING_BYTES], 0xee);
	CHECK_EQ_INT(mprof_recorder_current(&recorder), MPROF_THREAD_NONE);
}

static void test_geometry(void)
{
	struct mprof_packet_header h;
	struct mprof_recorder r;
	uint32_t at = 0;
	void *largest;

	/* Packets begin at multiples of 8 bytes, and together fill the ring to its last byte. */
	setup(4093, 3);
	for (unsigned i = 0; i < 3; i++) {
		h = header_at(ring + at);
		CHECK_EQ_UINT(at % 8, 0);
		CHECK_EQ_UINT(h.count, i);
		at += h.packet_bytes;
	}
	CHECK_EQ_UINT(at, 4093);
	CHECK_EQ_UINT(ring[4093], 0xee);

	CHECK_EQ_INT(mprof_recorder_init(&r, ring, 1024, 16, tick, NULL), MPROF_RECORDER_OK);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, 1024, 17, tick, NULL), MPROF_RECORDER_E_PACKETS);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, RING_BYTES, 1, tick, NULL), MPROF_RECORDER_E_PACKETS);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, RING_BYTES, 1025, tick, NULL), MPROF_RECORDER_E_PACKETS);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, 1023, 4, tick, NULL), MPROF_RECORDER_E_SIZE);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, (256u << 20) + 1, 4, tick, NULL), MPROF_RECORDER_E_SIZE);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring, 0, 4, tick, NULL), MPROF_RECORDER_E_SIZE);
	CHECK_EQ_INT(mprof_recorder_init(&r, ring + 4, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_E_MEMORY);
	CHECK_EQ_INT(mprof_recorder_init(&r, NULL, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_E_MEMORY);
	/* A ring of the largest size with the largest number of packets. */
	largest = mmap(NULL, MPROF_RING_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);
	if (CHECK(largest != MAP_FAILED)) {
		CHECK_EQ_INT(mprof_recorder_init(&r, largest, MPROF_RING_BYTES_MAX, 1024, tick, NULL),
			     MPROF_RECORDER_OK);
		munmap(largest, MPROF_RING_BYTES_MAX);
	}
	for (int s = MPROF_RECORDER_OK; s <= MPROF_RECORDER_E_RING; s++)
		CHECK(strcmp(mprof_recorder_status_text((enum mprof_recorder_status)s), "unknown") != 0);
}

static void test_every_event(void)
{
	struct mprof_recorder *r = &recorder;
	uint32_t at;

	setup(RING_BYTES, 2);
	CHECK_EVENT(mprof_recorder_switch(r, 7), MPROF_EVENT_switch, 7, 0, NULL);
	at = r->content;
	CHECK_EVENT(mprof_recorder_creates(r, -5, MPROF_THREAD_Mutex), MPROF_EVENT_creates, 7, -5, NULL);
	CHECK_EQ_INT(newest(at).type, MPROF_THREAD_Mutex);
	CHECK_EVENT(mprof_recorder_read(r, 8, 9), MPROF_EVENT_read, 8, 9, NULL);
	CHECK_EVENT(mprof_recorder_fulfills(r, 10), MPROF_EVENT_fulfills, 8, 10, NULL);
	CHECK_EVENT(mprof_recorder_fails(r, 11, "Not_found", 9), MPROF_EVENT_fails, 8, 11, "Not_found");
	CHECK_EVENT(mprof_recorder_becomes(r, 12, 13), MPROF_EVENT_becomes, 12, 13, NULL);
	CHECK_EVENT(mprof_recorder_label(r, 14, "\xff\n\"", 3), MPROF_EVENT_label, 14, 0, "\xff\n\"");
	CHECK_EVENT(mprof_recorder_label(r, 14, NULL, 0), MPROF_EVENT_label, 14, 0, "");
	CHECK_EVENT(mprof_recorder_increase(r, INT64_MIN, "a", 1), MPROF_EVENT_increase, 8, INT64_MIN, "a");
	CHECK_EVENT(mprof_recorder_counter(r, INT64_MAX, "b", 1), MPROF_EVENT_counter, 8, INT64_MAX, "b");
	CHECK_EVENT(mprof_recorder_gc(r, 1234), MPROF_EVENT_gc, 0, 1234, NULL);
	CHECK_EVENT(mprof_recorder_signal(r, 15, 16), MPROF_EVENT_signal, 15, 16, NULL);
	CHECK_EVENT(mprof_recorder_try_read(r, 17, 18), MPROF_EVENT_try_read, 17, 18, NULL);
	CHECK_EVENT(mprof_recorder_read_later(r, 19, 20), MPROF_EVENT_read_later, 19, 20, NULL);
	CHECK_EVENT(mprof_recorder_signal_noswitch(r, 21, 22), MPROF_EVENT_signal_noswitch, 21, 22, NULL);
	CHECK_EVENT(mprof_recorder_suspend(r), MPROF_EVENT_switch, -1, 0, NULL);
	CHECK_EQ_UINT(r->events, 16);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 0);
}

/*
 * Check the bytes of one event of each shape. The other tests use a reader, which could make the
 * same mistake as the recorder.
 */
static void test_bytes(void)
{
	static const uint8_t creates[] = {0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0,    0,    0,	   14};
	static const uint8_t counter[] = {0x79, 0x56, 0x34, 0x12, 0,	0,    0,    0,	  11,	0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 'x',  'y',  0};
	static const uint8_t declaration[] = {0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0, 14, 4, 0, 5, 1, 1, 3, 0};
	const uint8_t *p = ring + FIRST;

	setup(RING_BYTES, 4);
	ticks = 0x12345677;
	mprof_recorder_creates(&recorder, 1, MPROF_THREAD_Async);
	mprof_recorder_counter(&recorder, -2, "xy", 2);
	CHECK_EQ_MEM(ring + MPROF_PACKET_HEADER_BYTES, declaration, sizeof(declaration));
	CHECK_EQ_MEM(p, creates, sizeof(creates));
	CHECK_EQ_MEM(p + sizeof(creates), counter, sizeof(counter));
	CHECK_EQ_UINT(mprof_load32(ring + 26), (FIRST + sizeof(creates) + sizeof(counter)) * 8);
}

static void test_current_thread(void)
{
	struct mprof_recorder *r = &recorder;

	setup(RING_BYTES, 2);
	mprof_recorder_switch(r, 3);
	mprof_recorder_switch(r, 3);
	CHECK_EQ_UINT(r->events, 1);
	mprof_recorder_read(r, 4, 4);
	CHECK_EQ_UINT(r->events, 1);
	CHECK_EQ_INT(mprof_recorder_current(r), 4);
	mprof_recorder_try_read(r, 5, 6);
	mprof_recorder_read_later(r, 5, 6);
	mprof_recorder_signal_noswitch(r, 5, 6);
	mprof_recorder_gc(r, 1);
	mprof_recorder_label(r, 5, "x", 1);
	mprof_recorder_becomes(r, 5, 6);
	CHECK_EQ_INT(mprof_recorder_current(r), 4);
	mprof_recorder_signal(r, 7, 5);
	CHECK_EQ_INT(mprof_recorder_current(r), 7);
	mprof_recorder_suspend(r);
	mprof_recorder_suspend(r);
	CHECK_EQ_INT(mprof_recorder_current(r), MPROF_THREAD_NONE);
	CHECK_EQ_UINT(r->events, 10);
}

/*
 * Check every packet of the ring: counts are consecutive, events are whole, and each timestamp is
 * at least STEP greater than the one before. Return the number of events, without declarations. Lower *LEAST_PAD to the
 * fewest bytes left at a packet's end.
 */
static uint64_t check_ring(uint64_t step, uint32_t *least_pad)
{
	uint64_t last = 0, events = 0;
	struct mprof_packet_header h;
	struct mprof_raw_event e;
	uint32_t i, at;

	for (uint32_t n = 0; n < recorder.packets; n++) {
		i = (recorder.active + 1 + n) % recorder.packets;
		h = header_at(ring + (size_t)i * recorder.packet_bytes);
		CHECK_EQ_UINT(h.count, (uint16_t)(recorder.sequence + 1 - recorder.packets + n));
		for (at = MPROF_PACKET_HEADER_BYTES; at < h.content_bytes; at += (uint32_t)e.bytes) {
			if (!CHECK_EQ_INT(mprof_event_load(&e, ring + (size_t)i * recorder.packet_bytes + at,
							   h.content_bytes - at),
					  MPROF_EVENT_OK))
				return events;
			/* The first event behind a declaration has the same time. */
			if (e.id == MPROF_EVENT_extra && e.type == MPROF_EXTRA_RECORDER)
				continue;
			CHECK(e.timestamp >= last + step);
			last = e.timestamp;
			events++;
		}
		CHECK_EQ_UINT(at, h.content_bytes);
		if (h.packet_bytes - h.content_bytes < *least_pad)
			*least_pad = h.packet_bytes - h.content_bytes;
	}
	return events;
}

/* Rings of odd sizes, and more packets than a 16-bit count can number. */
static void test_turns(void)
{
	static const struct {
		size_t size;
		unsigned packets;
	} rings[] = {{1024, 16}, {4093, 4}, {1025, 2}, {3001, 7}, {RING_BYTES, 64}};
	uint32_t least_pad = UINT32_MAX;

	for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		setup(rings[i].size, rings[i].packets);
		for (unsigned n = 0; recorder.sequence < 66000 || n % 97; n++) {
			if (n % 3)
				mprof_recorder_gc(&recorder, n);
			else
				mprof_recorder_label(&recorder, n, "0123456789abcdef", n % 16);
		}
		CHECK(check_ring(1, &least_pad) >= rings[i].packets);
		CHECK_EQ_UINT(mprof_recorder_dropped(&recorder), 0);
		CHECK_EQ_UINT(ring[rings[i].size], 0xee);
	}
	/* The last packet is larger than the others, and the recorder uses all of it. */
	setup(4093, 4);
	while (recorder.sequence < 4)
		mprof_recorder_gc(&recorder, 1);
	CHECK(header_at(ring + 3 * (size_t)recorder.packet_bytes).content_bytes > recorder.packet_bytes);
	/* At least one byte stays free at the end of each packet. */
	CHECK_EQ_UINT(least_pad, 1);
}

static void test_drops(void)
{
	struct mprof_recorder *r = &recorder;
	static char text[RING_BYTES];
	const size_t longest = 1024 - 1 - FIRST - 18;
	struct mprof_raw_event e;
	uint64_t before;

	memset(text, 'x', sizeof(text));
	setup(RING_BYTES, 4);
	mprof_recorder_switch(r, 1);
	mprof_recorder_label(r, 1, text, longest + 1);
	mprof_recorder_fails(r, 1, text, sizeof(text));
	mprof_recorder_counter(r, 1, text, SIZE_MAX);
	CHECK_EQ_UINT(r->dropped[MPROF_DROP_TOO_BIG], 3);
	mprof_recorder_label(r, 1, "a\0b", 3);
	mprof_recorder_counter(r, 1, "\0", 1);
	CHECK_EQ_UINT(r->dropped[MPROF_DROP_NUL], 2);
	CHECK_EQ_UINT(r->events, 1);
	CHECK_EQ_UINT(r->sequence, 0);
	/* The next event has the number of drops before it, once. */
	mprof_recorder_switch(r, 2);
	mprof_recorder_switch(r, 3);
	CHECK_EQ_UINT(r->events, 4);
	e = newest_of(&(uint32_t){FIRST + 17});
	CHECK(e.id == MPROF_EVENT_counter && e.context == 2 && e.number == 5);
	CHECK_EQ_STR(e.text, "mprof-dropped");

	/* The longest event that fits into a packet is recorded in a new packet. */
	mprof_recorder_label(r, 1, text, longest);
	CHECK_EQ_UINT(r->sequence, 1);
	CHECK_EQ_UINT(header_at(r->packet).content_bytes, 1023);

	before = r->events;
	mprof_recorder_stop(r);
	mprof_recorder_gc(r, 1);
	mprof_recorder_label(r, 1, "a\0b", 3);
	CHECK_EQ_UINT(r->events, before);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 5);
	/* A recorder that is off does not read its clock. */
	before = ticks;
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(ticks, before);
	/* An interrupt that finds a recorder inside an event that is off since keeps nothing. */
	r->busy = true;
	mprof_recorder_gc(r, 1);
	r->busy = false;
	CHECK_EQ_UINT(r->kept_bytes, 0);

	*r = (struct mprof_recorder){0};
	mprof_recorder_gc(r, 1);
	mprof_recorder_fails(r, 1, "x", 1);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 0);
}

static void test_times(void)
{
	struct mprof_recorder *r = &recorder;
	uint32_t at;

	/*
	 * The caller sets the time before each call. The recorder hides a small step back, and
	 * follows a large one.
	 */
	CHECK_EQ_INT(mprof_recorder_init(r, ring, RING_BYTES, 4, NULL, NULL), MPROF_RECORDER_OK);
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(newest(FIRST).timestamp, 1);
	mprof_recorder_at(r, 5000000000);
	mprof_recorder_gc(r, 1);
	mprof_recorder_at(r, 4999999999);
	at = r->content;
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(newest(at).timestamp, 5000000000);
	mprof_recorder_at(r, 100);
	at = r->content;
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(newest(at).timestamp, 100);
	CHECK_EQ_UINT(r->clock_steps, 2);
	/*
	 * A step back is counted once, even if the following times are still lower than the time
	 * before the step.
	 */
	mprof_recorder_at(r, 101);
	mprof_recorder_gc(r, 1);
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(r->clock_steps, 2);
	mprof_recorder_at(r, 100);
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(r->clock_steps, 3);

	/* A step back of one second is hidden. A step back of one nanosecond more is followed. */
	for (uint64_t more = 0; more < 2; more++) {
		CHECK_EQ_INT(mprof_recorder_init(r, ring, RING_BYTES, 4, NULL, NULL), MPROF_RECORDER_OK);
		mprof_recorder_at(r, 5000000000);
		mprof_recorder_gc(r, 1);
		mprof_recorder_at(r, 4000000000 - more);
		at = r->content;
		mprof_recorder_gc(r, 1);
		CHECK_EQ_UINT(newest(at).timestamp, more ? 4000000000 - more : 5000000000);
	}
	/* The same holds if the step is between two packets. No packet begins at the time 0. */
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t times[] = {4000000000, 3999999999, 0}, want[] = {5000000001, 3999999999, 1};

		CHECK_EQ_INT(mprof_recorder_init(r, ring, RING_BYTES, 4, NULL, NULL), MPROF_RECORDER_OK);
		mprof_recorder_at(r, 5000000000);
		mprof_recorder_gc(r, 1);
		mprof_recorder_at(r, 5500000000);
		while (r->room - r->content > 17)
			mprof_recorder_gc(r, 1);
		mprof_recorder_at(r, times[i]);
		mprof_recorder_gc(r, 1);
		CHECK_EQ_UINT(r->sequence, 1);
		CHECK_EQ_UINT(newest(FIRST).timestamp, want[i]);
	}

	/*
	 * The clock stands still. Events may share a timestamp, but no two packets have the same
	 * first timestamp.
	 */
	CHECK_EQ_INT(mprof_recorder_init(r, ring, RING_BYTES, 4, NULL, NULL), MPROF_RECORDER_OK);
	mprof_recorder_at(r, 1000);
	while (r->sequence < 10)
		mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(mprof_load64(r->packet + MPROF_PACKET_HEADER_BYTES), 1010);
	CHECK_EQ_UINT(r->clock_steps, 0);
}

/* Clock during whose reading a garbage collection is recorded. */
static uint64_t clock_that_collects(void *context)
{
	bool *inside = (bool *)context;

	if (!*inside) {
		*inside = true;
		mprof_recorder_gc(&recorder, 77);
		*inside = false;
	}
	return ++ticks;
}

static void test_nested_in_clock(void)
{
	struct mprof_raw_event e;
	bool inside = false;

	setup(RING_BYTES, 4);
	recorder.clock = clock_that_collects;
	recorder.clock_context = &inside;
	mprof_recorder_fulfills(&recorder, 5);
	CHECK_EQ_UINT(recorder.events, 2);
	CHECK_EQ_INT(mprof_event_load(&e, ring + FIRST, 100), MPROF_EVENT_OK);
	CHECK_EQ_INT(e.id, MPROF_EVENT_gc);
	CHECK_EQ_INT(newest(FIRST + 17).id, MPROF_EVENT_fulfills);
	CHECK(newest(FIRST + 17).timestamp > e.timestamp);
}

/* Clock that records an event which changes the running thread. */
static uint64_t clock_that_switches(void *context)
{
	bool *inside = (bool *)context;

	if (!*inside) {
		*inside = true;
		mprof_recorder_switch(&recorder, 9);
	}
	return ++ticks;
}

/* A thread's creator is the thread that ran when the recorder was called. */
static void test_switch_in_clock(void)
{
	bool inside = false;

	setup(RING_BYTES, 4);
	mprof_recorder_switch(&recorder, 7);
	recorder.clock = clock_that_switches;
	recorder.clock_context = &inside;
	mprof_recorder_creates(&recorder, 5, MPROF_THREAD_Wait);
	CHECK_EQ_INT(newest(FIRST + 2 * 17).context, 7);
	CHECK_EQ_INT(mprof_recorder_current(&recorder), 9);
}

static volatile unsigned interrupted; /* interrupts that came in the middle of an event */

static void interrupt(int signal)
{
	(void)signal;
	interrupted += recorder.busy;
	mprof_recorder_gc(&recorder, 99);
}

/*
 * An interrupt records events while the program records events. An interrupt's event is recorded
 * whole, and never lies inside another event.
 */
static void test_interrupts(void)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec every = {.it_interval = {.tv_nsec = 20000}, .it_value = {.tv_nsec = 20000}};
	uint32_t least_pad = UINT32_MAX;
	struct timespec began, now;
	timer_t timer;

	setup(RING_BYTES, 4);
	sigaction(SIGALRM, &action, NULL);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &every, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		mprof_recorder_label(&recorder, 1, "the main program", 16);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec == began.tv_sec || now.tv_nsec < began.tv_nsec);
	timer_delete(timer);
	signal(SIGALRM, SIG_IGN);
	/*
	 * Timestamps may be equal here, because the handler's event can come after the other
	 * event's clock was read and before its bytes are stored.
	 */
	CHECK(check_ring(0, &least_pad) > 4);
	/* If the machine is busy, so many interrupts come during one event that not all can be kept. */
	CHECK_EQ_UINT(mprof_recorder_dropped(&recorder), recorder.dropped[MPROF_DROP_NESTED]);
	CHECK(interrupted > recorder.dropped[MPROF_DROP_NESTED]);
}

/* ---- as another process sees it -------------------------------------------------------------- */

struct seen {
	uint16_t count, low, high;
	uint64_t first;
};

/*
 * Load a packet's first timestamp, and then its header as the daemon does: count, high, low, high,
 * count. Return false if two loads of one field differ.
 */
static bool header_see(const volatile uint8_t *p, struct seen *s)
{
	uint16_t count, high;

	memcpy(&s->first, (const void *)(uintptr_t)(p + 30), 8);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	s->count = *(const volatile uint16_t *)(p + 24);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	s->high = *(const volatile uint16_t *)(p + 28);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	s->low = *(const volatile uint16_t *)(p + 26);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	high = *(const volatile uint16_t *)(p + 28);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	count = *(const volatile uint16_t *)(p + 24);
	return high == s->high && count == s->count;
}

/*
 * Record events for ever. The number in each event is its timestamp, so that a mixture of two
 * events is detected.
 */
static _Noreturn void write_for_ever(void *memory, size_t size)
{
	uint64_t t = 0;

	if (mprof_recorder_init(&recorder, memory, size, 4, NULL, NULL) != MPROF_RECORDER_OK)
		_exit(1);
	for (;;) {
		mprof_recorder_at(&recorder, ++t);
		recorder.current = (int64_t)t;
		mprof_recorder_counter(&recorder, (int64_t)t, "0123456789012345678901234567890123456789",
				       (size_t)t % 41);
	}
}

/*
 * Check the events of a copy that passed the reader's checks. If an event is a mixture, the
 * recorder counted it before it was stored.
 */
static bool copy_holds(const uint8_t *p, size_t n, uint64_t first)
{
	struct mprof_raw_event e;

	if (n && (n < MPROF_DECLARATION_EVENT || !mprof_packet_declares_order(p) || mprof_load64(p) != first))
		return false;
	for (size_t at = MPROF_DECLARATION_EVENT; at < n; at += e.bytes) {
		if (mprof_event_load(&e, p + at, n - at) != MPROF_EVENT_OK || e.id != MPROF_EVENT_counter ||
		    e.number != e.context || (at == MPROF_DECLARATION_EVENT && e.timestamp != first))
			return false;
		if (e.timestamp != (uint64_t)e.number || e.text_bytes != e.timestamp % 41)
			return false;
	}
	return true;
}

/*
 * Decide whether the size in BEFORE can be trusted, if AFTER was loaded later from the same packet.
 * Return 1 for yes and 0 for no; return -1 if the recorder broke its rules. A size stored with one
 * store can always be trusted, and only falls to the empty size. A size stored in halves needs a
 * later size with the same high half and a greater low half.
 */
static int size_believed(const struct seen *before, const struct seen *after, uint32_t room)
{
	uint32_t bits = before->low | (uint32_t)before->high << 16, later = after->low | (uint32_t)after->high << 16;

	if (bits % 8 || bits < MPROF_PACKET_EMPTY_BITS || bits / 8 >= room)
		return -1;
#ifdef MPROF_RECORDER_HALVES
	(void)later;
	return after->high == before->high && after->low > before->low && bits > MPROF_PACKET_EMPTY_BITS;
#else
	if (later < bits)
		return later == MPROF_PACKET_EMPTY_BITS ? 0 : -1;
	return bits > MPROF_PACKET_EMPTY_BITS;
#endif
}

/* How often packets were loaded, in all and by result. */
struct copies {
	unsigned long all, good, wrong;
	unsigned long busy; /* the writer wrote to the packet during the load */
};

/* Load packet P once. Return 1 for a good copy, 0 for no copy, -1 for a wrong copy. */
static int packet_copy(const uint8_t *p, uint32_t room, uint8_t *copy, struct copies *copies)
{
	struct seen before = {0}, after = {0};
	uint32_t bytes;
	bool steady;
	int r;

	if (!header_see(p, &before))
		return 0;
	bytes = (before.low | (uint32_t)before.high << 16) / 8;
	if (bytes < MPROF_PACKET_HEADER_BYTES || bytes >= room)
		return -1;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(copy, p + 30, bytes - 30);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	steady = header_see(p, &after);
	copies->busy += memcmp(&before, &after, sizeof(before)) != 0;
	if (!steady || after.count != before.count || after.first != before.first)
		return 0;
	r = size_believed(&before, &after, room);
	if (r <= 0)
		return r;
	return copy_holds(copy, bytes - 30, before.first) ? 1 : -1;
}

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Load packets until the writer was writing during BUSY loads, or for three seconds: the writer and
 * the reader may have to share a processor.
 */
static void watch(size_t size, unsigned long busy)
{
	uint8_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t until = monotonic() + 3000000000;
	uint8_t *copy = malloc(size);
	struct copies copies = {0};
	size_t room = size / 4;
	pid_t child;
	int r;

	if (!CHECK(memory != MAP_FAILED && copy != NULL))
		return;
	child = fork();
	if (child == 0)
		write_for_ever(memory, size);
	while (__atomic_load_n((uint32_t *)(void *)memory, __ATOMIC_ACQUIRE) != MPROF_PACKET_MAGIC)
		usleep(100);
	while ((copies.busy < busy || copies.good < busy / 100) && (copies.all % 64 || monotonic() < until)) {
		r = packet_copy(memory + (copies.all++ % 4) * room, (uint32_t)room, copy, &copies);
		copies.good += r > 0;
		copies.wrong += r < 0;
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	fprintf(stderr, "ring of %zu bytes: %lu copies, the writer at work in %lu, %lu good copies, %lu wrong\n", size,
		copies.all, copies.busy, copies.good, copies.wrong);
	/* If the writer hardly ran, there may be no good copy, and the test shows nothing. */
	CHECK(copies.good > 0 || copies.busy < busy);
	CHECK_EQ_UINT(copies.wrong, 0);
	munmap(memory, size);
	free(copy);
}

/*
 * Small packets wrap all the time. In large packets the high half of the size changes at every
 * 8,192 bytes.
 */
static void test_seen_from_outside(void)
{
	watch(4096, 10000);
	watch(1 << 16, 5000);
	watch(1 << 20, 500);
}

/* ---- events `extra` */

static struct mprof_extra extra_at(uint32_t *at)
{
	struct mprof_raw_event e = newest_of(at);
	struct mprof_extra x = {.kind = MPROF_EXTRA_KINDS};

	CHECK_EQ_INT(e.id, MPROF_EVENT_extra);
	CHECK(mprof_extra_load(&x, &e));
	return x;
}

/* A text stands once in each packet that uses it, before its first use there. */
static void test_interned(void)
{
	static const struct mprof_text a = MPROF_TEXT("apple"), b = MPROF_TEXT("bread");
	struct mprof_recorder *r = &recorder;
	uint32_t at = FIRST;
	struct mprof_extra x;

	setup(RING_BYTES, 4);
	mprof_recorder_label_text(r, 5, &a);
	mprof_recorder_counter_text(r, -6, &b);
	mprof_recorder_increase_text(r, 7, &a);
	mprof_recorder_duration_text(r, 5, 8, &b);
	mprof_recorder_duration(r, 9, 10, "inline", 6);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_TEXT && x.id == 1);
	CHECK_EQ_STR(x.text, "apple");
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_LABEL && x.thread == 5 && x.id == 1 && !x.text);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_TEXT && x.id == 2);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_COUNTER && x.thread == -1 && x.number == -6 && x.id == 2);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_INCREASE && x.number == 7 && x.id == 1);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_DURATION && x.thread == 5 && x.number == 8 && x.id == 2);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_DURATION && x.thread == 9 && x.number == 10 && x.id == 0);
	CHECK_EQ_STR(x.text, "inline");
	CHECK_EQ_UINT(at, r->content);
	/* The next packet has the text again, directly before its use, whatever made the packet turn. */
	while (r->sequence == 0)
		mprof_recorder_label_text(r, 5, &a);
	at = FIRST;
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_TEXT && x.id == 1);
	x = extra_at(&at);
	CHECK(x.kind == MPROF_EXTRA_LABEL && x.id == 1);
	CHECK_EQ_UINT(at, r->content);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 0);
}

/* Texts side by side in an array: a packet has each once. */
static void test_neighbours(void)
{
	enum { N = MPROF_RECORDER_TEXTS / 2 };
	static _Alignas(1024) struct mprof_text texts[N];
	struct mprof_recorder *r = &recorder;
	uint32_t at = FIRST;

	for (unsigned i = 0; i < N; i++)
		texts[i] = (struct mprof_text)MPROF_TEXT("t");
	setup(RING_BYTES, 2);
	for (unsigned i = 0; i < 2 * N; i++)
		mprof_recorder_label_text(r, i, &texts[i % N]);
	CHECK_EQ_UINT(r->sequence, 0);
	for (unsigned i = 0; i < N; i++) {
		CHECK_EQ_INT(extra_at(&at).kind, MPROF_EXTRA_TEXT);
		CHECK_EQ_UINT(extra_at(&at).id, i + 1);
	}
	for (unsigned i = 0; i < N; i++)
		CHECK_EQ_UINT(extra_at(&at).id, i + 1);
	CHECK_EQ_UINT(at, r->content);
}

/* Any number of texts, in packets of any size: each use finds its text in its own packet. */
static void test_many_texts(void)
{
	static struct mprof_text texts[100];
	static char words[100][12];
	struct mprof_raw_event e;
	struct mprof_extra x;
	const char *known[2000];

	for (unsigned i = 0; i < 100; i++)
		texts[i] = (struct mprof_text){words[i], (size_t)snprintf(words[i], sizeof(words[i]), "word %u", i), 0};
	for (unsigned packets = 2; packets <= 60; packets += 7) {
		setup(RING_BYTES, packets);
		for (unsigned n = 0; n < 3000; n++)
			mprof_recorder_label_text(&recorder, n * 31 % 100, &texts[n * 31 % 100]);
		CHECK_EQ_UINT(mprof_recorder_dropped(&recorder), 0);
		for (uint32_t i = 0; i < packets; i++) {
			const uint8_t *p = ring + (size_t)i * recorder.packet_bytes;
			uint32_t content = header_at(p).content_bytes, last = 0;

			for (uint32_t at = MPROF_PACKET_HEADER_BYTES; at < content; at += (uint32_t)e.bytes) {
				CHECK_EQ_INT(mprof_event_load(&e, p + at, content - at), MPROF_EVENT_OK);
				if (e.id == MPROF_EVENT_label) /* both do not fit a packet of this size */
					continue;
				CHECK(mprof_extra_load(&x, &e));
				if (x.kind == MPROF_EXTRA_RECORDER)
					continue;
				if (x.kind == MPROF_EXTRA_TEXT)
					CHECK_EQ_UINT(x.id, ++last);
				if (x.kind == MPROF_EXTRA_TEXT)
					known[last] = x.text;
				else if (CHECK(x.id > 0 && x.id <= last))
					CHECK_EQ_INT(atoi(known[x.id] + 5), x.thread);
			}
		}
	}
}

/* With `compatible`, no event has an id above 13. */
static void test_compatible(void)
{
	static const struct mprof_text text = MPROF_TEXT("apple");
	struct mprof_recorder *r = &recorder;
	uint32_t at = MPROF_PACKET_HEADER_BYTES;

	setup(RING_BYTES, 4);
	mprof_recorder_compatible(r, true);
	mprof_recorder_label_text(r, 5, &text);
	mprof_recorder_duration_text(r, 5, 6, &text);
	mprof_recorder_duration(r, 5, 6, "x", 1);
	mprof_recorder_increase_text(r, 5, &text);
	mprof_recorder_counter_text(r, 5, &text);
	mprof_recorder_should_resolve(r, 5);
	CHECK_EQ_INT(newest_of(&at).id, MPROF_EVENT_label);
	CHECK_EQ_INT(newest_of(&at).id, MPROF_EVENT_increase);
	CHECK_EQ_INT(newest_of(&at).id, MPROF_EVENT_counter);
	CHECK_EQ_STR(newest_of(&at).text, "__should_resolve");
	CHECK_EQ_UINT(at, r->content);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 0);
}

/* Return the size of the ring's first event if it is a declaration, else 0. */
static size_t declared(void)
{
	struct mprof_raw_event e;
	struct mprof_extra x;

	if (mprof_event_load(&e, ring + MPROF_PACKET_HEADER_BYTES, 40) != MPROF_EVENT_OK || e.id != MPROF_EVENT_extra ||
	    !mprof_extra_load(&x, &e) || x.kind != MPROF_EXTRA_RECORDER)
		return 0;
	CHECK(x.dialect == MPROF_DIALECT_MPROF && x.version == MPROF_DIALECT_VERSION);
	CHECK_EQ_UINT(x.flags & ~MPROF_DECLARES_FIRST, MPROF_DECLARES_ORDER);
	CHECK(mprof_packet_declares_order(ring + MPROF_PACKET_HEADER_BYTES));
	return e.bytes;
}

/*
 * Each packet begins with the declaration of its recorder, unless its ring has very small packets or only
 * ids that mirage-profile has. The declaration is no event of the program.
 */
static void test_declaration(void)
{
	static char text[RING_BYTES];
	struct mprof_recorder *r = &recorder;
	struct mprof_extra x;
	uint8_t bytes[MPROF_DECLARATION_EVENT];

	memset(text, 'x', sizeof(text));
	for (unsigned packets = 2; packets <= 64; packets++) {
		bool small = RING_BYTES / packets / 8 * 8 < MPROF_RECORDER_DECLARED_MIN;
		size_t longest;

		setup(RING_BYTES, packets);
		mprof_recorder_gc(r, 1);
		CHECK_EQ_UINT(declared(), small ? 0 : MPROF_DECLARATION_EVENT);
		CHECK_EQ_UINT(r->content, MPROF_PACKET_HEADER_BYTES + declared() + 17);
		CHECK_EQ_UINT(r->events, 1);
		/* The longest event that fits behind it is recorded, and one byte more is too much. */
		longest = r->packet_bytes - 1 - MPROF_PACKET_HEADER_BYTES - declared() - 18;
		mprof_recorder_label(r, 1, text, longest + 1);
		CHECK_EQ_UINT(r->dropped[MPROF_DROP_TOO_BIG], 1);
		r->drops_said = r->drops;
		mprof_recorder_label(r, 1, text, longest);
		CHECK_EQ_UINT(header_at(r->packet).content_bytes, r->packet_bytes - 1);
		CHECK_EQ_UINT(r->events, 2);
	}
	/* A packet that begins while the recorder is compatible has none, and as much room as before. */
	setup(RING_BYTES, 4);
	mprof_recorder_compatible(r, true);
	mprof_recorder_label(r, 1, text, 1024 - 1 - MPROF_PACKET_HEADER_BYTES - 18);
	CHECK_EQ_UINT(declared(), 0);
	CHECK_EQ_UINT(header_at(r->packet).content_bytes, 1023);
	mprof_recorder_compatible(r, false);
	mprof_recorder_gc(r, 1);
	CHECK_EQ_UINT(r->sequence, 1);
	CHECK(mprof_packet_declares_order(r->packet + MPROF_PACKET_HEADER_BYTES));
	/* A later version may have more bytes; less is no declaration. Other flags say nothing of the order. */
	memcpy(bytes, r->packet + MPROF_PACKET_HEADER_BYTES, sizeof(bytes));
	mprof_store16(bytes + 9, 65535);
	CHECK(mprof_packet_declares_order(bytes));
	mprof_store16(bytes + 9, 3);
	CHECK(!mprof_packet_declares_order(bytes));
	mprof_store16(bytes + 9, 4);
	mprof_store16(bytes + 14, 0xfffe);
	CHECK(!mprof_packet_declares_order(bytes));
	CHECK(!mprof_extra_load_recorder(&x, bytes + 12, 3));
	CHECK(mprof_extra_load_recorder(&x, bytes + 12, 4) && x.flags == 0xfffe);
}

/*
 * An interned text that cannot be recorded is dropped as any other, and one that is too big for two
 * events is copied.
 */
static void test_interned_drops(void)
{
	static char big[RING_BYTES];
	const struct mprof_text nul = {"a\0b", 3, 0}, huge = {big, 2000, 0}, most = {big, 954, 0};
	struct mprof_recorder *r = &recorder;
	uint32_t at = FIRST;

	memset(big, 'x', sizeof(big));
	setup(RING_BYTES, 4);
	mprof_recorder_label_text(r, 5, &nul);
	mprof_recorder_duration_text(r, 5, 6, &nul);
	CHECK_EQ_UINT(r->dropped[MPROF_DROP_NUL], 2);
	mprof_recorder_counter_text(r, 5, &huge);
	mprof_recorder_duration_text(r, 5, 6, &huge);
	CHECK_EQ_UINT(r->dropped[MPROF_DROP_TOO_BIG], 2);
	mprof_recorder_label_text(r, 5, &most);
	CHECK_EQ_UINT(r->drops_said, 4);
	CHECK_EQ_UINT(r->sequence, 1);
	CHECK_EQ_INT(newest_of(&at).id, MPROF_EVENT_label);
	CHECK(!r->busy);
}

#ifndef MPROF_RECORDER_HALVES

/* A recorder continues a ring where another one left it, byte for byte as if that had gone on. */
static void test_continue(void)
{
	static const struct mprof_text text = MPROF_TEXT("apple");
	static _Alignas(8) uint8_t whole[RING_BYTES];
	struct mprof_recorder *r = &recorder;

	for (unsigned packets = 2; packets <= 16; packets += 7) {
		for (unsigned stop = 0; stop < 700; stop += 1 + stop / 9) {
			for (unsigned how = 0; how < 2; how++) {
				setup(RING_BYTES, packets);
				for (unsigned n = 0; n < 700; n++) {
					if (how && n == stop) {
						uint64_t sequence = r->sequence;

						mprof_recorder_stop(r);
						CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, packets, tick,
										     NULL),
							     MPROF_RECORDER_OK);
						CHECK_EQ_UINT((uint16_t)r->sequence, (uint16_t)sequence);
					}
					if (n % 5)
						mprof_recorder_gc(r, n);
					else
						mprof_recorder_label(r, n, "0123456789abcdef", n % 16);
				}
				if (!how)
					memcpy(whole, ring, sizeof(whole));
			}
			CHECK(memcmp(whole, ring, sizeof(whole)) == 0);
		}
	}
	/* A text that the first recorder has interned keeps its number. */
	setup(RING_BYTES, 4);
	mprof_recorder_label_text(r, 5, &text);
	CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_OK);
	mprof_recorder_label_text(r, 5, &text);
	CHECK_EQ_UINT(r->last_text, 2);
	/* Memory that is no ring of this geometry is refused, and the recorder is off. */
	CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, 2, tick, NULL), MPROF_RECORDER_E_RING);
	CHECK(!mprof_recorder_on(r));
	ring[MPROF_PACKET_HEADER_BYTES + 8] = MPROF_EVENT_IDS;
	CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_E_RING);
	memset(ring, 0, sizeof(ring));
	CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_E_RING);
}

#else

/* A size may be half stored: no ring is continued. */
static void test_continue(void)
{
	struct mprof_recorder *r = &recorder;

	setup(RING_BYTES, 4);
	mprof_recorder_gc(r, 1);
	CHECK_EQ_INT(mprof_recorder_continue(r, ring, RING_BYTES, 4, tick, NULL), MPROF_RECORDER_E_RING);
	CHECK(!mprof_recorder_on(r));
}

#endif

int main(void)
{
	CHECK_RUN(test_interned);
	CHECK_RUN(test_neighbours);
	CHECK_RUN(test_many_texts);
	CHECK_RUN(test_compatible);
	CHECK_RUN(test_declaration);
	CHECK_RUN(test_interned_drops);
	CHECK_RUN(test_continue);
	CHECK_RUN(test_new_ring);
	CHECK_RUN(test_geometry);
	CHECK_RUN(test_every_event);
	CHECK_RUN(test_bytes);
	CHECK_RUN(test_current_thread);
	CHECK_RUN(test_turns);
	CHECK_RUN(test_drops);
	CHECK_RUN(test_times);
	CHECK_RUN(test_nested_in_clock);
	CHECK_RUN(test_switch_in_clock);
	CHECK_RUN(test_interrupts);
	CHECK_RUN(test_seen_from_outside);
	return check_done();
}
