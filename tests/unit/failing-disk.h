/*
 * A disk that fails: the program's own pwrite64() and fdatasync() take the place of those that SQLite and the archive
 * would call. One file of a program includes this.
 */
#ifndef UNIT_FAILING_DISK_H
#define UNIT_FAILING_DISK_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	const char *suffix; /* calls for a file whose name ends so fail */
	int error;
} broken_write, broken_sync;

/* If it is set, fdatasync() calls it before each sync. */
static void (*before_sync)(void);

/* Return whether the name of the open file FD ends with SUFFIX. */
static bool ends_with(int fd, const char *suffix)
{
	char link[64], name[256];
	ssize_t n;

	if (!suffix)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n < (ssize_t)strlen(suffix))
		return false;
	name[n] = '\0';
	return strcmp(name + n - strlen(suffix), suffix) == 0;
}

/* The C library's header uses other names for the parameters. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	if (ends_with(fd, broken_write.suffix)) {
		errno = broken_write.error;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, len, at);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int fdatasync(int fd)
{
	if (before_sync)
		before_sync();
	if (ends_with(fd, broken_sync.suffix)) {
		errno = broken_sync.error;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

#endif
