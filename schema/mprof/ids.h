/*
 * The ids of events and thread types. They have a file of their own because a guest's recorder
 * needs them and may lack the C library's headers.
 */
#ifndef MPROF_SCHEMA_IDS_H
#define MPROF_SCHEMA_IDS_H

enum mprof_event_id {
#define MPROF_EVENT(id, name, ctx, key, shape, number, text) MPROF_EVENT_##name = (id),
#include <mprof/events.def>
	MPROF_EVENT_IDS,
};

/* Kinds of the event `extra`: mprof/extra.h says which bytes each has. */
enum mprof_extra_kind {
#define MPROF_EXTRA(id, name, number, text) MPROF_EXTRA_##name = (id),
#include <mprof/events.def>
	MPROF_EXTRA_KINDS,
};

/* States of a thread in an `extra` of the kind STATE. */
enum mprof_state_kind {
#define MPROF_STATE(id, name) MPROF_STATE_##name = (id),
#include <mprof/events.def>
	MPROF_STATE_KINDS,
};

/*
 * Values of the kind RECORDER. A dialect says what the writer's events mean beyond their table, and a
 * version counts the changes of that. A reader takes an unknown dialect or version for one that it
 * knows nothing of; the flags mean the same in all of them.
 */
#define MPROF_DIALECT_MPROF   1u /* mprofd's recorder library */
#define MPROF_DIALECT_VERSION 1u /* of MPROF_DIALECT_MPROF */
/*
 * Stores are ordered on every machine: who sees a size sees the bytes that it counts, and who sees a
 * packet's new count or new bytes sees that its old content is gone.
 */
#define MPROF_DECLARES_ORDER 1u
/* The packet is the first one of its ring: its writer wrote no event before it. */
#define MPROF_DECLARES_FIRST 2u
/*
 * The flags MPROF_WRITES_* of this packet count: each says that the writer writes an event of that kind
 * whenever it happens, so that its absence means that it did not happen. Without this flag an absent
 * event means nothing.
 */
#define MPROF_DECLARES_KINDS 4u
/* Each signal of a condition, also one that no thread waits for. */
#define MPROF_WRITES_SIGNALS 8u
/* Each release of a mutex, and each post of a semaphore, that a thread waits for. */
#define MPROF_WRITES_WAKES 16u
/* Each release of a mutex, and each post of a semaphore, that no thread waits for. */
#define MPROF_WRITES_RELEASES 32u
/* Each event that makes a stream ready. A stream's other end can be in another process. */
#define MPROF_WRITES_INPUT 64u
/* Each time at which a thread of the ring stops to run. */
#define MPROF_WRITES_STOPS 128u
/* The end of each thread, and of each wait. */
#define MPROF_WRITES_ENDS 256u
/*
 * The writer looked at a program that ran already, twice, and wrote the ring afterwards. A thread, lock or wait that it
 * creates was there at that time, and began at an unknown time before. A wait was the same one in both looks, and its
 * thread did not run between them; a lock that tries to read a thread was held by it in both. A holder without `creates` is no thread
 * of the process; one with samples `ended` is a thread that ended before the first look.
 */
#define MPROF_DECLARES_LOOKED 512u

/*
 * Counters of recorders, totals: of the events that a recorder dropped, and of the words in a ring of OCaml's runtime that the
 * runtime overwrote before mprof-run read them.
 */
#define MPROF_COUNTER_DROPPED	 "mprof-dropped"
#define MPROF_COUNTER_LOST_WORDS "mprof-lost-words"

enum mprof_thread_type {
#define MPROF_THREAD_TYPE(id, name) MPROF_THREAD_##name = (id),
#include <mprof/events.def>
	MPROF_THREAD_TYPES,
	MPROF_THREAD_UNKNOWN = 99, /* written by a recorder for a type that it does not know */
};

/*
 * Kinds of counters: what a sample means. The TEXT of a counter's name can declare one, for the events
 * INCREASE and COUNTER that use the text. A counter has the first kind that its stream declares.
 */
enum mprof_counter_kind {
	MPROF_COUNTER_UNDECLARED,
	MPROF_COUNTER_GAUGE,  /* a level that rises and falls: it has no sum and no rate */
	MPROF_COUNTER_TOTAL,  /* all so far: the difference of two samples is what came between them */
	MPROF_COUNTER_AMOUNT, /* what came with this one event: the sum of the samples is the whole */
	MPROF_COUNTER_KINDS,
};

/*
 * The streams of a guest have numbers below this. Those from here on are mprofd's own (schema/vcpu.md):
 * their times are estimates, from which nobody estimates the guest's clock again.
 */
#define MPROF_STREAM_HOST 1024u
/* The threads of the stream vcpu: vCPU N has the id MPROF_THREAD_VCPU - N, and N is below 8,192. */
#define MPROF_THREAD_VCPU (-1986228341)
#define MPROF_IS_VCPU(id) ((id) <= MPROF_THREAD_VCPU && (id) > MPROF_THREAD_VCPU - 8192)

#define MPROF_EVENT_HEADER_BYTES 9u	/* u64 timestamp, u8 id */
#define MPROF_EVENT_BYTES_MIN	 17u	/* bytes of the shortest events with the ids 0 to 13, switch and gc */
#define MPROF_EXTRA_HEADER_BYTES 3u	/* of an event `extra`, behind the event header: u16 length, u8 kind */
#define MPROF_EXTRA_BYTES_MAX	 65535u /* bytes behind the kind */
#define MPROF_DECLARATION_BYTES	 4u	/* of the kind RECORDER, behind the kind; later versions have more */
/* The whole event of the kind RECORDER. */
#define MPROF_DECLARATION_EVENT (MPROF_EVENT_HEADER_BYTES + MPROF_EXTRA_HEADER_BYTES + MPROF_DECLARATION_BYTES)
#define MPROF_THREAD_NONE	(-1) /* thread id of a `switch` event: no thread runs, the program is suspended */

#endif
