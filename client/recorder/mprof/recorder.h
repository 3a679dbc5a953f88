/*
 * The recorder: writes a program's events into a trace ring that a reader follows while it is being written.
 *
 * One writer, memory given by the caller, and nothing else: no allocation, no lock, no system call, no C library.
 * Recording never fails and never waits.  What cannot be recorded is dropped and counted, by reason.
 *
 * One recorder has one writer: calls for it must not overlap, except that the clock callback may itself record
 * (a garbage collection in the middle of taking the time, say).  An event that comes in the middle of another one's
 * bytes, from an interrupt, is dropped and counted as MPROF_DROP_NESTED.
 *
 * Times are nanoseconds of any clock that does not go back.  Thread ids are the program's own, signed; -1 is "no
 * thread".  Texts are bytes without NUL and with a length; they are copied before the call returns.
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

#define MPROF_RECORDER_PACKETS	  4u  /* the default: what every reader of these rings has always seen */
#define MPROF_RECORDER_PACKET_MIN 64u /* bytes; a header and the longest event without text fit */
#define MPROF_RECORDER_ALIGNMENT  8u  /* of the memory, so that a header's count and size are one aligned word */

enum mprof_recorder_status {
	MPROF_RECORDER_OK = 0,
	MPROF_RECORDER_E_SIZE,	  /* below MPROF_RING_BYTES_MIN or above MPROF_RING_BYTES_MAX */
	MPROF_RECORDER_E_PACKETS, /* not 2 to 1,024, or too many for packets of MPROF_RECORDER_PACKET_MIN bytes */
	MPROF_RECORDER_E_MEMORY,  /* NULL, or not aligned to MPROF_RECORDER_ALIGNMENT */
};

enum mprof_drop {
	MPROF_DROP_TOO_BIG, /* longer than an empty packet */
	MPROF_DROP_NUL,	    /* a NUL in a text would end it for a reader, who would lose the rest of the packet */
	MPROF_DROP_NESTED,  /* came in the middle of another event's bytes */
	MPROF_DROP_OFF,	    /* the recorder was not initialised, or was stopped */
	MPROF_DROPS,
};

/*
 * The caller provides the storage and does not touch the fields.  A zeroed recorder is off: it drops everything.
 */
struct mprof_recorder {
	uint8_t *memory; /* NULL = off */
	uint32_t packets;
	uint32_t packet_bytes; /* of each packet but the last, which has more */
	uint32_t last_bytes;   /* of the last packet */

	uint8_t *packet;    /* the one being filled */
	uint32_t active;    /* its index */
	uint32_t room;	    /* its bytes, header included */
	uint32_t content;   /* its used bytes, header included */
	uint64_t sequence;  /* its number; its count is the low 16 bits */
	uint64_t first_ns;  /* its first timestamp, and while it is empty that of the packet before */
	uint64_t last_ns;   /* the last timestamp recorded */
	uint64_t clock_ns;  /* the last time the clock, or the caller, said */
	uint64_t now_ns;    /* without a clock: what the caller said */
	int64_t current;    /* the thread that runs */
	bool volatile busy; /* an event's bytes are being written */

	uint64_t (*clock)(void *context); /* now, in nanoseconds */
	void *clock_context;

	uint64_t events; /* recorded since init */
	uint64_t dropped[MPROF_DROPS];
	uint64_t clock_steps; /* how often the clock went back */
};

/*
 * Make a new ring of SIZE bytes at MEMORY, cut into PACKETS packets (0: MPROF_RECORDER_PACKETS), and record into it.  MEMORY stays
 * the caller's and must stay mapped until mprof_recorder_stop.  It may already be visible to a reader, and may hold an old ring:
 * the headers are made so that a reader sees a ring only when all of them are there.  CLOCK is called once per event with
 * CONTEXT; NULL if the caller gives the times with mprof_recorder_at.  On anything but MPROF_RECORDER_OK the recorder is off.
 */
enum mprof_recorder_status mprof_recorder_init(struct mprof_recorder *r, void *memory, size_t size, unsigned packets,
					       uint64_t (*clock)(void *context), void *context);

/* One sentence for people. */
const char *mprof_recorder_status_text(enum mprof_recorder_status status);

/* Record nothing more.  The ring stays as it is, for its reader.  Counters stay readable. */
void mprof_recorder_stop(struct mprof_recorder *r);

/* Without a clock: the time of the events that follow. */
static inline void mprof_recorder_at(struct mprof_recorder *r, uint64_t ns)
{
	r->now_ns = ns;
}

/* The thread that runs, as far as the events so far tell; MPROF_THREAD_NONE at the start. */
static inline int64_t mprof_recorder_current(const struct mprof_recorder *r)
{
	return r->current;
}

/* The number of the packet being filled: it goes up by one with each packet that is finished. */
static inline uint64_t mprof_recorder_sequence(const struct mprof_recorder *r)
{
	return r->sequence;
}

/* All that was dropped. */
uint64_t mprof_recorder_dropped(const struct mprof_recorder *r);

/* The current thread creates CHILD. */
void mprof_recorder_creates(struct mprof_recorder *r, int64_t child, enum mprof_thread_type type);

/* READER looked at SOURCE, which is resolved; READER runs from now on.  Reading oneself only changes the current thread. */
void mprof_recorder_read(struct mprof_recorder *r, int64_t reader, int64_t source);

/* READER found SOURCE unresolved.  The current thread stays. */
void mprof_recorder_try_read(struct mprof_recorder *r, int64_t reader, int64_t source);

/* The current thread resolves RESOLVEE: with a value, or with an exception. */
void mprof_recorder_fulfills(struct mprof_recorder *r, int64_t resolvee);
void mprof_recorder_fails(struct mprof_recorder *r, int64_t resolvee, const char *exn, size_t exn_bytes);

/* THREAD is from now on an alias of SLEEPER. */
void mprof_recorder_becomes(struct mprof_recorder *r, int64_t thread, int64_t sleeper);

/* Say what THREAD is.  "__should_resolve" marks it as one that a viewer flags if it never resolves. */
void mprof_recorder_label(struct mprof_recorder *r, int64_t thread, const char *text, size_t text_bytes);

/* The current thread changes a counter: by AMOUNT, or to VALUE. */
void mprof_recorder_increase(struct mprof_recorder *r, int64_t amount, const char *name, size_t name_bytes);
void mprof_recorder_counter(struct mprof_recorder *r, int64_t value, const char *name, size_t name_bytes);

/* THREAD runs from now on.  Says nothing if it does already. */
void mprof_recorder_switch(struct mprof_recorder *r, int64_t thread);

/* No thread runs: the program is about to wait.  Recorded each time. */
void mprof_recorder_suspend(struct mprof_recorder *r);

/* A garbage collection of DURATION nanoseconds has just ended. */
void mprof_recorder_gc(struct mprof_recorder *r, uint64_t duration);

/* SOURCE passes control to RECEIVER through a condition; RECEIVER runs from now on. */
void mprof_recorder_signal(struct mprof_recorder *r, int64_t receiver, int64_t source);

/* The fibre dialect's read and signal, which change nothing about who runs. */
void mprof_recorder_read_later(struct mprof_recorder *r, int64_t reader, int64_t source);
void mprof_recorder_signal_noswitch(struct mprof_recorder *r, int64_t receiver, int64_t source);

#ifdef __cplusplus
}
#endif

#endif
