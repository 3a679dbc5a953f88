#include "remote-memory.h"

#include <sys/uio.h>

#define PAGE  4096u
#define PARTS 64u

uint64_t remote_copy(pid_t pid, uint64_t address, void *bytes, uint64_t n)
{
	struct iovec local = {.iov_base = bytes, .iov_len = n}, remote[PARTS];
	uint64_t at = address, left = n;
	unsigned long parts = 0;
	ssize_t got;

	/* The kernel copies whole parts, up to the first one that is not there. */
	for (; left && parts < PARTS; parts++) {
		uint64_t room = PAGE - at % PAGE;

		room = room < left ? room : left;
		remote[parts] = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = room};
		at += room;
		left -= room;
	}
	got = process_vm_readv(pid, &local, 1, remote, parts, 0);
	return got > 0 ? (uint64_t)got : 0;
}
