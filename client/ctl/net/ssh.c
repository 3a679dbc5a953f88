/*
 * This file runs ssh.
 *
 * libcurl connects to a Unix socket of this process, and ssh gets the other end. The socket has a name
 * in the file system only between two calls of the system. (libcurl could take a connected socket from
 * CURLOPT_OPENSOCKETFUNCTION, but version 7.88 connects it once more, and fails. It does not use a
 * connection to a socket without such a name a second time.)
 *
 * ssh gets a socket as its standard input and output, and mprofctl's standard error, so that a person
 * sees its messages. It asks for passwords on the terminal itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "ssh.h"

#define END_MS 5000 /* how long ssh_complain() waits for the end of ssh */

/* Return the program to run: ssh, or MPROFCTL_SSH. */
static const char *program(void)
{
	const char *name = getenv("MPROFCTL_SSH");

	return name && *name ? name : "ssh";
}

/* Start ssh to H with the socket FD as its standard input and output. Return 0 or an errno. */
static int start(pid_t *pid, const struct host *h, int fd)
{
	/* The user's ssh_config may ask for forwardings and another command; none is wanted here. */
	const char *argv[16] = {program(), "-T", "-a", "-x", "-oClearAllForwardings=yes", "-oRemoteCommand=none"};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	size_t n = 6;
	int r;

	if (h->unattended)
		argv[n++] = "-oBatchMode=yes";
	argv[n++] = "--";
	argv[n++] = h->ssh;
	argv[n++] = "mprofctl";
	argv[n++] = "--stdio-proxy";
	argv[n++] = h->socket;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	r = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	r = r ? r : posix_spawnattr_setsigmask(&attributes, &none);
	r = r ? r : posix_spawnattr_setsigdefault(&attributes, &all);
	r = r ? r : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = r ? r : posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

bool ssh_choose_path(struct ssh *s)
{
	const char *directory = getenv("TMPDIR");
	uint64_t number;

	if (s->path[0])
		return true;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return false;
	if (!directory || directory[0] != '/' || strlen(directory) > sizeof(s->path) - 40)
		directory = "/tmp";
	snprintf(s->path, sizeof(s->path), "%s/mprofctl.%016" PRIx64, directory, number);
	return true;
}

/* Remove the listener. */
static void forget(struct ssh *s)
{
	if (s->listener >= 0)
		unlink(s->path);
	closep(&s->listener);
}

int ssh_expect(struct ssh *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	forget(s);
	memcpy(address.sun_path, s->path, sizeof(s->path));
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener >= 0 && bind(s->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(s->listener, 1) == 0)
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->error = errno;
	closep(&s->listener);
	return -1;
}

/* End the ssh, and wait for it. */
static void stop(struct ssh *s)
{
	if (!s->pid)
		return;
	kill(s->pid, SIGTERM);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}

void ssh_accept(struct ssh *s, const struct host *h)
{
	CLEANUP(closep) int fd = s->listener < 0 ? -1 : accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	/* For a moment the listener has a name, but only this process may use it. */
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid != getpid())
		return;
	forget(s);
	stop(s);
	s->error = start(&s->pid, h, fd);
	if (s->error)
		s->pid = 0;
}

void ssh_close(struct ssh *s)
{
	stop(s);
	forget(s);
}

/* Wait at most END_MS for the end of ssh. Return its exit code, or -1. */
static int exit_code(struct ssh *s)
{
	CLEANUP(closep) int fd = pidfd_open(s->pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int status;

	if (poll(&end, 1, END_MS) != 1 || waitpid(s->pid, &status, WNOHANG) != s->pid)
		return -1;
	s->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int ssh_complain(struct ssh *s, const struct host *h)
{
	if (s->error == ENOENT)
		say("%s: there is no program %s: install openssh-client, or name another ssh in MPROFCTL_SSH", h->label,
		    program());
	else if (s->error)
		say("%s: cannot start %s: %s", h->label, program(), strerror(s->error));
	switch (s->pid ? exit_code(s) : s->error ? 0 : -1) {
	case 0:
		if (!s->error)
			say("%s: the connection ended before an answer came; is mprofd-http running there?", h->label);
		break;
	case CTL_USAGE:
		say("%s: the mprofctl there does not know --stdio-proxy: install this version", h->label);
		break;
	case CTL_UNREACHABLE:
		say("%s: mprofctl on that host cannot reach mprofd-http; its message is above", h->label);
		break;
	case 127:
		say("%s: there is no mprofctl on that host: install it there, in the PATH that ssh's commands get",
		    h->label);
		break;
	case 255:
		say("%s: ssh cannot log in to %s; its message is above; try `ssh %s`", h->label, h->ssh, h->ssh);
		break;
	default:
		say("%s: the connection over ssh broke before an answer came; try `ssh %s`", h->label, h->ssh);
		break;
	}
	return CTL_UNREACHABLE;
}
