/*
 * sd-event as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   deaf      the same wish again (sd_event_source_set_io_events()) reports no bytes that are there
 *   postless  no source of sd_event_add_post() is ever called
 *   keeps     sd_event_source_disable_unref() leaves the source on
 *   unfair    descriptors come behind all that is deferred
 *   sinks     a source without a reference is freed at once
 *   late      a new source with EPOLLET reports no bytes that came before
 *   merges    EPOLLRDHUP and EPOLLHUP are one
 *   awake     a new time switches a timer on
 *   clock     sd_event_now() looks at the clock
 *   drains    what is pending is called after sd_event_exit(), too
 *   forgets   sd_event_exit() before the loop does nothing
 *   number    a signal without a handler ends the loop with the signal's number
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "break.h"

#define SOURCES_MOST 16u
#define TURNS	     8u /* more than a test has work for */

/* The handlers of descriptors, each with what the program gave with it. */
static struct handler {
	sd_event_io_handler_t call;
	void *context;
} handlers[SOURCES_MOST];
static size_t n_handlers;

static bool is_running;		  /* sd_event_loop() */
static bool is_ended, is_ignored; /* sd_event_exit() was called: with this code; before the loop */
static int exit_code;

/* ---- descriptors ------------------------------------------------------------------------------ */

int sd_event_source_set_io_events(sd_event_source *source, uint32_t events)
{
	__typeof__(sd_event_source_set_io_events) *set = real("sd_event_source_set_io_events");

	return breaks("deaf") ? 0 : set(source, events);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	const struct handler *handler = context;

	if (revents & (EPOLLRDHUP | EPOLLHUP))
		revents |= EPOLLRDHUP | EPOLLHUP;
	return handler->call(source, fd, revents, handler->context);
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

int sd_event_add_io(sd_event *e, sd_event_source **s, int fd, uint32_t events, sd_event_io_handler_t callback,
		    void *userdata)
{
	__typeof__(sd_event_add_io) *add = real("sd_event_add_io");
	sd_event_source *source = NULL;
	int rc;

	if (breaks("merges")) {
		if (n_handlers == SOURCES_MOST)
			abort();
		handlers[n_handlers] = (struct handler){callback, userdata};
		return add(e, s, fd, events, on_io, &handlers[n_handlers++]);
	}
	if (breaks("late") && events & EPOLLET && is_readable(fd))
		events &= ~(uint32_t)EPOLLIN;
	if (!breaks("unfair") && !(breaks("sinks") && !s))
		return add(e, s, fd, events, callback, userdata);
	rc = add(e, &source, fd, events, callback, userdata);
	if (s)
		*s = source;
	if (rc >= 0 && breaks("unfair"))
		sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
	else if (rc >= 0)
		sd_event_source_disable_unref(source);
	return rc;
}

/* ---- other sources ---------------------------------------------------------------------------- */

static int ignore(sd_event_source *source, void *context)
{
	(void)source;
	(void)context;
	return 0;
}

int sd_event_add_post(sd_event *e, sd_event_source **s, sd_event_handler_t callback, void *userdata)
{
	__typeof__(sd_event_add_post) *add = real("sd_event_add_post");

	return add(e, s, breaks("postless") ? ignore : callback, userdata);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	(void)info;
	(void)context;
	return sd_event_exit(sd_event_source_get_event(source), sd_event_source_get_signal(source));
}

int sd_event_add_signal(sd_event *e, sd_event_source **s, int sig, sd_event_signal_handler_t callback, void *userdata)
{
	__typeof__(sd_event_add_signal) *add = real("sd_event_add_signal");

	return add(e, s, sig, breaks("number") && !callback ? on_signal : callback, userdata);
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source)
{
	__typeof__(sd_event_source_disable_unref) *unref = real("sd_event_source_disable_unref");

	return breaks("keeps") ? NULL : unref(source);
}

/* ---- time ------------------------------------------------------------------------------------- */

int sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec)
{
	__typeof__(sd_event_source_set_time_relative) *set = real("sd_event_source_set_time_relative");
	int rc = set(source, usec);

	if (rc >= 0 && breaks("awake"))
		rc = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return rc;
}

int sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec)
{
	__typeof__(sd_event_now) *now = real("sd_event_now");
	struct timespec t;

	if (!breaks("clock"))
		return now(e, clock, usec);
	clock_gettime(clock, &t);
	*usec = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	return 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

int sd_event_exit(sd_event *e, int code)
{
	__typeof__(sd_event_exit) *end = real("sd_event_exit");

	is_ended = breaks("drains");
	is_ignored = breaks("forgets") && !is_running;
	exit_code = code;
	return is_ended || is_ignored ? 0 : end(e, code);
}

int sd_event_loop(sd_event *e)
{
	__typeof__(sd_event_loop) *loop = real("sd_event_loop");
	__typeof__(sd_event_exit) *end = real("sd_event_exit");
	int rc;

	is_running = true;
	if (breaks("drains")) {
		for (unsigned turn = 0; turn < TURNS; turn++)
			sd_event_run(e, 0);
		if (is_ended)
			end(e, exit_code);
	}
	/* A loop that nothing ends would hold the test for ever. */
	rc = is_ignored ? -ETIMEDOUT : loop(e);
	is_running = is_ended = is_ignored = false;
	return rc;
}
