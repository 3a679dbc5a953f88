/*
 * Move the clocks of the forwarder forward when a test asks for that. Only builds with the option test-clock
 * have this file.
 */
#include "test-clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "message.h"

/* Take requests from the client FD until it leaves. */
static void serve(int fd)
{
	char in[MESSAGE_BYTES_MAX + 1], out[256];
	struct message_writer w;
	struct message m;
	uint64_t ns;
	size_t len;
	ssize_t n;

	while ((n = recv(fd, in, MESSAGE_BYTES_MAX, 0)) > 0) {
		in[n] = '\0';
		m = (struct message){0};
		if (!message_parse(&m, in, (size_t)n) || strcmp(m.verb, "advance") != 0 ||
		    !message_number(&m, "ns", &ns))
			return;
		atomic_fetch_add(&clock_ahead, ns);
		message_begin(&w, out, sizeof(out), "ok", m.tag);
		len = message_end(&w);
		if (send(fd, w.text, len, MSG_NOSIGNAL) < 0)
			return;
	}
}

static void *run(void *context)
{
	int listener = (int)(intptr_t)context;

	for (;;) {
		CLEANUP(closep) int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve(fd);
	}
	return NULL;
}

int test_clock_start(const char *own)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pthread_t thread;
	int r;

	if (fd < 0)
		return -errno;
	r = snprintf(address.sun_path, sizeof(address.sun_path), "%s/clock.sock", own);
	if (r < 0 || (size_t)r >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		return -errno;
	r = pthread_create(&thread, NULL, run, (void *)(intptr_t)fd);
	if (r != 0)
		return -r;
	pthread_detach(thread);
	(void)TAKE_FD(fd);
	return 0;
}
