/*
 * The console: a ring of bytes that domain 0 reads.
 */
#include "kernel.h"

#define ATTEMPTS 10000u

static struct console_ring *ring;
static uint32_t port;

static void console_event(void)
{
	/* Domain 0 has read, or somebody has typed, which nobody reads. */
	ring->in_consumed = ring->in_produced;
}

void console_init(void)
{
	ring = (struct console_ring *)(uintptr_t)(xen_param(PARAM_CONSOLE_FRAME) * PAGE);
	port = (uint32_t)xen_param(PARAM_CONSOLE_PORT);
	events_handle(port, "console", console_event);
}

/* Wait for room; return false if domain 0 does not read. */
static bool room(void)
{
	for (unsigned i = 0; ring->out_produced - ring->out_consumed >= sizeof(ring->out); i++) {
		if (i == ATTEMPTS)
			return false;
		events_notify(port);
		xen_yield();
	}
	return true;
}

void say(const char *format, ...)
{
	char text[512];
	va_list values;
	size_t n;

	va_start(values, format);
	n = text_vformat(text, sizeof(text), format, values);
	va_end(values);
	for (size_t i = 0; ring && i < n && room(); i++) {
		ring->out[ring->out_produced % sizeof(ring->out)] = text[i];
		__atomic_thread_fence(__ATOMIC_RELEASE);
		ring->out_produced++;
	}
	if (ring)
		events_notify(port);
}

void console_drain(void)
{
	for (unsigned i = 0; i < ATTEMPTS && ring->out_produced != ring->out_consumed; i++)
		thread_sleep(NS_PER_MS);
}
