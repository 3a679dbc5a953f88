/*
 * A client of XenStore: two rings of bytes, requests and answers. The thread "xenstore" reads the answers;
 * other threads send one request at a time and wait for it.
 */
#include "kernel.h"

static struct store_ring *ring;
static uint32_t port;
static char answer[STORE_MESSAGE + 1];
static struct store_header answer_header;

static struct semaphore arrived = {.name = "bytes of XenStore"};
static struct semaphore answered = {.name = "answer of XenStore"};
static struct semaphore changed = {.name = "change in XenStore"};
static struct semaphore turn = {.name = "turn at XenStore", .count = 1};

static void store_event(void)
{
	if (!arrived.count)
		semaphore_up(&arrived);
}

static void receive(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		while (ring->answers_consumed == ring->answers_produced)
			semaphore_down(&arrived);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		((char *)to)[i] = ring->answers[ring->answers_consumed % sizeof(ring->answers)];
		__atomic_thread_fence(__ATOMIC_RELEASE);
		ring->answers_consumed++;
	}
}

static void reader(void *unused)
{
	static char event[STORE_MESSAGE];
	struct store_header header;

	(void)unused;
	for (;;) {
		receive(&header, sizeof(header));
		if (header.bytes > STORE_MESSAGE)
			panic("XenStore sent too long a message");
		receive(header.type == STORE_EVENT ? event : answer, header.bytes);
		events_notify(port);
		if (header.type == STORE_EVENT) {
			if (!changed.count)
				semaphore_up(&changed);
		} else {
			answer_header = header;
			answer[header.bytes] = 0;
			semaphore_up(&answered);
		}
	}
}

static void send(const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		while (ring->requests_produced - ring->requests_consumed >= sizeof(ring->requests)) {
			events_notify(port);
			thread_sleep(NS_PER_MS);
		}
		ring->requests[ring->requests_produced % sizeof(ring->requests)] = ((const char *)from)[i];
		__atomic_thread_fence(__ATOMIC_RELEASE);
		ring->requests_produced++;
	}
}

/* Send PATH, a zero, and N bytes of TAIL, and copy the answer to VALUE, of SIZE bytes. NAME is for the trace. */
static bool request(uint32_t type, const char *name, const char *path, const char *tail, size_t n, char *value,
		    size_t size)
{
	struct store_header header = {type, 0, 0, (uint32_t)(strlen(path) + 1 + n)};
	char label[128];
	bool done;

	text_format(label, sizeof(label), "XenStore %s %s", name, path);
	semaphore_down(&turn);
	send(&header, sizeof(header));
	send(path, strlen(path) + 1);
	send(tail, n);
	events_notify(port);
	semaphore_down_until(&answered, 0, label);
	done = answer_header.type != STORE_ERROR;
	if (value)
		text_format(value, size, "%s", done ? answer : "");
	semaphore_up(&turn);
	return done;
}

void store_init(void)
{
	ring = (struct store_ring *)(uintptr_t)(xen_param(PARAM_STORE_FRAME) * PAGE);
	port = (uint32_t)xen_param(PARAM_STORE_PORT);
	events_handle(port, "xenstore", store_event);
	thread_create("xenstore", reader, NULL);
}

bool store_write(const char *path, const char *value)
{
	return request(STORE_WRITE, "write", path, value, strlen(value), NULL, 0);
}

bool store_read(const char *path, char *value, size_t size)
{
	return request(STORE_READ, "read", path, NULL, 0, value, size);
}

bool store_remove(const char *path)
{
	return request(STORE_REMOVE, "rm", path, NULL, 0, NULL, 0);
}

bool store_watch(const char *path)
{
	return request(STORE_WATCH, "watch", path, "", 1, NULL, 0); /* an empty token */
}

void store_wait(void)
{
	semaphore_down(&changed);
}
