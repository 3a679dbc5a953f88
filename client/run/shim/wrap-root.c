/*
 * Another root, another network: the shim's library, or the keeper's socket, may be out of reach from there.
 *
 * The dynamic linker writes a line of error for each program that it executes without a library of LD_PRELOAD. So a root without
 * the shim's library takes the library out of this process's environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"
#include "real.h"
#include "root.h"
#include "shim.h"

#define PRELOAD "LD_PRELOAD"
#define LIBRARY "/libmprof-run.so"

/* Tell the keeper KIND. The caller keeps errno. */
static void tell(enum run_note_kind kind)
{
	struct self *s = self_enter();

	if (!s)
		return;
	note(now(), kind, s->tid, 0, 0, NULL);
	self_leave(s);
}

/* Return the shim's path within VALUE, paths with colons or spaces between them, and store its length. Return NULL if it is not there. */
static char *library_find(char *value, size_t *n)
{
	for (; *value; value += *n) {
		value += strspn(value, ": ");
		*n = strcspn(value, ": ");
		if (*n >= sizeof(LIBRARY) - 1 &&
		    strncmp(value + *n - (sizeof(LIBRARY) - 1), LIBRARY, sizeof(LIBRARY) - 1) == 0)
			return value;
	}
	return NULL;
}

static bool file_exists(const char *path, size_t n)
{
	char text[4096];

	if (n >= sizeof(text))
		return true;
	memcpy(text, path, n);
	text[n] = '\0';
	return KERNEL3(SYS_faccessat, AT_FDCWD, text, R_OK) != -ENOENT;
}

void root_changed(void)
{
	char *value = getenv(PRELOAD), *library;
	size_t n;

	/* A child of vfork() has its parent's environment. In a sandbox nobody can be asked. */
	library = value && !shim_self.vforked ? library_find(value, &n) : NULL;
	if (!library || file_exists(library, n))
		return;
	while (library[n] == ':' || library[n] == ' ')
		n++;
	memmove(library, library + n, strlen(library + n) + 1);
	if (!*value)
		unsetenv(PRELOAD);
	tell(RUN_NOTE_ROOT);
}

WRAPPER int chroot(const char *path)
{
	int r = REAL(chroot)(path), error = errno;

	if (r == 0)
		root_changed();
	errno = error;
	return r;
}

/* The process is about to enter another network: make the ring for the threads to come. */
static void network_leaves(void)
{
	struct self *s = self_enter();

	if (!s)
		return;
	ring_prepare();
	self_leave(s);
}

static int network_changed(int r)
{
	if (r == 0 && !shim_self.vforked && !keeper_is_near())
		tell(RUN_NOTE_NETWORK);
	return r;
}

WRAPPER int unshare(int flags)
{
	if (!(flags & CLONE_NEWNET))
		return REAL(unshare)(flags);
	network_leaves();
	return network_changed(REAL(unshare)(flags));
}

WRAPPER int setns(int fd, int type)
{
	if (type && !(type & CLONE_NEWNET))
		return REAL(setns)(fd, type);
	network_leaves();
	return network_changed(REAL(setns)(fd, type));
}
