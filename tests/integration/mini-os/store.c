/*
 * The XenStore of the stand-in. A thread waits for its answer, which the thread "xenstore" takes from the ring when the event channel
 * tells of it.
 */
#include "stand-in.h"

#include <mini-os/events.h>
#include <mini-os/wait.h>
#include <mini-os/xenbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 64

struct request {
	struct request *next;
	struct wait_queue_head queue;
	bool answered;
};

struct xenbus_event {
	struct xenbus_event *next;
	char *path;
};

static struct {
	char *path, *value;
} keys[KEYS];
static struct request *requests;
static DECLARE_WAIT_QUEUE_HEAD(ring_queue);
static DECLARE_WAIT_QUEUE_HEAD(watch_queue);
static unsigned n_events, n_taken;
static char *watched, *fired;
static xenbus_event_queue *watcher;

const char *store_get(const char *path)
{
	for (int i = 0; i < KEYS; i++)
		if (keys[i].path && !strcmp(keys[i].path, path))
			return keys[i].value;
	return NULL;
}

void store_set(const char *path, const char *value)
{
	int free_key = -1;

	for (int i = KEYS - 1; i >= 0; i--) {
		if (keys[i].path && !strcmp(keys[i].path, path)) {
			free(keys[i].path);
			free(keys[i].value);
			keys[i].path = keys[i].value = NULL;
		}
		if (!keys[i].path)
			free_key = i;
	}
	if (!value)
		return;
	if (free_key < 0)
		abort();
	keys[free_key].path = strdup(path);
	keys[free_key].value = strdup(value);
}

static void on_event(evtchn_port_t port, struct pt_regs *regs, void *data)
{
	n_events++;
	wake_up(&ring_queue);
}

static void fire(void)
{
	struct xenbus_event **at = watcher, *event = calloc(1, sizeof(*event));

	event->path = strdup(fired);
	while (*at)
		at = &(*at)->next;
	*at = event;
	free(fired);
	fired = NULL;
	wake_up(&watch_queue);
}

/* The thread "xenstore": take what is in the ring, for each event. */
static void serve(void *unused)
{
	struct request *r;

	for (;;) {
		wait_event(ring_queue, n_taken != n_events);
		n_taken = n_events;
		while (requests) {
			r = requests;
			requests = r->next;
			r->answered = true;
			wake_up(&r->queue);
		}
		if (fired)
			fire();
	}
}

/* Wait for the answer of a request. */
static void await(void)
{
	struct request r = {.next = requests};

	requests = &r;
	machine_raise(xenbus_evtchn);
	wait_event(r.queue, r.answered);
}

char *xenbus_read(xenbus_transaction_t xbt, const char *path, char **value)
{
	const char *found;

	await();
	found = store_get(path);
	if (!found)
		return strdup("ENOENT");
	*value = strdup(found);
	return NULL;
}

char *xenbus_write(xenbus_transaction_t xbt, const char *path, const char *value)
{
	await();
	store_set(path, value);
	machine_map(path, value);
	return NULL;
}

char *xenbus_rm(xenbus_transaction_t xbt, const char *path)
{
	await();
	if (!store_get(path))
		return strdup("ENOENT");
	store_set(path, NULL);
	return NULL;
}

char *xenbus_watch_path_token(xenbus_transaction_t xbt, const char *path, const char *token, xenbus_event_queue *events)
{
	await();
	watched = strdup(path);
	watcher = events;
	return NULL;
}

char **xenbus_wait_for_watch_return(xenbus_event_queue *queue)
{
	struct xenbus_event *event;

	wait_event(watch_queue, *queue);
	event = *queue;
	*queue = event->next;
	return &event->path;
}

void xenbus_wait_for_watch(xenbus_event_queue *queue)
{
	xenbus_wait_for_watch_return(queue);
}

/* The guest of the tests calls none of these. */
#define UNUSED(name, ...)                \
	char *name(__VA_ARGS__)          \
	{                                \
		return strdup("ENOSYS"); \
	}
UNUSED(xenbus_ls, xenbus_transaction_t xbt, const char *path, char ***contents)
UNUSED(xenbus_get_perms, xenbus_transaction_t xbt, const char *path, char **value)
UNUSED(xenbus_set_perms, xenbus_transaction_t xbt, const char *path, domid_t domid, char perm)
UNUSED(xenbus_unwatch_path_token, xenbus_transaction_t xbt, const char *path, const char *token)
UNUSED(xenbus_transaction_start, xenbus_transaction_t *xbt)
UNUSED(xenbus_transaction_end, xenbus_transaction_t xbt, int abort, int *retry)

void store_change(const char *path, const char *value)
{
	store_set(path, value);
	if (!watched || strcmp(watched, path))
		return;
	fired = strdup(path);
	machine_raise(xenbus_evtchn);
}

void store_init(void)
{
	evtchn_alloc_unbound(0, on_event, NULL, &xenbus_evtchn);
	create_thread("xenstore", serve, NULL);
}
