/*
 * libmprof: read the runtime-events ring of an OCaml 5 program. Bytes in, items out; then items in,
 * events of this project out.
 *
 *   r = mprof_runtime_new(&memory, &layout);
 *   t = mprof_runtime_translator_new(&events, seed);
 *   sink = mprof_runtime_translator_sink(t);
 *   mprof_runtime_read(r, &sink);              // repeat it while the program runs
 *   mprof_runtime_translator_end(t);
 *
 * schema/runtime-events.md describes the format, and where each fact comes from. The library does no
 * I/O: it copies bytes through struct mprof_runtime_memory, checks each copy as the format demands,
 * and interprets private bytes only. The memory may be a file, or the mapped ring of a program that
 * runs and overwrites it. Words that the program overwrote before they were copied are *lost*: their
 * number is reported at their place.
 *
 * Rings are untrusted: damage is reported, the rest of the ring up to its tail is skipped, and
 * reading continues there. The memory of a reader is bounded by MPROF_RUNTIME_MEMORY_MAX, and by
 * 1 MiB for names; the memory of a translator by 16 MiB.
 *
 * No call is thread safe on one object; different objects share nothing.
 */
#ifndef MPROF_RUNTIME_H
#define MPROF_RUNTIME_H

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_RUNTIME_HEADER_BYTES 64u
#define MPROF_RUNTIME_RINGS_MAX	   4096u
#define MPROF_RUNTIME_MEMORY_MAX   (256u << 20) /* bytes of the copies of all rings */

/* Bytes of a file or of a mapping. */
struct mprof_runtime_memory {
	/*
	 * Copy the WORDS words of 8 bytes at OFFSET, a multiple of 8, to TO. Return false if there
	 * are no such bytes. If a program writes them at the same time, the function must load the
	 * words in ascending order, each whole, and no load may pass an earlier one, of this call or
	 * of an earlier call.
	 */
	bool (*load)(void *context, uint64_t offset, void *to, size_t words);
	void *context;
};

/* Memory in this process: the mapping of a file, or a copy of a file. */
struct mprof_runtime_map {
	const void *bytes; /* aligned to 8 bytes; borrowed */
	uint64_t len;	   /* bytes */
};

/* load() for a struct mprof_runtime_map as context, with the order that a running program needs. */
MPROF_API bool mprof_runtime_map_load(void *map, uint64_t offset, void *to, size_t words);

/* The file's header. All offsets are bytes from the start of the file. */
struct mprof_runtime_layout {
	uint64_t ring_words; /* words of a ring, a power of two */
	uint64_t data;	     /* offset of the first ring's words */
	uint64_t names;	     /* offset of the names of user events; 0 = the file has none (OCaml 5.0) */
	uint64_t file_bytes; /* size of the whole file */
	uint32_t rings;	     /* 1 to MPROF_RUNTIME_RINGS_MAX */
};

/*
 * Return true when an input that begins with LEN bytes at BYTES looks like a ring file of OCaml; LEN
 * must be MPROF_RUNTIME_HEADER_BYTES or more for that. Every value of the header is checked.
 */
MPROF_API bool mprof_runtime_begins(const void *bytes, size_t len);
/*
 * Read the header of MEMORY, which has FILE_BYTES bytes, into *LAYOUT. Return MPROF_OK; MPROF_MORE
 * when the header is not yet written: ask again; MPROF_CORRUPT when this is no ring file of OCaml or
 * its size does not agree with its header.
 */
MPROF_API enum mprof_status mprof_runtime_layout_load(struct mprof_runtime_layout *layout,
						      const struct mprof_runtime_memory *memory, uint64_t file_bytes);

/* The kinds of items: type of the item, plus 16 for a user event. */
enum mprof_runtime_kind {
	MPROF_RUNTIME_LIFECYCLE = 1,
	MPROF_RUNTIME_BEGIN = 2, /* a phase of the runtime begins */
	MPROF_RUNTIME_END = 3,
	MPROF_RUNTIME_COUNTER = 4,
	MPROF_RUNTIME_ALLOC = 5,
	MPROF_RUNTIME_USER_UNIT = 16,
	MPROF_RUNTIME_USER_INT = 17,
	MPROF_RUNTIME_USER_BEGIN = 18, /* a span of the program begins */
	MPROF_RUNTIME_USER_END = 19,
	MPROF_RUNTIME_USER_CUSTOM = 20,
};

/* Ids of lifecycle items. */
enum mprof_runtime_lifecycle {
	MPROF_RUNTIME_RING_START,
	MPROF_RUNTIME_RING_STOP,
	MPROF_RUNTIME_RING_PAUSE,
	MPROF_RUNTIME_RING_RESUME,
	MPROF_RUNTIME_FORK_PARENT,
	MPROF_RUNTIME_FORK_CHILD,
	MPROF_RUNTIME_DOMAIN_SPAWN,
	MPROF_RUNTIME_DOMAIN_TERMINATE,
};

/* One item of a ring. */
struct mprof_runtime_item {
	uint64_t time;	   /* nanoseconds of CLOCK_MONOTONIC of the program's machine */
	uint64_t position; /* words since the start of the ring */
	/* The name of the lifecycle event, phase, counter or user event; a number if it is unknown. Terminated. */
	const char *name;
	/*
	 * The value of a counter or of an int, the number of a lifecycle item; 0 without one. A
	 * counter has 63 bits with a sign, as in OCaml.
	 */
	int64_t value;
	/* The bytes of a custom item; the 20 words of an `alloc` item, little-endian; else empty. */
	const uint8_t *data;
	size_t data_bytes;
	uint16_t id;
	uint8_t kind; /* enum mprof_runtime_kind */
	uint8_t counter; /* enum mprof_counter_kind of a counter of the runtime; 0 if it is not known, and for other items */
};

enum mprof_runtime_damage {
	MPROF_RUNTIME_DAMAGE_RING,   /* head and tail of the ring contradict each other, or go back */
	MPROF_RUNTIME_DAMAGE_LENGTH, /* an item has an impossible length: the rest of the ring is skipped */
	MPROF_RUNTIME_DAMAGE_ITEM,   /* an item of a known type has another length than its type: it is skipped */
	MPROF_RUNTIME_DAMAGE_CUT,    /* the memory ends before the ring does */
};

/* Return DAMAGE as a sentence without a full stop. */
MPROF_API const char *mprof_runtime_damage_text(enum mprof_runtime_damage damage);

/*
 * Functions that take what is read. Each returns 0, or another value to stop reading. RING is the
 * number of the ring in the file. An item, and what it points to, is valid during the call.
 */
struct mprof_runtime_sink {
	int (*item)(void *context, uint32_t ring, const struct mprof_runtime_item *item);
	/* WORDS words of RING are missing before its next item. May be NULL. */
	int (*lost)(void *context, uint32_t ring, uint64_t words);
	/* DAMAGE was skipped in RING at POSITION, in words since the start of the ring. May be NULL. */
	int (*damage)(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage);
	void *context;
};

struct mprof_runtime;

/*
 * Return a reader at the oldest word of each ring of MEMORY, or NULL without memory. Both arguments
 * are copied; MEMORY's context must outlive the reader.
 */
MPROF_API struct mprof_runtime *mprof_runtime_new(const struct mprof_runtime_memory *memory,
						  const struct mprof_runtime_layout *layout);
/* Free R, which may be NULL. Return NULL. */
MPROF_API struct mprof_runtime *mprof_runtime_free(struct mprof_runtime *r);

/*
 * Pass to SINK all items that the program wrote since the last call, the oldest first; items of one
 * ring stay in order, and rings without an item are left out. Store in *STOPPED what SINK returned to
 * stop the reading, or 0; STOPPED may be NULL. Return MPROF_OK, also if SINK stopped; MPROF_NOMEM.
 * After both the call can be repeated, and goes on behind the last item that was passed.
 */
MPROF_API enum mprof_status mprof_runtime_read(struct mprof_runtime *r, const struct mprof_runtime_sink *sink,
					       int *stopped);

/* The tables by which runtimes number their phases and counters. */
enum mprof_runtime_numbering {
	MPROF_RUNTIME_NUMBERING_UNKNOWN,
	MPROF_RUNTIME_NUMBERING_5_0, /* OCaml 5.0 to 5.2 */
	MPROF_RUNTIME_NUMBERING_5_3, /* OCaml 5.3 and later */
	MPROF_RUNTIME_NUMBERING_OXCAML,
};

/*
 * Read the ids by NUMBERING, whatever the items show. Call it before the first mprof_runtime_read(). Without it, or
 * with MPROF_RUNTIME_NUMBERING_UNKNOWN, the items show the numbering, or none is known.
 */
MPROF_API void mprof_runtime_number(struct mprof_runtime *r, enum mprof_runtime_numbering numbering);

/* Counts since the reader began. */
struct mprof_runtime_totals {
	uint64_t items;	     /* items, without padding */
	uint64_t lost_words; /* words that were overwritten before they were copied */
	uint64_t damages;
	uint64_t unknown; /* items of an unknown type: they were skipped */
	/*
	 * Phases and counters whose ids have several meanings, and nothing told which runtime wrote them. An id
	 * that OCaml and OxCaml name differently is named as a number.
	 */
	uint64_t unsure;
};

/* Return the totals so far. R owns them and updates them in place. */
MPROF_API const struct mprof_runtime_totals *mprof_runtime_totals(const struct mprof_runtime *r);

/*
 * Functions that take the events made of the items. Each returns 0, or another value to stop reading.
 * The events of RING are those of one stream; all streams are of one guest, and share its thread
 * ids.
 */
struct mprof_runtime_events {
	/* Take E. Its text is valid during the call, and NUL-terminated. */
	int (*event)(void *context, uint32_t ring, const struct mprof_raw_event *e);
	/* As lost() of struct mprof_runtime_sink. May be NULL. */
	int (*lost)(void *context, uint32_t ring, uint64_t words);
	/* As damage() of struct mprof_runtime_sink. May be NULL. */
	int (*damage)(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage);
	void *context;
};

struct mprof_runtime_translator;

/*
 * Return a translator that passes events to EVENTS, which is copied, or NULL without memory. SEED is
 * any number that the writer of a ring cannot know.
 */
MPROF_API struct mprof_runtime_translator *mprof_runtime_translator_new(const struct mprof_runtime_events *events,
									uint64_t seed);
/* Free T, which may be NULL. Return NULL. */
MPROF_API struct mprof_runtime_translator *mprof_runtime_translator_free(struct mprof_runtime_translator *t);
/*
 * Return the functions that take the items of a reader and translate them; T must outlive the reading.
 * They return what EVENTS returns, or MPROF_RUNTIME_NOMEM without memory.
 */
MPROF_API struct mprof_runtime_sink mprof_runtime_translator_sink(struct mprof_runtime_translator *t);
#define MPROF_RUNTIME_NOMEM (-12)
/*
 * The program ended, or its ring is not read again: pass the events that T holds back until the next
 * item decides about them. Return 0, or what EVENTS returned.
 */
MPROF_API int mprof_runtime_translator_end(struct mprof_runtime_translator *t);

/* ---- packets */

/*
 * Writes the events of each ring as packets of the project's format (mprof/packet.h), one stream for
 * each ring.
 */
struct mprof_runtime_packets;

/*
 * Take LEN bytes of the stream of RING. Return 0, or another value to stop. The bytes are valid
 * during the call.
 */
typedef int (*mprof_runtime_write)(void *context, uint32_t ring, const void *bytes, size_t len);

/* Return a writer of packets that passes bytes to WRITE, or NULL without memory. */
MPROF_API struct mprof_runtime_packets *mprof_runtime_packets_new(mprof_runtime_write write, void *context);
/* Free P, which may be NULL. Return NULL. */
MPROF_API struct mprof_runtime_packets *mprof_runtime_packets_free(struct mprof_runtime_packets *p);
/*
 * Return the functions that take events and put them into packets; P must outlive their use. They
 * return what WRITE returned, or MPROF_RUNTIME_NOMEM. A loss becomes a jump of the packets' count: one
 * packet is missing for each begun round of the ring's RING_WORDS words, at most 32,767 at one place.
 */
MPROF_API struct mprof_runtime_events mprof_runtime_packets_events(struct mprof_runtime_packets *p,
								   uint64_t ring_words);
/* Write the packets that are not full. Return 0 or what WRITE returned. */
MPROF_API int mprof_runtime_packets_end(struct mprof_runtime_packets *p);

#ifdef __cplusplus
}
#endif

#endif
