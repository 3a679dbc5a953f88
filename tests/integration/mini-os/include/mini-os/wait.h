/* Wait queues. */
#ifndef MINI_OS_WAIT_H
#define MINI_OS_WAIT_H

#include <mini-os/sched.h>

struct wait_queue {
	struct thread *thread;
	struct wait_queue *next;
	int waiting;
};

struct wait_queue_head {
	struct wait_queue *first;
};

#define DECLARE_WAIT_QUEUE_HEAD(name) struct wait_queue_head name = {NULL}

void init_waitqueue_entry(struct wait_queue *entry, struct thread *thread);
void add_wait_queue(struct wait_queue_head *queue, struct wait_queue *entry);
void remove_wait_queue(struct wait_queue_head *queue, struct wait_queue *entry);
void wake_up(struct wait_queue_head *queue);

#define add_waiter(entry, queue)    (add_wait_queue(&(queue), &(entry)), block(get_current()))
#define remove_waiter(entry, queue) (wake(get_current()), remove_wait_queue(&(queue), &(entry)))

#define wait_event_deadline(queue, condition, deadline)                         \
	do {                                                                    \
		struct wait_queue waiter;                                       \
                                                                                \
		init_waitqueue_entry(&waiter, get_current());                   \
		while (!(condition)) {                                          \
			add_waiter(waiter, queue);                              \
			get_current()->wakeup_time = (deadline);                \
			if ((condition) || ((deadline) && NOW() >= (deadline))) \
				break;                                          \
			schedule();                                             \
		}                                                               \
		remove_waiter(waiter, queue);                                   \
	} while (0)
#define wait_event(queue, condition) wait_event_deadline(queue, condition, 0)

#endif
