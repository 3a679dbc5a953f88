/*
 * Threads, objects and waits of a Mini-OS guest in the trace, and the calls that start and stop it.
 */
#include "mini-os-port.h"

#include <mini-os/errno.h>

#define PAGES_DEFAULT	64u
#define PACKETS_DEFAULT 8u

struct port mprof_port = {.handling = -1, .table = {.recorder = &mprof_port.recorder}};

static uint64_t now(void *context)
{
	(void)context;
	return monotonic_clock();
}

void port_end(struct port *p, unsigned long flags)
{
	uint64_t sequence = mprof_recorder_sequence(&p->recorder);

	if (p->channel && sequence != p->notified) {
		p->notified = sequence;
		notify_remote_via_evtchn(p->channel);
	}
	local_irq_restore(flags);
}

/* ---- texts ---- */

/* Append TEXT to the N bytes in BUF, of PORT_TEXT bytes. Return the new length. */
static size_t append(char *buf, size_t n, const char *text)
{
	while (*text && n + 1 < PORT_TEXT)
		buf[n++] = *text++;
	buf[n] = 0;
	return n;
}

/* Return NAME, an expression, without the operator that takes an address. */
static const char *bare(const char *name)
{
	return *name == '&' ? name + 1 : name;
}

/* ---- threads ---- */

/* Return the entry of THREAD, which is made if needed; NULL if the table is full. */
static struct port_thread *thread_get(struct port *p, const struct thread *thread)
{
	return port_thread_get(&p->table, thread, thread ? thread->name : "boot");
}

int64_t port_thread_id(struct port *p, const struct thread *thread)
{
	return port_thread_number(&p->table, thread, thread ? thread->name : "boot");
}

void port_thread_forget(struct port *p, const struct thread *thread)
{
	struct port_thread *t = port_thread_find(&p->table, thread);

	if (t)
		port_thread_free(&p->table, t);
}

int64_t port_here(struct port *p)
{
	int64_t id =
		p->handling >= 0 ? port_channel_id(p, (evtchn_port_t)p->handling) : port_thread_id(p, get_current());

	mprof_recorder_switch(&p->recorder, id);
	return id;
}

/* ---- semaphores, queues and event channels ---- */

/* Return the entry of ADDRESS, or a free one for it, or NULL if the table is full. */
static struct port_object *object_find(struct port *p, const void *address)
{
	uint32_t at = (uint32_t)(((uintptr_t)address >> 3) * 2654435761u);

	for (unsigned i = 0; i < PORT_OBJECTS; i++) {
		struct port_object *o = &p->objects[(at + i) & (PORT_OBJECTS - 1)];

		if (o->address == address || !o->address)
			return o;
	}
	return NULL;
}

int64_t port_object_id(struct port *p, const void *address, const char *name, enum mprof_thread_type type)
{
	struct port_object *o = object_find(p, address);

	if (!o)
		return 0;
	if (!o->address)
		*o = (struct port_object){.address = address, .name = name};
	if (!o->id)
		o->id = port_create(&p->table, type, bare(o->name));
	return o->id;
}

void port_object_renew(struct port *p, const void *address, const char *name)
{
	struct port_object *o = object_find(p, address);

	if (o && o->address && !o->named && strcmp(o->name, name))
		*o = (struct port_object){.address = address, .name = name};
}

static struct port_channel *channel_get(struct port *p, evtchn_port_t port)
{
	for (unsigned i = 0; i < p->n_channels; i++)
		if (p->channels[i].port == port)
			return &p->channels[i];
	if (p->n_channels == PORT_CHANNELS)
		return NULL;
	p->channels[p->n_channels] = (struct port_channel){.port = port};
	return &p->channels[p->n_channels++];
}

void port_channel_name(struct port *p, evtchn_port_t port, const char *name)
{
	struct port_channel *c = channel_get(p, port);

	if (c && !c->name)
		c->name = name;
}

int64_t port_channel_id(struct port *p, evtchn_port_t port)
{
	struct port_channel *c = channel_get(p, port);
	char text[PORT_TEXT];

	if (!c)
		return p->scheduler;
	if (!c->id) {
		size_t n = (size_t)snprintf(text, sizeof(text), "event channel %u", (unsigned)port);

		if (c->name) {
			n = append(text, n, " ");
			append(text, n, c->name);
		}
		c->id = port_create(&p->table, MPROF_THREAD_Task, text);
	}
	return c->id;
}

/* ---- waits ---- */

void port_wait(struct port *p, int64_t object, bool timed, const char *what, const char *text)
{
	struct port_thread *t = thread_get(p, get_current());
	char buf[PORT_TEXT];
	int64_t me;

	port_wait_end(p);
	me = port_here(p);
	if (!t)
		return;
	if (object)
		mprof_recorder_switch(&p->recorder, object);
	t->wait = port_create(&p->table, MPROF_THREAD_Wait, NULL);
	t->woken = false;
	t->timed = timed;
	append(buf, append(buf, 0, what), bare(text));
	port_label(&p->table, t->wait, buf);
	mprof_recorder_switch(&p->recorder, me);
	mprof_recorder_try_read(&p->recorder, me, t->wait);
}

bool port_waits(struct port *p)
{
	const struct port_thread *t = port_thread_find(&p->table, get_current());

	return t && t->wait;
}

void port_woken(struct port *p, const struct thread *thread)
{
	struct port_thread *t = port_thread_find(&p->table, thread);

	if (!t || !t->wait || t->woken)
		return;
	port_here(p);
	mprof_recorder_fulfills(&p->recorder, t->wait);
	t->woken = true;
}

void port_wait_end(struct port *p)
{
	struct port_thread *t = port_thread_find(&p->table, get_current());

	if (t)
		port_thread_continue(&p->table, t, t->timed ? p->scheduler : t->id);
}

void port_fail(struct port *p, const char *text)
{
	int64_t me;

	if (p->failed)
		return;
	p->failed = true;
	me = port_here(p);
	mprof_recorder_fails(&p->recorder, me, text, strlen(text));
}

/* ---- the interface ---- */

static void publish(void *unused)
{
	(void)unused;
	port_publish(&mprof_port);
}

int mprof_mini_os_start(const struct mprof_mini_os_options *options)
{
	struct port *p = &mprof_port;
	uint32_t pages = options && options->pages ? options->pages : PAGES_DEFAULT;
	uint32_t packets = options && options->packets ? options->packets : PACKETS_DEFAULT;
	unsigned long flags;

	if (p->on || p->ring)
		return -EBUSY;
	if (pages > MPROF_MINI_OS_PAGES_MAX)
		return -EINVAL;
	if (!port_ring_allocate(p, pages))
		return -ENOMEM;
	if (mprof_recorder_init(&p->recorder, p->ring, (size_t)pages * PAGE_SIZE, packets, now, NULL) !=
	    MPROF_RECORDER_OK) {
		port_ring_free(p);
		return -EINVAL;
	}
	flags = port_begin();
	port_channel_name(p, xenbus_evtchn, "xenstore");
	port_channel_name(p, console_evtchn, "console");
	p->on = true;
	port_here(p);
	p->scheduler = port_create(&p->table, MPROF_THREAD_Task, "scheduler");
	port_end(p, flags);
	create_thread("mprof", publish, NULL);
	return 0;
}

void mprof_mini_os_stop(void)
{
	struct port *p = &mprof_port;

	if (p->ring)
		port_withdraw(p);
}

uint64_t mprof_mini_os_dropped(void)
{
	return mprof_recorder_dropped(&mprof_port.recorder);
}

void mprof_mini_os_name(const void *object, const char *name)
{
	unsigned long flags = port_begin();
	struct port_object *o = object_find(&mprof_port, object);

	if (o && !o->id)
		*o = (struct port_object){.address = object, .name = name, .named = true};
	local_irq_restore(flags);
}

void mprof_mini_os_name_port(uint32_t port, const char *name)
{
	unsigned long flags = port_begin();

	port_channel_name(&mprof_port, port, name);
	local_irq_restore(flags);
}

void mprof_mini_os_label(const char *text)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (!p->on)
		return;
	flags = port_begin();
	port_label(&p->table, port_here(p), text);
	port_end(p, flags);
}

void mprof_mini_os_should_resolve(void)
{
	mprof_mini_os_label("__should_resolve");
}

void mprof_mini_os_counter(const char *name, int64_t value)
{
	struct port *p = &mprof_port;
	unsigned long flags;

	if (!p->on)
		return;
	flags = port_begin();
	port_here(p);
	mprof_recorder_counter(&p->recorder, value, name, strlen(name));
	port_end(p, flags);
}
