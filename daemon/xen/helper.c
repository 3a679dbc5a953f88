/*
 * The collector's side of the helper. Only the start (at most READY_MS) and the stop (at most
 * STOP_MS) wait. If the socket is full, the caller asks again later. helper_next() fetches an
 * answer once it is there.
 */
#include "helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "helper-message.h"

#define READY_MS 5000
#define STOP_MS	 500

struct helper {
	pid_t pid;
	int socket;
	unsigned open; /* number of questions without an answer */
	bool gone;
	bool knows;
	char sentence[HELPER_SENTENCE_MAX + 1];
	struct helper_reply reply;
};

/* ---- start and stop of the process ----------------------------------------------------------- */

/*
 * Run the helper in the child. The kernel kills the child when the collector ends. The check of the
 * parent catches a collector that ended before prctl().
 */
static _Noreturn void child(int socket, pid_t parent, const struct helper_options *options)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	helper_process(socket, options);
}

static int helper_fork(struct helper *helper, const struct helper_options *options)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	helper->pid = fork();
	if (helper->pid == 0)
		child(ends[1], parent, options);
	close(ends[1]);
	helper->socket = ends[0];
	return helper->pid < 0 ? -errno : 0;
}

static void helper_reap(struct helper *helper)
{
	uint64_t until = clock_mono() + STOP_MS * NS_PER_MS;

	if (helper->pid <= 0)
		return;
	while (waitpid(helper->pid, NULL, WNOHANG) == 0) {
		if (clock_mono() > until) {
			kill(helper->pid, SIGKILL);
			waitpid(helper->pid, NULL, 0);
			break;
		}
		clock_sleep(2 * NS_PER_MS);
	}
	helper->pid = 0;
}

struct helper *helper_stop(struct helper *helper)
{
	if (!helper)
		return NULL;
	if (helper->socket >= 0)
		close(helper->socket);
	helper_reap(helper);
	free(helper);
	return NULL;
}

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * Receive the next reply. *BODY is the number of bytes behind its head. Return 1, 0 (none now), or
 * -EPIPE (the helper is gone).
 */
static int reply_receive(struct helper *helper, size_t *body)
{
	ssize_t len;

	if (helper->gone)
		return -EPIPE;
	do
		len = recv(helper->socket, &helper->reply, sizeof(helper->reply), MSG_DONTWAIT | MSG_TRUNC);
	while (len < 0 && errno == EINTR);
	if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (len < (ssize_t)HELPER_REPLY_HEAD || (size_t)len > sizeof(helper->reply)) {
		helper->gone = true;
		return -EPIPE;
	}
	*body = (size_t)len - HELPER_REPLY_HEAD;
	return 1;
}

static int question_send(struct helper *helper, const struct helper_question *question, size_t body)
{
	ssize_t r;

	if (helper->gone)
		return -EPIPE;
	if (helper->open >= HELPER_OPEN_MAX)
		return -EAGAIN;
	do
		r = send(helper->socket, question, HELPER_QUESTION_HEAD + body, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
		return -EAGAIN;
	if (r < 0) {
		helper->gone = true;
		return -EPIPE;
	}
	helper->open++;
	return 0;
}

/* ---- the start ------------------------------------------------------------------------------- */

/*
 * Wait for the helper's first message, which says whether the helper could load libxenctrl. If no
 * message comes in READY_MS, stop the helper and go on without it.
 */
static void ready_wait(struct helper *helper)
{
	uint64_t until = clock_mono() + READY_MS * NS_PER_MS;
	struct helper_reply *reply = &helper->reply;
	size_t body = 0;
	int r;

	while ((r = reply_receive(helper, &body)) == 0) {
		struct pollfd pfd = {.fd = helper->socket, .events = POLLIN};
		uint64_t now = clock_mono();

		if (now >= until)
			break;
		poll(&pfd, 1, (int)((until - now) / NS_PER_MS) + 1);
	}
	if (r == 1 && reply->kind == HELPER_READY && body <= HELPER_SENTENCE_MAX) {
		helper->knows = reply->flag;
		memcpy(helper->sentence, reply->body.sentence, body);
		return;
	}
	snprintf(helper->sentence, sizeof(helper->sentence), "the helper process %s",
		 r ? "ended as it began" : "did not answer within five seconds");
	helper->gone = true;
	kill(helper->pid, SIGKILL);
}

int helper_start(struct helper **hp, const struct helper_options *options)
{
	CLEANUP(helper_stopp) struct helper *helper = calloc(1, sizeof(*helper));
	int r;

	if (!helper)
		return -ENOMEM;
	helper->socket = -1;
	r = helper_fork(helper, options);
	if (r)
		return r;
	ready_wait(helper);
	*hp = TAKE_PTR(helper);
	return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

bool helper_knows_states(const struct helper *helper, const char **sentence)
{
	if (sentence)
		*sentence = helper->sentence;
	return helper->knows && !helper->gone;
}

int helper_fd(const struct helper *helper)
{
	return helper->socket;
}

int helper_ask_states(struct helper *helper, uint64_t tag, const uint32_t *domids, size_t n)
{
	struct helper_question question = {.kind = HELPER_STATES, .tag = tag};

	if (n > HELPER_DOMIDS_MAX)
		return -EINVAL;
	question.n = (uint32_t)n;
	memcpy(question.body.domids, domids, n * sizeof(*domids));
	return question_send(helper, &question, n * sizeof(*domids));
}

int helper_ask_console(struct helper *helper, uint64_t tag, const char *name)
{
	struct helper_question question = {.kind = HELPER_CONSOLE, .tag = tag};
	size_t len = strlen(name);

	/*
	 * Send a name that is too long as an empty name: the helper answers that with an error, so
	 * the caller gets an answer.
	 */
	if (len > HELPER_NAME_MAX)
		len = 0;
	question.n = (uint32_t)len;
	memcpy(question.body.name, name, len);
	return question_send(helper, &question, len);
}

int helper_ask_vcpu(struct helper *helper, uint32_t slot, uint32_t domid)
{
	const struct helper_question question = {.kind = HELPER_VCPU, .n = domid, .tag = slot};

	return question_send(helper, &question, 0);
}

int helper_next(struct helper *helper, struct helper_answer *answer)
{
	const struct helper_reply *reply = &helper->reply;
	size_t body = 0;
	int r = reply_receive(helper, &body);

	if (r != 1)
		return r;
	answer->is_console = reply->kind == HELPER_CONSOLE;
	answer->is_vcpu = reply->kind == HELPER_VCPU;
	answer->n = reply->n;
	answer->tag = reply->tag;
	answer->error = reply->error;
	answer->complete = reply->flag;
	if (reply->kind == HELPER_CONSOLE && reply->n <= HELPER_CONSOLE_MAX && body == reply->n) {
		memcpy(answer->console, reply->body.console, body);
	} else if (reply->kind == HELPER_STATES && reply->n <= HELPER_DOMIDS_MAX &&
		   body == reply->n * sizeof(answer->states[0])) {
		memcpy(answer->states, reply->body.states, body);
	} else if (!answer->is_vcpu || body) {
		helper->gone = true;
		return -EPIPE;
	}
	helper->open -= helper->open > 0;
	return 1;
}
