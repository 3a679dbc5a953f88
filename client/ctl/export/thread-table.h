/*
 * The threads of one stream, for formats that give each a track, and the names of tracks.
 *
 * The table is bounded. At the limit ended threads are forgotten; if an event names a forgotten
 * thread again, it counts as a new one. If none can be forgotten, all further threads share one
 * track.
 */
#ifndef CTL_THREAD_TABLE_H
#define CTL_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "id-index.h"

#define THREAD_NONE ID_INDEX_NONE

enum table_thread_flag {
	THREAD_ENDED = 1,
	THREAD_ALIVE = 2,    /* its life has begun and not ended */
	THREAD_LABELLED = 4, /* its track has a label */
	THREAD_EXPECTED = 8, /* has the marker label: it should resolve */
	THREAD_CREATED = 16, /* its creation was seen */
	THREAD_SHARED = 32,  /* stands for all threads beyond the limit */
};

struct table_thread {
	int64_t id;
	uint64_t last;	/* time of the last event that named it */
	uint32_t alias; /* the thread that it became, or itself */
	uint32_t track; /* set by the caller */
	uint8_t type;
	uint8_t flags;
};

struct thread_table {
	struct table_thread *list;
	uint32_t n, room, most;
	struct id_index ids;
	uint32_t shared;   /* the shared thread, THREAD_NONE = none yet */
	uint64_t refused;  /* events of threads beyond the limit */
	uint64_t retry_at; /* value of REFUSED at which to try again to forget threads */
};

/* Allow at most MOST threads at once (at least 16). SEED keeps crafted ids from colliding. */
void thread_table_init(struct thread_table *c, uint32_t most, uint64_t seed);
void thread_table_deinit(struct thread_table *c);

/* Return the thread that ID names now, or THREAD_NONE. */
uint32_t thread_table_find(struct thread_table *c, int64_t id);
/* Return the newest thread with ID, whatever it became since, or THREAD_NONE. */
uint32_t thread_table_newest(const struct thread_table *c, int64_t id);
/*
 * Make room for the two threads that an event may name. Thread numbers become invalid, except for
 * the first one's and *KEEP (may be THREAD_NONE), which is set to its new number. Return 0, also if
 * there is no room, or -ENOMEM.
 */
int thread_table_reserve(struct thread_table *c, uint32_t *keep);
/*
 * Add a thread that ID names from now on, in the room of thread_table_reserve(). Return THREAD_NONE
 * if there is no room; then use SHARED, and make it with thread_table_share() if it does not exist.
 */
uint32_t thread_table_add(struct thread_table *c, int64_t id, uint8_t type, uint32_t track);
uint32_t thread_table_share(struct thread_table *c, uint32_t track);
/* Let FROM continue as TO. Return false if that would make a cycle. */
bool thread_table_alias(struct thread_table *c, uint32_t from, uint32_t to);

/*
 * The last names of tracks, and when their threads' lives ended.
 *
 * The table is bounded: a new track replaces the one announced TRACK_NAMES_MAX tracks before.
 */

#define TRACK_NAMES_MAX	 (1u << 18)
#define TRACK_NAME_BYTES 43u

struct track_name {
	uint64_t ended; /* end of the thread's life, if OVER */
	uint32_t track; /* 0 = free */
	bool over;
	uint8_t name_bytes;
	char name[TRACK_NAME_BYTES]; /* valid UTF-8, cut to fit */
};

struct track_names {
	struct track_name *list;
};

/* Return false without memory. */
bool track_names_init(struct track_names *p);
void track_names_deinit(struct track_names *p);

/* Name TRACK (from 1) NAME, LEN bytes of valid UTF-8. */
void track_names_set(struct track_names *p, uint32_t track, const char *name, size_t len);
/* Return the entry of TRACK, or NULL. */
struct track_name *track_names_find(const struct track_names *p, uint32_t track);

#endif
