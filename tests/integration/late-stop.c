/*
 * Preloaded into mprof-run: for $LATE_STOP_MS milliseconds from the first question whether a thread has stopped, say that it has not, as
 * one that gets no processor. waitpid() is the C library's for all else. While the file $LOOK_HELD exists, mprof-run stays between its looks:
 * a byte in the file says so.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
pid_t waitpid(pid_t pid, int *status, int options)
{
	static uint64_t began;
	const char *late = getenv("LATE_STOP_MS");
	pid_t (*real)(pid_t, int *, int) = (pid_t(*)(pid_t, int *, int))dlsym(RTLD_NEXT, "waitpid");

	if (options & __WALL && late) {
		began = began ? began : milliseconds();
		if (milliseconds() - began < strtoull(late, NULL, 10))
			return 0;
	}
	return real(pid, status, options);
}

/* mprof-run sleeps for less while a thread is stopped. */
#define BETWEEN_LOOKS_NS 1000000

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	const char *held = getenv("LOOK_HELD");
	int (*real)(const struct timespec *, struct timespec *) =
		(int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
	int file = held && time->tv_nsec >= BETWEEN_LOOKS_NS ? open(held, O_WRONLY | O_CLOEXEC) : -1;

	if (file >= 0) {
		(void)!write(file, "x", 1);
		close(file);
		while (access(held, F_OK) == 0)
			real(time, NULL);
	}
	return real(time, left);
}
