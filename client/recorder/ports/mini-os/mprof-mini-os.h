/*
 * Record the trace of a Mini-OS guest, and publish it to domain 0.
 *
 *	int app_main(void *unused)
 *	{
 *		mprof_mini_os_start(NULL);
 *		create_thread("server", serve, NULL);
 *		return 0;
 *	}
 *
 * From then on the trace has the guest's threads and their switches, sleeps, waits and wake-ups by
 * semaphores and wait queues, XenStore requests by path, and event channels. The guest is linked
 * with the options in the file `wrap`, and its own code is compiled with the directory `include`
 * before Mini-OS's headers.
 *
 * A semaphore, wait queue or event channel is named by the expression in the first call that uses
 * it, or by mprof_mini_os_name(). An object that is initialised again under the same name is the
 * same object in the trace, so signals that the initialisation discards are seen as missed.
 *
 * The calls may be made from threads and from event handlers, if their comments do not forbid that.
 * All do nothing while no ring is recorded. The interface is for one virtual processor, as Mini-OS
 * is.
 */
#ifndef MPROF_MINI_OS_H
#define MPROF_MINI_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct semaphore;
struct wait_queue;
struct wait_queue_head;

#define MPROF_MINI_OS_PAGES_MAX 1023u /* pages of a ring: one directory page names them */

struct mprof_mini_os_options {
	uint32_t pages;	  /* pages of the ring, 1 to MPROF_MINI_OS_PAGES_MAX; 0 = 64 (256 KiB) */
	uint32_t packets; /* packets of the ring, 2 to 1,024; 0 = 8. Domain 0 is notified per packet */
};

/*
 * Allocate a ring and record into it from now on. Create the thread "mprof", which publishes the
 * ring in XenStore (data/mprof) and ends. OPTIONS may be NULL. Call it once, from app_main() or a
 * thread.
 *
 * Return 0; -EINVAL for options out of range; -ENOMEM without memory; -EBUSY if a ring is recorded
 * already.
 */
int mprof_mini_os_start(const struct mprof_mini_os_options *options);

/*
 * Withdraw the ring from XenStore, stop recording, and free the ring when domain 0 has unmapped it.
 * If domain 0 keeps it mapped for five seconds, the memory is never freed. Call it from a thread
 * before the guest ends on purpose; it sleeps. A guest that crashes leaves its ring in place.
 */
void mprof_mini_os_stop(void);

/* Return the number of events that the recorder dropped, all reasons together. */
uint64_t mprof_mini_os_dropped(void);

/*
 * Name OBJECT, a semaphore or a wait queue, or the event channel PORT. NAME must stay valid. A name
 * that is given before the first use of the object takes effect, a later one does not.
 */
void mprof_mini_os_name(const void *object, const char *name);
void mprof_mini_os_name_port(uint32_t port, const char *name);

/* Mark the running thread: it should end, and `mprofctl why` explains why it did not. */
void mprof_mini_os_should_resolve(void);

/* Label the running thread with TEXT, or set the counter NAME to VALUE. Both texts are copied. */
void mprof_mini_os_label(const char *text);
void mprof_mini_os_counter(const char *name, int64_t value);

/* ---- for the headers in `include` ---- */

/*
 * Do what Mini-OS's functions of these names do, and record it. NAME is the expression for the
 * object, as the source writes it, and must stay valid. mprof_mini_os_notify() returns what
 * notify_remote_via_evtchn() does.
 */
void mprof_mini_os_init_semaphore(struct semaphore *sem, int count, const char *name);
void mprof_mini_os_down(struct semaphore *sem, const char *name);
int mprof_mini_os_trydown(struct semaphore *sem, const char *name);
void mprof_mini_os_up(struct semaphore *sem, const char *name);
void mprof_mini_os_wake_up(struct wait_queue_head *queue, const char *name);
int mprof_mini_os_notify(uint32_t port);

/*
 * Begin to wait for a wake-up of QUEUE until DEADLINE, ns of NOW() (0 = without end): put ENTRY into
 * the queue and mark the running thread as not runnable. A thread that was woken and calls it again
 * begins a new wait.
 */
void mprof_mini_os_wait(struct wait_queue_head *queue, struct wait_queue *entry, int64_t deadline, const char *name);

/* End the wait of the running thread: make it runnable and take ENTRY out of QUEUE. */
void mprof_mini_os_wait_end(struct wait_queue_head *queue, struct wait_queue *entry);

#endif
