/*
 * fork-server SOCKET: run mprofctl for many clients without its start.
 *
 * A start of a program with AddressSanitizer costs some 35 ms: libraries are loaded and relocated, the sanitizer registers all global
 * variables, and at the end the search for leaks reads the memory of all libraries. This server starts once. For each connection it
 * forks, and the child calls the program's main() with what the client sent (fork-request.h). A finding of a sanitizer, also of a leak,
 * is the child's exit status, as in the program.
 *
 * The server itself never runs the program after its warm-up, so that no call sees what another one left. It ends by SIGTERM, or with its
 * parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "array.h"
#include "cleanup.h"
#include "fork-request.h"

#define CALLS_MAX 256

int program_main(int argc, char **argv);

/* AddressSanitizer's. Debian 12's gcc installs no header that declares it. */
size_t __sanitizer_get_current_allocated_bytes(void);

/* The calls that run: a process, and the connection of its client. */
struct call {
	pid_t pid;
	int fd; /* -1 after the client was lost */
};

struct server {
	int listener, signals;
	char *surroundings;
	struct call calls[CALLS_MAX];
	size_t n;
};

static void die(const char *what)
{
	fprintf(stderr, "fork-server: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool send_number(int fd, int32_t number)
{
	return send(fd, &number, sizeof(number), MSG_NOSIGNAL) == (ssize_t)sizeof(number);
}

/* ---- in the child */

/* Receive a request and its descriptors. */
static bool receive_request(int fd, struct fork_request *r, int fds[FORK_FDS])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(FORK_FDS * sizeof(int))];
	struct iovec data = {.iov_base = r, .iov_len = sizeof(*r)};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;

	if (recvmsg(fd, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*r))
		return false;
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(FORK_FDS * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(c), FORK_FDS * sizeof(int));
	return r->size > 0 && r->size <= FORK_SIZE_MAX;
}

/* Tell the client at FD that no program runs, before a number that it would take for a process, and end. */
static _Noreturn void refuse(int fd)
{
	send_number(fd, -1);
	_exit(126);
}

/* Return a list of the N texts at *AT, which ends with NULL, and move *AT behind them. The caller frees it. FD is the client's. */
static char **take_texts(int fd, char **at, const char *end, size_t n)
{
	char **list = calloc(n + 1, sizeof(*list));

	for (size_t i = 0; list && i < n; i++) {
		if (*at >= end)
			refuse(fd);
		list[i] = *at;
		*at += strlen(*at) + 1;
	}
	return list;
}

/*
 * End the process with CODE as exit() does. The search for leaks takes longer than most calls. It is left out if as many bytes are
 * allocated as BEFORE the call: then all of its memory was freed.
 */
static _Noreturn void end(size_t before, int code)
{
	fclose(stdin);
	fclose(stdout);
	if (__sanitizer_get_current_allocated_bytes() == before)
		_exit(code);
	exit(code);
}

/* For the test of this server: lose $MPROF_FORK_LOSE bytes, or with -1 read a byte that was freed. */
static __attribute__((noinline)) void lose(void)
{
	const char *value = getenv("MPROF_FORK_LOSE");
	int n = value ? atoi(value) : 0;
	char *volatile lost = n ? malloc((size_t)abs(n)) : NULL;

	if (!lost)
		return;
	*(volatile char *)lost = 0;
	if (n < 0) {
		free(lost);
		*(volatile char *)lost;
	}
	lost = NULL;
}

/* Read the request of the client at FD, and become the program. */
static _Noreturn void run(const struct server *s, int fd)
{
	CLEANUP(freep) char *texts = NULL;
	CLEANUP(freep) char **arguments = NULL, **environment = NULL;
	struct fork_request r;
	int fds[FORK_FDS];
	size_t before;
	int code;
	char *at;

	if (!receive_request(fd, &r, fds))
		refuse(fd);
	texts = calloc(1, r.size + 1);
	if (!texts || recv(fd, texts, r.size, MSG_WAITALL) != (ssize_t)r.size)
		refuse(fd);
	if (strcmp(texts, s->surroundings) != 0)
		refuse(fd);
	at = texts + strlen(texts) + 1;
	arguments = take_texts(fd, &at, texts + r.size, r.argc);
	environment = take_texts(fd, &at, texts + r.size, r.envc);
	if (!arguments || !environment || fchdir(fds[3]) < 0)
		refuse(fd);
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			refuse(fd);
	umask(r.umask);
	for (int i = 1; i < 32; i++)
		if (r.ignored & 1u << i)
			signal(i, SIG_IGN);
	environ = environment;
	program_invocation_name = arguments[0];
	if (!send_number(fd, getpid()))
		_exit(126);
	/* Leave the descriptors 0, 1 and 2, as exec would. */
	close_range(3, ~0u, 0);
	before = __sanitizer_get_current_allocated_bytes();
	code = program_main((int)r.argc, arguments);
	lose();
	end(before, code);
}

/* ---- the server */

/* Take a connection, and fork. */
static void call_begin(struct server *s)
{
	CLEANUP(closep) int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	sigset_t none;
	pid_t pid;

	if (fd < 0 || s->n == CALLS_MAX)
		return;
	pid = fork();
	if (pid < 0)
		return; /* the client executes the program */
	if (pid == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		run(s, fd);
	}
	s->calls[s->n++] = (struct call){.pid = pid, .fd = TAKE_FD(fd)};
}

/* Tell the clients of all processes that ended. */
static void calls_end(struct server *s)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(s->signals, &info, sizeof(info)) > 0)
		if (info.ssi_signo == SIGTERM) {
			for (size_t i = 0; i < s->n; i++)
				kill(s->calls[i].pid, SIGKILL);
			exit(0);
		}
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < s->n; i++)
			if (s->calls[i].pid == pid) {
				if (s->calls[i].fd >= 0)
					send_number(s->calls[i].fd, status);
				closep(&s->calls[i].fd);
				s->calls[i] = s->calls[--s->n];
				break;
			}
}

/* Wait for connections, for ends of processes, and for clients that were killed. */
static void serve(struct server *s)
{
	for (;;) {
		struct pollfd polled[CALLS_MAX + 2] = {{.fd = s->listener, .events = POLLIN},
						       {.fd = s->signals, .events = POLLIN}};
		size_t n = s->n;

		for (size_t i = 0; i < n; i++)
			polled[i + 2].fd = s->calls[i].fd;
		if (poll(polled, n + 2, -1) < 0 && errno != EINTR)
			die("poll");
		for (size_t i = 0; i < n; i++)
			if (polled[i + 2].revents) {
				kill(s->calls[i].pid, SIGKILL);
				closep(&s->calls[i].fd);
			}
		if (polled[1].revents)
			calls_end(s);
		if (polled[0].revents)
			call_begin(s);
	}
}

/* Call the program, so that its libraries are initialized before the forks. These calls fail, and print on standard error alone. */
static void warm_up(void)
{
	char name[] = "mprofctl", stats[] = "stats", domains[] = "domains", host[] = "--host=unix:/nonexistent",
	     file[] = "/nonexistent.ctf";
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = fcntl(2, F_DUPFD_CLOEXEC, 3);

	if (null < 0 || kept < 0 || dup2(null, 2) < 0)
		die("/dev/null");
	program_main(3, (char *[]){name, stats, file, NULL});
	program_main(3, (char *[]){name, host, domains, NULL});
	dup2(kept, 2);
	close(kept);
	close(null);
}

/* The build defines main as the name of the program's main(). */
#undef main
int main(int argc, char **argv)
{
	struct server s = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = 0;
	sigset_t wanted;
	FILE *f;

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path)) {
		fprintf(stderr, "Usage: fork-server SOCKET\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	sigemptyset(&wanted);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	f = open_memstream(&s.surroundings, &size);
	if (!f || !surroundings_print(f) || fclose(f) != 0)
		die("/proc");
	warm_up();
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_SETMASK, &wanted, NULL);
	s.signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
	s.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, argv[1]);
	unlink(argv[1]);
	if (s.signals < 0 || s.listener < 0 || bind(s.listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(s.listener, 128) < 0)
		die(argv[1]);
	serve(&s);
}
