/*
 * Mini-OS's event channels, recorded. This header stands before Mini-OS's own <mini-os/events.h> in
 * the path of the guest's own code. The other functions are recorded by the linker's option --wrap.
 */
#ifndef MPROF_MINI_OS_EVENTS_H
#define MPROF_MINI_OS_EVENTS_H

#include_next <mini-os/events.h>

#include <mprof-mini-os.h>

#ifndef MPROF_MINI_OS_PLAIN /* the port itself calls Mini-OS's own functions */

#define notify_remote_via_evtchn(port) mprof_mini_os_notify(port)

#endif

#endif
