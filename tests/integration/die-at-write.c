/*
 * A library for LD_PRELOAD that kills the process at write number DIE_AT_WRITE to the archive's
 * files. No byte of this write is stored; at every second number, the first half is stored.
 *
 * The first write is number 1. A write is a call of pwrite64 or ftruncate64 for a regular file;
 * SQLite uses these two.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned writes;

static int is_last(int fd)
{
	const char *at = getenv("DIE_AT_WRITE");
	struct stat st;

	return at && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ++writes == (unsigned)atoi(at);
}

/* The C library's header uses other names for the parameters. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	ssize_t (*real)(int, const void *, size_t, off64_t) =
		(ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");

	if (is_last(fd)) {
		if (writes % 2 == 0 && real(fd, data, len / 2, at) < 0)
			raise(SIGKILL);
		raise(SIGKILL);
	}
	return real(fd, data, len, at);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int ftruncate64(int fd, off64_t len)
{
	int (*real)(int, off64_t) = (int (*)(int, off64_t))dlsym(RTLD_NEXT, "ftruncate64");

	if (is_last(fd))
		raise(SIGKILL);
	return real(fd, len);
}
