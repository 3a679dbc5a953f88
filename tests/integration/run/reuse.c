/*
 * Numbers of descriptors that are used again. The first file with the number is a regular one, and is read. Then it is
 * closed in the way CLOSES, and the way OPENS makes a descriptor with the same number on which a read waits for ever.
 *
 * run-target reuse CLOSES OPENS prints the number and waits; the process is killed. run-target reuse wakes HOW lets a second thread write
 * to what the first waits for, in non-blocking mode.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

/* ---- ways to close the number FD ---- */

static void by_close(int fd)
{
	CHECK(close(fd) == 0);
}

static void by_fclose(int fd)
{
	CHECK(fclose(fdopen(fd, "r")) == 0);
}

static void by_range(int fd)
{
	CHECK(close_range((unsigned int)fd, (unsigned int)fd, 0) == 0);
}

static void by_syscall(int fd)
{
	CHECK(syscall(SYS_close, fd) == 0);
}

/* ---- ways to make a descriptor: each returns one on which a read waits ---- */

static int by_pipe(void)
{
	static int fds[2];

	CHECK(pipe(fds) == 0);
	return fds[0];
}

static int by_pipe2(void)
{
	static int fds[2];

	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	return fds[0];
}

static int by_socketpair(void)
{
	static int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	return fds[0];
}

static int by_eventfd(void)
{
	return eventfd(0, 0);
}

static int by_timerfd(void)
{
	const struct itimerspec late = {.it_value = {.tv_sec = 100000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	CHECK(timerfd_settime(fd, 0, &late, NULL) == 0);
	return fd;
}

static int by_signalfd(void)
{
	sigset_t none;

	sigemptyset(&none);
	return signalfd(-1, &none, 0);
}

static int by_inotify(void)
{
	return inotify_init();
}

static int high_pipe(void)
{
	static int fds[2];

	CHECK(pipe(fds) == 0 && dup2(fds[0], 70) == 70 && dup2(fds[1], 71) == 71);
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
	return 70;
}

static int by_dup(void)
{
	return dup(high_pipe());
}

static int by_fcntl(void)
{
	return fcntl(high_pipe(), F_DUPFD, 3);
}

static int by_open(void)
{
	CHECK(mkfifo("fifo", 0600) == 0);
	return open("fifo", O_RDWR);
}

static int by_terminal(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	/* Without its other side a read fails. */
	CHECK(grantpt(fd) == 0 && unlockpt(fd) == 0 && open(ptsname(fd), O_RDWR | O_NOCTTY) >= 0);
	return fd;
}

/* The descriptor comes with a message. */
static int by_message(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	char byte = 'x';
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	int fds[2], fd = high_pipe();

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && dup2(fds[0], 72) == 72 && dup2(fds[1], 73) == 73);
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	CHECK(sendmsg(72, &message, 0) == 1 && recvmsg(73, &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static const struct {
	const char *name;
	void (*run)(int fd);
} closes[] = {{"close", by_close}, {"fclose", by_fclose}, {"close_range", by_range}, {"syscall", by_syscall}};

static const struct {
	const char *name;
	int (*run)(void);
} opens[] = {{"pipe", by_pipe},	      {"pipe2", by_pipe2},	 {"socketpair", by_socketpair},
	     {"eventfd", by_eventfd}, {"timerfd", by_timerfd},	 {"signalfd", by_signalfd},
	     {"inotify", by_inotify}, {"dup", by_dup},		 {"fcntl", by_fcntl},
	     {"open", by_open},	      {"terminal", by_terminal}, {"message", by_message}};

static void reuse(void (*close_way)(int), int (*open_way)(void))
{
	char bytes[256];
	int fd = open("/proc/self/maps", O_RDONLY), again;

	CHECK(read(fd, bytes, 1) == 1);
	close_way(fd);
	again = open_way();
	CHECK(again == fd);
	printf("%d\n", fd);
	fflush(stdout);
	CHECK(read(fd, bytes, sizeof(bytes)) > 0);
}

/* ---- a write in non-blocking mode wakes a thread ---- */

static int to, from, epoll;
static const char *how;

static void write_to(void *nothing)
{
	const eventfd_t one = 1;
	struct iovec iov = {(void *)(uintptr_t)&one, sizeof(one)};

	(void)nothing;
	if (strcmp(how, "eventfd_write") == 0)
		CHECK(eventfd_write(to, 1) == 0);
	else if (strcmp(how, "writev") == 0)
		CHECK(writev(to, &iov, 1) == sizeof(one));
	else if (strcmp(how, "send") == 0)
		CHECK(send(to, &one, sizeof(one), MSG_DONTWAIT) == sizeof(one));
	else
		CHECK(write(to, &one, sizeof(one)) == sizeof(one));
}

/* Close descriptors in a child that has the process's memory. */
static void close_in_child(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		close(from);
		close(to);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void wakes(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct pollfd one = {.events = POLLIN};
	char bytes[8];
	int fds[2];

	if (strcmp(how, "pipe") == 0 || strcmp(how, "writev") == 0)
		CHECK(pipe(fds) == 0);
	else if (strcmp(how, "send") == 0)
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	else
		fds[0] = fds[1] = eventfd(0, 0);
	from = fds[0];
	to = fds[1];
	CHECK(strcmp(how, "pipe") != 0 || fcntl(to, F_SETFL, O_NONBLOCK) == 0);
	CHECK(strcmp(how, "epoll") != 0 || fcntl(to, F_SETFL, O_NONBLOCK) == 0);
	epoll = epoll_create1(0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, from, &event) == 0);
	one.fd = from;
	close_in_child();
	wake_when_asleep(write_to, NULL);
	if (strcmp(how, "epoll") == 0)
		CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
	else if (strcmp(how, "poll") == 0)
		CHECK(poll(&one, 1, -1) == 1);
	else
		CHECK(read(from, bytes, sizeof(bytes)) == sizeof(bytes));
	woken();
}

int program_reuse(const char *closing, const char *opening)
{
	how = opening;
	if (strcmp(closing, "wakes") == 0) {
		wakes();
		return 0;
	}
	for (size_t i = 0; i < sizeof(closes) / sizeof(*closes); i++)
		for (size_t k = 0; k < sizeof(opens) / sizeof(*opens); k++)
			if (strcmp(closes[i].name, closing) == 0 && strcmp(opens[k].name, opening) == 0)
				reuse(closes[i].run, opens[k].run);
	return 2;
}
