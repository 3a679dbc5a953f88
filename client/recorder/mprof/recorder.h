/*
 * The recorder: write a program's events into a trace ring while a reader follows the ring.
 *
 * The caller gives the memory. The recorder allocates nothing, takes no lock, makes no system call
 * and needs no C library. Recording never fails and never waits: an event that cannot be recorded
 * is dropped and counted by reason (enum mprof_drop).
 *
 * A recorder has one writer. Calls on one recorder must not overlap, with two exceptions. The clock
 * callback may record (for example a garbage collection that runs while the clock is read). An
 * interrupt or signal handler of the writer may record while another event is being written: its event
 * is kept with its time and written behind the other one, while there is room for
 * MPROF_RECORDER_KEPT_BYTES of such events; what does not fit is dropped and counted as
 * MPROF_DROP_NESTED. A program with several threads has a recorder for each (mprof/tracer.h).
 *
 * Before the first event that is recorded after a drop, the counter `mprof-dropped` is recorded: the
 * number of all events dropped since init.
 *
 * Times are nanoseconds of a clock that does not go back. Thread ids are chosen by the program and
 * signed; -1 (MPROF_THREAD_NONE) means "no thread". A text is a pointer and a length in bytes,
 * contains no NUL, and needs no terminator. The recorder copies the text before the call returns.
 * A text that is recorded often can be interned instead: the calls that end with _text take a struct
 * mprof_text, which the program keeps unchanged as long as the recorder records. Each packet has such
 * a text once, and then a number for it.
 *
 * With MPROF_RECORDER_OFF defined, all calls are macros that leave no instruction and do not evaluate
 * their arguments. At run time a call on a recorder that is off costs one load and one test.
 *
 *	static struct mprof_recorder recorder;
 *
 *	if (mprof_recorder_init(&recorder, memory, size, 0, now, NULL) == MPROF_RECORDER_OK)
 *		mprof_recorder_switch(&recorder, 0);
 */
#ifndef MPROF_RECORDER_H
#define MPROF_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/ids.h>
#include <mprof/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_RECORDER_PACKETS	  4u  /* the default; every reader supports it */
#define MPROF_RECORDER_PACKET_MIN 64u /* bytes; room for a header and the longest event without text */
/*
 * Bytes of the smallest packet that begins with the declaration of its recorder (MPROF_EXTRA_RECORDER). A
 * ring with smaller packets declares nothing.
 */
#define MPROF_RECORDER_DECLARED_MIN 128u
/* Alignment of a ring, bytes: a header's count and size then share one aligned word. */
#define MPROF_RECORDER_ALIGNMENT 8u

enum mprof_recorder_status {
	MPROF_RECORDER_OK = 0,
	MPROF_RECORDER_E_SIZE, /* the ring's size is below MPROF_RING_BYTES_MIN or above MPROF_RING_BYTES_MAX */
	/*
	 * Fewer than 2 packets, more than 1,024, or packets of less than MPROF_RECORDER_PACKET_MIN
	 * bytes.
	 */
	MPROF_RECORDER_E_PACKETS,
	MPROF_RECORDER_E_MEMORY, /* the ring's memory is NULL, or not aligned to MPROF_RECORDER_ALIGNMENT */
	MPROF_RECORDER_E_RING,	 /* continue: the memory holds no ring of this size that can be continued */
};

#define MPROF_RECORDER_KEPT_BYTES 512u /* room for the events of interrupts, two bytes more for each */
#define MPROF_RECORDER_TEXTS	  32u  /* interned texts of a packet that the recorder remembers */

enum mprof_drop {
	MPROF_DROP_TOO_BIG, /* the event does not fit an empty packet */
	MPROF_DROP_NUL,	    /* the text contains a NUL: a reader would misread every later event of the packet */
	MPROF_DROP_NESTED,  /* an interrupt recorded in the middle of an event, and there was no room to keep it */
	MPROF_DROP_NO_RING, /* mprof/tracer.h: the thread could get no ring, or not in time */
	MPROF_DROPS,
};

/* A text to intern: BYTES bytes at TEXT, without a NUL. */
struct mprof_text {
	const char *text;
	size_t bytes;
	/*
	 * Kind of the counter of that name: enum mprof_counter_kind (mprof/ids.h). Readers sum the samples of an
	 * amount, give a rate only to a total, and neither to a gauge. 0 declares nothing.
	 */
	uint8_t counter;
};

/* Initialise a struct mprof_text with a string literal. */
#define MPROF_TEXT(literal) {(literal), sizeof(literal) - 1, MPROF_COUNTER_UNDECLARED}
/* Initialise a struct mprof_text with a string literal, the name of a counter of KIND. */
#define MPROF_COUNTER_TEXT(literal, kind) {(literal), sizeof(literal) - 1, (kind)}

/*
 * The recorder's state. The caller allocates it and leaves the fields alone. A zeroed recorder is
 * off and ignores every event.
 */
struct mprof_recorder {
	uint8_t *memory; /* the ring; the caller owns it; NULL = off */
	uint32_t packets;
	uint32_t packet_bytes; /* bytes of each packet but the last */
	uint32_t last_bytes;   /* bytes of the last packet, at least packet_bytes */
	uint32_t declaration;  /* bytes of the event that begins each packet; 0 = none */
	uint32_t limit;	       /* events of fewer bytes fit an empty packet, behind that event */

	uint8_t *packet;   /* the packet being filled */
	uint32_t active;   /* index of that packet in the ring */
	uint32_t room;	   /* size of that packet, bytes, header included */
	uint32_t content;  /* used part of that packet, bytes, header included */
	uint64_t sequence; /* number of that packet since init; the count in its header is the low 16 bits */
	/* First timestamp of that packet, or of the previous one while that packet is empty, ns. */
	uint64_t first_ns;
	uint64_t last_ns;   /* timestamp of the newest event, ns */
	uint64_t clock_ns;  /* time that the clock last returned, ns; LAST_NS may be later */
	uint64_t now_ns;    /* set by mprof_recorder_at; used without a clock */
	int64_t current;    /* the running thread, or MPROF_THREAD_NONE */
	bool volatile busy; /* an event is being written */
	bool compatible;    /* event ids 0 to 13 only */
	uint16_t declares;  /* flags of the declaration, without MPROF_DECLARES_FIRST */

	uint64_t (*clock)(void *context); /* return nanoseconds; NULL = use now_ns */
	void *clock_context;

	uint64_t events; /* events recorded since init */
	uint64_t dropped[MPROF_DROPS];
	uint64_t drops;	      /* all of them together */
	uint64_t drops_said;  /* the value that the ring's counter `mprof-dropped` has */
	uint64_t clock_steps; /* number of times that the clock went back */

	/* The interned texts of the packet SEQUENCE, by a hash of their addresses. */
	struct mprof_recorder_text {
		const struct mprof_text *text; /* NULL = none */
		uint64_t sequence;
		uint32_t id;
	} texts[MPROF_RECORDER_TEXTS];
	uint32_t last_text; /* greatest id of a text in the packet */

	uint32_t kept_bytes; /* used bytes of KEPT */
	/* Events of interrupts, each behind its length, u16. */
	uint8_t kept[MPROF_RECORDER_KEPT_BYTES];
};

/*
 * Create a ring of SIZE bytes (1 KiB to 256 MiB) at MEMORY and start to record into it.
 *
 * MEMORY is aligned to MPROF_RECORDER_ALIGNMENT. The caller owns it and keeps it mapped until
 * mprof_recorder_stop() returns. A reader may have MEMORY mapped already, and MEMORY may hold an
 * old ring: the reader finds the new ring only when every header is complete. PACKETS, the number
 * of packets of the ring, is 2 to 1,024; 0 means MPROF_RECORDER_PACKETS.
 *
 * CLOCK returns the time in nanoseconds. The recorder passes CONTEXT to CLOCK and calls it at most
 * once per event; both must stay valid until mprof_recorder_stop(). If CLOCK is NULL, the caller
 * sets the time with mprof_recorder_at().
 *
 * Return MPROF_RECORDER_OK. On any other status the recorder is off and MEMORY is unchanged.
 */
enum mprof_recorder_status mprof_recorder_init(struct mprof_recorder *r, void *memory, size_t size, unsigned packets,
					       uint64_t (*clock)(void *context), void *context);

/*
 * As mprof_recorder_init(), but continue the ring that is at MEMORY, behind its last event: MEMORY
 * holds a ring of SIZE bytes and PACKETS packets that a recorder wrote, and nobody writes to it any
 * more. Its readers follow it as if one program had written all. The times of CLOCK go on from the
 * ring's last event. Return MPROF_RECORDER_E_RING if MEMORY holds no such ring: format it by
 * mprof_recorder_init(). Return it also on a machine without atomic stores of 8 bytes, where a program
 * that was killed can leave a size half stored.
 */
enum mprof_recorder_status mprof_recorder_continue(struct mprof_recorder *r, void *memory, size_t size,
						   unsigned packets, uint64_t (*clock)(void *context), void *context);

/* Return one sentence that describes STATUS. The string is constant and never freed. */
const char *mprof_recorder_status_text(enum mprof_recorder_status status);

/*
 * Stop recording. The ring stays as it is, and MEMORY is the caller's again. The counters stay
 * readable; later events are ignored.
 */
void mprof_recorder_stop(struct mprof_recorder *r);

/*
 * Record only events with the ids 0 to 13, which every program for mirage-profile's traces reads, if
 * COMPATIBLE. Interned texts are then copied into each event, durations are ignored, and packets do not
 * declare their recorder. Off after mprof_recorder_init().
 */
static inline void mprof_recorder_compatible(struct mprof_recorder *r, bool compatible)
{
	r->compatible = compatible;
	r->declaration = compatible || r->packet_bytes < MPROF_RECORDER_DECLARED_MIN ? 0 : MPROF_DECLARATION_EVENT;
	r->limit = r->packet_bytes - MPROF_PACKET_HEADER_BYTES - r->declaration;
}

/*
 * Declare the kinds of events that the program writes whenever they happen: KINDS is a set of
 * MPROF_WRITES_* (mprof/ids.h), 0 if it writes none of them always. The declarations of later packets say
 * so, and a reader may then conclude from an absent event. Call it before the first event. A recorder
 * declares no kinds without this call.
 */
static inline void mprof_recorder_kinds(struct mprof_recorder *r, unsigned kinds)
{
	r->declares = (uint16_t)(MPROF_DECLARES_ORDER | MPROF_DECLARES_KINDS | kinds);
}

/* Return whether events are recorded. */
static inline bool mprof_recorder_on(const struct mprof_recorder *r)
{
	return r->memory != NULL;
}

/* Set the time of the next events to NS nanoseconds. A recorder with a clock ignores it. */
static inline void mprof_recorder_at(struct mprof_recorder *r, uint64_t ns)
{
	r->now_ns = ns;
}

/* Return the running thread, as the calls so far report it; MPROF_THREAD_NONE at the start. */
static inline int64_t mprof_recorder_current(const struct mprof_recorder *r)
{
	return r->current;
}

/* Return the number of the packet being filled, 0 for the first. It grows by 1 with each packet. */
static inline uint64_t mprof_recorder_sequence(const struct mprof_recorder *r)
{
	return r->sequence;
}

/* Return the number of events dropped since init, all reasons together. */
uint64_t mprof_recorder_dropped(const struct mprof_recorder *r);

/* ---- called by the inline functions below, if the recorder is on ---- */

void mprof_recorder_do_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type);
void mprof_recorder_do_read(struct mprof_recorder *r, int64_t reader, int64_t source);
void mprof_recorder_do_try_read(struct mprof_recorder *r, int64_t reader, int64_t source);
void mprof_recorder_do_fulfills(struct mprof_recorder *r, int64_t resolvee);
void mprof_recorder_do_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes);
void mprof_recorder_do_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper);
void mprof_recorder_do_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes);
void mprof_recorder_do_label_text(struct mprof_recorder *r, int64_t thread, const struct mprof_text *text);
void mprof_recorder_do_should_resolve(struct mprof_recorder *r, int64_t thread);
void mprof_recorder_do_increase(struct mprof_recorder *r, int64_t amount, const char *name, size_t name_bytes);
void mprof_recorder_do_increase_text(struct mprof_recorder *r, int64_t amount, const struct mprof_text *name);
void mprof_recorder_do_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes);
void mprof_recorder_do_counter_text(struct mprof_recorder *r, int64_t value, const struct mprof_text *name);
void mprof_recorder_do_duration(struct mprof_recorder *r, int64_t thread, uint64_t ns, const char *name,
				size_t name_bytes);
void mprof_recorder_do_duration_text(struct mprof_recorder *r, int64_t thread, uint64_t ns,
				     const struct mprof_text *name);
void mprof_recorder_do_state_text(struct mprof_recorder *r, int64_t thread, uint64_t ns,
				  const struct mprof_text *state);
void mprof_recorder_do_switch(struct mprof_recorder *r, int64_t thread);
void mprof_recorder_do_suspend(struct mprof_recorder *r);
void mprof_recorder_do_gc(struct mprof_recorder *r, uint64_t duration);
void mprof_recorder_do_signal(struct mprof_recorder *r, int64_t receiver, int64_t source);
void mprof_recorder_do_read_later(struct mprof_recorder *r, int64_t reader, int64_t source);
void mprof_recorder_do_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source);

#ifndef MPROF_RECORDER_OFF

/* The running thread creates the thread CHILD of type TYPE. */
static inline void mprof_recorder_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_creates(r, child, type);
}

/*
 * READER reads the value of SOURCE, which is resolved, and READER runs now. If READER is SOURCE,
 * nothing is recorded and only the running thread changes.
 */
static inline void mprof_recorder_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_read(r, reader, source);
}

/* READER finds SOURCE unresolved. The running thread stays the same. */
static inline void mprof_recorder_try_read(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_try_read(r, reader, source);
}

/* The running thread resolves RESOLVEE, which got a value. */
static inline void mprof_recorder_fulfills(struct mprof_recorder *r, int64_t resolvee)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_fulfills(r, resolvee);
}

/* The running thread resolves RESOLVEE, which failed with the exception EXN, a text of EXN_BYTES bytes. */
static inline void mprof_recorder_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_fails(r, resolvee, exn, exn_bytes);
}

/* THREAD becomes an alias of SLEEPER: SLEEPER continues in THREAD's place. */
static inline void mprof_recorder_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_becomes(r, thread, sleeper);
}

/* Label THREAD with TEXT of TEXT_BYTES bytes. */
static inline void mprof_recorder_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_label(r, thread, text, text_bytes);
}

static inline void mprof_recorder_label_text(struct mprof_recorder *r, int64_t thread, const struct mprof_text *text)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_label_text(r, thread, text);
}

/* Ask viewers to flag THREAD if it never resolves. */
static inline void mprof_recorder_should_resolve(struct mprof_recorder *r, int64_t thread)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_should_resolve(r, thread);
}

/*
 * The running thread changes the counter NAME, a text of NAME_BYTES bytes.
 * mprof_recorder_increase() adds AMOUNT, which may be negative; mprof_recorder_counter() sets the
 * counter to VALUE; if the counter is an amount, VALUE is what came with this event. Only the calls that
 * end with _text declare the counter's kind (struct mprof_text). Record the initial value of a counter that is only increased by
 * mprof_recorder_counter(): without it, viewers let the values begin at 0.
 */
static inline void mprof_recorder_increase(struct mprof_recorder *r, int64_t amount, const char *name,
					   size_t name_bytes)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_increase(r, amount, name, name_bytes);
}

static inline void mprof_recorder_increase_text(struct mprof_recorder *r, int64_t amount, const struct mprof_text *name)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_increase_text(r, amount, name);
}

static inline void mprof_recorder_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_counter(r, value, name, name_bytes);
}

static inline void mprof_recorder_counter_text(struct mprof_recorder *r, int64_t value, const struct mprof_text *name)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_counter_text(r, value, name);
}

/*
 * NAME, which THREAD did for NS nanoseconds, has just ended: a system call, a request, a phase.
 * Durations of a thread may nest.
 */
static inline void mprof_recorder_duration(struct mprof_recorder *r, int64_t thread, uint64_t ns, const char *name,
					   size_t name_bytes)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_duration(r, thread, ns, name, name_bytes);
}

static inline void mprof_recorder_duration_text(struct mprof_recorder *r, int64_t thread, uint64_t ns,
						const struct mprof_text *name)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_duration_text(r, thread, ns, name);
}

/*
 * The system says that THREAD, which somebody else runs, is in STATE, and has used NS nanoseconds of processor time since it
 * began. STATE is a word of MPROF_STATE (mprof/events.def), and may have a space and the name of a place in the kernel behind it.
 * A recorder in compatible mode ignores it.
 */
static inline void mprof_recorder_state_text(struct mprof_recorder *r, int64_t thread, uint64_t ns,
					     const struct mprof_text *state)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_state_text(r, thread, ns, state);
}

/* THREAD runs now. If THREAD is already the running thread, nothing is recorded. */
static inline void mprof_recorder_switch(struct mprof_recorder *r, int64_t thread)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_switch(r, thread);
}

/*
 * No thread runs: the program is about to wait. Each call is recorded, also if no thread ran
 * before.
 */
static inline void mprof_recorder_suspend(struct mprof_recorder *r)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_suspend(r);
}

/* A garbage collection that took DURATION nanoseconds has just ended. */
static inline void mprof_recorder_gc(struct mprof_recorder *r, uint64_t duration)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_gc(r, duration);
}

/* SOURCE signals RECEIVER through a condition, and RECEIVER runs now. */
static inline void mprof_recorder_signal(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_signal(r, receiver, source);
}

/*
 * As mprof_recorder_read() and mprof_recorder_signal(), but the running thread stays the same.
 * Programs with fibres record these two.
 */
static inline void mprof_recorder_read_later(struct mprof_recorder *r, int64_t reader, int64_t source)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_read_later(r, reader, source);
}

static inline void mprof_recorder_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source)
{
	if (mprof_recorder_on(r))
		mprof_recorder_do_signal_noswitch(r, receiver, source);
}

#else /* MPROF_RECORDER_OFF */

/* sizeof checks CALL and counts its arguments as used, and does not evaluate it. */
#define MPROF_RECORDER_NO(call)	       ((void)sizeof((call), 0))
#define MPROF_RECORDER_DO(c, ...)      MPROF_RECORDER_NO(mprof_recorder_do_##c(__VA_ARGS__))

/* These have the names of the functions, and so are not expanded again. */
#define mprof_recorder_init(...)       (MPROF_RECORDER_NO(mprof_recorder_init(__VA_ARGS__)), MPROF_RECORDER_OK)
#define mprof_recorder_continue(...)   (MPROF_RECORDER_NO(mprof_recorder_continue(__VA_ARGS__)), MPROF_RECORDER_OK)
#define mprof_recorder_stop(...)       MPROF_RECORDER_NO(mprof_recorder_stop(__VA_ARGS__))
#define mprof_recorder_compatible(...) MPROF_RECORDER_NO(mprof_recorder_compatible(__VA_ARGS__))
#define mprof_recorder_kinds(...)      MPROF_RECORDER_NO(mprof_recorder_kinds(__VA_ARGS__))
#define mprof_recorder_at(...)	       MPROF_RECORDER_NO(mprof_recorder_at(__VA_ARGS__))
#define mprof_recorder_on(...)	       (MPROF_RECORDER_NO(mprof_recorder_on(__VA_ARGS__)), false)
#define mprof_recorder_current(...)    (MPROF_RECORDER_NO(mprof_recorder_current(__VA_ARGS__)), (int64_t)MPROF_THREAD_NONE)
#define mprof_recorder_sequence(...)   (MPROF_RECORDER_NO(mprof_recorder_sequence(__VA_ARGS__)), UINT64_C(0))
#define mprof_recorder_dropped(...)    (MPROF_RECORDER_NO(mprof_recorder_dropped(__VA_ARGS__)), UINT64_C(0))

#define mprof_recorder_creates(...)	    MPROF_RECORDER_DO(creates, __VA_ARGS__)
#define mprof_recorder_read(...)	    MPROF_RECORDER_DO(read, __VA_ARGS__)
#define mprof_recorder_try_read(...)	    MPROF_RECORDER_DO(try_read, __VA_ARGS__)
#define mprof_recorder_fulfills(...)	    MPROF_RECORDER_DO(fulfills, __VA_ARGS__)
#define mprof_recorder_fails(...)	    MPROF_RECORDER_DO(fails, __VA_ARGS__)
#define mprof_recorder_becomes(...)	    MPROF_RECORDER_DO(becomes, __VA_ARGS__)
#define mprof_recorder_label(...)	    MPROF_RECORDER_DO(label, __VA_ARGS__)
#define mprof_recorder_label_text(...)	    MPROF_RECORDER_DO(label_text, __VA_ARGS__)
#define mprof_recorder_should_resolve(...)  MPROF_RECORDER_DO(should_resolve, __VA_ARGS__)
#define mprof_recorder_increase(...)	    MPROF_RECORDER_DO(increase, __VA_ARGS__)
#define mprof_recorder_increase_text(...)   MPROF_RECORDER_DO(increase_text, __VA_ARGS__)
#define mprof_recorder_counter(...)	    MPROF_RECORDER_DO(counter, __VA_ARGS__)
#define mprof_recorder_counter_text(...)    MPROF_RECORDER_DO(counter_text, __VA_ARGS__)
#define mprof_recorder_duration(...)	    MPROF_RECORDER_DO(duration, __VA_ARGS__)
#define mprof_recorder_duration_text(...)   MPROF_RECORDER_DO(duration_text, __VA_ARGS__)
#define mprof_recorder_state_text(...)	    MPROF_RECORDER_DO(state_text, __VA_ARGS__)
#define mprof_recorder_switch(...)	    MPROF_RECORDER_DO(switch, __VA_ARGS__)
#define mprof_recorder_suspend(...)	    MPROF_RECORDER_DO(suspend, __VA_ARGS__)
#define mprof_recorder_gc(...)		    MPROF_RECORDER_DO(gc, __VA_ARGS__)
#define mprof_recorder_signal(...)	    MPROF_RECORDER_DO(signal, __VA_ARGS__)
#define mprof_recorder_read_later(...)	    MPROF_RECORDER_DO(read_later, __VA_ARGS__)
#define mprof_recorder_signal_noswitch(...) MPROF_RECORDER_DO(signal_noswitch, __VA_ARGS__)

#endif

#ifdef __cplusplus
}
#endif

#endif
