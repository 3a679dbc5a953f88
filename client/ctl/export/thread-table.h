/*
 * The threads of one stream, for a format that gives each of them a place of its own.
 *
 * Bounded: where there are more than so many at once, those that have ended are forgotten; one of them that is named again all the same is a
 * new one.  Where none can be forgotten, all further threads share one place.
 */
#ifndef CTL_THREAD_TABLE_H
#define CTL_THREAD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_NONE UINT32_MAX

enum table_thread_flag {
	THREAD_ENDED = 1,
	THREAD_ALIVE = 2,    /* its life was begun, and not ended */
	THREAD_LABELLED = 4, /* its place bears a label */
	THREAD_EXPECTED = 8, /* marked: it should resolve */
	THREAD_CREATED = 16, /* its creation was seen */
	THREAD_SHARED = 32,  /* the place of those that there was no room for */
};

struct table_thread {
	int64_t id;
	uint64_t last;	/* time of the last event that named it */
	uint32_t alias; /* what it has become, itself where it has not */
	uint32_t track; /* the caller's */
	uint8_t type;
	uint8_t flags;
};

struct thread_table {
	struct table_thread *list;
	uint32_t n, room, most;
	uint32_t *index; /* by id, open addressing, CAST_NONE = free */
	uint32_t index_room;
	unsigned int shift; /* 64 less the bits of INDEX_ROOM */
	uint64_t factor;    /* odd, and not known to the writer of a trace */
	uint32_t shared;    /* the shared place, CAST_NONE = none yet */
	uint64_t refused;   /* events of threads that there was no room for */
	uint64_t retry_at;  /* so many of those: try again to forget some */
};

/* At most MOST threads at once (at least 16).  SEED keeps crafted ids from meeting in one place. */
void thread_table_init(struct thread_table *c, uint32_t most, uint64_t seed);
void thread_table_deinit(struct thread_table *c);

/* The thread that events of ID are about now, CAST_NONE where there is none yet. */
uint32_t thread_table_find(struct thread_table *c, int64_t id);
/* The thread that ID was last given to, whatever it has become since; CAST_NONE where there is none. */
uint32_t thread_table_newest(const struct thread_table *c, int64_t id);
/*
 * Make room for the two that an event may name.  Numbers of threads mean nothing any more, but for the first one's and *KEEP (CAST_NONE =
 * nothing), which is set to its new one.  0, also where there is no room; -ENOMEM.
 */
int thread_table_reserve(struct thread_table *c, uint32_t *keep);
/*
 * A new one, in the room that cast_reserve() made: from now on ID means it.  CAST_NONE where there is no room: then SHARED is to be taken,
 * and to be made by cast_share() where it is not there.
 */
uint32_t thread_table_add(struct thread_table *c, int64_t id, uint8_t type, uint32_t track);
uint32_t thread_table_share(struct thread_table *c, uint32_t track);
/* FROM goes on as TO; false where that would close a circle. */
bool thread_table_alias(struct thread_table *c, uint32_t from, uint32_t to);

/*
 * What a format wants to remember of tracks that it was told about: what is on their door.
 *
 * Bounded without any order: a new track takes the place of the one told PLATES tracks before.
 */

#define TRACK_NAMES_MAX	 (1u << 18)
#define TRACK_NAME_BYTES 43u

struct track_name {
	uint64_t ended; /* when its life was over, where OVER */
	uint32_t track; /* 0 = free */
	bool over;
	uint8_t name_bytes;
	char name[TRACK_NAME_BYTES]; /* valid UTF-8, cut to what fits */
};

struct track_names {
	struct track_name *list;
};

/* False without memory. */
bool track_names_init(struct track_names *p);
void track_names_deinit(struct track_names *p);

/* TRACK (from 1) is called NAME, LEN bytes of valid UTF-8. */
void track_names_set(struct track_names *p, uint32_t track, const char *name, size_t len);
/* What is remembered of TRACK, or NULL. */
struct track_name *track_names_find(const struct track_names *p, uint32_t track);

#endif
