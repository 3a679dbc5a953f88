/*
 * This file passes bytes between standard input and output and a Unix socket.
 *
 * A second thread passes standard input on, so neither direction waits for the other. Standard input
 * and output stay in blocking mode, because other processes may share them.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "output-writer.h"
#include "stdio-proxy.h"

#define DEFAULT_SOCKET "/run/mprofd/http.sock"
#define PIECE	       (64u << 10)

/* Read up to PIECE bytes. Return their number, 0 at the end, or -1. */
static ssize_t take(int fd, unsigned char *buf)
{
	ssize_t n;

	do
		n = read(fd, buf, PIECE);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Pass standard input to the socket *CONTEXT, up to its end. */
static void *pass_input(void *context)
{
	const int *fd = context;
	unsigned char buf[PIECE];
	ssize_t n;

	while ((n = take(STDIN_FILENO, buf)) > 0 && write_all(*fd, buf, (size_t)n) == 0)
		;
	shutdown(*fd, SHUT_WR);
	return NULL;
}

/* Pass the bytes of the socket FD to standard output, until one of them ends. Return 0 or -errno. */
static int pass_output(int fd)
{
	unsigned char buf[PIECE];
	ssize_t n;
	int r;

	for (;;) {
		/* No event is asked of standard output, but its end is reported in any case. */
		struct pollfd ends[] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};

		if (poll(ends, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (ends[1].revents)
			return 0;
		if (!ends[0].revents)
			continue;
		n = take(fd, buf);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		r = write_all(STDOUT_FILENO, buf, (size_t)n);
		if (r)
			return r == -EPIPE ? 0 : r;
	}
}

static int connect_to(const char *path)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);

	if (len >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, len);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int stdio_proxy(const char *path)
{
	CLEANUP(closep) int fd = connect_to(path ? path : DEFAULT_SOCKET);
	pthread_t input;
	int r;

	if (fd < 0) {
		say("cannot reach mprofd-http at %s: %s%s", path ? path : DEFAULT_SOCKET, strerror(-fd),
		    fd == -EACCES ? "; is the user in the group mprofd?" : "; is it running?");
		return CTL_UNREACHABLE;
	}
	r = -pthread_create(&input, NULL, pass_input, &fd);
	if (r == 0) {
		pthread_detach(input);
		r = pass_output(fd);
		/* The other thread may wait in a read for ever, and it uses FD of this function. */
		shutdown(fd, SHUT_RDWR);
		_exit(r ? CTL_FAILED : CTL_OK);
	}
	say("cannot pass bytes between standard input and %s: %s", path ? path : DEFAULT_SOCKET, strerror(-r));
	return CTL_FAILED;
}
