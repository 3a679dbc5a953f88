/*
 * Preloaded into mprof-run: for $LATE_STOP_MS milliseconds from the first question whether a thread has stopped, say that it has not, as
 * one that gets no processor, and then send SIGCHLD as the kernel does when it stops. waitpid() is the C library's for all else. While the file $LOOK_HELD exists, mprof-run stays between its looks:
 * a byte in the file says so. With $MADE_OWNER a new directory belongs to that user, as on file systems that give files owners of their own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint64_t began; /* of the first question, milliseconds; 0 = there was none */

/* Return whether no thread has stopped yet. */
static bool is_late(void)
{
	const char *late = getenv("LATE_STOP_MS");

	return late && milliseconds() - began < strtoull(late, NULL, 10);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*real)(pid_t, int *, int) = (pid_t(*)(pid_t, int *, int))dlsym(RTLD_NEXT, "waitpid");

	if (options & __WALL && !began)
		began = milliseconds();
	return options & __WALL && is_late() ? 0 : real(pid, status, options);
}

/* mprof-run sleeps for less while a thread is stopped. */
#define BETWEEN_LOOKS_NS 1000000

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int nanosleep(const struct timespec *time, struct timespec *left)
{
	static bool told;
	const char *held = getenv("LOOK_HELD");
	int (*real)(const struct timespec *, struct timespec *) =
		(int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
	int file = held && time->tv_nsec >= BETWEEN_LOOKS_NS ? open(held, O_WRONLY | O_CLOEXEC) : -1;

	if (getenv("LATE_STOP_MS") && began && !is_late() && !told) {
		told = true;
		raise(SIGCHLD);
	}
	if (file >= 0) {
		(void)!write(file, "x", 1);
		close(file);
		while (access(held, F_OK) == 0)
			real(time, NULL);
	}
	return real(time, left);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int mkdir(const char *path, mode_t mode)
{
	const char *owner = getenv("MADE_OWNER");
	int (*real)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir");
	int r = real(path, mode);

	return r == 0 && owner ? chown(path, (uid_t)strtoul(owner, NULL, 10), (gid_t)-1) : r;
}
