/*
 * Semaphores, wait queues and notifications of the guest's own code, recorded. The functions do
 * what Mini-OS's inline functions do. They work also while no ring is recorded.
 *
 * A semaphore keeps a signal that no thread waited for until a thread takes it. The trace then has a
 * wait that the semaphore itself creates and resolves.
 */
#include "mini-os-port.h"

static void record_signal(struct port *p, const void *object, const char *name, enum mprof_thread_type type)
{
	int64_t me = port_here(p), id = port_object_id(p, object, name, type);

	if (id)
		mprof_recorder_signal_noswitch(&p->recorder, id, me);
}

/* Record that the running thread took a signal of the semaphore ID without waiting. */
static void record_take(struct port *p, int64_t id)
{
	int64_t me = port_here(p), taken = ++p->table.newest;

	if (!id)
		return;
	mprof_recorder_switch(&p->recorder, id);
	mprof_recorder_creates(&p->recorder, taken, MPROF_THREAD_Wait);
	mprof_recorder_fulfills(&p->recorder, taken);
	mprof_recorder_read(&p->recorder, me, taken);
}

void mprof_mini_os_wait(struct wait_queue_head *queue, struct wait_queue *entry, int64_t deadline, const char *name)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();

	if (p->on)
		port_wait(p, port_object_id(p, queue, name, MPROF_THREAD_Condition), deadline, "wait ", name);
	add_wait_queue(queue, entry);
	block(get_current());
	get_current()->wakeup_time = deadline;
	port_end(p, flags);
}

void mprof_mini_os_wait_end(struct wait_queue_head *queue, struct wait_queue *entry)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();

	if (p->on)
		port_wait_end(p);
	wake(get_current());
	remove_wait_queue(queue, entry);
	port_end(p, flags);
}

void mprof_mini_os_wake_up(struct wait_queue_head *queue, const char *name)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();

	if (p->on)
		record_signal(p, queue, name, MPROF_THREAD_Condition);
	wake_up(queue);
	port_end(p, flags);
}

void mprof_mini_os_init_semaphore(struct semaphore *sem, int count, const char *name)
{
	unsigned long flags = port_begin();

	port_object_renew(&mprof_port, sem, name);
	init_SEMAPHORE(sem, count);
	local_irq_restore(flags);
}

int mprof_mini_os_trydown(struct semaphore *sem, const char *name)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();
	int taken = trydown(sem);

	if (taken && p->on)
		record_take(p, port_object_id(p, sem, name, MPROF_THREAD_Semaphore));
	port_end(p, flags);
	return taken;
}

/* Wait for one wake-up of SEM, which may come when the signal is already taken by another thread. */
static void semaphore_wait(struct port *p, struct semaphore *sem, const char *name)
{
	struct wait_queue entry;
	unsigned long flags = port_begin();

	if (p->on)
		port_wait(p, port_object_id(p, sem, name, MPROF_THREAD_Semaphore), false, "down ", name);
	init_waitqueue_entry(&entry, get_current());
	add_wait_queue(&sem->wait, &entry);
	block(get_current());
	port_end(p, flags);
	/* An event handler may have called up() since. The thread is then runnable again. */
	schedule();
	mprof_mini_os_wait_end(&sem->wait, &entry);
}

void mprof_mini_os_down(struct semaphore *sem, const char *name)
{
	if (mprof_mini_os_trydown(sem, name))
		return;
	do
		semaphore_wait(&mprof_port, sem, name);
	while (!trydown(sem));
}

void mprof_mini_os_up(struct semaphore *sem, const char *name)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();

	if (p->on)
		record_signal(p, sem, name, MPROF_THREAD_Semaphore);
	up(sem);
	port_end(p, flags);
}

int mprof_mini_os_notify(uint32_t port)
{
	struct port *p = &mprof_port;
	unsigned long flags = port_begin();
	int64_t me;

	if (p->on) {
		me = port_here(p);
		mprof_recorder_signal_noswitch(&p->recorder, port_channel_id(p, port), me);
	}
	port_end(p, flags);
	return notify_remote_via_evtchn(port);
}
