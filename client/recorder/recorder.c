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
 * believable. A packet being reused shows the low half 240 with the old high half in the same way. It
 * keeps its first timestamp until its size is 240 in both halves: a reader that comes to the packet in
 * between would take another first timestamp for the true one. The reader knows the low half of a
 * packet that is being emptied (ring-follow.c).
 *
 * The recorder reads nothing back from the ring except the two bytes of rule 3, and what
 * mprof_recorder_continue() finds.
 *
 * An interrupt may come between any two instructions, and record. While no event is being written
 * (r->busy is false), its event is written as any other. Otherwise it is appended to r->kept, by an
 * atomic addition, because an interrupt may be interrupted as well. The function that has set r->busy
 * writes the kept events before it returns. An interrupt has ended when the code that it has
 * interrupted goes on, so a kept event is complete when it is written.
 */
#undef MPROF_RECORDER_OFF
#include <mprof/recorder.h>

#include <mprof/bytes.h>

#define COUNT_AT    offsetof(struct mprof_packet_wire, count)
#define SIZE_AT	    offsetof(struct mprof_packet_wire, packet_size)
#define HIGH_AT	    offsetof(struct mprof_packet_wire, content_high)
#define FIRST_AT    offsetof(struct mprof_packet_wire, first_timestamp)
#define MARKER	    "__should_resolve"
#define DROPPED	    MPROF_COUNTER_DROPPED
#define EXTRA_FIXED (MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES)
#define TEXT_FIXED  (EXTRA_FIXED + 4u) /* of the kind TEXT */
#define STEP_LIMIT  1000000000u /* ns; if the clock goes back by more, somebody set it: timestamps then go back too */

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
#define WHOLE_SIZES true /* a program that ends at any moment leaves no size half stored */

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

#else
#define WHOLE_SIZES false

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

#endif

/*
 * Mark packet P as empty before it is reused. The header keeps COUNT, the count of the old content.
 */
static void header_withdraw(uint8_t *p, uint16_t count)
{
	header_publish(p, count, MPROF_PACKET_HEADER_BYTES);
}

/* Most events need neither: kept out of the path of the others, which then needs fewer registers. */
#define RARE	  __attribute__((noinline, cold))
#define LIKELY(x) __builtin_expect((x), 1)

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

/* Return A / B. A processor that cannot divide, like some of Arm, would call a function of libgcc. */
static uint32_t divide(uint32_t a, uint32_t b)
{
	uint32_t quotient = 0;

	for (unsigned bit = 32; bit-- > 0;) {
		if (a >> bit < b)
			continue;
		a -= b << bit;
		quotient |= UINT32_C(1) << bit;
	}
	return quotient;
}

static uint32_t packet_room(const struct mprof_recorder *r, uint32_t index)
{
	return index + 1 == r->packets ? r->last_bytes : r->packet_bytes;
}

/* Return the index of the packet that follows packet INDEX. */
static uint32_t packet_next(const struct mprof_recorder *r, uint32_t index)
{
	return index + 1 == r->packets ? 0 : index + 1;
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
	    size < (size_t)packets * MPROF_RECORDER_PACKET_MIN)
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

/* Set all fields but those of the ring's contents. Return as mprof_recorder_init(). */
static enum mprof_recorder_status recorder_setup(struct mprof_recorder *r, void *memory, size_t size, unsigned packets,
						 uint64_t (*clock)(void *context), void *context)
{
	enum mprof_recorder_status status;

	*r = (struct mprof_recorder){.current = MPROF_THREAD_NONE, .declares = MPROF_DECLARES_ORDER};
	if (!packets)
		packets = MPROF_RECORDER_PACKETS;
	status = geometry_check(memory, size, packets);
	if (status != MPROF_RECORDER_OK)
		return status;
	r->packets = packets;
	r->packet_bytes = divide((uint32_t)size, packets) & ~(uint32_t)(MPROF_RECORDER_ALIGNMENT - 1);
	r->last_bytes = (uint32_t)size - (packets - 1) * r->packet_bytes;
	mprof_recorder_compatible(r, false);
	r->clock = clock;
	r->clock_context = context;
	r->memory = memory;
	r->packet = r->memory;
	r->room = packet_room(r, 0);
	r->content = MPROF_PACKET_HEADER_BYTES;
	return MPROF_RECORDER_OK;
}

enum mprof_recorder_status mprof_recorder_init(struct mprof_recorder *r, void *memory, size_t size, unsigned packets,
					       uint64_t (*clock)(void *context), void *context)
{
	enum mprof_recorder_status status = recorder_setup(r, memory, size, packets, clock, context);

	if (status == MPROF_RECORDER_OK)
		ring_format(r);
	return status;
}

/* ---- continuing a ring ---- */

/* Return the used bytes of packet I, header included; 0 if it is no packet of this ring. */
static uint32_t packet_content(const struct mprof_recorder *r, uint32_t i, uint16_t *count)
{
	static const uint8_t uuid[16] = MPROF_PACKET_UUID;
	const uint8_t *p = packet_at(r, i);
	uint32_t bits = mprof_load16(p + offsetof(struct mprof_packet_wire, content_low)) |
			(uint32_t)mprof_load16(p + HIGH_AT) << 16;

	*count = mprof_load16(p + COUNT_AT);
	for (unsigned k = 0; k < sizeof(uuid); k++)
		if (p[offsetof(struct mprof_packet_wire, uuid) + k] != uuid[k])
			return 0;
	if (mprof_load32(p) != MPROF_PACKET_MAGIC || mprof_load32(p + SIZE_AT) != packet_room(r, i) * 8 || bits % 8 ||
	    bits / 8 < MPROF_PACKET_HEADER_BYTES || bits / 8 > packet_room(r, i) || bits / 8 == packet_room(r, i))
		return 0;
	return bits / 8;
}

/* Return the number of bytes of the event at P, which ends after at most N bytes; 0 if there is none. */
static uint32_t event_bytes(const uint8_t *p, uint32_t n)
{
	static const uint8_t fixed[] = {26, 25, 25, 25, 25, 17, 25, 17, 17, 25, 25, 25, 25, 25};
	uint32_t at;

	if (n < MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES)
		return 0;
	if (p[8] == MPROF_EVENT_extra) {
		at = MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES + mprof_load16(p + MPROF_EVENT_HEADER_BYTES);
		return at <= n ? at : 0;
	}
	if (p[8] >= sizeof(fixed) || fixed[p[8]] > n)
		return 0;
	at = fixed[p[8]];
	if (p[8] != MPROF_EVENT_fails && p[8] != MPROF_EVENT_label && p[8] != MPROF_EVENT_increase &&
	    p[8] != MPROF_EVENT_counter)
		return at;
	while (at < n && p[at])
		at++;
	return at < n ? at + 1 : 0;
}

/* Return the greatest of LAST and the number of the text that the event at P of N bytes defines, if it does. */
static uint32_t text_id(const uint8_t *p, uint32_t n, uint32_t last)
{
	const uint32_t fixed = MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES;
	uint32_t id;

	if (p[8] != MPROF_EVENT_extra || p[fixed - 1] != MPROF_EXTRA_TEXT || n < fixed + 4)
		return last;
	id = mprof_load32(p + fixed);
	return id > last ? id : last;
}

/*
 * Set the fields of R from the packet that is being filled, with index INDEX and CONTENT used bytes.
 * Return false if its events do not end where it ends.
 */
static bool ring_resume(struct mprof_recorder *r, uint32_t index, uint32_t content)
{
	uint32_t at = MPROF_PACKET_HEADER_BYTES, n;

	r->active = index;
	r->packet = packet_at(r, index);
	r->room = packet_room(r, index);
	r->content = content;
	for (; at < content; at += n) {
		n = event_bytes(r->packet + at, content - at);
		if (!n)
			return false;
		r->last_ns = r->clock_ns = mprof_load64(r->packet + at);
		r->last_text = text_id(r->packet + at, n, r->last_text);
	}
	r->first_ns = content > MPROF_PACKET_HEADER_BYTES ? mprof_load64(r->packet + FIRST_AT) : 0;
	return true;
}

enum mprof_recorder_status mprof_recorder_continue(struct mprof_recorder *r, void *memory, size_t size,
						   unsigned packets, uint64_t (*clock)(void *context), void *context)
{
	enum mprof_recorder_status status = recorder_setup(r, memory, size, packets, clock, context);
	uint16_t newest = 0, count, next;
	uint32_t index = 0, content = 0, used;
	bool good;

	if (status != MPROF_RECORDER_OK)
		return status;
	good = WHOLE_SIZES;
	for (uint32_t i = 0; i < r->packets && good; i++) {
		used = packet_content(r, i, &count);
		good = used != 0;
		/* A packet without events was prepared, or emptied for a first event that did not come. */
		if (good && used > MPROF_PACKET_HEADER_BYTES && (!content || (uint16_t)(count - newest) < 0x8000)) {
			newest = count;
			index = i;
			content = used;
		}
	}
	if (good && content) {
		good = ring_resume(r, index, content);
		/* In the first round, the packets behind this one are empty and have their first counts. */
		packet_content(r, packet_next(r, index), &next);
		r->sequence = newest + (next == (uint16_t)(newest + 1) ? 0u : 65536u);
	}
	if (!good)
		r->memory = NULL;
	return good ? MPROF_RECORDER_OK : MPROF_RECORDER_E_RING;
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
	case MPROF_RECORDER_E_RING:
		return "the memory holds no ring of this size that can be continued";
	}
	return "unknown";
}

void mprof_recorder_stop(struct mprof_recorder *r)
{
	r->memory = NULL;
}

uint64_t mprof_recorder_dropped(const struct mprof_recorder *r)
{
	return r->drops;
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
static RARE void packet_turn(struct mprof_recorder *r)
{
	uint64_t old;

	r->active = packet_next(r, r->active);
	r->sequence++;
	r->packet = packet_at(r, r->active);
	r->room = packet_room(r, r->active);
	r->content = MPROF_PACKET_HEADER_BYTES;
	r->last_text = 0;
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

/*
 * Begin to fill the active packet, which is empty, with an event at the time NS of the clock: write the
 * first timestamp, and the declaration of this recorder. The first event publishes both. Return the first
 * timestamp.
 */
static RARE uint64_t packet_begin(struct mprof_recorder *r, uint64_t ns)
{
	uint8_t *p = r->packet + MPROF_PACKET_HEADER_BYTES;

	r->first_ns = ns = first_time(r, ns);
	mprof_store64(p, ns);
	release(); /* a reader that copies later bytes must also see the new first timestamp */
	if (!r->declaration)
		return ns;
	p[8] = MPROF_EVENT_extra;
	mprof_store16(p + MPROF_EVENT_HEADER_BYTES, MPROF_DECLARATION_BYTES);
	p[EXTRA_FIXED - 1] = MPROF_EXTRA_RECORDER;
	p[EXTRA_FIXED] = MPROF_DIALECT_MPROF;
	p[EXTRA_FIXED + 1] = MPROF_DIALECT_VERSION;
	mprof_store16(p + EXTRA_FIXED + 2, (uint16_t)(r->declares | (r->sequence ? 0 : MPROF_DECLARES_FIRST)));
	r->content += r->declaration;
	return ns;
}

/* Count a dropped event. An interrupt may do the same at any time. */
static RARE void drop(struct mprof_recorder *r, enum mprof_drop reason)
{
#if __GCC_ATOMIC_LLONG_LOCK_FREE == 2
	__atomic_fetch_add(&r->dropped[reason], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->drops, 1, __ATOMIC_RELAXED);
#else
	r->dropped[reason]++;
	r->drops++;
#endif
}

/*
 * Begin an event of BYTES bytes, which fits an empty packet, at the time NS of the clock: go to the next
 * packet if it does not fit this one, and write its timestamp and id. Return the place for its other
 * fields. An event ends strictly before its packet's end, as in every ring of this format.
 */
static inline uint8_t *event_begin(struct mprof_recorder *r, enum mprof_event_id id, size_t bytes, uint64_t ns)
{
	uint8_t *at;

	ns = event_time(r, ns);
	if (!LIKELY(bytes < r->room - r->content))
		packet_turn(r);
	if (!LIKELY(r->content != MPROF_PACKET_HEADER_BYTES))
		ns = packet_begin(r, ns);
	at = r->packet + r->content;
	mprof_store64(at, ns);
	at[8] = (uint8_t)id;
	r->last_ns = ns;
	return at + MPROF_EVENT_HEADER_BYTES;
}

/* Publish the event of BYTES bytes that event_begin began. */
static inline void event_publish(struct mprof_recorder *r, size_t bytes)
{
	r->content += (uint32_t)bytes;
	release();
	header_publish(r->packet, (uint16_t)r->sequence, r->content);
	r->events++;
}

static bool fits(const struct mprof_recorder *r, size_t bytes)
{
	return bytes < r->limit;
}

/* ---- events of interrupts ---- */

#define KEPT_LENGTH 2u /* bytes of the length before a kept event */

static bool is_kept(const struct mprof_recorder *r, const uint8_t *p)
{
	return p >= r->kept && p < r->kept + sizeof(r->kept);
}

#if __GCC_ATOMIC_INT_LOCK_FREE == 2

/* Keep an event of BYTES bytes. Return the place for its fields, or NULL if there is no room. */
static RARE uint8_t *kept_open(struct mprof_recorder *r, enum mprof_event_id id, size_t bytes, uint64_t ns)
{
	uint32_t need = (uint32_t)bytes + KEPT_LENGTH, at;

	if (bytes > sizeof(r->kept) - KEPT_LENGTH)
		return NULL;
	at = __atomic_fetch_add(&r->kept_bytes, need, __ATOMIC_RELAXED);
	if (at > sizeof(r->kept) - need) {
		__atomic_fetch_sub(&r->kept_bytes, need, __ATOMIC_RELAXED);
		return NULL;
	}
	mprof_store16(r->kept + at, (uint16_t)bytes);
	mprof_store64(r->kept + at + KEPT_LENGTH, ns);
	r->kept[at + KEPT_LENGTH + 8] = (uint8_t)id;
	return r->kept + at + KEPT_LENGTH + MPROF_EVENT_HEADER_BYTES;
}

/* Write the kept events behind the event that they interrupted. The caller has set r->busy. */
static RARE void kept_write(struct mprof_recorder *r)
{
	uint32_t at = 0, bytes, used = __atomic_load_n(&r->kept_bytes, __ATOMIC_RELAXED);
	const uint8_t *from;
	uint8_t *to;

	while (used) {
		for (; at < used; at += bytes + KEPT_LENGTH) {
			bytes = mprof_load16(r->kept + at);
			from = r->kept + at + KEPT_LENGTH;
			to = event_begin(r, (enum mprof_event_id)from[8], bytes, mprof_load64(from));
			copy(to, from + MPROF_EVENT_HEADER_BYTES, bytes - MPROF_EVENT_HEADER_BYTES);
			event_publish(r, bytes);
		}
		/* If an interrupt has kept another event since, USED becomes its end. */
		if (__atomic_compare_exchange_n(&r->kept_bytes, &used, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			break;
	}
}

static bool kept_any(const struct mprof_recorder *r)
{
	return __atomic_load_n(&r->kept_bytes, __ATOMIC_RELAXED) != 0;
}

#else

static uint8_t *kept_open(struct mprof_recorder *r, enum mprof_event_id id, size_t bytes, uint64_t ns)
{
	(void)r;
	(void)id;
	(void)bytes;
	(void)ns;
	return NULL;
}

static void kept_write(struct mprof_recorder *r)
{
	(void)r;
}

static bool kept_any(const struct mprof_recorder *r)
{
	(void)r;
	return false;
}

#endif

/* Record the number of dropped events, at the time NS. */
static RARE void say_dropped(struct mprof_recorder *r, uint64_t ns)
{
	const size_t text = sizeof(DROPPED), bytes = MPROF_EVENT_HEADER_BYTES + 16 + text;
	uint64_t drops = r->drops;
	uint8_t *p;

	if (!fits(r, bytes))
		return;
	r->drops_said = drops;
	p = event_begin(r, MPROF_EVENT_counter, bytes, ns);
	mprof_store64(p, (uint64_t)r->current);
	mprof_store64(p + 8, drops);
	copy(p + 16, (const uint8_t *)DROPPED, text);
	event_publish(r, bytes);
}

/* ---- one event ---- */

/*
 * Prepare to write an event of at least BYTES bytes: read the clock into *NS, and set r->busy. Return
 * true; false if no event can be written now: the recorder is off, or an event is being written (then
 * *NESTED is true), or the event is too big and was dropped. The clock is read first, because the clock
 * function may record events or stop the recorder.
 */
static inline bool enter(struct mprof_recorder *r, size_t bytes, uint64_t *ns, bool *nested)
{
	*nested = false;
	if (!r->memory)
		return false;
	*ns = clock_read(r);
	if (!r->memory)
		return false;
	if (!fits(r, bytes)) {
		drop(r, MPROF_DROP_TOO_BIG);
		return false;
	}
	*nested = r->busy;
	if (*nested)
		return false;
	r->busy = true;
	barrier();
	if (!LIKELY(r->drops == r->drops_said))
		say_dropped(r, *ns);
	return true;
}

/* Write what interrupts have recorded, and let events be written again. */
static inline void leave(struct mprof_recorder *r)
{
	for (;;) {
		if (!LIKELY(!kept_any(r)))
			kept_write(r);
		barrier();
		r->busy = false;
		barrier();
		if (LIKELY(!kept_any(r)))
			return;
		/* An interrupt came behind kept_write(). */
		r->busy = true;
	}
}

/*
 * Open an event of BYTES bytes and write its timestamp and id. Return the place for its other
 * fields, or NULL if the event is dropped.
 */
static inline uint8_t *event_open(struct mprof_recorder *r, enum mprof_event_id id, size_t bytes)
{
	bool nested;
	uint64_t ns;
	uint8_t *p;

	if (LIKELY(enter(r, bytes, &ns, &nested)))
		return event_begin(r, id, bytes, ns);
	if (!nested)
		return NULL;
	p = kept_open(r, id, bytes, ns);
	if (!p)
		drop(r, MPROF_DROP_NESTED);
	return p;
}

/* Close the event of BYTES bytes whose place event_open returned as P. */
static inline void event_close(struct mprof_recorder *r, const uint8_t *p, size_t bytes)
{
	if (is_kept(r, p))
		return;
	event_publish(r, bytes);
	leave(r);
}

/* Record an event with one field: switch (the thread) or gc (the duration). */
static __attribute__((noinline)) void record_one(struct mprof_recorder *r, enum mprof_event_id id, uint64_t number)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 8;
	uint8_t *p = event_open(r, id, bytes);

	if (!p)
		return;
	mprof_store64(p, number);
	event_close(r, p, bytes);
}

/* Record an event with two fields, the threads THREAD and OTHER. */
static __attribute__((noinline)) void record_two(struct mprof_recorder *r, enum mprof_event_id id, int64_t thread,
						 int64_t other)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 16;
	uint8_t *p = event_open(r, id, bytes);

	if (!p)
		return;
	mprof_store64(p, (uint64_t)thread);
	mprof_store64(p + 8, (uint64_t)other);
	event_close(r, p, bytes);
}

/* Return whether TEXT of N bytes can be in an event: otherwise count the drop. */
static bool text_good(struct mprof_recorder *r, const char *text, size_t n)
{
	if (n >= r->packet_bytes) {
		drop(r, MPROF_DROP_TOO_BIG);
		return false;
	}
	if (has_nul(text, n))
		drop(r, MPROF_DROP_NUL);
	return !has_nul(text, n);
}

/*
 * Record an event with the field THREAD, the field *NUMBER unless NUMBER is NULL, and TEXT of N
 * bytes.
 */
static void record_text(struct mprof_recorder *r, enum mprof_event_id id, int64_t thread, const int64_t *number,
			const char *text, size_t n)
{
	const size_t fixed = MPROF_EVENT_HEADER_BYTES + (number ? 16 : 8);
	uint8_t *p, *at;

	if (!text_good(r, text, n))
		return;
	at = p = event_open(r, id, fixed + n + 1);
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
	event_close(r, at, fixed + n + 1);
}

/* ---- events `extra` ---- */

/* The header of an event `extra` with LENGTH bytes behind the kind. Return the place for them. */
static uint8_t *extra_header(uint8_t *p, enum mprof_extra_kind kind, size_t length)
{
	mprof_store16(p, (uint16_t)length);
	p[2] = (uint8_t)kind;
	return p + MPROF_EXTRA_HEADER_BYTES;
}

/* Write the fields THREAD, *NUMBER unless NUMBER is NULL, and the text's ID. Return the place behind. */
static uint8_t *extra_fields(uint8_t *p, int64_t thread, const int64_t *number, uint32_t id)
{
	mprof_store64(p, (uint64_t)thread);
	p += 8;
	if (number) {
		mprof_store64(p, (uint64_t)*number);
		p += 8;
	}
	mprof_store32(p, id);
	return p + 4;
}

/* Record a duration whose name of N bytes is in the event. */
static void record_duration(struct mprof_recorder *r, int64_t thread, int64_t ns, const char *name, size_t n)
{
	const size_t length = 8 + 8 + 4 + n + 1, bytes = EXTRA_FIXED + length;
	uint8_t *p, *at;

	if (r->compatible || !text_good(r, name, n))
		return;
	if (n > MPROF_EXTRA_BYTES_MAX - 21) {
		drop(r, MPROF_DROP_TOO_BIG);
		return;
	}
	at = p = event_open(r, MPROF_EVENT_extra, bytes);
	if (!p)
		return;
	p = extra_fields(extra_header(p, MPROF_EXTRA_DURATION, length), thread, &ns, 0);
	copy(p, (const uint8_t *)name, n);
	p[n] = 0;
	event_close(r, at, bytes);
}

/*
 * Return the number of TEXT in the packet being filled, if it is there and an event of BYTES bytes fits
 * that packet; otherwise 0, and *ENTRY is where to note its number.
 */
static uint32_t text_find(struct mprof_recorder *r, const struct mprof_text *text, size_t bytes,
			  struct mprof_recorder_text **entry)
{
	uintptr_t hash = (uintptr_t)text / sizeof(*text); /* neighbours in an array have entries of their own */
	struct mprof_recorder_text *t;

	hash ^= hash >> 5;
	t = *entry = &r->texts[hash % MPROF_RECORDER_TEXTS];
	return t->text == text && t->sequence == r->sequence && bytes < r->room - r->content ? t->id : 0;
}

/*
 * Write TEXT as the event TEXT of BYTES bytes, directly before an event of NEXT bytes in the same packet.
 * Return its number.
 */
static uint32_t text_write(struct mprof_recorder *r, const struct mprof_text *text, struct mprof_recorder_text *entry,
			   size_t bytes, size_t next, uint64_t ns)
{
	uint8_t *p;

	if (bytes + next >= r->room - r->content)
		packet_turn(r);
	p = extra_header(event_begin(r, MPROF_EVENT_extra, bytes, ns), MPROF_EXTRA_TEXT, bytes - EXTRA_FIXED);
	mprof_store32(p, ++r->last_text);
	copy(p + 4, (const uint8_t *)text->text, text->bytes);
	p[4 + text->bytes] = 0;
	if (text->counter)
		p[4 + text->bytes + 1] = text->counter;
	event_publish(r, bytes);
	*entry = (struct mprof_recorder_text){.text = text, .sequence = r->sequence, .id = r->last_text};
	return r->last_text;
}

/*
 * Record an event of KIND with the number of TEXT. Return false, with nothing recorded, if the event
 * must have the text itself: in the middle of another event, or if both events do not fit a packet.
 */
static bool record_interned(struct mprof_recorder *r, enum mprof_extra_kind kind, int64_t thread, const int64_t *number,
			    const struct mprof_text *text)
{
	const size_t length = 8 + (number ? 8 : 0) + 4, bytes = EXTRA_FIXED + length;
	const size_t text_bytes = TEXT_FIXED + text->bytes + 1 + (text->counter ? 1 : 0);
	struct mprof_recorder_text *entry;
	bool nested;
	uint64_t ns;
	uint32_t id;
	uint8_t *p;

	if (r->compatible || r->busy || text->bytes > MPROF_EXTRA_BYTES_MAX - 6 || !fits(r, text_bytes + bytes))
		return false;
	if (!enter(r, bytes, &ns, &nested))
		return !nested;
	id = text_find(r, text, bytes, &entry);
	if (!id && has_nul(text->text, text->bytes)) {
		drop(r, MPROF_DROP_NUL);
		leave(r);
		return true;
	}
	if (!id)
		id = text_write(r, text, entry, text_bytes, bytes, ns);
	p = event_begin(r, MPROF_EVENT_extra, bytes, ns);
	extra_fields(extra_header(p, kind, length), thread, number, id);
	event_publish(r, bytes);
	leave(r);
	return true;
}

void mprof_recorder_do_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type)
{
	const size_t bytes = MPROF_EVENT_HEADER_BYTES + 17;
	int64_t parent = r->current;
	uint8_t *p = event_open(r, MPROF_EVENT_creates, bytes);

	if (!p)
		return;
	mprof_store64(p, (uint64_t)parent);
	mprof_store64(p + 8, (uint64_t)child);
	p[16] = (uint8_t)type;
	event_close(r, p, bytes);
}

void mprof_recorder_do_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	r->current = reader;
	if (reader != source)
		record_two(r, MPROF_EVENT_read, reader, source);
}

void mprof_recorder_do_try_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	record_two(r, MPROF_EVENT_try_read, reader, source);
}

void mprof_recorder_do_fulfills(struct mprof_recorder *r, int64_t resolvee)
{
	record_two(r, MPROF_EVENT_fulfills, r->current, resolvee);
}

void mprof_recorder_do_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes)
{
	record_text(r, MPROF_EVENT_fails, r->current, &resolvee, exn, exn_bytes);
}

void mprof_recorder_do_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper)
{
	record_two(r, MPROF_EVENT_becomes, thread, sleeper);
}

void mprof_recorder_do_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes)
{
	record_text(r, MPROF_EVENT_label, thread, NULL, text, text_bytes);
}

void mprof_recorder_do_label_text(struct mprof_recorder *r, int64_t thread, const struct mprof_text *text)
{
	if (!record_interned(r, MPROF_EXTRA_LABEL, thread, NULL, text))
		record_text(r, MPROF_EVENT_label, thread, NULL, text->text, text->bytes);
}

void mprof_recorder_do_should_resolve(struct mprof_recorder *r, int64_t thread)
{
	record_text(r, MPROF_EVENT_label, thread, NULL, MARKER, sizeof(MARKER) - 1);
}

void mprof_recorder_do_increase(struct mprof_recorder *r, int64_t amount, const char *name, size_t name_bytes)
{
	record_text(r, MPROF_EVENT_increase, r->current, &amount, name, name_bytes);
}

void mprof_recorder_do_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes)
{
	record_text(r, MPROF_EVENT_counter, r->current, &value, name, name_bytes);
}

void mprof_recorder_do_increase_text(struct mprof_recorder *r, int64_t amount, const struct mprof_text *name)
{
	if (!record_interned(r, MPROF_EXTRA_INCREASE, r->current, &amount, name))
		record_text(r, MPROF_EVENT_increase, r->current, &amount, name->text, name->bytes);
}

void mprof_recorder_do_counter_text(struct mprof_recorder *r, int64_t value, const struct mprof_text *name)
{
	if (!record_interned(r, MPROF_EXTRA_COUNTER, r->current, &value, name))
		record_text(r, MPROF_EVENT_counter, r->current, &value, name->text, name->bytes);
}

void mprof_recorder_do_duration(struct mprof_recorder *r, int64_t thread, uint64_t ns, const char *name,
				size_t name_bytes)
{
	record_duration(r, thread, (int64_t)ns, name, name_bytes);
}

void mprof_recorder_do_duration_text(struct mprof_recorder *r, int64_t thread, uint64_t ns,
				     const struct mprof_text *name)
{
	int64_t number = (int64_t)ns;

	if (!record_interned(r, MPROF_EXTRA_DURATION, thread, &number, name))
		record_duration(r, thread, number, name->text, name->bytes);
}

void mprof_recorder_do_state_text(struct mprof_recorder *r, int64_t thread, uint64_t ns, const struct mprof_text *state)
{
	int64_t number = (int64_t)ns;

	if (!record_interned(r, MPROF_EXTRA_STATE, thread, &number, state) && !r->compatible)
		drop(r, MPROF_DROP_TOO_BIG);
}

void mprof_recorder_do_switch(struct mprof_recorder *r, int64_t thread)
{
	if (thread == r->current)
		return;
	r->current = thread;
	record_one(r, MPROF_EVENT_switch, (uint64_t)thread);
}

void mprof_recorder_do_suspend(struct mprof_recorder *r)
{
	r->current = MPROF_THREAD_NONE;
	record_one(r, MPROF_EVENT_switch, (uint64_t)MPROF_THREAD_NONE);
}

void mprof_recorder_do_gc(struct mprof_recorder *r, uint64_t duration)
{
	record_one(r, MPROF_EVENT_gc, duration);
}

void mprof_recorder_do_signal(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	r->current = receiver;
	record_two(r, MPROF_EVENT_signal, receiver, source);
}

void mprof_recorder_do_read_later(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	record_two(r, MPROF_EVENT_read_later, reader, source);
}

void mprof_recorder_do_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	record_two(r, MPROF_EVENT_signal_noswitch, receiver, source);
}
