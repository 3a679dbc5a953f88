/* The build has no Xen: --xen says so. */
#include "xen-guest.h"

#include <errno.h>
#include <stdio.h>

bool guest_check(uint64_t ring_bytes, char *text, size_t size)
{
	(void)ring_bytes;
	snprintf(text, size, "this mprof-run was built without Xen's libraries");
	return false;
}

uint64_t guest_ring_bytes(uint64_t bytes)
{
	return bytes;
}

struct guest *guest_open(uint64_t ring_bytes)
{
	(void)ring_bytes;
	return NULL;
}

struct guest_process *guest_process_new(struct guest *g, const char *name, uint64_t keeper_bytes, uint32_t *own,
					uint32_t *shared)
{
	(void)g;
	(void)name;
	(void)keeper_bytes;
	(void)own;
	(void)shared;
	return NULL;
}

int guest_ring_write(struct guest_process *p, const char *ring, uint64_t bytes, void **memory)
{
	(void)p;
	(void)ring;
	(void)bytes;
	(void)memory;
	return -ENOSYS;
}

int guest_ring_give(struct guest_process *p, const char *ring)
{
	(void)p;
	(void)ring;
	return -ENOSYS;
}

void guest_ring_drop(struct guest_process *p)
{
	(void)p;
}

void guest_process_step(struct guest_process *p, uint64_t time)
{
	(void)p;
	(void)time;
}

bool guest_process_end(struct guest_process *p, uint64_t time)
{
	(void)p;
	(void)time;
	return true;
}
