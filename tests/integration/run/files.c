/* Each wait for a file descriptor, and each sleep, once for real. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "target.h"

ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t n, size_t size, int flags,
		       struct sockaddr *restrict address, socklen_t *restrict length);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size);

static int pair[2]; /* a stream socket: the program waits on the first, the other thread uses the second */
static char buffer[1 << 16];

static void feed(void *nothing)
{
	(void)nothing;
	CHECK(write(pair[1], "x", 1) == 1);
}

/* Make EXPRESSION, which reads one byte, wait for that byte. */
#define READS(expression)                     \
	do {                                  \
		wake_when_asleep(feed, NULL); \
		CHECK((expression) == 1);     \
		woken();                      \
	} while (0)

static void reads(void)
{
	struct iovec iov = {.iov_base = buffer, .iov_len = 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};

	READS(read(pair[0], buffer, 1));
	READS(__read_chk(pair[0], buffer, 1, sizeof(buffer)));
	READS(readv(pair[0], &iov, 1));
	READS(recv(pair[0], buffer, 1, 0));
	READS(__recv_chk(pair[0], buffer, 1, sizeof(buffer), 0));
	READS(recvfrom(pair[0], buffer, 1, 0, NULL, NULL));
	READS(__recvfrom_chk(pair[0], buffer, 1, sizeof(buffer), 0, NULL, NULL));
	READS(recvmsg(pair[0], &message, 0));
	READS(recvmmsg(pair[0], &messages, 1, 0, NULL));
}

static void *drained;

/* Read all that is there, and go on until the writer is no longer blocked. */
static void drain(void *nothing)
{
	(void)nothing;
	while (recv(pair[1], buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
	}
}

/* Fill the socket, then make EXPRESSION wait for room. */
#define WRITES(expression)                                                        \
	do {                                                                      \
		while (send(pair[0], buffer, sizeof(buffer), MSG_DONTWAIT) > 0) { \
		}                                                                 \
		wake_when_asleep(drain, &drained);                                \
		CHECK((expression) > 0);                                          \
		woken();                                                          \
		drain(NULL);                                                      \
	} while (0)

static void writes(void)
{
	struct iovec iov = {.iov_base = buffer, .iov_len = sizeof(buffer)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};

	WRITES(write(pair[0], buffer, sizeof(buffer)));
	WRITES(writev(pair[0], &iov, 1));
	WRITES(send(pair[0], buffer, sizeof(buffer), 0));
	WRITES(sendto(pair[0], buffer, sizeof(buffer), 0, NULL, 0));
	WRITES(sendmsg(pair[0], &message, 0));
	WRITES(sendmmsg(pair[0], &messages, 1, 0));
}

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0run-target"};
static socklen_t address_length;
static int listening;

static void dial(void *nothing)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)nothing;
	CHECK(connect(fd, (const struct sockaddr *)&address, address_length) == 0);
	close(fd);
}

static void accepts(void)
{
	int fd;

	address_length = (socklen_t)(sizeof(sa_family_t) + 1 +
				     (size_t)snprintf(address.sun_path + 1, 64, "run-target-%d", (int)getpid()));
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(listening, (const struct sockaddr *)&address, address_length) == 0);
	CHECK(listen(listening, 1) == 0);
	wake_when_asleep(dial, NULL);
	fd = accept(listening, NULL, NULL);
	CHECK(fd >= 0);
	close(fd);
	woken();
	wake_when_asleep(dial, NULL);
	fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
	CHECK(fd >= 0);
	/* Not blocking: no wait, and no event. */
	CHECK(read(fd, buffer, 1) <= 0);
	close(fd);
	woken();
	close(listening);
}

static void polls(void)
{
	struct pollfd one = {.fd = pair[0], .events = POLLIN};
	struct timespec ms = {.tv_nsec = 1000000};
	struct timeval us = {.tv_usec = 1000};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event) == 0);
	CHECK(poll(&one, 1, 0) == 0); /* no wait */
	CHECK(poll(&one, 1, 1) == 0);
	CHECK(__poll_chk(&one, 1, 1, sizeof(one)) == 0);
	CHECK(ppoll(&one, 1, &ms, NULL) == 0);
	CHECK(__ppoll_chk(&one, 1, &ms, NULL, sizeof(one)) == 0);
	CHECK(select(pair[0] + 1, &set, NULL, NULL, &us) == 0);
	CHECK(pselect(pair[0] + 1, &set, NULL, NULL, &ms, NULL) == 0);
	CHECK(epoll_wait(epoll, &event, 1, 1) == 0);
	CHECK(epoll_pwait(epoll, &event, 1, 1, NULL) == 0);
	CHECK(epoll_pwait2(epoll, &event, 1, &ms, NULL) == 0);
	wake_when_asleep(feed, NULL);
	CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
	woken();
	CHECK(read(pair[0], buffer, 1) == 1);
	close(epoll);
}

/* Calls on descriptors that cannot wait: none of them may be an event. */
static void no_waits(void)
{
	int null = open("/dev/null", O_RDWR), file = open("/proc/self/exe", O_RDONLY);

	CHECK(write(null, "x", 1) == 1);
	CHECK(read(null, buffer, 1) == 0);
	CHECK(read(file, buffer, 1) == 1);
	CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	CHECK(read(pair[0], buffer, 1) < 0 && errno == EAGAIN);
	CHECK(fcntl(pair[0], F_SETFL, 0) == 0);
	close(null);
	close(file);
}

int program_calls_files(void)
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	no_waits();
	reads();
	writes();
	accepts();
	polls();
	return 0;
}

static void on_signal(int number)
{
	(void)number;
}

static pthread_t sleeper;

static void interrupt(void *nothing)
{
	(void)nothing;
	CHECK(pthread_kill(sleeper, SIGUSR1) == 0);
}

static void signals(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	sigset_t usr, none;
	int number;

	sleeper = pthread_self();
	sigemptyset(&none);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	wake_when_asleep(interrupt, NULL);
	CHECK(pause() < 0 && errno == EINTR);
	woken();
	wake_when_asleep(interrupt, NULL);
	CHECK(sleep(100) > 0);
	woken();
	pthread_sigmask(SIG_BLOCK, &usr, NULL);
	wake_when_asleep(interrupt, NULL);
	CHECK(sigwait(&usr, &number) == 0 && number == SIGUSR1);
	woken();
	wake_when_asleep(interrupt, NULL);
	CHECK(sigwaitinfo(&usr, NULL) == SIGUSR1);
	woken();
	wake_when_asleep(interrupt, NULL);
	CHECK(sigsuspend(&none) < 0 && errno == EINTR);
	woken();
	CHECK(sigtimedwait(&usr, NULL, &ms) < 0 && errno == EAGAIN);
}

/* Return the pid of a child that sleeps and ends. */
static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(1000);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

static void children(void)
{
	struct rusage usage;
	siginfo_t info;
	int status;
	pid_t pid = child();

	CHECK(wait(&status) == pid);
	pid = child();
	CHECK(waitpid(pid, &status, 0) == pid);
	pid = child();
	CHECK(wait3(&status, 0, &usage) == pid);
	pid = child();
	CHECK(wait4(pid, &status, 0, &usage) == pid);
	pid = child();
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0);
}

int program_calls_sleeps(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	struct sigaction action = {.sa_handler = on_signal};

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(usleep(1000) == 0);
	CHECK(nanosleep(&ms, NULL) == 0);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) == 0);
	CHECK(thrd_sleep(&ms, NULL) == 0);
	signals();
	children();
	return 0;
}
