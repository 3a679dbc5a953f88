/*
 * This file declares two tables for formats that give each thread a track: the threads of one
 * stream, and the names of tracks.
 *
 * Both tables have a limited size. When the thread table is full, it forgets threads that have
 * ended. If an event names a forgotten thread again, that thread counts as a new thread. If no
 * thread can be forgotten, all further threads share one entry and one track.
 */
#ifndef TRACE_THREAD_TABLE_H
#define TRACE_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "id-index.h"

#define THREAD_NONE ID_INDEX_NONE

enum table_thread_flag {
	THREAD_ENDED = 1,
	THREAD_ALIVE = 2,    /* the slice of the thread's life has begun and has not ended */
	THREAD_LABELLED = 4, /* the thread's track is named by a label */
	THREAD_EXPECTED = 8, /* has the marker label `__should_resolve`: it should resolve */
	THREAD_CREATED = 16, /* the trace contains the thread's creation */
	THREAD_SHARED = 32,  /* the entry that all threads beyond the limit share */
};

struct table_thread {
	int64_t id;
	uint64_t last;	/* time of the last event that named the thread, ns */
	uint32_t alias; /* number of the thread that this thread became; its own number if none */
	uint32_t track; /* number of the thread's track, which the caller chose */
	uint8_t type;
	uint8_t flags;
};

struct thread_table {
	struct table_thread *list;
	uint32_t n, room, most;
	struct id_index ids;
	uint32_t shared;   /* number of the shared entry; THREAD_NONE = not made yet */
	uint64_t refused;  /* number of events of threads for which there was no room */
	uint64_t retry_at; /* value of REFUSED from which on the table tries again to forget threads */
};

/*
 * Keep at most MOST threads in memory (at least 16). SEED is random, so that no trace can be
 * written whose ids collide in the hash.
 */
void thread_table_init(struct thread_table *t, uint32_t most, uint64_t seed);
void thread_table_deinit(struct thread_table *t);

/*
 * Return the number of the thread that ID names now: the newest thread with ID, or the thread that
 * it became. Return THREAD_NONE if there is none.
 */
uint32_t thread_table_find(struct thread_table *t, int64_t id);
/*
 * Return the number of the newest thread with ID, also if it became another one. Return THREAD_NONE
 * if there is none.
 */
uint32_t thread_table_newest(const struct thread_table *t, int64_t id);
/*
 * Make room for the two threads that an event may name. All thread numbers change, except number 0
 * of the first thread. *KEEP is a thread number (or THREAD_NONE) that is translated to its new
 * value. Return 0, also if there is no room, or -ENOMEM.
 */
int thread_table_reserve(struct thread_table *t, uint32_t *keep);
/*
 * Add a thread that ID names from now on; thread_table_reserve() was called for this event. Return
 * its number, or THREAD_NONE if there is no room. Then the caller uses SHARED; thread_table_share()
 * makes that entry if it is THREAD_NONE.
 */
uint32_t thread_table_add(struct thread_table *table, int64_t id, uint8_t type, uint32_t track);
uint32_t thread_table_share(struct thread_table *table, uint32_t track);
/*
 * Let the thread FROM continue as the thread TO. Return false and change nothing if that would make
 * a cycle.
 */
bool thread_table_alias(struct thread_table *t, uint32_t from, uint32_t to);

/*
 * The latest name of each track, and the time at which the life of the track's thread ended.
 *
 * The table has a limited size: a new track replaces the track that was announced TRACK_NAMES_MAX
 * tracks before.
 */

#define TRACK_NAMES_MAX	 (1u << 18)
#define TRACK_NAME_BYTES 43u

struct track_name {
	uint64_t ended; /* time of the end of the thread's life, in ns, if OVER */
	uint32_t track; /* number of the track; 0 = the entry is free */
	bool over;
	bool plain; /* NAME has only ASCII characters that JSON does not escape */
	uint8_t name_bytes;
	char name[TRACK_NAME_BYTES]; /* valid UTF-8, cut to TRACK_NAME_BYTES */
};

struct track_names {
	struct track_name *list;
};

/* Allocate an empty table. Return false without memory. */
bool track_names_init(struct track_names *t);
void track_names_deinit(struct track_names *t);

/* Set the name of TRACK (from 1) to NAME, LEN bytes of valid UTF-8. */
void track_names_set(struct track_names *t, uint32_t track, const char *name, size_t len);
/* Return the entry of TRACK, or NULL if another track replaced it. */
struct track_name *track_names_find(const struct track_names *t, uint32_t track);

#endif
