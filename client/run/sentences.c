/*
 * The keeper has no error output of its own: one that it held open would keep the readers of a pipe waiting after the
 * program's end. So it takes that of the first process for each sentence.
 */
#include "sentences.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const texts[] = {
	[FACT_SECCOMP] = "has turned seccomp on: mprof-run makes no system call in it from now on, so its further "
			 "threads share a "
			 "ring, and processes and programs that it starts are not recorded",
	[FACT_ROOT] = "has changed to a root directory without mprof-run's library: programs that are executed there "
		      "are not recorded",
	[FACT_NETWORK] = "has changed to another network namespace, where mprof-run cannot be asked: its further "
			 "threads share a ring, and "
			 "processes and programs that it starts are not recorded",
};

void sentences_begin(struct sentences *s, pid_t pid, int pidfd)
{
	struct stat st;

	*s = (struct sentences){.pid = pid, .pidfd = pidfd};
	if (fstat(2, &st) < 0)
		return;
	s->device = st.st_dev;
	s->inode = st.st_ino;
}

/* Return a descriptor of the first process's error output, or -1. */
static int output_open(const struct sentences *s)
{
	char path[64];
	struct stat st;
	int fd = (int)syscall(SYS_pidfd_getfd, s->pidfd, 2, 0);

	if (fd < 0) {
		/* A file that is opened anew has a position of its own: write at the end. */
		snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)s->pid);
		fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_dev != s->device || st.st_ino != s->inode)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void sentences_say(struct sentences *s, enum fact fact, const char *name, pid_t pid)
{
	struct pollfd room = {.events = POLLOUT};
	char text[512];
	int n;

	if (s->said & (1u << fact))
		return;
	s->said |= 1u << fact;
	room.fd = output_open(s);
	if (room.fd < 0)
		return;
	n = snprintf(text, sizeof(text), "mprof-run: %s (process %d) %s.\n", name, (int)pid, texts[fact]);
	/* A pipe that is ready has room for all of it, so the keeper does not wait. */
	if (n > 0 && n < (int)sizeof(text) && poll(&room, 1, 0) == 1 && (room.revents & POLLOUT))
		(void)!write(room.fd, text, (size_t)n);
	close(room.fd);
}
