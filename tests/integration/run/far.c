/*
 * Programs that hang in waits whose other end no event shows. A process that is stopped and goes on ends some waits early: a part is
 * sent, or the error is EINTR.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static int ends[2];

/* Send more than the other end takes without reading. */
static void *sender(void *end)
{
	static const char bytes[1 << 20];
	int fd = *(int *)end;

	for (int i = 0; i < 64; i++)
		CHECK(send(fd, bytes, sizeof(bytes), 0) > 0);
	return NULL;
}

/* Both ends send first. */
int program_sockets(void)
{
	pthread_t thread;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(pthread_create(&thread, NULL, sender, &ends[0]) == 0);
	sender(&ends[1]);
	return 0;
}

static void *receiver(void *byte)
{
	CHECK(read(ends[0], byte, 1) == 1);
	return NULL;
}

/* Two threads read one pipe. When a byte comes on the standard input, one of them gets it. */
int program_two_readers(void)
{
	static char bytes[3];
	pthread_t threads[2];

	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, receiver, &bytes[i]) == 0);
	CHECK(read(0, &bytes[2], 1) == 1 && write(ends[1], &bytes[2], 1) == 1);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	return 0;
}

/* A child has the other end of a connection, and waits for its parent, too. */
int program_connection(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	CHECK(listening >= 0 && bind(listening, (struct sockaddr *)&address, n) == 0 && listen(listening, 1) == 0);
	CHECK(getsockname(listening, (struct sockaddr *)&address, &n) == 0);
	if (fork() == 0) {
		ends[0] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(ends[0], (struct sockaddr *)&address, n) == 0);
		CHECK(recv(ends[0], &byte, 1, 0) == 1);
		_exit(0);
	}
	ends[1] = accept(listening, NULL, NULL);
	CHECK(ends[1] >= 0 && recv(ends[1], &byte, 1, 0) == 1);
	return 0;
}

/* Nobody writes to what epoll watches. */
int program_watches(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int watcher = epoll_create1(0);

	CHECK(pipe(ends) == 0 && epoll_ctl(watcher, EPOLL_CTL_ADD, ends[0], &event) == 0);
	while (epoll_wait(watcher, &event, 1, -1) != 1)
		CHECK(errno == EINTR);
	return 0;
}

/* A child writes into a full pipe, and its parent, which would read that later, waits for the child's end. */
int program_child_writes(void)
{
	static const char bytes[1 << 20];
	pid_t child;

	CHECK(pipe(ends) == 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		for (size_t left = sizeof(bytes); left > 0;) {
			ssize_t n = write(ends[1], bytes, left);

			CHECK(n > 0);
			left -= (size_t)n;
		}
		_exit(0);
	}
	close(ends[1]);
	CHECK(waitpid(child, NULL, 0) == child);
	return 0;
}
