/*
 * The recorder.
 *
 * A reader in another domain follows the ring while the recorder writes it. The reader takes no
 * lock, and the recorder does not notice the reader. The reader relies on the order of the
 * recorder's stores:
 *
 *  1. All bytes of an event are stored before the size that counts them.
 *  2. A reused packet becomes empty (size 240 bits) before any byte behind its header changes.
 *     Its new count appears only with the first event. A release fence separates the steps. A
 *     reader that sees a count therefore sees the first timestamp of that count, and a reader
 *     that sees bytes of a new event can see that the old packet is gone.
 *  3. Count and size are bytes 24 to 29 of a packet. Packets begin at multiples of 8, so both
 *     lie in one aligned word with the first two bytes of the first timestamp (24 to 31), and
 *     one store changes both. No reader sees halves of two sizes, or a count with the size of
 *     another packet.
 *  4. The first timestamps of packets rise strictly: a reader uses them to tell two packets
 *     with the same 16-bit count apart.
 *
 * If the machine has no atomic 8-byte store, the count and the low half of the size form one
 * aligned 4-byte word, and the high half is stored after it. A reader can then see the new low half
 * with the old high half: a size that is too small. It never sees a greater low half with that high
 * half, so the rule of confirmed positions (schema/mprof/ring.h) never accepts that size as the end
 * of an event. The opposite order would show sizes that are too big and that later become
 * believable. The size of a packet being reused could fall to any value; the recorder therefore
 * zeroes the first timestamp first, which ends the old packet for every reader.
 *
 * The recorder reads nothing back from the ring except the two bytes of rule 3.
 */
#include <mprof/recorder.h>

#include <mprof/bytes.h>

#define COUNT_AT   offsetof(struct mprof_packet_wire, count)
#define SIZE_AT	   offsetof(struct mprof_packet_wire, packet_size)
#define HIGH_AT	   offsetof(struct mprof_packet_wire, content_high)
#define FIRST_AT   offsetof(struct mprof_packet_wire, first_timestamp)
#define STEP_LIMIT 1000000000u /* ns; if the clock goes back by more, somebody set it: timestamps then go back too */

_Static_assert(offsetof(struct mprof_packet_wire, count) % 8 == 0, "the word of count and size is aligned");

/* Make earlier stores visible before later stores. */
static inline void release(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Keep the compiler from moving stores across this line, for interrupts on this processor. */
static inline void barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#if __GCC_ATOMIC_LLONG_LOCK_FREE == 2 && !defined(MPROF_RECORDER_HALVES)

static inline uint64_t little64(uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/*
 * Publish in packet P's header, with one store, COUNT and the size CONTENT: the used bytes, header
 * included.
 */
static void header_publish(uint8_t *p, uint16_t count, uint32_t content)
{
	uint64_t word = count | (uint64_t)(content * 8) << 16 | (uint64_t)mprof_load16(p + FIRST_AT) << 48;

	__atomic_store_n((uint64_t *)(void *)(p + COUNT_AT), little64(word), __ATOMIC_RELAXED);
}

/*
 * Mark packet P as empty before it is reused. The header keeps COUNT, the count of the old content.
 */
static void header_withdraw(uint8_t *p, uint16_t count)
{
	header_publish(p, count, MPROF_PACKET_HEADER_BYTES);
}

#else

static inline uint32_t little32(uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

static void store_high(uint8_t *p, uint32_t bits)
{
	uint16_t high = (uint16_t)(bits >> 16);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	high = __builtin_bswap16(high);
#endif
	__atomic_store_n((uint16_t *)(void *)(p + HIGH_AT), high, __ATOMIC_RELAXED);
}

static void header_publish(uint8_t *p, uint16_t count, uint32_t content)
{
	uint32_t bits = content * 8;

	__atomic_store_n((uint32_t *)(void *)(p + COUNT_AT), little32(count | bits << 16), __ATOMIC_RELAXED);
	release();
	store_high(p, bits);
}

static void header_withdraw(uint8_t *p, uint16_t count)
{
	mprof_store64(p + FIRST_AT, 0);
	release();
	header_publish(p, count, MPROF_PACKET_HEADER_BYTES);
}

#endif

/* Copy N bytes without calling memcpy: a guest may have no memcpy. */
static void copy(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static bool has_nul(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			return true;
	return false;
}

/*
 * Write the header of packet P, which has number INDEX and BYTES bytes: all but the magic. The
 * packet is empty and its first timestamp is 0.
 */
static void packet_prepare(uint8_t *p, uint32_t index, uint32_t bytes)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;

	mprof_store32(p, 0);
	release();
	copy(p + offsetof(struct mprof_packet_wire, uuid), uuid, sizeof(uuid));
	mprof_store32(p + SIZE_AT, bytes * 8);
	mprof_store64(p + FIRST_AT, 0);
	header_publish(p, (uint16_t)index, MPROF_PACKET_HEADER_BYTES);
}

static uint32_t packet_room(const struct mprof_recorder *r, uint32_t index)
{
	return index + 1 == r->packets ? r->last_bytes : r->packet_bytes;
}

static uint8_t *packet_at(const struct mprof_recorder *r, uint32_t index)
{
	return r->memory + (size_t)index * r->packet_bytes;
}

static enum mprof_recorder_status geometry_check(const void *memory, size_t size, unsigned packets)
{
	if (!memory || (uintptr_t)memory % MPROF_RECORDER_ALIGNMENT)
		return MPROF_RECORDER_E_MEMORY;
	if (size < MPROF_RING_BYTES_MIN || size > MPROF_RING_BYTES_MAX)
		return MPROF_RECORDER_E_SIZE;
	if (packets < MPROF_RING_PACKETS_MIN || packets > MPROF_RING_PACKETS_MAX ||
	    size / packets < MPROF_RECORDER_PACKET_MIN)
		return MPROF_RECORDER_E_PACKETS;
	return MPROF_RECORDER_OK;
}

/*
 * Format every packet. Store the magics last and the first packet's magic last of all: a reader
 * that finds it finds a complete ring.
 */
static void ring_format(const struct mprof_recorder *r)
{
	for (uint32_t i = 0; i < r->packets; i++)
		packet_prepare(packet_at(r, i), i, packet_room(r, i));
	release();
	for (uint32_t i = r->packets; i-- > 0;) {
		mprof_store32(packet_at(r, i), MPROF_PACKET_MAGIC);
		release();
	}
}

enum mprof_recorder_status mprof_recorder_init(struct mprof_recorder *r, void *memory, size_t size, unsigned packets,
					       uint64_t (*clock)(void *context), void *context)
{
	enum mprof_recorder_status status;

	*r = (struct mprof_recorder){.current = MPROF_THREAD_NONE};
	if (!packets)
		packets = MPROF_RECORDER_PACKETS;
	status = geometry_check(memory, size, packets);
	if (status != MPROF_RECORDER_OK)
		return status;
	r->packets = packets;
	r->packet_bytes = (uint32_t)(size / packets) & ~(uint32_t)(MPROF_RECORDER_ALIGNMENT - 1);
	r->last_bytes = (uint32_t)size - (packets - 1) * r->packet_bytes;
	r->clock = clock;
	r->clock_context = context;
	r->memory = memory;
	r->packet = r->memory;
	r->room = packet_room(r, 0);
	r->content = MPROF_PACKET_HEADER_BYTES;
	ring_format(r);
	return MPROF_RECORDER_OK;
}

const char *mprof_recorder_status_text(enum mprof_recorder_status status)
{
	switch (status) {
	case MPROF_RECORDER_OK:
		return "ok";
	case MPROF_RECORDER_E_SIZE:
		return "the size of a ring must be from 1 KiB to 256 MiB";
	case MPROF_RECORDER_E_PACKETS:
		return "a ring has 2 to 1024 packets of at least 64 bytes each";
	case MPROF_RECORDER_E_MEMORY:
		return "the memory of a ring must be aligned to 8 bytes";
	}
	return "unknown";
}

void mprof_recorder_stop(struct mprof_recorder *r)
{
	r->memory = NULL;
}

uint64_t mprof_recorder_dropped(const struct mprof_recorder *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MPROF_DROPS; i++)
		sum += r->dropped[i];
	return sum;
}

/* Return the time in nanoseconds. The caller's clock function may itself record events. */
static uint64_t clock_read(const struct mprof_recorder *r)
{
	return r->clock ? r->clock(r->clock_context) : r->now_ns;
}

/*
 * Return the timestamp of an event when the clock says NS. The timestamp is at least the last
 * event's, unless the clock was set back (STEP_LIMIT).
 */
static uint64_t event_time(struct mprof_recorder *r, uint64_t ns)
{
	if (ns < r->clock_ns)
		r->clock_steps++;
	r->clock_ns = ns;
	return ns < r->last_ns && r->last_ns - ns <= STEP_LIMIT ? r->last_ns : ns;
}

/*
 * Make the next packet of the ring the active one. The packet is empty, and its header keeps the
 * old count until the first event is published.
 */
static void packet_turn(struct mprof_recorder *r)
{
	uint64_t old;

	r->active = (r->active + 1) % r->packets;
	r->sequence++;
	r->packet = packet_at(r, r->active);
	r->room = packet_room(r, r->active);
	r->content = MPROF_PACKET_HEADER_BYTES;
	if (r->sequence >= r->packets) {
		old = r->sequence - r->packets;
		header_withdraw(r->packet, (uint16_t)old);
		release();
	}
}

/*
 * Return the first timestamp of a packet that begins at the time NS. The timestamp is greater than
 * the previous packet's; if the clock was set back, it only differs from that.
 */
static uint64_t first_time(const struct mprof_recorder *r, uint64_t ns)
{
	if (ns == 0)
		ns = 1;
	if (ns <= r->first_ns && r->first_ns - ns <= STEP_LIMIT)
		ns = r->first_ns + 1;
	return ns;
}

/* Return why an event of BYTES bytes must be dropped, or MPROF_DROPS if it fits. */
static enum mprof_drop drop_reason(const struct mprof_recorder *r, size_t bytes)
{
	if (!r->memory)
		return MPROF_DROP_OFF;
	if (r->busy)
		return MPROF_DROP_NESTED;
	return bytes >= r->packet_bytes - MPROF_PACKET_HEADER_BYTES ? MPROF_DROP_TOO_BIG : MPROF_DROPS;
}

/*
 * Open an event of BYTES bytes and write its timestamp and id. Return the place for its other
 * fields, or NULL if the event is dropped. An event ends strictly before its packet's end, as in
 * every ring of this format. The clock is read first, because the clock function may record events
 * or stop the recorder.
 */
static uint8_t *event_open(struct mprof_recorder *r, enum mprof_event_id id, size_t bytes)
{
	uint64_t ns = r->memory && !r->busy ? clock_read(r) : 0;
	enum mprof_drop drop = drop_reason(r, bytes);
	uint8_t *at;

	if (drop != MPROF_DROPS) {
		r->dropped[drop]++;
		return NULL;
	}
	r->busy = true;
	barrier();
	ns = event_time(r, ns);
	if (bytes >= r->room - r->content)
		packet_turn(r);
	if (r->content == MPROF_PACKET_HEADER_BYTES)
		r->first_ns = ns = first_time(r, ns);
	at = r->packet + r->content;
	mprof_store64(at, ns);
	if (r->content == MPROF_PACKET_HEADER_BYTES)
		release(); /* a reader that copies these bytes must also see the new first timestamp */
	at[8] = (uint8_t)id;
	r->last_ns = ns;
	return at + MPROF_EVENT_HEADER_BYTES;
}

/* Publish the event of BYTES bytes that event_open opened. */
static void event_close(struct mprof_recorder *r, size_t bytes)
{
	r->content += (uint32_t)bytes;
	release();
	header_publish(r->packet, (uint16_t)r->sequence, r->content);
	r->events++;
	barrier();
	r->busy = false;
}

/* Record an event with one field: switch (the thread) or gc (the duration). */
static void record_one(struct mprof_recorder *r, enum mprof_event_id id, uint64_t number)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 8;
	uint8_t *p = event_open(r, id, bytes);

	if (!p)
		return;
	mprof_store64(p, number);
	event_close(r, bytes);
}

/* Record an event with two fields, the threads THREAD and OTHER. */
static void record_two(struct mprof_recorder *r, enum mprof_event_id id, int64_t thread, int64_t other)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 16;
	uint8_t *p = event_open(r, id, bytes);

	if (!p)
		return;
	mprof_store64(p, (uint64_t)thread);
	mprof_store64(p + 8, (uint64_t)other);
	event_close(r, bytes);
}

/*
 * Record an event with the field THREAD, the field *NUMBER unless NUMBER is NULL, and TEXT of N
 * bytes.
 */
static void record_text(struct mprof_recorder *r, enum mprof_event_id id, int64_t thread, const int64_t *number,
			const char *text, size_t n)
{
	const size_t fixed = MPROF_EVENT_HEADER_BYTES + (number ? 16 : 8);
	uint8_t *p;

	/* A length near SIZE_MAX must not wrap around to a size that fits. */
	if (n < r->packet_bytes && has_nul(text, n)) {
		r->dropped[r->memory ? MPROF_DROP_NUL : MPROF_DROP_OFF]++;
		return;
	}
	p = event_open(r, id, n < r->packet_bytes ? fixed + n + 1 : SIZE_MAX);
	if (!p)
		return;
	mprof_store64(p, (uint64_t)thread);
	p += 8;
	if (number) {
		mprof_store64(p, (uint64_t)*number);
		p += 8;
	}
	copy(p, (const uint8_t *)text, n);
	p[n] = 0;
	event_close(r, fixed + n + 1);
}

void mprof_recorder_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 17;
	int64_t parent = r->current;
	uint8_t *p = event_open(r, MPROF_EVENT_creates, bytes);

	if (!p)
		return;
	mprof_store64(p, (uint64_t)parent);
	mprof_store64(p + 8, (uint64_t)child);
	p[16] = (uint8_t)type;
	event_close(r, bytes);
}

void mprof_recorder_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	r->current = reader;
	if (reader != source)
		record_two(r, MPROF_EVENT_read, reader, source);
}

void mprof_recorder_try_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	record_two(r, MPROF_EVENT_try_read, reader, source);
}

void mprof_recorder_fulfills(struct mprof_recorder *r, int64_t resolvee)
{
	record_two(r, MPROF_EVENT_fulfills, r->current, resolvee);
}

void mprof_recorder_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes)
{
	record_text(r, MPROF_EVENT_fails, r->current, &resolvee, exn, exn_bytes);
}

void mprof_recorder_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper)
{
	record_two(r, MPROF_EVENT_becomes, thread, sleeper);
}

void mprof_recorder_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes)
{
	record_text(r, MPROF_EVENT_label, thread, NULL, text, text_bytes);
}

void mprof_recorder_increase(struct mprof_recorder *r, int64_t amount, const char *name, size_t name_bytes)
{
	record_text(r, MPROF_EVENT_increase, r->current, &amount, name, name_bytes);
}

void mprof_recorder_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes)
{
	record_text(r, MPROF_EVENT_counter, r->current, &value, name, name_bytes);
}

void mprof_recorder_switch(struct mprof_recorder *r, int64_t thread)
{
	if (thread == r->current)
		return;
	r->current = thread;
	record_one(r, MPROF_EVENT_switch, (uint64_t)thread);
}

void mprof_recorder_suspend(struct mprof_recorder *r)
{
	r->current = MPROF_THREAD_NONE;
	record_one(r, MPROF_EVENT_switch, (uint64_t)MPROF_THREAD_NONE);
}

void mprof_recorder_gc(struct mprof_recorder *r, uint64_t duration)
{
	record_one(r, MPROF_EVENT_gc, duration);
}

void mprof_recorder_signal(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	r->current = receiver;
	record_two(r, MPROF_EVENT_signal, receiver, source);
}

void mprof_recorder_read_later(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	record_two(r, MPROF_EVENT_read_later, reader, source);
}

void mprof_recorder_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	record_two(r, MPROF_EVENT_signal_noswitch, receiver, source);
}
