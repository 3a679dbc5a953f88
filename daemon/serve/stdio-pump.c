/*
 * Pass bytes between standard input and output and a socket.
 *
 * libmicrohttpd serves sockets only, and standard input and output may be pipes. A process of its own
 * may block on a slow pipe, where the server must not.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stdio-pump.h"
#include "write-all.h"

/* Pass what can be read from FROM to TO. Return false if FROM has ended, or TO takes nothing. */
static bool pass(int from, int to)
{
	char data[65536];
	ssize_t n = read(from, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	return n > 0 && write_all(to, data, (size_t)n) == 0;
}

static void pump(int fd)
{
	struct pollfd ready[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	for (;;) {
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			return;
		if (ready[0].fd >= 0 && ready[0].revents && !pass(STDIN_FILENO, fd)) {
			ready[0].fd = -1;
			shutdown(fd, SHUT_WR);
		}
		if (ready[1].revents && !pass(fd, STDOUT_FILENO))
			return;
	}
}

int stdio_pump(int *fd, pid_t *child)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*child = fork();
	if (*child < 0) {
		int rc = -errno;

		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	if (*child == 0) {
		signal(SIGPIPE, SIG_IGN);
		close(pair[0]);
		pump(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	*fd = pair[0];
	return 0;
}

void stdio_pump_wait(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
