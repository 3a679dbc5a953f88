/* Set timers of an event loop by the clock of clock.h. A timer that a test's clock has passed is due at once. */
#include "timer.h"

#include "clock.h"

#ifdef COMMON_TEST_CLOCK
/* Only tests have this list: a daemon's timers lie in its objects, and a test moves the clock of all. */
static struct timer *timers;

static void list_add(struct timer *t)
{
	t->next = timers;
	t->at = &timers;
	if (timers)
		timers->at = &t->next;
	timers = t;
}

static void list_remove(struct timer *t)
{
	*t->at = t->next;
	if (t->next)
		t->next->at = t->at;
}

void timers_advance(uint64_t ns)
{
	atomic_fetch_add(&clock_ahead, ns);
	for (struct timer *t = timers; t; t = t->next)
		if (t->due)
			timer_set(t, t->due);
}

bool timers_wait(uint64_t until)
{
	for (struct timer *t = timers; t; t = t->next)
		if (t->due && t->due <= until)
			return true;
	return false;
}
#endif

static int on_time(sd_event_source *source, uint64_t usec, void *context)
{
	struct timer *t = context;

	(void)source;
	(void)usec;
	t->due = 0;
	t->run(t->context); /* which may have freed T */
	return 0;
}

int timer_open(struct timer *t, sd_event *event, uint64_t accuracy, timer_run *run, void *context)
{
	int r;

	*t = (struct timer){.run = run, .context = context};
	r = sd_event_add_time(event, &t->source, CLOCK_MONOTONIC, UINT64_MAX, accuracy / NS_PER_US, on_time, t);
	if (r < 0)
		return r;
#ifdef COMMON_TEST_CLOCK
	list_add(t);
#endif
	timer_stop(t);
	return 0;
}

void timer_set(struct timer *t, uint64_t due)
{
	uint64_t ahead = clock_ahead_ns();

	t->due = due ? due : 1;
	sd_event_source_set_time(t->source, (due > ahead ? due - ahead : 0) / NS_PER_US);
	sd_event_source_set_enabled(t->source, SD_EVENT_ONESHOT);
}

void timer_set_in(struct timer *t, uint64_t ns)
{
	timer_set(t, clock_mono() + ns);
}

void timer_stop(struct timer *t)
{
	t->due = 0;
	sd_event_source_set_enabled(t->source, SD_EVENT_OFF);
}

void timer_close(struct timer *t)
{
	if (!t->source)
		return;
#ifdef COMMON_TEST_CLOCK
	list_remove(t);
#endif
	sd_event_source_disable_unref(t->source);
	*t = (struct timer){0};
}

uint64_t timer_turn(sd_event *event)
{
	uint64_t usec;

	if (sd_event_now(event, CLOCK_MONOTONIC, &usec) < 0)
		return clock_mono();
	return usec * NS_PER_US + clock_ahead_ns();
}
