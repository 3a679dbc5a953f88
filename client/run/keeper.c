/*
 * The keeper serves the requests of the shim in the traced processes, records their notes and
 * counters, and notices their ends by pidfds.
 *
 * Nobody waits for the keeper: it is the child of init, has no terminal, and ends when the last
 * process has gone. A process that a signal killed leaves its rings in place; the rings of one
 * that ended by itself are removed after LINGER_NS, in which mprofd copies the last bytes. Rings that
 * are published to Xen are withdrawn in both cases, because a guest has few: mprofd captures them.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/un.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "directory.h"
#include "process.h"
#include "sentences.h"
#include "xen-guest.h"

#define TICK_MS	      100
#define TICK_XEN_MS   50	  /* so late domain 0 is told of a finished packet */
#define LINGER_NS     5000000000u /* a forked child may come within this time, and mprofd copies */
#define HURRY_NS      500000000u  /* the same after SIGTERM */
#define BACKLOG	      128
#define PROCESSES_MAX 1024u

struct keeper {
	const struct keeper_options *options;
	struct guest *guest; /* NULL = the rings lie in a directory */
	int listening;
	struct processes processes;
	struct sentences sentences;
	struct pollfd polled[PROCESSES_MAX + 1];
	uint64_t searched; /* when an other end of a descriptor was last looked for, CLOCK_MONOTONIC ns */
	int wait;	   /* until the next step, ms */
	uint64_t alone;	   /* since when no process is left, CLOCK_MONOTONIC ns; 0 = some are */
};

static volatile sig_atomic_t hurry;

static void on_term(int number)
{
	(void)number;
	hurry = 1;
}

int keeper_listen(char *name, size_t size)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	unsigned long long secret[2];
	int fd;
	size_t n;

	/* The name is a secret: whoever knows it may ask the keeper for rings. */
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -errno;
	snprintf(name, size, "mprof-run-%016llx%016llx", secret[0], secret[1]);
	n = strlen(name);
	memcpy(address.sun_path + 1, name, n);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) <
		    0 ||
	    listen(fd, BACKLOG) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static struct process *process_find(struct keeper *k, pid_t pid)
{
	struct process *p;

	for (p = LIST_FIRST(&k->processes); p; p = LIST_NEXT(p, entry))
		if (p->pid == pid && !p->gone)
			return p;
	return NULL;
}

/* The process PID begins, or has executed another program: return its new record, or NULL. */
static struct process *process_begin(struct keeper *k, pid_t pid)
{
	struct process *p = process_find(k, pid);
	int pidfd;

	if (p && !p->path && !p->xen && !p->runtime)
		return p;
	if (p) {
		process_executes(p, now());
		process_gone(p, now());
	}
	pidfd = pidfd_of(pid);
	return pidfd < 0 ? NULL : process_new(&k->processes, pid, pidfd);
}

/* Send the answer, with FILE unless it is -1. Return whether the shim is still there to take it. */
static bool answer_send(int fd, int file, int error, uint64_t bytes)
{
	struct run_answer answer = {.magic = RUN_MAGIC, .status = (uint32_t)error, .bytes = bytes};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = &answer, .iov_len = sizeof(answer)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (file >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* P has a directory. An earlier program of its process had one of the same name, and does not remove P's. */
static void directory_take(struct keeper *k, const struct process *p)
{
	struct process *q;

	for (q = LIST_FIRST(&k->processes); q; q = LIST_NEXT(q, entry))
		if (q != p && q->path && strcmp(q->path, p->path) == 0) {
			free(q->path);
			q->path = NULL;
		}
}

/* RUNTIME is the path of the file of runtime events, or empty. */
static void answer_process(struct keeper *k, int fd, const struct ucred *peer, const char *runtime)
{
	struct process *p = process_begin(k, peer->pid);
	int r = p ? process_publish(p, k->options, k->guest, *runtime) : -ESRCH;

	if (p && p->path)
		directory_take(k, p);
	/* The program writes the file also if nothing is recorded. */
	if (p && *runtime)
		process_follow(p, peer->uid, runtime, k->options->runtime, k->options->ring_bytes);
	answer_send(fd, r ? -1 : p->control_file, -r, sizeof(struct run_control));
}

/*
 * The descriptor of a ring in Xen is one of a device, by which its owner may grant pages to any domain.
 * So only processes of the keeper's user get it.
 */
static bool may_have_ring(const struct keeper *k, const struct ucred *peer)
{
	return !k->guest || peer->uid == geteuid();
}

static void answer_ring(struct keeper *k, int fd, const struct ucred *peer, uint32_t slot)
{
	struct process *p = process_find(k, peer->pid);
	int file = -ESRCH;

	if (p)
		file = may_have_ring(k, peer) ? process_ring(p, slot, k->options->ring_bytes) : -EACCES;
	if (!answer_send(fd, file, file < 0 ? -file : 0, k->options->ring_bytes) && file >= 0)
		process_ring_refused(p);
	if (file >= 0)
		close(file);
}

/* Accept a connection of a shim and answer its request. */
static void serve(struct keeper *k)
{
	const struct timeval limit = {.tv_sec = 1};
	struct {
		struct run_hello hello;
		char path[RUN_RUNTIME_PATH];
	} got = {0};
	const struct run_hello *hello = &got.hello;
	struct ucred peer;
	socklen_t n = sizeof(peer);
	ssize_t bytes;
	int fd = accept4(k->listening, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	bytes = recv(fd, &got, sizeof(got) - 1, 0); /* the path keeps its NUL */
	if (bytes >= (ssize_t)sizeof(*hello) && hello->magic == RUN_MAGIC &&
	    (size_t)bytes == sizeof(*hello) + hello->path && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
	    peer.pid > 0) {
		if (hello->request == RUN_REQUEST_PROCESS)
			answer_process(k, fd, &peer, got.path);
		else if (hello->request == RUN_REQUEST_RING)
			answer_ring(k, fd, &peer, hello->slot);
	}
	close(fd);
}

/* Return whether the time after the process's end is over. */
static bool is_over(const struct process *p, uint64_t time)
{
	return p->gone && time - p->gone >= (hurry ? HURRY_NS : LINGER_NS);
}

/* Say the facts about P that are new. */
static void facts_say(struct keeper *k, struct process *p)
{
	for (enum fact fact = 0; p->facts && fact < FACTS; fact++)
		if (p->facts & (1u << fact))
			sentences_say(&k->sentences, fact, p->name, p->pid);
	p->facts = 0;
}

/* Let each process take a step, and forget those that went long ago. */
static void step_all(struct keeper *k, uint64_t time)
{
	struct process *p, *next;
	bool left = false;

	k->wait = k->guest ? TICK_XEN_MS : TICK_MS;
	for (p = LIST_FIRST(&k->processes); p; p = next) {
		next = LIST_NEXT(p, entry);
		process_step(p, time, &k->searched);
		facts_say(k, p);
		k->wait = process_wait(p, k->wait);
		left |= !p->gone;
		if (is_over(p, time) && process_withdraw(p, k->options->keep, time))
			process_free(p);
	}
	if (left)
		k->alone = 0;
	else if (!k->alone)
		k->alone = time;
}

/* Wait for a request or the end of a process, at most for a tick. */
static void wait_for_any(struct keeper *k)
{
	struct process *p, *of[PROCESSES_MAX + 1];
	nfds_t n = 1;

	k->polled[0] = (struct pollfd){.fd = k->listening, .events = POLLIN};
	for (p = LIST_FIRST(&k->processes); p; p = LIST_NEXT(p, entry))
		if (!p->gone && n <= PROCESSES_MAX) {
			of[n] = p;
			k->polled[n++] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
		}
	if (poll(k->polled, n, k->wait) <= 0)
		return;
	/* Requests first: a child may ask while its parent ends. */
	if (k->polled[0].revents)
		serve(k);
	for (nfds_t i = 1; i < n; i++)
		if (k->polled[i].revents)
			process_gone(of[i], now());
}

static void keeper_run(struct keeper *k)
{
	uint64_t time;

	do {
		wait_for_any(k);
		time = now();
		step_all(k, time);
	} while (!k->alone || !LIST_EMPTY(&k->processes) || time - k->alone < (hurry ? HURRY_NS : LINGER_NS));
}

/* Leave the terminal, the files and the signals of the traced program alone. */
static void detach(int keep_a, int keep_b)
{
	struct sigaction term = {.sa_handler = on_term};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	long most = sysconf(_SC_OPEN_MAX);

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigaction(SIGTERM, &term, NULL);
	sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	for (long i = 3; i < (most > 0 && most < 65536 ? most : 65536); i++)
		if (i != keep_a && i != keep_b)
			close((int)i);
	unsetenv("DEBUGINFOD_URLS");
	prctl(PR_SET_NAME, "mprof-keeper");
	umask(027);
	(void)!chdir("/");
}

static _Noreturn void keeper_main(int listening, int pidfd, pid_t pid, const struct keeper_options *options)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		_exit(1);
	sentences_begin(&k->sentences, pid, pidfd);
	detach(listening, pidfd);
	k->options = options;
	k->listening = listening;
	k->wait = TICK_MS;
	LIST_INIT(&k->processes);
	if (options->xen)
		k->guest = guest_open(options->ring_bytes);
	if ((k->guest || !options->xen) && process_new(&k->processes, pid, pidfd))
		keeper_run(k);
	if (options->runtime)
		directory_remove(options->runtime);
	_exit(0);
}

int keeper_start(int listening, const struct keeper_options *options)
{
	pid_t pid = getpid(), child;
	int pidfd = pidfd_of(pid);

	if (pidfd < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		if (fork() == 0)
			keeper_main(listening, pidfd, pid, options);
		_exit(0);
	}
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
		}
	close(pidfd);
	return child < 0 ? -errno : 0;
}
