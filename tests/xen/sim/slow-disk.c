/*
 * A slow disk for tests: while the simulation's file slow-disk exists, each write of a database
 * page and each flush takes as many milliseconds longer as the file says. The functions here are
 * linked into the program, so the program and SQLite use them instead of the C library's.
 */
#undef _FILE_OFFSET_BITS /* pwrite and pwrite64 are two functions here */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

static void wait_as_told(void)
{
	char path[512];
	long ms = 0;
	FILE *f;

	sim_path(path, sizeof(path), "slow-disk");
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%ld", &ms) == 1)
		nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
	fclose(f);
}

int fdatasync(int fd)
{
	wait_as_told();
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	wait_as_told();
	return (int)syscall(SYS_fsync, fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
	wait_as_told();
	return syscall(SYS_pwrite64, fd, bytes, n, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset)
{
	wait_as_told();
	return syscall(SYS_pwrite64, fd, bytes, n, offset);
}
