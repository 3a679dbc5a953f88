/* Event channels, grants and pages of the stand-in. Domain 0 is slow to unmap: a grant cannot be ended at the first attempts. */
#include "stand-in.h"

#include <mini-os/events.h>
#include <mini-os/gnttab.h>
#include <mini-os/mm.h>

#include <stdio.h>
#include <stdlib.h>

#define CHANNELS   64
#define GRANTS	   2048
#define FIRST_REF  8u
#define STILL_USED 2 /* attempts to end a grant that fail */

static struct {
	evtchn_handler_t handler;
	void *data;
} channels[CHANNELS];

static struct {
	unsigned long frame;
	bool used;
} grants[GRANTS];
static unsigned n_channels = 1, n_grants, attempts;

evtchn_port_t console_evtchn, xenbus_evtchn;

int do_event(evtchn_port_t port, struct pt_regs *regs)
{
	channels[port].handler(port, regs, channels[port].data);
	return 1;
}

int evtchn_alloc_unbound(domid_t remote, evtchn_handler_t handler, void *data, evtchn_port_t *port)
{
	if (n_channels == CHANNELS)
		return -1;
	channels[n_channels].handler = handler;
	channels[n_channels].data = data;
	*port = n_channels++;
	return 0;
}

evtchn_port_t bind_virq(uint32_t virq, evtchn_handler_t handler, void *data)
{
	evtchn_port_t port = 0;

	return evtchn_alloc_unbound(0, handler, data, &port) ? 0 : port;
}

void unmask_evtchn(uint32_t port)
{
}

void unbind_evtchn(evtchn_port_t port)
{
	channels[port].handler = NULL;
}

int notify_remote_via_evtchn(evtchn_port_t port)
{
	return 0;
}

grant_ref_t gnttab_grant_access(domid_t domid, unsigned long frame, int readonly)
{
	if (domid || !readonly || n_grants == GRANTS)
		abort();
	grants[n_grants].frame = frame;
	grants[n_grants].used = true;
	return FIRST_REF + n_grants++;
}

int gnttab_end_access(grant_ref_t ref)
{
	if (ref < FIRST_REF || ref >= FIRST_REF + n_grants || !grants[ref - FIRST_REF].used)
		abort();
	if (attempts++ < STILL_USED)
		return 0;
	machine_save();
	grants[ref - FIRST_REF].used = false;
	return 1;
}

bool devices_frame(uint32_t ref, unsigned long *frame)
{
	if (ref < FIRST_REF || ref >= FIRST_REF + n_grants || !grants[ref - FIRST_REF].used)
		return false;
	*frame = grants[ref - FIRST_REF].frame;
	return true;
}

unsigned devices_grants(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_grants; i++)
		n += grants[i].used;
	return n;
}

unsigned long alloc_pages(int order)
{
	return (unsigned long)aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);
}

void free_pages(void *pages, int order)
{
	for (unsigned i = 0; i < n_grants; i++)
		if (grants[i].used && grants[i].frame - virt_to_mfn(pages) < 1ul << order)
			abort(); /* domain 0 may still read it */
	free(pages);
}

static void tick(evtchn_port_t port, struct pt_regs *regs, void *data)
{
}

void devices_init(void)
{
	console_evtchn = bind_virq(1, tick, NULL);
	bind_virq(VIRQ_TIMER, tick, NULL);
}
