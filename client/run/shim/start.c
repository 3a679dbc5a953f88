/*
 * The process: its keeper, its notes, and its threads.
 *
 * The state of the process lies on a page that the kernel wipes in a forked child
 * (MADV_WIPEONFORK), so the child stops at once, also after a bare clone(). Rings and notes are not
 * mapped in the child (MADV_DONTFORK). The child begins its own with its first event.
 */
#include "thread-events.h"

#include <linux/un.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "alive.h"
#include "kernel.h"
#include "readers.h"

#define RETRY_NS 1000000000u /* a keeper that is stuck answers nobody; each question takes seconds */

enum process_state { PROCESS_NEW, PROCESS_STARTING, PROCESS_ON, PROCESS_OFF };

static struct process no_process;
struct process *process = &no_process;
static uint32_t generation; /* last one of this process, or of its ancestors; a fork keeps it */
static struct sockaddr_un keeper;
static size_t keeper_length;   /* 0 = there is no keeper */
static bool counter_forbidden; /* a thread of this process, or of an ancestor, may not read the counter */

__thread struct self shim_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct run_control *control_get(void)
{
	return process->control;
}

/* Record nothing any more. */
static void process_stop(void)
{
	__atomic_store_n(&process->state, PROCESS_OFF, __ATOMIC_RELEASE);
	__atomic_store_n(&process->generation, 0, __ATOMIC_RELEASE);
}

void now_forbids_counter(void)
{
	__atomic_store_n(&counter_forbidden, true, __ATOMIC_RELAXED);
	mprof_cycles_forbid(&process->cycles);
	if (seccomp_is_on())
		process_stop();
}

void now_may_call_nobody(bool strict)
{
	const struct run_control *c = process->control;

	if (c && (strict || !c->clock_is_memory || __atomic_load_n(&counter_forbidden, __ATOMIC_RELAXED)))
		process_stop();
}

/* Receive the answer of the keeper and the file descriptor beside it. Return the descriptor or -1. */
static int answer_receive(int fd, struct run_answer *answer)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = answer, .iov_len = sizeof(*answer)};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	int got = -1;
	long n;

	do
		n = KERNEL3(SYS_recvmsg, fd, &m, MSG_CMSG_CLOEXEC);
	while (n == -4); /* EINTR */
	c = CMSG_FIRSTHDR(&m);
	if (n > 0 && c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	if (got >= 0 && (n != sizeof(*answer) || answer->magic != RUN_MAGIC || answer->status)) {
		KERNEL1(SYS_close, got);
		got = -1;
	}
	return got;
}

static int answer_ask(int fd, enum run_request request, uint32_t slot, struct run_answer *answer)
{
	const char *path = request == RUN_REQUEST_PROCESS ? runtime_path() : "";
	struct run_hello hello = {.magic = RUN_MAGIC, .request = request, .slot = slot, .path = (uint32_t)strlen(path)};
	struct iovec parts[] = {{&hello, sizeof(hello)}, {(char *)(uintptr_t)path, hello.path}};
	const struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	const struct {
		long seconds, us;
	} limit = {5, 0};

	KERNEL5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (KERNEL3(SYS_connect, fd, &keeper, keeper_length) < 0 ||
	    KERNEL3(SYS_sendmsg, fd, &m, MSG_NOSIGNAL) != (long)(sizeof(hello) + hello.path))
		return -1;
	return answer_receive(fd, answer);
}

void *keeper_ask(enum run_request request, uint32_t slot, uint64_t *bytes)
{
	struct run_answer answer = {0};
	long fd = KERNEL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), memory;
	int file;

	if (fd < 0)
		return NULL;
	file = answer_ask((int)fd, request, slot, &answer);
	KERNEL1(SYS_close, fd);
	if (file < 0)
		return NULL;
	memory = KERNEL6(SYS_mmap, 0, answer.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	KERNEL1(SYS_close, file);
	if (memory < 0 && memory > -4096)
		return NULL;
	KERNEL3(SYS_madvise, memory, answer.bytes, MADV_DONTFORK);
	*bytes = answer.bytes;
	return (void *)memory;
}

bool keeper_is_near(void)
{
	long fd = KERNEL3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool near;

	/* Nobody knows. */
	if (fd < 0)
		return true;
	near = !keeper_length || KERNEL3(SYS_connect, fd, &keeper, keeper_length) != -ECONNREFUSED;
	KERNEL1(SYS_close, fd);
	return near;
}

/* Get the page that a fork wipes. */
static bool page_make(void)
{
	long page;

	if (process != &no_process)
		return true;
	page = KERNEL6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page < 0 && page > -4096)
		return false;
	if (KERNEL3(SYS_madvise, page, 4096, MADV_WIPEONFORK) < 0)
		return false;
	process = (struct process *)page;
	return true;
}

/* Begin the process: ask the keeper for the notes. Only one thread of the process does. */
static void process_begin(void)
{
	uint32_t state = PROCESS_NEW;
	struct run_control *control;
	uint64_t bytes = 0;

	/* A child of a process in a sandbox cannot ask. */
	if (!keeper_length || seccomp_is_on() || !page_make() ||
	    !__atomic_compare_exchange_n(&process->state, &state, PROCESS_STARTING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	rings_forget();
	objects_forget();
	readers_forget();
	alive_forget();
	control = keeper_ask(RUN_REQUEST_PROCESS, 0, &bytes);
	if (control && bytes >= sizeof(*control) && control->magic == RUN_MAGIC) {
		process->control = control;
		mprof_cycles_begin(&process->cycles, control->cycles);
		if (__atomic_load_n(&counter_forbidden, __ATOMIC_RELAXED))
			mprof_cycles_forbid(&process->cycles);
		__atomic_store_n(&process->generation, ++generation, __ATOMIC_RELEASE);
		/* If the kernel has Yama, nobody else may read the stacks of the process. */
		KERNEL2(SYS_prctl, PR_SET_PTRACER, control->keeper);
		state = PROCESS_ON;
	} else {
		state = PROCESS_OFF;
	}
	__atomic_store_n(&process->state, state, __ATOMIC_RELEASE);
}

bool self_begin(struct self *s)
{
	char name[RUN_NAME] = "";
	int tid = thread_tid();

	if (__atomic_load_n(&process->state, __ATOMIC_ACQUIRE) == PROCESS_NEW)
		process_begin();
	if (__atomic_load_n(&process->state, __ATOMIC_ACQUIRE) != PROCESS_ON || tid <= 0)
		return false;
	if (s->generation != generation || s->tid != tid) {
		s->ring = NULL;
		s->wait_left = 0;
		s->waiter = NULL;
		s->waiter_refused = false;
		s->unread = 0;
		s->retry = 0;
		s->known = false;
		s->tid = tid;
		s->generation = generation;
	}
	if (!s->known) {
		if (KERNEL2(SYS_prctl, PR_GET_NAME, name) < 0)
			strncpy(name, program_invocation_short_name, sizeof(name) - 1);
		note(s->created ? s->created : now(), RUN_NOTE_THREAD, tid, s->creator, 0, name);
		alive_add(tid);
		s->known = true;
	}
	if (!s->ring && now() >= s->retry)
		s->ring = ring_take(tid);
	if (!s->ring && now() >= s->retry)
		s->retry = now() + RETRY_NS;
	if (!s->ring)
		__atomic_fetch_add(&process->control->lost, 1, __ATOMIC_RELAXED);
	if (s->ring && ring_begin(s->ring, now())) {
		mprof_recorder_switch(&s->ring->recorder, tid);
		ring_end(s->ring);
	}
	return s->ring;
}

void self_end(void)
{
	struct self *s = &shim_self;

	if (s->ended || s->inside)
		return;
	alive_remove(s->tid);
	if (s->ring && s->generation == __atomic_load_n(&process->generation, __ATOMIC_ACQUIRE)) {
		s->inside = true;
		waiter_free(s);
		if (ring_begin(s->ring, now())) {
			ring_resolves(s->ring, s->tid, s->tid, NULL);
			mprof_recorder_suspend(&s->ring->recorder);
			ring_end(s->ring);
		}
		ring_return(s->ring);
		s->ring = NULL;
	}
	s->ended = true;
}

/* All other threads end with the process: resolve them, in the ring of the calling thread. */
static void others_end(void)
{
	struct self *s = self_enter();
	uint32_t at = 0;
	int tid;

	if (!s)
		return;
	if (ring_begin(s->ring, now())) {
		while ((tid = alive_next(&at)))
			if (tid != s->tid)
				ring_resolves(s->ring, s->tid, tid, NULL);
		ring_end(s->ring);
	}
	self_leave(s);
}

void process_exits(void)
{
	struct run_control *c = process->control;

	if (!c || shim_self.vforked)
		return;
	others_end();
	self_end();
	__atomic_store_n(&c->exited, 1, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void start(void)
{
	const char *name = getenv(RUN_SOCKET_ENV);
	size_t n = name ? strlen(name) : 0;

	if (!n || n >= sizeof(keeper.sun_path))
		return;
	keeper.sun_family = AF_UNIX;
	memcpy(keeper.sun_path + 1, name, n);
	keeper_length = offsetof(struct sockaddr_un, sun_path) + 1 + n;
	runtime_start();
	if (self_enter())
		self_leave(&shim_self);
	runtime_clear();
}

__attribute__((destructor)) static void finish(void)
{
	process_exits();
}
