/*
 * The threads of one stream, for a format that gives each of them a place of its own.
 *
 * Bounded: where there are more than so many at once, those that have ended are forgotten; one of them that is named again all the same is a
 * new one.  Where none can be forgotten, all further threads share one place.
 */
#ifndef CTL_CAST_H
#define CTL_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAST_NONE UINT32_MAX

enum cast_flag {
	CAST_ENDED = 1,
	CAST_ALIVE = 2,	   /* its life was begun, and not ended */
	CAST_LABELLED = 4, /* its place bears a label */
	CAST_EXPECTED = 8, /* marked: it should resolve */
	CAST_CREATED = 16, /* its creation was seen */
	CAST_SHARED = 32,  /* the place of those that there was no room for */
};

struct cast_thread {
	int64_t id;
	uint64_t last;	/* time of the last event that named it */
	uint32_t alias; /* what it has become, itself where it has not */
	uint32_t track; /* the caller's */
	uint8_t type;
	uint8_t flags;
};

struct cast {
	struct cast_thread *list;
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
void cast_init(struct cast *c, uint32_t most, uint64_t seed);
void cast_deinit(struct cast *c);

/* The thread that events of ID are about now, CAST_NONE where there is none yet. */
uint32_t cast_find(struct cast *c, int64_t id);
/* The thread that ID was last given to, whatever it has become since; CAST_NONE where there is none. */
uint32_t cast_bearer(const struct cast *c, int64_t id);
/*
 * Make room for the two that an event may name.  Numbers of threads mean nothing any more, but for the first one's and *KEEP (CAST_NONE =
 * nothing), which is set to its new one.  0, also where there is no room; -ENOMEM.
 */
int cast_reserve(struct cast *c, uint32_t *keep);
/*
 * A new one, in the room that cast_reserve() made: from now on ID means it.  CAST_NONE where there is no room: then SHARED is to be taken,
 * and to be made by cast_share() where it is not there.
 */
uint32_t cast_add(struct cast *c, int64_t id, uint8_t type, uint32_t track);
uint32_t cast_share(struct cast *c, uint32_t track);
/* FROM goes on as TO; false where that would close a circle. */
bool cast_become(struct cast *c, uint32_t from, uint32_t to);

/*
 * What a format wants to remember of tracks that it was told about: what is on their door.
 *
 * Bounded without any order: a new track takes the place of the one told PLATES tracks before.
 */

#define PLATES	    (1u << 18)
#define PLATE_BYTES 43u

struct plate {
	uint64_t ended; /* when its life was over, where OVER */
	uint32_t track; /* 0 = free */
	bool over;
	uint8_t name_bytes;
	char name[PLATE_BYTES]; /* valid UTF-8, cut to what fits */
};

struct plates {
	struct plate *list;
};

/* False without memory. */
bool plates_init(struct plates *p);
void plates_deinit(struct plates *p);

/* TRACK (from 1) is called NAME, LEN bytes of valid UTF-8. */
void plates_name(struct plates *p, uint32_t track, const char *name, size_t len);
/* What is remembered of TRACK, or NULL. */
struct plate *plates_find(const struct plates *p, uint32_t track);

#endif
