/* Wait queues and semaphores, as Mini-OS's own code uses them. */
#include <mini-os/semaphore.h>

void init_waitqueue_entry(struct wait_queue *entry, struct thread *thread)
{
	*entry = (struct wait_queue){.thread = thread};
}

void add_wait_queue(struct wait_queue_head *queue, struct wait_queue *entry)
{
	if (entry->waiting)
		return;
	entry->waiting = 1;
	entry->next = queue->first;
	queue->first = entry;
}

void remove_wait_queue(struct wait_queue_head *queue, struct wait_queue *entry)
{
	struct wait_queue **at = &queue->first;

	while (*at && *at != entry)
		at = &(*at)->next;
	if (*at)
		*at = entry->next;
	entry->waiting = 0;
}

void wake_up(struct wait_queue_head *queue)
{
	for (struct wait_queue *entry = queue->first; entry; entry = entry->next)
		wake(entry->thread);
}

void init_SEMAPHORE(struct semaphore *sem, int count)
{
	*sem = (struct semaphore){.count = count};
}

int trydown(struct semaphore *sem)
{
	return sem->count > 0 ? sem->count-- : 0;
}

void down(struct semaphore *sem)
{
	wait_event(sem->wait, sem->count > 0);
	sem->count--;
}

void up(struct semaphore *sem)
{
	sem->count++;
	wake_up(&sem->wait);
}
