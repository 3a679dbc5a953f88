/*
 * State shared by slices.c and slices-events.c. Functions without a comment on the result return 0
 * or -errno.
 */
#ifndef TRACE_SLICES_STATE_H
#define TRACE_SLICES_STATE_H

#include <stddef.h>
#include <string.h>

#include "slices.h"

#define SLICE_TIME_MAX ((uint64_t)INT64_MAX)

struct slice_counter {
	int64_t value;
	uint32_t track;
	uint8_t kind; /* enum mprof_counter_kind, as its stream declares it first */
};

struct slice_stream {
	unsigned int number;
	uint32_t process; /* track of the process that stands for this stream */
	uint32_t faults;  /* track for gaps and damage; 0 = not made yet */
	/* Lanes of garbage collections and of durations: the first track, which the others follow, and their number. */
	uint32_t lane_track[2];
	unsigned int lanes[2];
	struct thread_table threads;
	struct texts counter_names;
	struct slice_counter *counters; /* for each string of COUNTER_NAMES: the counter of that name; owned */
	uint32_t counter_room;
	uint32_t root;
	uint32_t running;	  /* number of the running thread; THREAD_NONE if unknown */
	bool run_open;		  /* the slice of the thread RUNNING was begun and not ended */
	const char *run_category; /* category of that slice */
	bool begun;		  /* at least one event was seen */
	uint64_t first;		  /* time of the first event */
	/*
	 * The latest time of an event so far. A slice begins, and ends, at the NOW of that moment
	 * and not at the time of its event, which can be earlier. So slices nest.
	 */
	uint64_t now;
	uint64_t lost; /* packets missing after NOW */
};

static inline void slice_add_note(struct slice_event *event, const char *key, int64_t number)
{
	event->notes[event->n_notes++] = (struct slice_note){.key = key, .key_bytes = strlen(key), .number = number};
}

/* Make the constant string NAME the event's name. */
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

uint32_t slices_new_track(struct slices *s);
/* Pass a new or renamed track to the format. The track's NAME is valid UTF-8. */
int slices_put_track(struct slices *slices, const struct slice_stream *s, struct slice_track *track);
/* Fill in stream and process of an event of S, and pass it to the format. */
int slices_put(struct slices *slices, const struct slice_stream *s, struct slice_event *event);
/*
 * Set *THREAD to the thread that ID names now. Make a new thread if there is none. If there is no
 * room for a new thread, count the event in REFUSED and take the thread that all further threads
 * share. Return 0 or -errno.
 */
int slices_thread(struct slices *slices, struct slice_stream *s, int64_t id, uint32_t *thread);
/* Make a new thread with ID and TYPE, and set *THREAD to it. */
int slices_create(struct slices *slices, struct slice_stream *s, int64_t id, uint8_t type, uint32_t *thread);
/*
 * Name the track of the thread T by its label, type and id. LABEL has LEN bytes of UTF-8; 0 = no
 * label.
 */
int slices_name_thread(struct slices *slices, const struct slice_stream *s, const struct table_thread *t,
		       const char *label, size_t len);
/*
 * End the slice of the thread's life at TIME. RESOLVED is true if the thread is known to
 * have ended.
 */
int slices_end_life(struct slices *slices, struct slice_stream *s, uint32_t thread, uint64_t time, bool resolved);
/* From TIME on it is unknown which thread runs: end the slice of the running thread. */
int slices_stop(struct slices *slices, struct slice_stream *s, uint64_t time);

/* In slices-events.c: */

int slices_event(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e);

/* Put the whole slices, which were kept, on their lanes. */
int slices_lay(struct slices *s);
/* Add a slice for the garbage collection that ended with event E at TIME. */
int slices_collection(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);
/* Add a slice for the duration that ended with event E at TIME. The text of the event is its name. */
int slices_duration(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);
/* If packets are missing, add a slice for them from the latest event to TO. */
int slices_lost(struct slices *slices, struct slice_stream *s, uint64_t to);
/* damage() of struct consumer: add an instant for the damage. */
int slices_damage(void *context, unsigned int stream, const struct mprof_damage *damage);

/*
 * Add the value that event E set a counter to at TIME. The text of the event is the counter's name.
 */
int slices_counter(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time);

#endif
