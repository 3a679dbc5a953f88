/*
 * A library for LD_PRELOAD: while the file $FAIL_FLAG exists, writes to files whose names end with -wal fail with the errno
 * that is the file's content. SQLite writes with pwrite64.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return the errno with which a write to FD is to fail, or 0. */
static int error_of(int fd)
{
	const char *flag = getenv("FAIL_FLAG");
	char link[64], name[4096];
	FILE *f = flag ? fopen(flag, "re") : NULL;
	int error = 0;
	ssize_t n;

	if (!f)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name));
	if (n < 4 || memcmp(name + n - 4, "-wal", 4) != 0 || fscanf(f, "%d", &error) != 1)
		error = 0;
	fclose(f);
	return error;
}

/* The C library's header uses other names for the parameters. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	ssize_t (*real)(int, const void *, size_t, off64_t) =
		(ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	int error = error_of(fd);

	if (!error)
		return real(fd, data, len, at);
	errno = error;
	return -1;
}
