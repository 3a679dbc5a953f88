/*
 * Reads, writes and waits for descriptors.
 *
 * Only calls that can wait are recorded (descriptor.h): none in non-blocking mode, and none with a
 * time-out of 0. The functions whose names end in _chk are those that programs with
 * _FORTIFY_SOURCE call.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptor.h"
#include "real.h"
#include "shim.h"

ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t n, size_t size, int flags,
		       struct sockaddr *restrict address, socklen_t *restrict length);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size);
int fcntl64(int fd, int command, ...);

static const char *failure(long result)
{
	if (result >= 0)
		return NULL;
	return errno == EINTR ? "interrupted by a signal" : errno == EAGAIN ? "timed out" : "failed";
}

/*
 * Make the call EXPRESSION, which writes to FD. Those that wait for what it writes get to know who woke them, also if the
 * call itself never waits.
 */
#define WRITES(call, fd, can_wait, expression)                                        \
	({                                                                            \
		descriptor_wakes(fd);                                                 \
		__typeof__(expression) written_ = IO(call, fd, can_wait, expression); \
		if (written_ < 0)                                                     \
			descriptor_wakes_nobody(fd);                                  \
		written_;                                                             \
	})

/* Make the call EXPRESSION on FD, and record the wait if it can wait. */
#define IO(call, fd, can_wait, expression)                                                    \
	((can_wait) && descriptor_waits(fd)                                                   \
		 ? WAITING(call, RUN_ID_FD(fd), Stream, 0, expression, failure((long)result)) \
		 : (expression))

WRAPPER ssize_t read(int fd, void *buffer, size_t n)
{
	return IO(read, fd, true, REAL(read)(fd, buffer, n));
}

WRAPPER ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size)
{
	return IO(read, fd, true, REAL(__read_chk)(fd, buffer, n, size));
}

WRAPPER ssize_t readv(int fd, const struct iovec *iov, int n)
{
	return IO(readv, fd, true, REAL(readv)(fd, iov, n));
}

WRAPPER ssize_t write(int fd, const void *buffer, size_t n)
{
	return WRITES(write, fd, true, REAL(write)(fd, buffer, n));
}

WRAPPER ssize_t writev(int fd, const struct iovec *iov, int n)
{
	return WRITES(writev, fd, true, REAL(writev)(fd, iov, n));
}

WRAPPER ssize_t recv(int fd, void *buffer, size_t n, int flags)
{
	return IO(recv, fd, !(flags & MSG_DONTWAIT), REAL(recv)(fd, buffer, n, flags));
}

WRAPPER ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t size, int flags)
{
	return IO(recv, fd, !(flags & MSG_DONTWAIT), REAL(__recv_chk)(fd, buffer, n, size, flags));
}

WRAPPER ssize_t recvfrom(int fd, void *restrict buffer, size_t n, int flags, struct sockaddr *restrict address,
			 socklen_t *restrict length)
{
	return IO(recvfrom, fd, !(flags & MSG_DONTWAIT), REAL(recvfrom)(fd, buffer, n, flags, address, length));
}

WRAPPER ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t n, size_t size, int flags,
			       struct sockaddr *restrict address, socklen_t *restrict length)
{
	return IO(recvfrom, fd, !(flags & MSG_DONTWAIT),
		  REAL(__recvfrom_chk)(fd, buffer, n, size, flags, address, length));
}

/* Forget what is known of the descriptors that MESSAGE has brought. */
static void received(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		const int *fds = (const int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++)
			descriptor_changed(fds[i]);
	}
}

WRAPPER ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t r = IO(recvmsg, fd, !(flags & MSG_DONTWAIT), REAL(recvmsg)(fd, message, flags));

	if (r >= 0)
		received(message);
	return r;
}

WRAPPER int recvmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags, struct timespec *timeout)
{
	int r = IO(recvmmsg, fd, !(flags & MSG_DONTWAIT), REAL(recvmmsg)(fd, messages, n, flags, timeout));

	for (int i = 0; i < r; i++)
		received(&messages[i].msg_hdr);
	return r;
}

WRAPPER ssize_t send(int fd, const void *buffer, size_t n, int flags)
{
	return WRITES(send, fd, !(flags & MSG_DONTWAIT), REAL(send)(fd, buffer, n, flags));
}

WRAPPER ssize_t sendto(int fd, const void *buffer, size_t n, int flags, const struct sockaddr *address,
		       socklen_t length)
{
	return WRITES(sendto, fd, !(flags & MSG_DONTWAIT), REAL(sendto)(fd, buffer, n, flags, address, length));
}

WRAPPER ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return WRITES(sendmsg, fd, !(flags & MSG_DONTWAIT), REAL(sendmsg)(fd, message, flags));
}

WRAPPER int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	return WRITES(sendmmsg, fd, !(flags & MSG_DONTWAIT), REAL(sendmmsg)(fd, messages, n, flags));
}

WRAPPER int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	int r = IO(accept, fd, true, REAL(accept)(fd, address, length));

	descriptor_changed(r);
	return r;
}

WRAPPER int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	int r = IO(accept4, fd, true, REAL(accept4)(fd, address, length, flags));

	descriptor_is_new(r, !(flags & SOCK_NONBLOCK));
	return r;
}

WRAPPER int eventfd_read(int fd, eventfd_t *value)
{
	return IO(eventfd_read, fd, true, REAL(eventfd_read)(fd, value));
}

WRAPPER int eventfd_write(int fd, eventfd_t value)
{
	return WRITES(eventfd_write, fd, true, REAL(eventfd_write)(fd, value));
}

WRAPPER int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	return IO(connect, fd, true, REAL(connect)(fd, address, length));
}

/* ---- waits for several descriptors ---- */

/* Return the number that stands for FD, which has the name of the file that it is now. */
static int64_t named(int fd)
{
	(void)descriptor_waits(fd);
	return RUN_ID_FD(fd);
}

/* Return the number that stands for what poll() waits for. */
static int64_t polled(const struct pollfd *fds, nfds_t n)
{
	return n == 1 && fds->fd >= 0 ? named(fds->fd) : 0;
}

static bool is_zero(const struct timespec *timeout)
{
	return timeout && !timeout->tv_sec && !timeout->tv_nsec;
}

#define POLL(call, no_wait, on, expression) \
	((no_wait) ? (expression) : WAITING(call, on, Stream, 0, expression, failure(result)))

WRAPPER int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return POLL(poll, !timeout, polled(fds, n), REAL(poll)(fds, n, timeout));
}

WRAPPER int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	return POLL(poll, !timeout, polled(fds, n), REAL(__poll_chk)(fds, n, timeout, size));
}

WRAPPER int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	return POLL(ppoll, is_zero(timeout), polled(fds, n), REAL(ppoll)(fds, n, timeout, mask));
}

WRAPPER int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size)
{
	return POLL(ppoll, is_zero(timeout), polled(fds, n), REAL(__ppoll_chk)(fds, n, timeout, mask, size));
}

WRAPPER int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict error,
		   struct timeval *restrict timeout)
{
	return POLL(select, timeout && !timeout->tv_sec && !timeout->tv_usec, 0,
		    REAL(select)(n, in, out, error, timeout));
}

WRAPPER int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict error,
		    const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
	return POLL(pselect, is_zero(timeout), 0, REAL(pselect)(n, in, out, error, timeout, mask));
}

WRAPPER int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	return POLL(epoll_wait, !timeout, named(fd), REAL(epoll_wait)(fd, events, n, timeout));
}

WRAPPER int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask)
{
	return POLL(epoll_pwait, !timeout, named(fd), REAL(epoll_pwait)(fd, events, n, timeout, mask));
}

WRAPPER int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
			 const sigset_t *mask)
{
	return POLL(epoll_pwait2, is_zero(timeout), named(fd), REAL(epoll_pwait2)(fd, events, n, timeout, mask));
}

/* ---- calls that change the mode of a descriptor ---- */

/* The third argument of fcntl() and ioctl() is a number, a pointer or absent: pass it on as it is. */
#define CONTROL(name, type)                                  \
	WRAPPER int name(int fd, type command, ...)          \
	{                                                    \
		va_list list;                                \
		void *argument;                              \
		int r;                                       \
                                                             \
		va_start(list, command);                     \
		argument = va_arg(list, void *);             \
		va_end(list);                                \
		r = REAL(name)(fd, command, argument);       \
		if (changes_mode((unsigned long)command))    \
			descriptor_mode_changed(fd);         \
		else if (makes_copy((unsigned long)command)) \
			descriptor_copies(fd, r);            \
		return r;                                    \
	}

static bool changes_mode(unsigned long command)
{
	return command == F_SETFL || command == FIONBIO;
}

/* No command of ioctl() has these numbers. */
static bool makes_copy(unsigned long command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

CONTROL(fcntl, int)
CONTROL(fcntl64, int)
CONTROL(ioctl, unsigned long)
