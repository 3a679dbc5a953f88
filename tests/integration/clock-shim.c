/*
 * A library for LD_PRELOAD that shifts CLOCK_REALTIME alone, as a wrong clock does. All other clocks stay right.
 *
 * $CLOCK_SHIM names a file with two numbers: seconds that are added, and 1 if the kernel says that the clock is
 * synchronised. The file is read at each call. Without it the clock is right and not synchronised.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

struct shift {
	long long seconds;
	int is_synchronised;
};

/* Only system calls: the program's own functions may be those of a sanitizer. */
static struct shift shift(void)
{
	const char *path = getenv("CLOCK_SHIM");
	struct shift s = {0, 0};
	char text[64];
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1, n;

	if (fd < 0)
		return s;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n > 0) {
		char *end;

		text[n] = '\0';
		s.seconds = strtoll(text, &end, 10);
		s.is_synchronised = (int)strtol(end, NULL, 10);
	}
	return s;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t id, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, id, t);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += shift().seconds;
	return r;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
time_t time(time_t *result)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (result)
		*result = t.tv_sec;
	return t.tv_sec;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int gettimeofday(struct timeval *restrict result, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*result = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
	return 0;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int adjtimex(struct timex *t)
{
	int synchronised = shift().is_synchronised;

	t->status = synchronised ? STA_PLL : STA_UNSYNC;
	return synchronised ? TIME_OK : TIME_ERROR;
}
