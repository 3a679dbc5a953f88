/*
 * The state of the port, shared by its files.
 *
 * Invariant: interrupts are disabled from port_begin() to port_end(), so an event handler never
 * records in the middle of an event. Mini-OS runs one thread at a time on one processor.
 *
 * In the trace each thread, semaphore, wait queue and event channel is a thread with an id of its
 * own. A wait is a thread of the type Wait, which the waiting thread tries to read. The semaphore or
 * queue creates it, and the thread or the event channel that wakes the waiting thread resolves it.
 */
#ifndef MINI_OS_PORT_H
#define MINI_OS_PORT_H

#define MPROF_MINI_OS_PLAIN

#include <mini-os/os.h>
/* os.h must come first. */
#include <mini-os/events.h>
#include <mini-os/lib.h>
#include <mini-os/sched.h>
#include <mini-os/semaphore.h>
#include <mini-os/wait.h>
#include <mini-os/xenbus.h>

#include <mprof-mini-os.h>
#include <mprof/recorder.h>

#define PORT_THREADS  64u
#define PORT_OBJECTS  256u /* a power of 2 */
#define PORT_CHANNELS 32u
#define PORT_TEXT     160u /* bytes of a label; longer texts are cut */

#include "../threads.h"

/* A semaphore or a wait queue. */
struct port_object {
	const void *address; /* NULL = free */
	const char *name;    /* the caller's */
	bool named;	     /* NAME is from mprof_mini_os_name() */
	int64_t id;	     /* 0 = named, and not used yet */
};

struct port_channel {
	const char *name; /* the caller's; NULL = none */
	int64_t id;	  /* 0 = named, and not used yet */
	evtchn_port_t port;
};

struct port {
	struct mprof_recorder recorder;
	bool on;
	bool failed; /* port_fail() was called */
	/* The event channel whose handler runs; -1 = none. */
	int handling;
	struct port_table table;
	int64_t scheduler; /* resolves waits that ended by time */
	struct port_object objects[PORT_OBJECTS];
	struct port_channel channels[PORT_CHANNELS];
	unsigned n_channels;

	/* The published ring (share.c). */
	void *ring;
	int ring_order;	     /* RING has 2^RING_ORDER pages, of which PAGES are the ring */
	uint32_t *directory; /* the directory page, or NULL */
	uint32_t pages;
	uint32_t refs[MPROF_MINI_OS_PAGES_MAX];
	uint32_t directory_ref;
	evtchn_port_t channel; /* to notify domain 0; 0 = none */
	uint64_t notified;     /* number of the packet at the last notification */
	const char *key;       /* the commit key that is written; NULL = none */
};

extern struct port mprof_port;

/* Allocate the ring of PAGES pages, zeroed. Return false without memory. */
bool port_ring_allocate(struct port *p, uint32_t pages);

/* Grant the ring to domain 0 and write the keys. Call it from a thread. */
void port_publish(struct port *p);

/* Remove the commit key, wait until domain 0 has unmapped the ring, and free it; from a thread. */
void port_withdraw(struct port *p);
void port_ring_free(struct port *p);

/* Begin to record. Return the flags for port_end(). */
static inline unsigned long port_begin(void)
{
	unsigned long flags;

	local_irq_save(flags);
	return flags;
}

/* End what port_begin() began. Notify domain 0 if a packet is complete. */
void port_end(struct port *p, unsigned long flags);

/*
 * The calls below are made between port_begin() and port_end().
 *
 * port_here() records a switch to what runs now, if the trace does not say so yet: a thread, or the
 * event channel whose handler runs. Return its id.
 */
int64_t port_here(struct port *p);

/* Return the id of THREAD. A thread that is seen first is created in the trace. */
int64_t port_thread_id(struct port *p, const struct thread *thread);
void port_thread_forget(struct port *p, const struct thread *thread);

/* Return the id of the semaphore or queue at ADDRESS, of TYPE, or 0 if the table is full. */
int64_t port_object_id(struct port *p, const void *address, const char *name, enum mprof_thread_type type);
/*
 * The object at ADDRESS is initialised under NAME. If it had another name, it is another object from
 * now on.
 */
void port_object_renew(struct port *p, const void *address, const char *name);
int64_t port_channel_id(struct port *p, evtchn_port_t port);
/* Name a channel that has no name yet. */
void port_channel_name(struct port *p, evtchn_port_t port, const char *name);

/*
 * Begin a wait of the running thread for OBJECT, an id (0 = for no named object), with the label
 * WHAT TEXT. End the wait before, if there is one. TIMED: the wait may end by time.
 */
void port_wait(struct port *p, int64_t object, bool timed, const char *what, const char *text);
/* Return whether the running thread has begun a wait. */
bool port_waits(struct port *p);
/* Record that THREAD is made runnable. */
void port_woken(struct port *p, const struct thread *thread);
/*
 * The running thread continues: its wait is over. If nobody woke it, the time is over, or it never
 * had to wait.
 */
void port_wait_end(struct port *p);

/* Record, once, that the running thread fails by TEXT. A handler of the failure may fail again. */
void port_fail(struct port *p, const char *text);

#endif
