/* Map the memory of the stream vcpu. */
#include "vcpu-area.h"

#include <stddef.h>
#include <sys/mman.h>

struct vcpu_area *vcpu_area_new(void)
{
	void *memory = mmap(NULL, sizeof(struct vcpu_area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

struct vcpu_area *vcpu_area_free(struct vcpu_area *area)
{
	if (area)
		munmap(area, sizeof(*area));
	return NULL;
}
