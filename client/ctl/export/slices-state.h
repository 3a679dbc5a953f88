/* Shared by the slice builder's files. */
#ifndef CTL_SLICES_STATE_H
#define CTL_SLICES_STATE_H

#include <stddef.h>
#include <string.h>

#include "slices.h"

#define SLICE_TIME_MAX ((uint64_t)INT64_MAX)

struct slice_counter {
	int64_t value;
	uint32_t track;
};

struct slice_stream {
	unsigned int number;
	uint32_t process; /* a track */
	/* Tracks for collections and for gaps and damage; 0 = none yet. */
	uint32_t collector, faults;
	struct thread_table threads;
	struct texts counter_names;
	struct slice_counter *counters; /* by number of the name */
	uint32_t counter_room;
	uint32_t root;
	uint32_t running;	  /* a thread, or THREAD_NONE if unknown */
	bool run_open;		  /* the slice of RUNNING is open */
	const char *run_category; /* category of that slice */
	bool begun;		  /* an event came */
	uint64_t first;		  /* time of the first event */
	/* The latest time; slices begin and end at it, so that they nest. */
	uint64_t now;
	uint64_t collected; /* end of the last collection */
	uint64_t lost;	    /* packets missing behind NOW */
};

static inline void slice_add_note(struct slice_event *event, const char *key, int64_t number)
{
	event->notes[event->n_notes++] = (struct slice_note){.key = key, .number = number};
}

/* Let a constant be the event's name. */
static inline void slice_set_name(struct slice_event *event, const char *name)
{
	event->name = name;
	event->name_bytes = strlen(name);
	event->constant_name = true;
}

static inline void slice_set_text(struct slice_event *event, const char *text, size_t len)
{
	event->name = text;
	event->name_bytes = len;
	event->constant_name = false;
}

/* In slices.c: */

uint32_t slices_new_track(struct slices *a);
/* Announce a track; its NAME is valid UTF-8. */
int slices_put_track(struct slices *a, const struct slice_stream *s, struct slice_track *track);
/* Give out an event of S, with its stream and process filled in. */
int slices_put(struct slices *a, const struct slice_stream *s, struct slice_event *event);
/*
 * Set *THREAD to the thread that ID names now. Make the thread if there is none; if there is no
 * room, count it as refused and share a track. Return 0 or -errno.
 */
int slices_thread(struct slices *a, struct slice_stream *s, int64_t id, uint32_t *thread);
/* Make a new thread with ID. */
int slices_create(struct slices *a, struct slice_stream *s, int64_t id, uint8_t type, uint32_t *thread);
/* Name a thread's track by its label (LEN bytes of UTF-8, 0 for none), type and id. */
int slices_name_thread(struct slices *a, const struct slice_stream *s, const struct table_thread *t, const char *label,
		       size_t len);
/* End the thread's life at TIME. */
int slices_end_life(struct slices *a, struct slice_stream *s, uint32_t thread, uint64_t time, bool resolved);
/* From TIME on the running thread is unknown. */
int slices_stop(struct slices *a, struct slice_stream *s, uint64_t time);

/* In slices-events.c: */

int slices_event(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e);

/* Add the collection that ended with event E at TIME. */
int slices_collection(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);
/* Add a slice for missing packets, if any, from the latest event to TO. */
int slices_lost(struct slices *a, struct slice_stream *s, uint64_t to);
/* The consumer's damage(). */
int slices_damage(void *context, unsigned int stream, const struct mprof_damage *damage);

/* Add the counter event E at TIME. The text of the event is the counter's name. */
int slices_counter(struct slices *a, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);

#endif
