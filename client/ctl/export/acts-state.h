/* What acts*.c share. */
#ifndef CTL_ACTS_STATE_H
#define CTL_ACTS_STATE_H

#include <string.h>

#include "acts.h"

#define ACT_TIME_MAX ((uint64_t)INT64_MAX)

struct act_counter {
	int64_t value;
	uint32_t track;
};

struct act_stream {
	unsigned int number;
	uint32_t process;	    /* track */
	uint32_t collector, faults; /* tracks, 0 = none yet */
	struct cast cast;
	struct texts counter_names;
	struct act_counter *counters; /* by number of name */
	uint32_t counter_room;
	uint32_t root;
	uint32_t running;	  /* thread, CAST_NONE = not known */
	bool run_open;		  /* its slice is open */
	const char *run_category; /* of that slice */
	bool begun;		  /* has there been an event? */
	uint64_t first;		  /* time of the first event */
	uint64_t now;		  /* the latest time; slices begin and end at it, so that they hold each other */
	uint64_t collected;	  /* end of the last collection */
	uint64_t lost;		  /* packets missing behind NOW */
};

static inline void act_add_note(struct act *act, const char *key, int64_t number)
{
	act->notes[act->n_notes++] = (struct act_note){.key = key, .number = number};
}

static inline void act_set_name(struct act *act, const char *name)
{
	act->name = name;
	act->name_bytes = strlen(name);
}

/* Of acts.c: */

uint32_t acts_track_new(struct acts *a);
/* Tell of a track; NAME is valid UTF-8. */
int acts_tell_track(struct acts *a, const struct act_stream *s, struct act_track *track);
/* Give out an act of S; its stream and process are filled in. */
int acts_put(struct acts *a, const struct act_stream *s, struct act *act);
/* The thread that ID means now, made where there is none; counted as refused where there is no room.  0 or -errno. */
int acts_thread(struct acts *a, struct act_stream *s, int64_t id, uint32_t *thread);
/* A new thread of ID. */
int acts_create(struct acts *a, struct act_stream *s, int64_t id, uint8_t type, uint32_t *thread);
/* Name a thread's track: its label, LEN bytes of UTF-8 (none: 0), type and id. */
int acts_name(struct acts *a, const struct act_stream *s, const struct cast_thread *t, const char *label, size_t len);
/* The thread's life is over at TIME. */
int acts_end_life(struct acts *a, struct act_stream *s, uint32_t thread, uint64_t time, bool resolved);
/* Nothing is known to run from TIME on. */
int acts_stop(struct acts *a, struct act_stream *s, uint64_t time);

/* Of acts-events.c: */

int acts_event(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e);
/* Of acts-extra.c: */

/* The event E at TIME says that the heap was collected until then, and for how long. */
int acts_collection(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e, uint64_t time);
/* Tell of the packets that are missing, if any: behind the latest event, up to TO. */
int acts_lost(struct acts *a, struct act_stream *s, uint64_t to);
/* As of a sink. */
int acts_damage(void *data, unsigned int stream, const struct mprof_damage *damage);

/* Of acts-counters.c: */

/* The event E at TIME is of a counter, whose name is the text at hand. */
int acts_counter(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e, uint64_t time);

#endif
