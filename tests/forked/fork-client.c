/*
 * fork-client ARGUMENT…: run the program FORK_PROGRAM (its path) with these arguments, as a fork of the server at $MPROF_FORK_SERVER.
 *
 * A caller sees no difference: descriptors, environment, directory and umask are the caller's, the exit status or the ending signal is the
 * program's, and signals are passed on. If the client is killed, the server kills the program.
 *
 * If a fork would differ from the program, the client executes the program itself: without a server, on a terminal,
 * with further descriptors, or with surroundings that are not those of the server (limits, users, namespaces, a tracer,
 * LD_PRELOAD…). With $MPROF_FORK_ONLY it ends with 125 instead.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "array.h"
#include "cleanup.h"
#include "fork-request.h"

static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};

/* The process that runs the program, for the handler of signals. */
static volatile pid_t running;

static void pass(int number)
{
	int saved = errno; /* NOLINT(bugprone-signal-handler,cert-sig30-c) */

	kill(running, number);
	errno = saved;
}

/* Keep the signals that are passed on until there is somebody to pass them to: else one would end the client and leave the program. */
static void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		sigaddset(&held, passed[i]);
	sigprocmask(SIG_BLOCK, &held, before);
}

/* Return whether this process has the descriptors 0, 1 and 2 alone, and no terminal. */
static bool plain_descriptors(void)
{
	DIR *directory;
	struct dirent *entry;
	bool plain = true;

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 || isatty(fd))
			return false;
	directory = opendir("/proc/self/fd");
	if (!directory)
		return false;
	while (plain && (entry = readdir(directory)))
		plain = entry->d_name[0] == '.' || atoi(entry->d_name) <= 2 || atoi(entry->d_name) == dirfd(directory);
	closedir(directory);
	return plain;
}

/* Return the signals that this process ignores: a shell lets its background processes ignore SIGINT and SIGQUIT. */
static uint32_t ignored_signals(void)
{
	uint32_t ignored = 0;

	for (int i = 1; i < 32; i++) {
		struct sigaction action;

		if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored |= 1u << i;
	}
	return ignored;
}

static int connect_to(const char *path)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : TAKE_FD(fd);
}

/* Send the request with its descriptors. DIRECTORY is the working directory. */
static bool send_request(int fd, const struct fork_request *r, int directory)
{
	const int fds[FORK_FDS] = {0, 1, 2, directory};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {0};
	struct iovec data = {.iov_base = (void *)r, .iov_len = sizeof(*r)};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*r);
}

static bool send_texts(int fd, const char *at, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, at, n, MSG_NOSIGNAL);

		if (r <= 0)
			return false;
		at += r;
		n -= (size_t)r;
	}
	return true;
}

/* Read a number of the server, also over signals. */
static bool receive(int fd, int32_t *number)
{
	ssize_t r;

	do
		r = recv(fd, number, sizeof(*number), MSG_WAITALL);
	while (r < 0 && errno == EINTR);
	return r == (ssize_t)sizeof(*number);
}

/* Ask the server at FD to run the program. Return whether it does; from then on signals are held. BEFORE gets those blocked before. */
static bool ask(int fd, int argc, char **argv, sigset_t *before)
{
	CLEANUP(closep) int directory = open(".", O_PATH | O_CLOEXEC);
	CLEANUP(freep) char *texts = NULL;
	struct fork_request r = {.argc = (uint32_t)argc, .ignored = ignored_signals()};
	size_t size = 0;
	FILE *f = open_memstream(&texts, &size);
	int32_t answer = -1;
	mode_t mask;
	bool known;

	if (directory < 0 || !f)
		return false;
	known = surroundings_print(f);
	fputc(0, f);
	for (int i = 0; i < argc; i++)
		fwrite(i ? argv[i] : FORK_PROGRAM, 1, strlen(i ? argv[i] : FORK_PROGRAM) + 1, f);
	for (; environ[r.envc]; r.envc++)
		fwrite(environ[r.envc], 1, strlen(environ[r.envc]) + 1, f);
	if (fclose(f) != 0 || !known || size > FORK_SIZE_MAX)
		return false;
	mask = umask(0);
	umask(mask);
	r.umask = mask;
	r.size = (uint32_t)size;
	hold_signals(before);
	if (!send_request(fd, &r, directory) || !send_texts(fd, texts, size) || !receive(fd, &answer) || answer <= 0) {
		sigprocmask(SIG_SETMASK, before, NULL);
		return false;
	}
	running = answer;
	return true;
}

/* End as the program ended. */
static int end_like(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit none = {0};

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *path = getenv("MPROF_FORK_SERVER");
	int fd = path && argc > 0 && plain_descriptors() ? connect_to(path) : -1;
	sigset_t before;

	if (fd >= 0 && ask(fd, argc, argv, &before)) {
		int32_t status;

		for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
			if (signal(passed[i], pass) == SIG_IGN)
				signal(passed[i], SIG_IGN);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (receive(fd, &status))
			return end_like(status);
		fprintf(stderr, "%s: the fork server ended before the program\n", argv[0]);
		return 125;
	}
	if (getenv("MPROF_FORK_ONLY")) {
		fprintf(stderr, "%s: no fork of the server.\n", argv[0]);
		return 125;
	}
	argv[0] = (char *)FORK_PROGRAM;
	execv(FORK_PROGRAM, argv);
	fprintf(stderr, "%s: %s\n", FORK_PROGRAM, strerror(errno));
	return 127;
}
