/*
 * The helper's process. It keeps rights that the collector gives up, so it answers only three kinds
 * of question, for the states of domains, for the end of a domain's console, and for a record of what
 * a domain's vCPUs do, and checks each.
 *
 * It reads no guest's memory. From a question it takes domids, which it looks up one by one, a slot,
 * which must exist, and a name, which must be that of a file directly in the directory of logs. After
 * its start it allocates no memory. It ends when the collector closes the socket or dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "helper-message.h"
#include "rights.h"
#include "vcpu-recorder.h"
#include "xenctrl.h"

#define LOG_NAME_MAX (HELPER_NAME_MAX + sizeof("guest-.log"))

struct helper_self {
	int socket;
	const char *logs;
	struct xenctrl *xenctrl;     /* NULL = libxenctrl was not found: no state is known */
	struct vcpu_recorder *vcpus; /* NULL = no vCPUs are recorded */
	struct helper_question question;
	struct helper_reply reply;
};

/* ---- console logs ---------------------------------------------------------------------------- */

static bool name_ok(const char *name, size_t len)
{
	if (len < 1 || len > HELPER_NAME_MAX)
		return false;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
			return false;
	return true;
}

/*
 * Open the console log of the domain NAME. The directory is opened each time, because it may be
 * created after the helper. Return a descriptor or -errno.
 */
static int log_open(const char *directory, const char *name, size_t len)
{
	CLEANUP(closep) int dir = -1;
	char file[LOG_NAME_MAX];
	int fd;

	if (!*directory)
		return -ENOENT;
	dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	snprintf(file, sizeof(file), "guest-%.*s.log", (int)len, name);
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* Copy the last HELPER_CONSOLE_MAX bytes of FD to REPLY. Return 0 or -errno. */
static int log_tail(int fd, struct helper_reply *reply)
{
	struct stat st;
	off_t at;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	at = st.st_size > (off_t)HELPER_CONSOLE_MAX ? st.st_size - (off_t)HELPER_CONSOLE_MAX : 0;
	reply->flag = at == 0;
	while (reply->n < HELPER_CONSOLE_MAX) {
		ssize_t got =
			pread(fd, reply->body.console + reply->n, HELPER_CONSOLE_MAX - reply->n, at + (off_t)reply->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		reply->n += (uint32_t)got;
	}
	return 0;
}

static size_t console_answer(struct helper_self *self)
{
	const struct helper_question *q = &self->question;
	struct helper_reply *reply = &self->reply;
	CLEANUP(closep) int fd = -1;

	if (!name_ok(q->body.name, q->n)) {
		reply->error = -EINVAL;
		return 0;
	}
	fd = log_open(self->logs, q->body.name, q->n);
	reply->error = fd < 0 ? fd : log_tail(fd, reply);
	if (reply->error) {
		reply->n = 0;
		reply->flag = 0;
	}
	return reply->n;
}

/* ---- states ---------------------------------------------------------------------------------- */

/*
 * Write the states of the asked domains to the reply. Leave out a domain whose state Xen did not
 * tell. Return the bytes of the reply's body.
 */
static size_t states_answer(struct helper_self *self)
{
	const struct helper_question *q = &self->question;
	struct helper_reply *reply = &self->reply;

	for (uint32_t i = 0; i < q->n && self->xenctrl; i++)
		if (xenctrl_state(self->xenctrl, q->body.domids[i], &reply->body.states[reply->n]) == 0)
			reply->n++;
	return reply->n * sizeof(reply->body.states[0]);
}

/* ---- vCPUs ----------------------------------------------------------------------------------- */

static size_t vcpu_answer(struct helper_self *self)
{
	const struct helper_question *q = &self->question;
	struct helper_reply *reply = &self->reply;
	uint32_t slot = (uint32_t)q->tag;

	if (!self->vcpus)
		reply->error = -ENOSYS;
	else if (q->n)
		reply->error = vcpu_recorder_begin(self->vcpus, slot, q->n, &reply->n);
	else
		reply->error = vcpu_recorder_end(self->vcpus, slot);
	return 0;
}

/* ---- the helper's loop ----------------------------------------------------------------------- */

static void reply_send(struct helper_self *self, size_t body)
{
	ssize_t r;

	do
		r = send(self->socket, &self->reply, HELPER_REPLY_HEAD + body, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		_exit(0); /* the collector has closed its end */
}

/* Return whether the question, of LEN bytes, is well-formed. */
static bool question_ok(const struct helper_question *q, size_t len)
{
	if (len < HELPER_QUESTION_HEAD)
		return false;
	len -= HELPER_QUESTION_HEAD;
	switch (q->kind) {
	case HELPER_STATES:
		return q->n <= HELPER_DOMIDS_MAX && len == q->n * sizeof(q->body.domids[0]);
	case HELPER_CONSOLE:
		return q->n <= HELPER_NAME_MAX && len == q->n;
	case HELPER_VCPU:
		return q->tag < VCPU_SLOTS && len == 0;
	default:
		return false;
	}
}

static void question_answer(struct helper_self *self)
{
	const struct helper_question *q = &self->question;
	struct helper_reply *reply = &self->reply;
	ssize_t len;

	do
		len = recv(self->socket, &self->question, sizeof(self->question), MSG_TRUNC);
	while (len < 0 && errno == EINTR);
	/*
	 * End the helper if the socket is closed, or if a question is not well-formed: the other
	 * end may not be the collector's code any more.
	 */
	if (len <= 0 || (size_t)len > sizeof(*q) || !question_ok(q, (size_t)len))
		_exit(0);
	memset(reply, 0, HELPER_REPLY_HEAD);
	reply->kind = q->kind;
	reply->tag = q->tag;
	reply_send(self, q->kind == HELPER_STATES    ? states_answer(self)
			 : q->kind == HELPER_CONSOLE ? console_answer(self)
						     : vcpu_answer(self));
}

/* Wait for a question, and sample vCPUs meanwhile. */
static void question_wait(const struct helper_self *self)
{
	struct pollfd pfd = {.fd = self->socket, .events = POLLIN};
	uint64_t due, now, wait;

	while (self->vcpus && (due = vcpu_recorder_due(self->vcpus)) != 0) {
		now = clock_mono();
		wait = due > now ? due - now : 0;
		if (wait == 0)
			vcpu_recorder_run(self->vcpus);
		else if (ppoll(&pfd, 1,
			       &(struct timespec){.tv_sec = (time_t)(wait / NS_PER_S),
						  .tv_nsec = (long)(wait % NS_PER_S)},
			       NULL) != 0)
			return;
	}
}

/*
 * Close all descriptors that the helper has from the collector, except SOCKET, and stderr, to which
 * a library may print. Return SOCKET's new number.
 */
static int files_close(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	if (socket != STDERR_FILENO + 1 && dup3(socket, STDERR_FILENO + 1, O_CLOEXEC) < 0)
		_exit(1);
	closefrom(STDERR_FILENO + 2);
	return STDERR_FILENO + 1;
}

/*
 * Ignore SIGTERM and SIGINT: a stop of the unit sends them to both processes, but the helper must
 * not end before the collector.
 */
static void signals_reset(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

_Noreturn void helper_process(int socket, const struct helper_options *options)
{
	static struct helper_self self; /* static, because it is too large for some stacks; only the helper uses it */
	struct helper_reply *reply = &self.reply;

	signals_reset();
	prctl(PR_SET_NAME, "mprofd-helper", 0, 0, 0);
	/* The collector has the same user, and must not read the helper's memory. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	self.socket = files_close(socket);
	self.logs = options->console_logs;
	reply->kind = HELPER_READY;
	if (xenctrl_open(&self.xenctrl, reply->body.sentence, sizeof(reply->body.sentence)))
		reply->n = (uint32_t)strlen(reply->body.sentence);
	reply->flag = self.xenctrl != NULL;
	if (self.xenctrl && options->vcpu_area)
		self.vcpus = vcpu_recorder_new(self.xenctrl, options->vcpu_area, options->vcpu_interval);
	if (rights_keep_reading())
		_exit(1);
	reply_send(&self, reply->n);
	for (;;) {
		question_wait(&self);
		question_answer(&self);
	}
}
