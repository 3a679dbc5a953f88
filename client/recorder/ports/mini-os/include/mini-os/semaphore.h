/*
 * Mini-OS's semaphores, recorded. This header stands before Mini-OS's own <mini-os/semaphore.h> in
 * the path of the guest's own code; the structure and its use are the same.
 */
#ifndef MPROF_MINI_OS_SEMAPHORE_H
#define MPROF_MINI_OS_SEMAPHORE_H

#include_next <mini-os/semaphore.h>

#include <mini-os/wait.h>

#ifndef MPROF_MINI_OS_PLAIN /* the port itself calls Mini-OS's own functions */

#define init_SEMAPHORE(sem, count) mprof_mini_os_init_semaphore((sem), (count), #sem)
#define down(sem)		   mprof_mini_os_down((sem), #sem)
#define trydown(sem)		   mprof_mini_os_trydown((sem), #sem)
#define up(sem)			   mprof_mini_os_up((sem), #sem)

#endif

#endif
