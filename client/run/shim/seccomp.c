#include "seccomp.h"

#include <fcntl.h>
#include <stdlib.h>

#include "kernel.h"
#include "seccomp-level.h"
#include "shim.h"

bool seccomp_on = true;

/*
 * Return the level of this process. Until now it may be in a sandbox, so only those system calls are made that the dynamic linker
 * has just made to load the shim.
 */
static int64_t level(void)
{
	char text[8192];
	long fd = kernel_call(SYS_openat, AT_FDCWD, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, 0, 0, 0), n,
	     at = 0;

	if (fd < 0)
		return SECCOMP_LEVEL_UNKNOWN;
	while (at < (long)sizeof(text) - 1 &&
	       (n = kernel_call(SYS_read, fd, (long)text + at, (long)sizeof(text) - 1 - at, 0, 0, 0)) > 0)
		at += n;
	kernel_call(SYS_close, fd, 0, 0, 0, 0, 0);
	text[at] = '\0';
	return seccomp_level(text);
}

/* Priority 102: behind that which finds the C library's functions, before all that make system calls. */
__attribute__((constructor(102))) static void find_out(void)
{
	const char *before = getenv(RUN_SECCOMP_ENV);

	/* A process that nobody records needs no answer. */
	if (before)
		__atomic_store_n(&seccomp_on, level() > strtoll(before, NULL, 10), __ATOMIC_RELAXED);
}

/* Make the ring for the threads to come. Return the time, or 0 if nothing is recorded. */
static uint64_t prepare(void)
{
	struct self *s = self_enter();
	uint64_t time;

	if (!s)
		return 0;
	ring_prepare();
	time = now();
	self_leave(s);
	return time;
}

struct seccomp_entry seccomp_enters(bool strict)
{
	struct seccomp_entry e = {.strict = strict};

	/* A child of vfork() uses its parent's memory. */
	if (seccomp_is_on() || shim_self.vforked)
		return e;
	e.entered = true;
	e.time = prepare();
	__atomic_store_n(&seccomp_on, true, __ATOMIC_RELAXED);
	return e;
}

void seccomp_entered(const struct seccomp_entry *e, long r)
{
	struct self *s;

	if (!e->entered)
		return;
	if (r < 0) {
		__atomic_store_n(&seccomp_on, false, __ATOMIC_RELAXED);
		return;
	}
	now_may_call_nobody(e->strict);
	s = &shim_self;
	if (e->time)
		note(e->time, RUN_NOTE_SECCOMP, s->tid, 0, 0, NULL);
}
