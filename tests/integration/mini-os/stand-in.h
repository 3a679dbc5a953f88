/*
 * A stand-in for Mini-OS: one process, with threads of its own, a XenStore, and a clock that runs only when something happens. It is
 * the interface in `include` with as little behind it as the port's calls need.
 *
 * A call inside the file that defines a function is not replaced by the linker's --wrap. So the functions that call each other in
 * Mini-OS from different files do that here, too.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdbool.h>
#include <stdint.h>

#include <mini-os/os.h>

/* sched.c: let the threads run. */
void sched_run(void) __attribute__((noreturn));

/* machine.c: raise an event, which is delivered when no thread runs. */
void machine_raise(evtchn_port_t port);

/* Map the ring that PATH publishes with VALUE, as domain 0 does, and write it to the file of the command line, once. */
void machine_map(const char *path, const char *value);
void machine_save(void);

/* Save the ring, print WHY and what the guest left, and end the process. */
void machine_end(const char *why) __attribute__((noreturn));

/* devices.c */
bool devices_frame(uint32_t ref, unsigned long *frame); /* the frame of a grant */
unsigned devices_grants(void);				/* the number of grants that have not ended */
void devices_init(void);

/* store.c: the value of PATH, or NULL. */
const char *store_get(const char *path);
void store_set(const char *path, const char *value); /* NULL removes it */
/* Change PATH as domain 0 does: its watches fire. */
void store_change(const char *path, const char *value);
void store_init(void);

/* The guest. It may lack app_shutdown(). */
int app_main(void *unused);
void app_shutdown(unsigned reason) __attribute__((weak));

#endif
