/*
 * Share the ring with domain 0, as schema/xenstore.md says: grant its pages read-only, write the
 * keys, the commit key last; withdraw the ring.
 */
#include "mini-os-port.h"

#include <mini-os/gnttab.h>
#include <mini-os/mm.h>
#include <mini-os/xmalloc.h>

#define DOM0		  0
#define REFS_IN_VALUE	  100u	/* a message of Mini-OS to XenStore has at most 1,024 bytes */
#define REF_BYTES	  11u	/* a number of 32 bits and a comma */
#define UNMAP_MS	  1200u /* the collector unmaps a withdrawn ring within a second */
#define UNMAP_ATTEMPTS	  20u
#define UNMAP_ATTEMPT_MS  200u
#define KEY_REFS	  "data/mprof/ring-ref"
#define KEY_DIRECTORY	  "data/mprof/directory-ref"
#define KEY_EVENT_CHANNEL "data/mprof/event-channel"

bool port_ring_allocate(struct port *p, uint32_t pages)
{
	int order = 0;

	while (1u << order < pages)
		order++;
	p->ring = (void *)alloc_pages(order);
	if (!p->ring)
		return false;
	memset(p->ring, 0, PAGE_SIZE << order);
	p->ring_order = order;
	p->pages = pages;
	return true;
}

void port_ring_free(struct port *p)
{
	free_pages(p->ring, p->ring_order);
	p->ring = NULL;
	if (p->directory)
		free_page(p->directory);
	p->directory = NULL;
}

static void ignore_event(evtchn_port_t port, struct pt_regs *regs, void *data)
{
	(void)port;
	(void)regs;
	(void)data;
}

/* Write VALUE to KEY of the guest's own node. Return whether XenStore has it. */
static bool put(const char *key, const char *value)
{
	char *error = xenbus_write(XBT_NIL, key, value);

	if (error) {
		printk("mprof: XenStore refuses %s: %s. The trace is not published.\n", key, error);
		free(error);
	}
	return !error;
}

static bool put_number(const char *key, uint32_t number)
{
	char text[REF_BYTES + 1];

	snprintf(text, sizeof(text), "%u", (unsigned)number);
	return put(key, text);
}

/* Write the references of all pages as one value. */
static bool put_refs(const struct port *p)
{
	static char text[REFS_IN_VALUE * REF_BYTES + 1];
	size_t n = 0;

	for (uint32_t i = 0; i < p->pages; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "", (unsigned)p->refs[i]);
	return put(KEY_REFS, text);
}

/* Write the references of all pages to a page of their own, and grant that. */
static bool put_directory(struct port *p)
{
	p->directory = (uint32_t *)alloc_page();
	if (!p->directory) {
		printk("mprof: no memory for the ring's directory. The trace is not published.\n");
		return false;
	}
	memset(p->directory, 0, PAGE_SIZE);
	memcpy(p->directory, p->refs, p->pages * sizeof(*p->refs));
	p->directory_ref = gnttab_grant_access(DOM0, virt_to_mfn(p->directory), 1);
	return put_number(KEY_DIRECTORY, p->directory_ref);
}

void port_publish(struct port *p)
{
	const char *key = p->pages > REFS_IN_VALUE ? KEY_DIRECTORY : KEY_REFS;
	evtchn_port_t channel;

	for (uint32_t i = 0; i < p->pages; i++)
		p->refs[i] = gnttab_grant_access(DOM0, virt_to_mfn((char *)p->ring + (size_t)i * PAGE_SIZE), 1);
	if (!evtchn_alloc_unbound(DOM0, ignore_event, NULL, &channel)) {
		mprof_mini_os_name_port(channel, "mprof");
		if (put_number(KEY_EVENT_CHANNEL, channel))
			p->channel = channel;
	}
	if (p->pages > REFS_IN_VALUE ? put_directory(p) : put_refs(p))
		p->key = key;
}

/* Wait until domain 0 has unmapped the first page, and end all grants. Return whether it has. */
static bool grants_end(struct port *p)
{
	for (unsigned i = 0; i < UNMAP_ATTEMPTS && !gnttab_end_access(p->refs[0]); i++) {
		if (i + 1 == UNMAP_ATTEMPTS)
			return false;
		msleep(UNMAP_ATTEMPT_MS);
	}
	for (uint32_t i = 1; i < p->pages; i++)
		if (!gnttab_end_access(p->refs[i]))
			return false;
	return !p->directory || gnttab_end_access(p->directory_ref);
}

void port_withdraw(struct port *p)
{
	char *error = p->key ? xenbus_rm(XBT_NIL, p->key) : NULL;
	bool published = p->refs[0];

	if (error) {
		printk("mprof: XenStore does not remove %s: %s.\n", p->key, error);
		free(error);
	}
	p->on = false;
	mprof_recorder_stop(&p->recorder);
	p->key = NULL;
	if (!published) {
		port_ring_free(p);
		return;
	}
	msleep(UNMAP_MS);
	if (p->channel)
		unbind_evtchn(p->channel);
	p->channel = 0;
	if (grants_end(p))
		port_ring_free(p);
}
