/*
 * The recorder: write a program's events into a trace ring while a reader follows the ring.
 *
 * The caller gives the memory. The recorder allocates nothing, takes no lock, makes no system call
 * and needs no C library. Recording never fails and never waits: an event that cannot be recorded
 * is dropped and counted by reason (enum mprof_drop).
 *
 * A recorder has one writer. Calls on one recorder must not overlap, with one exception: the clock
 * callback may record (for example a garbage collection that runs while the clock is read). An
 * event that an interrupt records while another event is being written is dropped and counted as
 * MPROF_DROP_NESTED.
 *
 * Times are nanoseconds of a clock that does not go back. Thread ids are chosen by the program and
 * signed; -1 (MPROF_THREAD_NONE) means "no thread". A text is a pointer and a length in bytes,
 * contains no NUL, and needs no terminator. The recorder copies the text before the call returns.
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
};

enum mprof_drop {
	MPROF_DROP_TOO_BIG, /* the event does not fit an empty packet */
	MPROF_DROP_NUL,	    /* the text contains a NUL: a reader would misread every later event of the packet */
	MPROF_DROP_NESTED,  /* the call came from an interrupt while another event was being written */
	MPROF_DROP_OFF,	    /* the recorder is not initialised, or stopped */
	MPROF_DROPS,
};

/*
 * The recorder's state. The caller allocates it and leaves the fields alone. A zeroed recorder is
 * off and drops every event.
 */
struct mprof_recorder {
	uint8_t *memory; /* the ring; the caller owns it; NULL = off */
	uint32_t packets;
	uint32_t packet_bytes; /* bytes of each packet but the last */
	uint32_t last_bytes;   /* bytes of the last packet, at least packet_bytes */

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

	uint64_t (*clock)(void *context); /* return nanoseconds; NULL = use now_ns */
	void *clock_context;

	uint64_t events; /* events recorded since init */
	uint64_t dropped[MPROF_DROPS];
	uint64_t clock_steps; /* number of times that the clock went back */
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

/* Return one sentence that describes STATUS. The string is constant and never freed. */
const char *mprof_recorder_status_text(enum mprof_recorder_status status);

/*
 * Stop recording. The ring stays as it is, and MEMORY is the caller's again. The counters stay
 * readable; later events are dropped as MPROF_DROP_OFF.
 */
void mprof_recorder_stop(struct mprof_recorder *r);

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

/* The running thread creates the thread CHILD of type TYPE. */
void mprof_recorder_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type);

/*
 * READER reads the value of SOURCE, which is resolved, and READER runs now. If READER is SOURCE,
 * nothing is recorded and only the running thread changes.
 */
void mprof_recorder_read(struct mprof_recorder *r, int64_t reader, int64_t source);

/* READER finds SOURCE unresolved. The running thread stays the same. */
void mprof_recorder_try_read(struct mprof_recorder *r, int64_t reader, int64_t source);

/*
 * The running thread resolves RESOLVEE. mprof_recorder_fulfills() records that RESOLVEE got a
 * value, mprof_recorder_fails() that RESOLVEE failed with the exception EXN, a text of EXN_BYTES
 * bytes.
 */
void mprof_recorder_fulfills(struct mprof_recorder *r, int64_t resolvee);
void mprof_recorder_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes);

/* THREAD becomes an alias of SLEEPER: SLEEPER continues in THREAD's place. */
void mprof_recorder_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper);

/*
 * Label THREAD with TEXT of TEXT_BYTES bytes. The label "__should_resolve" asks viewers to flag
 * THREAD if it never resolves.
 */
void mprof_recorder_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes);

/*
 * The running thread changes the counter NAME, a text of NAME_BYTES bytes.
 * mprof_recorder_increase() adds AMOUNT, which may be negative; mprof_recorder_counter() sets the
 * counter to VALUE.
 */
void mprof_recorder_increase(struct mprof_recorder *r, int64_t amount, const char *name, size_t name_bytes);
void mprof_recorder_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes);

/* THREAD runs now. If THREAD is already the running thread, nothing is recorded. */
void mprof_recorder_switch(struct mprof_recorder *r, int64_t thread);

/*
 * No thread runs: the program is about to wait. Each call is recorded, also if no thread ran
 * before.
 */
void mprof_recorder_suspend(struct mprof_recorder *r);

/* A garbage collection that took DURATION nanoseconds has just ended. */
void mprof_recorder_gc(struct mprof_recorder *r, uint64_t duration);

/* SOURCE signals RECEIVER through a condition, and RECEIVER runs now. */
void mprof_recorder_signal(struct mprof_recorder *r, int64_t receiver, int64_t source);

/*
 * As mprof_recorder_read() and mprof_recorder_signal(), but the running thread stays the same.
 * Programs with fibres record these two.
 */
void mprof_recorder_read_later(struct mprof_recorder *r, int64_t reader, int64_t source);
void mprof_recorder_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source);

#ifdef __cplusplus
}
#endif

#endif
