/* Assumptions about sd-event, the daemons' event loop. */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "assumption.h"
#include "cleanup.h"

#define SECOND_US UINT64_C(1000000)

struct fixture {
	sd_event *event;
	sd_event_source *source, *other; /* each handler uses them as its test says */
	unsigned calls, posts;
	uint32_t revents;
	int pair[2];
};

static void start(struct fixture *f)
{
	*f = (struct fixture){.pair = {-1, -1}};
	CHECK(sd_event_new(&f->event) >= 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, f->pair) == 0);
}

static void stop(struct fixture *f)
{
	sd_event_source_disable_unref(f->source);
	sd_event_source_disable_unref(f->other);
	sd_event_unref(f->event);
	closep(&f->pair[0]);
	closep(&f->pair[1]);
}

/* Run the loop until nothing is pending, at most TURNS times. Return how many turns had work. */
static unsigned run(struct fixture *f, unsigned turns)
{
	unsigned worked = 0;

	while (worked < turns && sd_event_run(f->event, 0) > 0)
		worked++;
	return worked;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct fixture *f = context;

	(void)source;
	(void)fd;
	f->calls++;
	f->revents |= revents;
	return 0;
}

static int on_defer(sd_event_source *source, void *context)
{
	struct fixture *f = context;

	(void)source;
	f->calls++;
	return 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *context)
{
	(void)usec;
	return on_defer(source, context);
}

/* ---- order ------------------------------------------------------------------------------------ */

static int on_post(sd_event_source *source, void *context)
{
	struct fixture *f = context;

	(void)source;
	f->posts++;
	return 0;
}

static void post_after_each(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_post(f.event, &f.other, on_post, &f) >= 0);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_io, &f) >= 0);
	run(&f, 8);
	CHECK_EQ_UINT(f.posts, 0);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	sd_event_run(f.event, 0);
	CHECK_EQ_UINT(f.calls, 1);
	sd_event_run(f.event, 0);
	CHECK_EQ_UINT(f.posts, 1);
	stop(&f);
}

/* http_schedule(): the handler of a post source switches a deferred source on, which is off at other times. */
static int on_post_again(sd_event_source *source, void *context)
{
	struct fixture *f = context;

	(void)source;
	f->posts++;
	return sd_event_source_set_enabled(f->other, SD_EVENT_ONESHOT);
}

static void busy_is_fair(void)
{
	sd_event_source *post = NULL;
	struct fixture f;
	unsigned turns = 0;

	start(&f);
	CHECK(sd_event_add_post(f.event, &post, on_post_again, &f) >= 0);
	CHECK(sd_event_add_defer(f.event, &f.other, on_post, &f) >= 0);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_io, &f) >= 0);
	CHECK_EQ_UINT(run(&f, 20), 20); /* the deferred source is on again and again */
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	while (turns < 8 && f.calls == 0)
		turns += sd_event_run(f.event, 0) > 0;
	CHECK_EQ_UINT(f.calls, 1);
	sd_event_source_disable_unref(post);
	stop(&f);
}

/* ---- sources ---------------------------------------------------------------------------------- */

static int on_unref_self(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct fixture *f = context;

	(void)source;
	(void)fd;
	(void)revents;
	f->calls++;
	f->source = sd_event_source_disable_unref(f->source);
	return 0;
}

static void unref_in_own_handler(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_unref_self, &f) >= 0);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	CHECK_EQ_UINT(run(&f, 8), 1);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f);
}

static int on_unref_both(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct fixture *f = context;

	f->other = sd_event_source_disable_unref(f->other);
	return on_unref_self(source, fd, revents, context);
}

/* Two sources are pending, and the handler of each frees both. */
static void unref_of_pending(void)
{
	CLEANUP(closep) int copy = -1;
	struct fixture f;

	start(&f);
	copy = fcntl(f.pair[0], F_DUPFD_CLOEXEC, 0);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_unref_both, &f) >= 0);
	CHECK(sd_event_add_io(f.event, &f.other, copy, EPOLLIN, on_unref_both, &f) >= 0);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	run(&f, 8);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f);
}

static void floating_lives_with_event(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_io(f.event, NULL, f.pair[0], EPOLLIN, on_io, &f) >= 0);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	sd_event_run(f.event, 0);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f); /* AddressSanitizer would report a source that was not freed */
}

static void owned_fd_is_closed(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_io, &f) >= 0);
	CHECK(sd_event_source_set_io_fd_own(f.source, 1) >= 0);
	f.source = sd_event_source_disable_unref(f.source);
	CHECK(fcntl(f.pair[0], F_GETFD) < 0);
	f.pair[0] = -1;
	stop(&f);
}

/* ---- descriptors ------------------------------------------------------------------------------ */

static void edge_reports_earlier_bytes(void)
{
	struct fixture f;

	start(&f);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN | EPOLLRDHUP | EPOLLET, on_io, &f) >= 0);
	CHECK_EQ_UINT(run(&f, 8), 1);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f);
}

/* The bytes of a handshake that come between the look at the socket and the wish to hear of them. */
static void wish_reports_earlier_bytes(void)
{
	const uint32_t quiet = EPOLLRDHUP | EPOLLET;
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], quiet, on_io, &f) >= 0);
	for (unsigned times = 1; times <= 3; times++) {
		CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
		run(&f, 8);
		CHECK(sd_event_source_set_io_events(f.source, quiet | EPOLLIN) >= 0);
		run(&f, 8);
		CHECK_EQ_UINT(f.calls, times);
		CHECK(sd_event_source_set_io_events(f.source, quiet) >= 0);
	}
	stop(&f);
}

static void hangup_unasked(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLRDHUP | EPOLLET, on_io, &f) >= 0);
	shutdown(f.pair[1], SHUT_WR);
	run(&f, 8);
	CHECK(f.revents & EPOLLRDHUP && !(f.revents & EPOLLHUP));
	closep(&f.pair[1]);
	run(&f, 8);
	CHECK(f.revents & EPOLLHUP);
	stop(&f);
}

/* ---- time ------------------------------------------------------------------------------------- */

static void timer_once(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_time(f.event, &f.source, CLOCK_MONOTONIC, 1, 0, on_time, &f) >= 0);
	CHECK_EQ_UINT(run(&f, 8), 1); /* a time that is over is due at once */
	CHECK(sd_event_source_set_time_relative(f.source, 0) >= 0);
	CHECK_EQ_UINT(run(&f, 8), 0); /* a new time alone does not switch the timer on */
	CHECK(sd_event_source_set_enabled(f.source, SD_EVENT_ONESHOT) >= 0);
	sd_event_run(f.event, SECOND_US);
	CHECK_EQ_UINT(f.calls, 2);
	stop(&f);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_US + (uint64_t)t.tv_nsec / 1000;
}

static int on_look(sd_event_source *source, void *context)
{
	struct fixture *f = context;
	uint64_t first = 0, second = 0;

	(void)source;
	sd_event_now(f->event, CLOCK_MONOTONIC, &first);
	while (now_us() <= first)
		;
	sd_event_now(f->event, CLOCK_MONOTONIC, &second);
	CHECK_EQ_UINT(first, second);
	CHECK(first && first <= now_us());
	f->calls++;
	return 0;
}

static void now_is_of_this_turn(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_add_defer(f.event, &f.source, on_look, &f) >= 0);
	run(&f, 8);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f);
}

/* ---- the end ---------------------------------------------------------------------------------- */

static int on_exit_now(sd_event_source *source, int fd, uint32_t revents, void *context)
{
	struct fixture *f = context;

	on_io(source, fd, revents, context);
	return sd_event_exit(f->event, 3);
}

static void exit_drops_pending(void)
{
	CLEANUP(closep) int copy = -1;
	struct fixture f;

	start(&f);
	copy = fcntl(f.pair[0], F_DUPFD_CLOEXEC, 0);
	CHECK(sd_event_add_io(f.event, &f.source, f.pair[0], EPOLLIN, on_exit_now, &f) >= 0);
	CHECK(sd_event_add_io(f.event, &f.other, copy, EPOLLIN, on_exit_now, &f) >= 0);
	CHECK_EQ_INT(send(f.pair[1], "x", 1, 0), 1);
	CHECK_EQ_INT(sd_event_loop(f.event), 3);
	CHECK_EQ_UINT(f.calls, 1);
	stop(&f);
}

static void exit_before_loop(void)
{
	struct fixture f;

	start(&f);
	CHECK(sd_event_exit(f.event, 4) >= 0);
	CHECK_EQ_INT(sd_event_loop(f.event), 4);
	stop(&f);
}

static void signal_without_handler(void)
{
	struct fixture f;
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	start(&f);
	CHECK(sd_event_add_signal(f.event, NULL, SIGTERM, NULL, NULL) >= 0);
	raise(SIGTERM);
	CHECK_EQ_INT(sd_event_loop(f.event), 0);
	stop(&f);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

int main(int argc, char **argv)
{
	static const struct assumption all[] = {
		{"event-post-after-each", post_after_each},
		{"event-busy-is-fair", busy_is_fair},
		{"event-unref-in-own-handler", unref_in_own_handler},
		{"event-unref-of-pending", unref_of_pending},
		{"event-floating-lives-with-event", floating_lives_with_event},
		{"event-owned-fd-is-closed", owned_fd_is_closed},
		{"event-edge-reports-earlier-bytes", edge_reports_earlier_bytes},
		{"event-wish-reports-earlier-bytes", wish_reports_earlier_bytes},
		{"event-hangup-unasked", hangup_unasked},
		{"event-timer-once", timer_once},
		{"event-now-is-of-this-turn", now_is_of_this_turn},
		{"event-exit-drops-pending", exit_drops_pending},
		{"event-exit-before-loop", exit_before_loop},
		{"event-signal-without-handler", signal_without_handler},
	};

	return assumptions_run(all, sizeof(all) / sizeof(*all), argc, argv);
}
