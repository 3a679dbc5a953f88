/*
 * The port of the recorder: the kernel's threads, waits and event channels in the trace. The kernel calls
 * these functions with interrupts disabled, and the program's own calls disable them.
 */
#include "kernel.h"

#include <mprof/recorder.h>

#define PORT_THREADS THREADS
#include <threads.h>

static struct {
	struct mprof_recorder recorder;
	struct port_table table;
	void *ring;
	bool on;
	int64_t scheduler;	 /* resolves waits that ended by time */
	int64_t channels[PORTS]; /* 0 = none yet */
	int handling;		 /* the event channel whose handler runs; -1 = none */
} port = {.table = {.recorder = &port.recorder}, .handling = -1};

static uint64_t now(void *context)
{
	(void)context;
	return clock_now();
}

static struct port_thread *entry(const struct thread *thread)
{
	return port_thread_get(&port.table, thread, thread->name);
}

static int64_t channel(uint32_t number)
{
	char text[64];

	if (!port.channels[number]) {
		text_format(text, sizeof(text), "event channel %u %s", (uint64_t)number, events_name(number));
		port.channels[number] = port_create(&port.table, MPROF_THREAD_Task, text);
	}
	return port.channels[number];
}

/* Record a switch to what runs, if the trace does not say so yet. Return its id. */
static int64_t here(void)
{
	int64_t id = port.handling >= 0 ? channel((uint32_t)port.handling) : entry(thread_current())->id;

	mprof_recorder_switch(&port.recorder, id);
	return id;
}

static int64_t object(struct semaphore *sem)
{
	if (!sem->id)
		sem->id = port_create(&port.table, MPROF_THREAD_Semaphore, sem->name);
	return sem->id;
}

void trace_init(uint32_t pages, uint32_t packets)
{
	port.ring = memory_take(pages);
	if (!port.ring)
		panic("no memory for the ring");
	if (mprof_recorder_init(&port.recorder, port.ring, (size_t)pages * PAGE, packets, now, NULL) !=
	    MPROF_RECORDER_OK)
		panic("the recorder accepts no such ring");
	port.on = true;
	here();
	port.scheduler = port_create(&port.table, MPROF_THREAD_Task, "scheduler");
}

void *trace_ring(void)
{
	return port.ring;
}

void trace_stop(void)
{
	port.on = false;
	mprof_recorder_stop(&port.recorder);
}

void trace_thread_begin(const struct thread *thread)
{
	if (!port.on)
		return;
	here();
	entry(thread);
}

void trace_thread_end(const struct thread *thread)
{
	if (!port.on)
		return;
	mprof_recorder_fulfills(&port.recorder, here());
	port_thread_free(&port.table, entry(thread));
}

void trace_wait(struct semaphore *sem, const char *label, bool timed)
{
	struct port_thread *t;

	if (!port.on)
		return;
	here();
	t = entry(thread_current());
	if (sem)
		mprof_recorder_switch(&port.recorder, object(sem));
	t->wait = port_create(&port.table, MPROF_THREAD_Wait, label);
	t->woken = false;
	t->timed = timed;
	mprof_recorder_switch(&port.recorder, t->id);
	mprof_recorder_try_read(&port.recorder, t->id, t->wait);
}

/* The running thread takes a signal that nobody waited for. */
void trace_take(struct semaphore *sem)
{
	int64_t me, taken;

	if (!port.on)
		return;
	me = here();
	mprof_recorder_switch(&port.recorder, object(sem));
	taken = port_create(&port.table, MPROF_THREAD_Wait, NULL);
	mprof_recorder_fulfills(&port.recorder, taken);
	mprof_recorder_read(&port.recorder, me, taken);
}

void trace_up(struct semaphore *sem)
{
	int64_t me;

	if (!port.on)
		return;
	me = here();
	mprof_recorder_signal_noswitch(&port.recorder, object(sem), me);
}

void trace_wake(const struct thread *thread)
{
	struct port_thread *t = port.on ? entry(thread) : NULL;

	if (!t || !t->wait)
		return;
	here();
	mprof_recorder_fulfills(&port.recorder, t->wait);
	t->woken = true;
}

void trace_switch(const struct thread *thread)
{
	struct port_thread *t;

	if (!port.on)
		return;
	share_kick(mprof_recorder_sequence(&port.recorder));
	if (!thread) {
		if (mprof_recorder_current(&port.recorder) != MPROF_THREAD_NONE)
			mprof_recorder_suspend(&port.recorder);
		return;
	}
	t = entry(thread);
	if (t->wait)
		port_thread_continue(&port.table, t, t->timed ? port.scheduler : t->id);
	else
		mprof_recorder_switch(&port.recorder, t->id);
}

int64_t trace_handler_begin(uint32_t channel_port)
{
	port.handling = (int)channel_port;
	return mprof_recorder_current(&port.recorder);
}

void trace_handler_end(int64_t before)
{
	port.handling = -1;
	if (!port.on || mprof_recorder_current(&port.recorder) == before)
		return;
	if (before == MPROF_THREAD_NONE)
		mprof_recorder_suspend(&port.recorder);
	else
		mprof_recorder_switch(&port.recorder, before);
}

void trace_fail(const char *text)
{
	if (port.on)
		mprof_recorder_fails(&port.recorder, here(), text, strlen(text));
}

void trace_counter(const char *name, int64_t value)
{
	bool on = interrupts_off();

	if (port.on) {
		here();
		mprof_recorder_counter(&port.recorder, value, name, strlen(name));
	}
	interrupts_restore(on);
}

void trace_should_resolve(void)
{
	bool on = interrupts_off();

	if (port.on)
		port_label(&port.table, here(), "__should_resolve");
	interrupts_restore(on);
}
