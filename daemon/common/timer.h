/*
 * A timer of an event loop: every timer of the daemons is one. It calls its function once, at the time that was set
 * last.
 *
 * In a build with the option test-clock a test can move the clocks forward (schema/control.md, `advance`). Then the
 * timers that are due run as if the time had passed.
 */
#ifndef COMMON_TIMER_H
#define COMMON_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define TIMER_LOOSE_NS 250000000ull /* accuracy for timers that nobody waits for */

typedef void timer_run(void *context);

/* An initialiser with zeros makes a timer that timer_close() accepts. */
struct timer {
	sd_event_source *source;
	timer_run *run;
	void *context;
	uint64_t due; /* CLOCK_MONOTONIC ns; 0 = it is stopped */
#ifdef COMMON_TEST_CLOCK
	struct timer *next, **at; /* the list of all timers of the process */
#endif
};

/*
 * Open a timer that is stopped. It calls RUN with CONTEXT, at most ACCURACY ns after its time. RUN may set, stop or close the
 * timer. T must not move until timer_close(). Return 0 or -errno; after an error T is closed.
 */
int timer_open(struct timer *t, sd_event *event, uint64_t accuracy, timer_run *run, void *context);
/* Run at DUE, CLOCK_MONOTONIC ns, in place of the time that was set before. */
void timer_set(struct timer *t, uint64_t due);
/* Run after NS nanoseconds, in place of the time that was set before. */
void timer_set_in(struct timer *t, uint64_t ns);
void timer_stop(struct timer *t);
void timer_close(struct timer *t);
/* Return the time at which the event loop began to handle the current event, CLOCK_MONOTONIC ns. */
uint64_t timer_turn(sd_event *event);

#ifdef COMMON_TEST_CLOCK
/* Move the clocks forward by NS nanoseconds. Only the thread of the event loop may call this. */
void timers_advance(uint64_t ns);
/* Return whether a timer waits to run that was due at UNTIL, CLOCK_MONOTONIC ns. */
bool timers_wait(uint64_t until);
#endif

#endif
