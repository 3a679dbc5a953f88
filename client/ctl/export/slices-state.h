/* What acts*.c share. */
#ifndef CTL_SLICES_STATE_H
#define CTL_SLICES_STATE_H

#include <string.h>

#include "slices.h"

#define SLICE_TIME_MAX ((uint64_t)INT64_MAX)

struct slice_counter {
	int64_t value;
	uint32_t track;
};

struct slice_stream {
	unsigned int number;
	uint32_t process;	    /* track */
	uint32_t collector, faults; /* tracks, 0 = none yet */
	struct thread_table threads;
	struct texts counter_names;
	struct slice_counter *counters; /* by number of name */
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

static inline void slice_add_note(struct slice_event *event, const char *key, int64_t number)
{
	event->notes[event->n_notes++] = (struct slice_note){.key = key, .number = number};
}

static inline void slice_set_name(struct slice_event *event, const char *name)
{
	event->name = name;
	event->name_bytes = strlen(name);
}

/* Of slices.c: */

uint32_t slices_new_track(struct slices *a);
/* Tell of a track; NAME is valid UTF-8. */
int slices_put_track(struct slices *a, const struct slice_stream *s, struct slice_track *track);
/* Give out an act of S; its stream and process are filled in. */
int slices_put(struct slices *a, const struct slice_stream *s, struct slice_event *event);
/* The thread that ID means now, made where there is none; counted as refused where there is no room.  0 or -errno. */
int slices_thread(struct slices *a, struct slice_stream *s, int64_t id, uint32_t *thread);
/* A new thread of ID. */
int slices_create(struct slices *a, struct slice_stream *s, int64_t id, uint8_t type, uint32_t *thread);
/* Name a thread's track: its label, LEN bytes of UTF-8 (none: 0), type and id. */
int slices_name_thread(struct slices *a, const struct slice_stream *s, const struct table_thread *t, const char *label,
		       size_t len);
/* The thread's life is over at TIME. */
int slices_end_life(struct slices *a, struct slice_stream *s, uint32_t thread, uint64_t time, bool resolved);
/* Nothing is known to run from TIME on. */
int slices_stop(struct slices *a, struct slice_stream *s, uint64_t time);

/* Of slices-events.c: */

int slices_event(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e);
/* Of acts-extra.c: */

/* The event E at TIME says that the heap was collected until then, and for how long. */
int slices_collection(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);
/* Tell of the packets that are missing, if any: behind the latest event, up to TO. */
int slices_lost(struct slices *a, struct slice_stream *s, uint64_t to);
/* As of a sink. */
int slices_damage(void *data, unsigned int stream, const struct mprof_damage *damage);

/* Of acts-counters.c: */

/* The event E at TIME is of a counter, whose name is the text at hand. */
int slices_counter(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);

#endif
