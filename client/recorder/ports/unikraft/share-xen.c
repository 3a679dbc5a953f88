/*
 * Share the ring with domain 0, as schema/xenstore.md says: grant its pages read-only and write the
 * commit key; withdraw the ring.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uk/alloc.h>
#include <uk/sched.h>
#include <uk/xenbus/xs.h>

#include <common/gnttab.h>
#if defined(__X86_32__) || defined(__x86_64__)
#include "xen-x86/mm.h"
#else
#include "xen-arm/mm.h"
#endif

#include "unikraft-port.h"

#define DOM0		 0
#define REFS_IN_VALUE	 100u	       /* a message to XenStore has at most 1,024 bytes */
#define REF_BYTES	 11u	       /* a number of 32 bits and a comma */
#define UNMAP_NS	 1200000000ull /* the collector unmaps a withdrawn ring within a second */
#define UNMAP_ATTEMPTS	 20u
#define UNMAP_ATTEMPT_NS 200000000ull
#define KEY_REFS	 "data/mprof/ring-ref"
#define KEY_DIRECTORY	 "data/mprof/directory-ref"

static int put_refs(struct port *p)
{
	static char text[REFS_IN_VALUE * REF_BYTES + 1];
	size_t n = 0;

	for (uint32_t i = 0; i < p->pages; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "", (unsigned int)p->refs[i]);
	p->key = KEY_REFS;
	return xs_write(XBT_NIL, KEY_REFS, NULL, text);
}

static int put_directory(struct port *p)
{
	char text[REF_BYTES + 1];

	p->directory = uk_memalign(uk_alloc_get_default(), PORT_PAGE, PORT_PAGE);
	if (!p->directory)
		return -ENOMEM;
	memset(p->directory, 0, PORT_PAGE);
	memcpy(p->directory, p->refs, p->pages * sizeof(*p->refs));
	p->directory_ref = gnttab_grant_access(DOM0, virt_to_mfn(p->directory), 1);
	snprintf(text, sizeof(text), "%u", (unsigned int)p->directory_ref);
	p->key = KEY_DIRECTORY;
	return xs_write(XBT_NIL, KEY_DIRECTORY, NULL, text);
}

int port_publish(struct port *p)
{
	int r;

	for (uint32_t i = 0; i < p->pages; i++)
		p->refs[i] = gnttab_grant_access(DOM0, virt_to_mfn(p->ring + (size_t)i * PORT_PAGE), 1);
	p->granted = true;
	r = p->pages > REFS_IN_VALUE ? put_directory(p) : put_refs(p);
	if (r)
		p->key = NULL;
	return r;
}

void port_unpublish(struct port *p)
{
	if (p->key)
		xs_rm(XBT_NIL, p->key);
	p->key = NULL;
}

bool port_unmapped(struct port *p)
{
	if (!p->granted)
		return true;
	uk_sched_thread_sleep(UNMAP_NS);
	for (unsigned int i = 0; !gnttab_end_access(p->refs[0]); i++) {
		if (i + 1 == UNMAP_ATTEMPTS)
			return false;
		uk_sched_thread_sleep(UNMAP_ATTEMPT_NS);
	}
	for (uint32_t i = 1; i < p->pages; i++)
		if (!gnttab_end_access(p->refs[i]))
			return false;
	if (p->directory && !gnttab_end_access(p->directory_ref))
		return false;
	uk_free(uk_alloc_get_default(), p->directory);
	p->directory = NULL;
	p->granted = false;
	return true;
}
