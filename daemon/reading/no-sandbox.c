/* A build without libseccomp cannot lock a process, so it reads no captures. */
#include <errno.h>

#include "sandbox.h"

int sandbox_enter(uint64_t memory, unsigned seconds)
{
	(void)memory;
	(void)seconds;
	return -ENOSYS;
}

bool sandbox_works(void)
{
	return false;
}
