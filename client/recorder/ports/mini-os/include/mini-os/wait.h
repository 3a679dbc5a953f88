/*
 * Mini-OS's wait queues, recorded. This header stands before Mini-OS's own <mini-os/wait.h> in the
 * path of the guest's own code; the structures and their use are the same. Mini-OS itself is
 * compiled with its own header.
 */
#ifndef MPROF_MINI_OS_WAIT_H
#define MPROF_MINI_OS_WAIT_H

#include_next <mini-os/wait.h>

#include <mprof-mini-os.h>

#ifndef MPROF_MINI_OS_PLAIN /* the port itself calls Mini-OS's own functions */

#define wake_up(queue) mprof_mini_os_wake_up((queue), #queue)

#undef add_waiter
#define add_waiter(entry, queue) mprof_mini_os_wait(&(queue), &(entry), 0, #queue)

#undef remove_waiter
#define remove_waiter(entry, queue) mprof_mini_os_wait_end(&(queue), &(entry))

#undef wait_event_deadline
#define wait_event_deadline(queue, condition, deadline)                                          \
	do {                                                                                     \
		struct wait_queue mprof_entry;                                                   \
                                                                                                 \
		if (condition)                                                                   \
			break;                                                                   \
		init_waitqueue_entry(&mprof_entry, get_current());                               \
		for (;;) {                                                                       \
			mprof_mini_os_wait(&(queue), &mprof_entry, (int64_t)(deadline), #queue); \
			if ((condition) || ((deadline) && NOW() >= (deadline)))                  \
				break;                                                           \
			schedule();                                                              \
		}                                                                                \
		mprof_mini_os_wait_end(&(queue), &mprof_entry);                                  \
	} while (0)

#endif

#endif
