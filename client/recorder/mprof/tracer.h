/*
 * A trace with many writers: a ring for each thread of a process.
 *
 * A process has at most one tracer. A thread gets a ring when it first records. When the thread ends,
 * the next new thread continues that ring behind its last event. The first 48 rings belong to one
 * thread each; threads beyond these share up to 16 more, by a lock that no thread waits long for: an
 * event that cannot get it is dropped and counted. A counter `mprof-dropped` in the trace has the
 * number of all dropped events.
 *
 *	static struct mprof_publisher_files files;
 *	static struct mprof_publisher publisher;
 *
 *	mprof_publisher_files_open(&files, &publisher, "/dev/shm/rings", "web");
 *	mprof_tracer_start(&(struct mprof_tracer_options){.publisher = &publisher, .ring_bytes = 1 << 20});
 *	…
 *	struct mprof_recorder *r = mprof_tracer_begin();
 *
 *	if (r) {
 *		mprof_recorder_counter(r, depth, "queue", 5);
 *		mprof_tracer_end(r);
 *	}
 *
 * Signal handlers may record. An event that a handler records in the middle of another event follows
 * it, with its own time, if the recorder has room to keep it so long.
 *
 * fork(): the child records nothing into its parent's rings. At its first event it begins rings of
 * its own by the publisher. A child of vfork() must not record.
 *
 * The library uses initial-exec thread-local storage, no malloc, and no lock besides that of a shared
 * ring. System calls are made when a thread first records, when it ends, and in start and stop.
 */
#ifndef MPROF_TRACER_H
#define MPROF_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/publisher.h>
#include <mprof/recorder.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_TRACER_OWN_MAX	48u /* rings of one thread each */
#define MPROF_TRACER_SHARED_MAX 16u /* rings that further threads share */

struct mprof_tracer_options {
	const struct mprof_publisher *publisher; /* copied */
	size_t ring_bytes;			 /* of each ring; see mprof_recorder_init() */
	unsigned packets;			 /* of each ring; 0 = the default */
	/*
	 * The clock of all rings, as in mprof_recorder_init(): it is called by several threads at
	 * once. NULL = CLOCK_MONOTONIC.
	 */
	uint64_t (*clock)(void *context);
	void *clock_context;
	bool compatible; /* event ids 0 to 13 only */
	/*
	 * Called when a thread has got a ring, in that thread, with the ring ready for events: a
	 * program may record who the thread is. NULL = nothing. Must not call mprof_tracer_begin().
	 */
	void (*thread_began)(void *context, struct mprof_recorder *r);
	void *thread_context;
};

/*
 * Start the process's tracer. Return 0; -EBUSY if it runs; -EINVAL if ring_bytes or packets are wrong;
 * or -errno. No ring exists before the first event.
 */
int mprof_tracer_start(const struct mprof_tracer_options *options);

/*
 * Stop the tracer, and withdraw all rings. The caller makes sure that no other thread is between
 * mprof_tracer_begin() and mprof_tracer_end(); later calls of begin return NULL. Then the tracer can
 * be started again. Does nothing if no tracer runs.
 */
void mprof_tracer_stop(void);

/*
 * Return the recorder of the calling thread, for any number of events up to mprof_tracer_end().
 * Return NULL, also if no tracer runs, or if no ring can be had: the event is then counted as
 * dropped. Calls nest, in one thread also from signal handlers, and each that did not return NULL
 * needs its mprof_tracer_end(). errno is kept.
 *
 * The running thread of the recorder (mprof_recorder_current()) is the calling thread's own: at
 * first its number, as Linux's gettid() gives it, and then what the thread's own events say. In a
 * shared ring an event `switch` stands before the first event of each turn.
 */
struct mprof_recorder *mprof_tracer_begin(void);
void mprof_tracer_end(struct mprof_recorder *r);

/*
 * The calling thread ends, or will record nothing more: give its ring to the next thread. The library
 * calls it by itself for threads of pthread_create(), by a key with a destructor. Destructors that
 * record after it get a ring again.
 */
void mprof_tracer_thread_end(void);

/*
 * Number of events that found no ring, in all threads, and of rings that were made. For tests and
 * for the end of a program.
 */
uint64_t mprof_tracer_dropped(void);
unsigned mprof_tracer_rings(void);

extern bool mprof_tracer_running; /* set by start and stop; read it by mprof_tracer_on() */

/*
 * Return whether a tracer runs in this process, by one load: for code that does work before an event.
 * In a child of fork() it stays true, and mprof_tracer_begin() makes the child's rings.
 */
static inline bool mprof_tracer_on(void)
{
	return __atomic_load_n(&mprof_tracer_running, __ATOMIC_ACQUIRE);
}

#ifdef __cplusplus
}
#endif

#endif
