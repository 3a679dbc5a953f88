/*
 * Large arrays.
 *
 * Why: an array on the heap that grows is copied or moved from time to time, needs both places while it is, and leaves idle what it
 * grew by too much.  Addresses cost nothing, so that an array can have all that it may ever need from the start, and memory for them
 * as it goes.  That memory is asked for in pieces: page by page, at the first touch of each, it takes half as long again.
 *
 * Not in large pages: where they are to be had they are faster still, but a virtual machine that gives what it does not need back to
 * its host (free page reporting) pays for each of them anew, several times what was won.
 *
 * WebAssembly has one memory that only grows, and 32 bits of addresses cannot be promised: there the heap does it.
 */
#include "large.h"

#include <stdint.h>

#if defined(__linux__) && SIZE_MAX > UINT32_MAX

#include <sys/mman.h>

#define PIECE ((size_t)1 << 20)

static size_t round_up(size_t bytes)
{
	return (bytes + PIECE - 1) / PIECE * PIECE;
}

void *large_reserve(void)
{
	void *p = mmap(NULL, LARGE_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool more(char *from, size_t bytes)
{
	if (mprotect(from, bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
#ifdef MADV_POPULATE_WRITE
	madvise(from, bytes, MADV_POPULATE_WRITE); /* a system that does not know it gives memory at the first touch */
#endif
	return true;
}

/* Mapped anew rather than protected: the memory goes back, and so does what the system counts as promised. */
static bool less(char *from, size_t bytes)
{
	return mmap(from, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	       MAP_FAILED;
}

size_t large_resize(void *p, size_t held, size_t bytes)
{
	size_t wanted = round_up(bytes);

	if (wanted < bytes || wanted > LARGE_MAX)
		return held;
	if (wanted > held && !more((char *)p + held, wanted - held))
		return held;
	if (wanted < held && !less((char *)p + wanted, held - wanted))
		return held;
	return wanted;
}

void large_release(void *p)
{
	munmap(p, LARGE_MAX);
}

#else

void *large_reserve(void)
{
	return NULL;
}

size_t large_resize(void *p, size_t held, size_t bytes)
{
	(void)p;
	(void)bytes;
	return held;
}

void large_release(void *p)
{
	(void)p;
}

#endif
