/* Event channels. */
#ifndef MINI_OS_EVENTS_H
#define MINI_OS_EVENTS_H

#include <mini-os/os.h>

typedef void (*evtchn_handler_t)(evtchn_port_t port, struct pt_regs *regs, void *data);

extern evtchn_port_t console_evtchn, xenbus_evtchn;

int do_event(evtchn_port_t port, struct pt_regs *regs);
evtchn_port_t bind_virq(uint32_t virq, evtchn_handler_t handler, void *data);
int evtchn_alloc_unbound(domid_t remote, evtchn_handler_t handler, void *data, evtchn_port_t *port);
void unmask_evtchn(uint32_t port);
void unbind_evtchn(evtchn_port_t port);
int notify_remote_via_evtchn(evtchn_port_t port);

#endif
