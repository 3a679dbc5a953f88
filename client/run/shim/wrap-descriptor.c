/*
 * Functions that close a descriptor or make one: what is known of the number is forgotten.
 *
 * A descriptor that the C library closes inside another function, and one that it makes so, are both forgotten: by the
 * wrapper of that function if there is one, else by that of the function that makes the next descriptor with this number.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "descriptor.h"
#include "real.h"
#include "shim.h"

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

/* EXPRESSION returns a new descriptor; it is in non-blocking mode if FLAGS has NONBLOCK. */
#define NEW(expression, flags, nonblock)                          \
	({                                                        \
		int new_ = (expression);                          \
                                                                  \
		descriptor_is_new(new_, !((flags) & (nonblock))); \
		new_;                                             \
	})

/* ---- files ---- */

#define MODE(mode, flags)                                                \
	mode_t mode = 0;                                                 \
                                                                         \
	if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
		va_list list;                                            \
                                                                         \
		va_start(list, flags);                                   \
		mode = va_arg(list, mode_t);                             \
		va_end(list);                                            \
	}

#define OPEN(name)                                                            \
	WRAPPER int name(const char *path, int flags, ...)                    \
	{                                                                     \
		MODE(mode, flags)                                             \
		return NEW(REAL(name)(path, flags, mode), flags, O_NONBLOCK); \
	}

#define OPENAT(name)                                                               \
	WRAPPER int name(int dir, const char *path, int flags, ...)                \
	{                                                                          \
		MODE(mode, flags)                                                  \
		return NEW(REAL(name)(dir, path, flags, mode), flags, O_NONBLOCK); \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

WRAPPER int __open_2(const char *path, int flags)
{
	return NEW(REAL(__open_2)(path, flags), flags, O_NONBLOCK);
}

WRAPPER int __open64_2(const char *path, int flags)
{
	return NEW(REAL(__open64_2)(path, flags), flags, O_NONBLOCK);
}

WRAPPER int __openat_2(int dir, const char *path, int flags)
{
	return NEW(REAL(__openat_2)(dir, path, flags), flags, O_NONBLOCK);
}

WRAPPER int __openat64_2(int dir, const char *path, int flags)
{
	return NEW(REAL(__openat64_2)(dir, path, flags), flags, O_NONBLOCK);
}

WRAPPER int creat(const char *path, mode_t mode)
{
	return NEW(REAL(creat)(path, mode), 0, 0);
}

WRAPPER int creat64(const char *path, mode_t mode)
{
	return NEW(REAL(creat64)(path, mode), 0, 0);
}

WRAPPER int posix_openpt(int flags)
{
	return NEW(REAL(posix_openpt)(flags), flags, O_NONBLOCK);
}

WRAPPER int memfd_create(const char *name, unsigned int flags)
{
	return NEW(REAL(memfd_create)(name, flags), 0, 0);
}

/* ---- pipes and sockets ---- */

static int pair_is_new(int r, const int *fds, bool blocking)
{
	if (r == 0) {
		descriptor_is_new(fds[0], blocking);
		descriptor_is_new(fds[1], blocking);
		descriptor_links(fds[1], fds[0]);
	}
	return r;
}

WRAPPER int pipe(int fds[2])
{
	return pair_is_new(REAL(pipe)(fds), fds, true);
}

WRAPPER int pipe2(int fds[2], int flags)
{
	return pair_is_new(REAL(pipe2)(fds, flags), fds, !(flags & O_NONBLOCK));
}

WRAPPER int socket(int domain, int type, int protocol)
{
	return NEW(REAL(socket)(domain, type, protocol), type, SOCK_NONBLOCK);
}

WRAPPER int socketpair(int domain, int type, int protocol, int fds[2])
{
	int r = pair_is_new(REAL(socketpair)(domain, type, protocol, fds), fds, !(type & SOCK_NONBLOCK));

	if (r == 0)
		descriptor_links(fds[0], fds[1]);
	return r;
}

WRAPPER int dup(int fd)
{
	int r = REAL(dup)(fd);

	descriptor_copies(fd, r);
	return r;
}

WRAPPER int dup2(int fd, int to)
{
	int r = REAL(dup2)(fd, to);

	descriptor_copies(fd, r);
	return r;
}

WRAPPER int dup3(int fd, int to, int flags)
{
	int r = REAL(dup3)(fd, to, flags);

	descriptor_copies(fd, r);
	return r;
}

/* ---- descriptors of events ---- */

WRAPPER int eventfd(unsigned int count, int flags)
{
	int r = NEW(REAL(eventfd)(count, flags), flags, EFD_NONBLOCK);

	descriptor_links(r, r);
	return r;
}

WRAPPER int timerfd_create(clockid_t clock, int flags)
{
	return NEW(REAL(timerfd_create)(clock, flags), flags, TFD_NONBLOCK);
}

WRAPPER int signalfd(int fd, const sigset_t *mask, int flags)
{
	return NEW(REAL(signalfd)(fd, mask, flags), flags, SFD_NONBLOCK);
}

WRAPPER int inotify_init(void)
{
	return NEW(REAL(inotify_init)(), 0, 0);
}

WRAPPER int inotify_init1(int flags)
{
	return NEW(REAL(inotify_init1)(flags), flags, IN_NONBLOCK);
}

WRAPPER int epoll_create(int size)
{
	return NEW(REAL(epoll_create)(size), 0, 0);
}

WRAPPER int epoll_create1(int flags)
{
	return NEW(REAL(epoll_create1)(flags), 0, 0);
}

WRAPPER int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	int r = REAL(epoll_ctl)(epoll, operation, fd, event);

	if (r == 0)
		descriptor_is_watched(fd, operation == EPOLL_CTL_DEL ? -1 : epoll);
	return r;
}

/* ---- ends ---- */

WRAPPER int close(int fd)
{
	descriptor_changed(fd);
	return REAL(close)(fd);
}

WRAPPER int close_range(unsigned int first, unsigned int last, int flags)
{
	int r = REAL(close_range)(first, last, flags);

	if (r == 0 && !((unsigned int)flags & CLOSE_RANGE_CLOEXEC))
		descriptors_changed(first, last);
	return r;
}

WRAPPER void closefrom(int first)
{
	REAL(closefrom)(first);
	descriptors_changed(first < 0 ? 0 : (unsigned int)first, UINT32_MAX);
}

/* Return the descriptor of STREAM, or -1, and keep errno. */
static int descriptor_of(FILE *stream)
{
	int error = errno, fd = fileno_unlocked(stream);

	errno = error;
	return fd;
}

WRAPPER int fclose(FILE *stream)
{
	descriptor_changed(descriptor_of(stream));
	return REAL(fclose)(stream);
}

WRAPPER int pclose(FILE *stream)
{
	descriptor_changed(descriptor_of(stream));
	return WAITING(pclose, 0, Wait, 0, REAL(pclose)(stream), result < 0 ? "failed" : NULL);
}

WRAPPER int closedir(DIR *dir)
{
	DIR *d = dir;

	/* The header says that it is never NULL, and the C library takes NULL for an error. */
	__asm__("" : "+r"(d));
	if (d)
		descriptor_changed(dirfd(d));
	return REAL(closedir)(d);
}

#define REOPEN(name)                                                                                    \
	WRAPPER FILE *name(const char *restrict path, const char *restrict mode, FILE *restrict stream) \
	{                                                                                               \
		FILE *r;                                                                                \
                                                                                                        \
		descriptor_changed(descriptor_of(stream));                                              \
		r = REAL(name)(path, mode, stream);                                                     \
		if (r)                                                                                  \
			descriptor_changed(descriptor_of(r));                                           \
		return r;                                                                               \
	}

REOPEN(freopen)
REOPEN(freopen64)
