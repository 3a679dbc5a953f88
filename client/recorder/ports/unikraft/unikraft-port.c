/*
 * Threads of a Unikraft unikernel in the trace.
 *
 * Unikraft's scheduler has no tracepoints, so the linker replaces the context switch and the wake-up
 * (Makefile.uk), and the thread library calls an init and a term function for each thread. A thread
 * that is switched away and is not runnable waits: the wait is a thread of the type Wait, which the
 * thread that wakes it resolves.
 */
#include <errno.h>
#include <string.h>
#include <uk/alloc.h>
#include <uk/mprof.h>
#include <uk/plat/lcpu.h>
#include <uk/plat/time.h>
#include <uk/sched.h>
#include <uk/thread.h>

#include "unikraft-port.h"

static struct port port = {.table = {.recorder = &port.recorder}};

static uint64_t now(void *context)
{
	(void)context;
	return (uint64_t)ukplat_monotonic_clock();
}

/* ---- threads ---- */

static const char *name_of(const struct uk_thread *thread)
{
	return thread && thread->name ? thread->name : "unnamed";
}

/* Return the entry of THREAD, which is made if needed; NULL if the table is full. */
static struct port_thread *thread_get(struct port *p, const struct uk_thread *thread)
{
	return port_thread_get(&p->table, thread, name_of(thread));
}

static int64_t thread_id(struct port *p, const struct uk_thread *thread)
{
	return port_thread_number(&p->table, thread, name_of(thread));
}

/* Record that the running thread runs, if the trace does not say so yet. Return its id. */
static int64_t here(struct port *p)
{
	int64_t id = thread_id(p, uk_thread_current());

	mprof_recorder_switch(&p->recorder, id);
	return id;
}

/* ---- waits ---- */

static void wait_begin(struct port *p, struct port_thread *t)
{
	t->wait = port_create(&p->table, MPROF_THREAD_Wait, NULL);
	t->woken = false;
	mprof_recorder_try_read(&p->recorder, t->id, t->wait);
}

/* ---- what the linker replaces ---- */

void __real_ukarch_ctx_switch(struct ukarch_ctx *store, struct ukarch_ctx *load);
void __wrap_ukarch_ctx_switch(struct ukarch_ctx *store, struct ukarch_ctx *load);
void __real_uk_thread_wake(struct uk_thread *thread);
void __wrap_uk_thread_wake(struct uk_thread *thread);
void __real_uk_thread_wake_isr(struct uk_thread *thread);
void __wrap_uk_thread_wake_isr(struct uk_thread *thread);

static struct uk_thread *thread_of(void *ctx)
{
	return (struct uk_thread *)((uintptr_t)ctx - offsetof(struct uk_thread, ctx));
}

static void record_switch(struct port *p, struct uk_thread *prev, struct uk_thread *next)
{
	struct port_thread *t = thread_get(p, prev), *to;

	if (t && !t->wait && !uk_thread_is_runnable(prev) && !uk_thread_is_exited(prev))
		wait_begin(p, t);
	to = thread_get(p, next);
	if (to && to->wait)
		port_thread_continue(&p->table, to, p->scheduler);
	else
		mprof_recorder_switch(&p->recorder, thread_id(p, next));
}

void __wrap_ukarch_ctx_switch(struct ukarch_ctx *store, struct ukarch_ctx *load)
{
	unsigned long flags;

	if (port.on) {
		flags = ukplat_lcpu_save_irqf();
		record_switch(&port, thread_of(store), thread_of(load));
		ukplat_lcpu_restore_irqf(flags);
	}
	__real_ukarch_ctx_switch(store, load);
}

/* Record that THREAD is woken: by the interrupt handler that runs, or else by the running thread. */
static void record_wake(struct port *p, const struct uk_thread *thread, bool interrupt)
{
	struct port_thread *t = port_thread_find(&p->table, thread);
	int64_t before = mprof_recorder_current(&p->recorder);

	if (!t || !t->wait || t->woken)
		return;
	if (interrupt)
		mprof_recorder_switch(&p->recorder, p->interrupt);
	else
		here(p);
	mprof_recorder_fulfills(&p->recorder, t->wait);
	t->woken = true;
	if (interrupt)
		mprof_recorder_switch(&p->recorder, before);
}

void __wrap_uk_thread_wake(struct uk_thread *thread)
{
	unsigned long flags;

	if (port.on) {
		flags = ukplat_lcpu_save_irqf();
		record_wake(&port, thread, false);
		ukplat_lcpu_restore_irqf(flags);
	}
	__real_uk_thread_wake(thread);
}

void __wrap_uk_thread_wake_isr(struct uk_thread *thread)
{
	unsigned long flags;

	if (port.on) {
		flags = ukplat_lcpu_save_irqf();
		record_wake(&port, thread, true);
		ukplat_lcpu_restore_irqf(flags);
	}
	__real_uk_thread_wake_isr(thread);
}

static int thread_init(struct uk_thread *child, struct uk_thread *parent)
{
	unsigned long flags;

	(void)parent;
	if (!port.on)
		return 0;
	flags = ukplat_lcpu_save_irqf();
	here(&port);
	thread_id(&port, child);
	ukplat_lcpu_restore_irqf(flags);
	return 0;
}

static void thread_term(struct uk_thread *child)
{
	struct port *p = &port;
	struct port_thread *t;
	unsigned long flags;

	if (!p->on)
		return;
	flags = ukplat_lcpu_save_irqf();
	t = port_thread_find(&p->table, child);
	if (t) {
		here(p);
		mprof_recorder_fulfills(&p->recorder, t->id);
		port_thread_free(&p->table, t);
	}
	ukplat_lcpu_restore_irqf(flags);
}

UK_THREAD_INIT_PRIO_FLAGS(thread_init, thread_term, UK_PRIO_LATEST, 0);

/* ---- the interface ---- */

int mprof_uk_start(void)
{
	struct port *p = &port;
	unsigned long flags;
	size_t bytes = (size_t)CONFIG_LIBMPROF_PAGES * PORT_PAGE;

	if (p->ring)
		return -EBUSY;
	p->ring = uk_memalign(uk_alloc_get_default(), PORT_PAGE, bytes);
	if (!p->ring)
		return -ENOMEM;
	memset(p->ring, 0, bytes);
	p->pages = CONFIG_LIBMPROF_PAGES;
	if (mprof_recorder_init(&p->recorder, p->ring, bytes, CONFIG_LIBMPROF_PACKETS, now, NULL) !=
	    MPROF_RECORDER_OK) {
		uk_free(uk_alloc_get_default(), p->ring);
		p->ring = NULL;
		return -EINVAL;
	}
	flags = ukplat_lcpu_save_irqf();
	p->on = true;
	here(p);
	p->scheduler = port_create(&p->table, MPROF_THREAD_Task, "scheduler");
	p->interrupt = port_create(&p->table, MPROF_THREAD_Task, "interrupt");
	ukplat_lcpu_restore_irqf(flags);
#ifdef CONFIG_XEN_GNTTAB
	return port_publish(p);
#else
	return 0;
#endif
}

void mprof_uk_stop(void)
{
	struct port *p = &port;
	bool unmapped = true;

	if (!p->ring)
		return;
#ifdef CONFIG_XEN_GNTTAB
	port_unpublish(p);
#endif
	p->on = false;
	mprof_recorder_stop(&p->recorder);
#ifdef CONFIG_XEN_GNTTAB
	unmapped = port_unmapped(p);
#endif
	if (!unmapped)
		return;
	uk_free(uk_alloc_get_default(), p->ring);
	p->ring = NULL;
}

const void *mprof_uk_ring(size_t *bytes)
{
	*bytes = (size_t)port.pages * PORT_PAGE;
	return port.on ? port.ring : NULL;
}

uint64_t mprof_uk_dropped(void)
{
	return mprof_recorder_dropped(&port.recorder);
}

void mprof_uk_label(const char *text)
{
	unsigned long flags;

	if (!port.on)
		return;
	flags = ukplat_lcpu_save_irqf();
	port_label(&port.table, here(&port), text);
	ukplat_lcpu_restore_irqf(flags);
}

void mprof_uk_should_resolve(void)
{
	mprof_uk_label("__should_resolve");
}

void mprof_uk_counter(const char *name, int64_t value)
{
	unsigned long flags;

	if (!port.on)
		return;
	flags = ukplat_lcpu_save_irqf();
	here(&port);
	mprof_recorder_counter(&port.recorder, value, name, port_length(name));
	ukplat_lcpu_restore_irqf(flags);
}
