/*
 * Look at a program that runs already.
 *
 * Each thread is looked at twice. In the first look its stack is read, and in the memory of its process what it waits for and who has
 * that. A thread that is in the same call at the same place in the second look, without a context switch between, has not run: what it
 * waited for is what it waits for. The owner of its lock counts if it is the same in both looks. Nothing is written into the process.
 */
#include "attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "directory.h"
#include "process.h"
#include "symbols.h"

#define BETWEEN_NS    1000000000u /* from the first look to the second */
#define SETTLE_NS     1000000000u /* so long a thread that was stopped may take to wait again */
#define POLL_NS	      1000000
#define FRAMES	      64u
#define THREADS_MAX   65536u
#define EXIT_CANNOT   125
#define FUNCTION_NAME 64u
#define STACKS	      ".stacks"

static uint8_t stack_bytes[OUTSIDE_STACK_BYTES]; /* of the stack that is looked at */

/* ---- the first look ---- */

static uint32_t call_of_name(const char *name)
{
	static const char *const calls[] = {
#define X(name) [RUN_CALL_##name] = #name,
		RUN_CALLS(X)
#undef X
	};

	/* pthread_join() jumps there. */
	if (strcmp(name, "pthread_clockjoin_ex") == 0)
		return RUN_CALL_pthread_join;
	for (uint32_t i = 0; i < RUN_CALL_COUNT; i++)
		if (strcmp(calls[i], name) == 0)
			return i;
	return RUN_CALL_COUNT;
}

/* A system call by which threads wait. */
struct system_call {
	int64_t number;
	uint32_t call;	 /* the C library's function, if the stack does not tell it */
	bool descriptor; /* its first argument is one, for which the thread waits */
};

static const struct system_call system_calls[] = {
	{SYS_futex, RUN_CALL_futex, false},
	{SYS_read, RUN_CALL_read, true},
	{SYS_readv, RUN_CALL_readv, true},
	{SYS_write, RUN_CALL_write, true},
	{SYS_writev, RUN_CALL_writev, true},
	{SYS_recvfrom, RUN_CALL_recvfrom, true},
	{SYS_recvmsg, RUN_CALL_recvmsg, true},
	{SYS_sendto, RUN_CALL_sendto, true},
	{SYS_sendmsg, RUN_CALL_sendmsg, true},
	{SYS_accept, RUN_CALL_accept, true},
	{SYS_accept4, RUN_CALL_accept4, true},
	{SYS_connect, RUN_CALL_connect, true},
	{SYS_epoll_pwait, RUN_CALL_epoll_pwait, true},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, RUN_CALL_epoll_wait, true},
	{SYS_poll, RUN_CALL_poll, false},
	{SYS_select, RUN_CALL_select, false},
	{SYS_pause, RUN_CALL_pause, false},
#endif
	{SYS_ppoll, RUN_CALL_ppoll, false},
	{SYS_pselect6, RUN_CALL_pselect, false},
	{SYS_nanosleep, RUN_CALL_nanosleep, false},
	{SYS_clock_nanosleep, RUN_CALL_clock_nanosleep, false},
	{SYS_wait4, RUN_CALL_waitpid, false},
	{SYS_waitid, RUN_CALL_waitid, false},
	{SYS_rt_sigsuspend, RUN_CALL_sigsuspend, false},
	{SYS_rt_sigtimedwait, RUN_CALL_sigtimedwait, false},
};

/* Return what is known of the system call, or NULL. */
static const struct system_call *system_call_find(int64_t number)
{
	for (size_t i = 0; i < sizeof(system_calls) / sizeof(*system_calls); i++)
		if (system_calls[i].number == number)
			return &system_calls[i];
	return NULL;
}

static void stack_write(const struct attached *a, const struct seen *s, const uint64_t *calls, uint32_t n)
{
	char code[ATTACH_CODE];

	if (!a->stacks)
		return;
	fprintf(a->stacks, "thread %d \"", (int)s->tid);
	directory_text(a->stacks, s->name);
	fprintf(a->stacks, "\", %s\n", mprof_state_name(s->first.kind));
	for (uint32_t i = 0; i < n; i++) {
		symbols_code(a->symbols, calls[i], code, sizeof(code));
		fputs("  ", a->stacks);
		directory_text(a->stacks, code);
		fputc('\n', a->stacks);
	}
}

/*
 * Find in the CALLS of the thread S the C library's function that the program has called, and the program's own code that did so, or
 * that of a language's library.
 */
static void place_find(const struct attached *a, struct seen *s, const uint64_t *calls, uint32_t n)
{
	char name[FUNCTION_NAME];
	uint32_t i, first;

	for (i = 0; i < n && symbols_library(a->symbols, calls[i], name, sizeof(name)); i++)
		if (call_of_name(name) != RUN_CALL_COUNT)
			s->call = call_of_name(name);
	for (first = i; i < n; i++)
		if (symbols_code(a->symbols, calls[i], s->code, sizeof(s->code)))
			break;
	i = i < n ? i : first;
	if (i >= n)
		return;
	symbols_code(a->symbols, calls[i], s->code, sizeof(s->code));
	s->place = calls[i] + 1;
}

/* Find for what the thread S waits. */
static void object_find(const struct attached *a, struct seen *s)
{
	const struct system_call *system = system_call_find(s->first.call);
	const struct futex_wait futex = {.address = s->first.arguments[0],
					 .operation = (uint32_t)s->first.arguments[1],
					 .value = (uint32_t)s->first.arguments[2]};

	if (!system)
		return;
	if (s->call == RUN_CALL_COUNT)
		s->call = system->call;
	if (system->descriptor)
		s->on = RUN_ID_FD((int32_t)s->first.arguments[0]);
	if (s->first.call != SYS_futex)
		return;
	lock_memory_find(a->pid, s->call, &futex, a->glibc, &s->lock);
	if (s->lock.type != MPROF_THREAD_Task)
		s->on = s->lock.id;
}

/* Look at the thread S for the first time. Return false if it may not be stopped. */
static bool look_first(struct attached *a, struct seen *s)
{
	uint64_t calls[FRAMES];
	struct stack_copy copy;
	enum outside_stop stop;
	uint32_t n;

	s->call = RUN_CALL_COUNT;
	s->inner = outside_inner(a->pid, s->tid);
	outside_name(a->pid, s->tid, s->name);
	s->time = now();
	s->gone = !outside_look(a->pid, s->tid, &s->first);
	if (s->gone)
		return true;
	if (s->first.refused)
		return false;
	stop = outside_stack(a->pid, s->tid, &s->first, &a->late, &copy, stack_bytes);
	if (stop == OUTSIDE_REFUSED)
		return false;
	s->settled = s->first;
	if (stop == OUTSIDE_STOPPED || stop == OUTSIDE_LATE)
		s->settled.kind = MPROF_STATE_KINDS;
	n = copy.n ? symbols_calls(a->symbols, &copy, calls, FRAMES) : 0;
	place_find(a, s, calls, n);
	stack_write(a, s, calls, n);
	if (s->first.kind != MPROF_STATE_runs)
		object_find(a, s);
	return true;
}

/* Find the threads of the process. Return false without memory, or if it has gone. */
static bool threads_find(struct attached *a)
{
	const struct dirent *e;
	char path[64];
	DIR *d;

	a->threads = calloc(THREADS_MAX, sizeof(*a->threads));
	snprintf(path, sizeof(path), "/proc/%d/task", (int)a->pid);
	d = a->threads ? opendir(path) : NULL;
	if (!d)
		return false;
	while (a->n < THREADS_MAX && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0)
			a->threads[a->n++].tid = tid;
	}
	closedir(d);
	return a->n;
}

/* ---- the second look ---- */

static void sleep_until(uint64_t time)
{
	while (now() < time)
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* Return whether the thread is at the same place in both states, whatever the system calls it there. */
static bool is_same_place(const struct outside_state *a, const struct outside_state *b)
{
	return a->call >= 0 && b->call >= 0 && a->stack_pointer == b->stack_pointer && a->code == b->code &&
	       memcmp(a->arguments, b->arguments, sizeof(a->arguments)) == 0;
}

/* Return whether the thread is in the same call in both states. */
static bool is_same(const struct outside_state *a, const struct outside_state *b)
{
	return is_same_place(a, b) && a->call == b->call;
}

/* Read the state of the thread S anew. A call that the kernel has begun anew is that of the first look. Return false if S has gone. */
static bool state_read(const struct attached *a, const struct seen *s, struct outside_state *state)
{
	if (!outside_look(a->pid, s->tid, state))
		return false;
	if (!state->restarted || !is_same_place(&s->first, state))
		return true;
	state->call = s->first.call;
	if (state->kind == MPROF_STATE_sleeps || state->kind == MPROF_STATE_futex) {
		state->kind = s->first.kind;
		memcpy(state->channel, s->first.channel, sizeof(state->channel));
	}
	return true;
}

/* The thread S was stopped: wait until it sleeps again, but not long. Then its context switches count. */
static void settle(const struct attached *a, struct seen *s, uint64_t until)
{
	bool was = s->first.call >= 0;

	do {
		if (!state_read(a, s, &s->settled))
			return;
		if (!was || s->settled.call >= 0)
			return;
		sleep_until(now() + POLL_NS);
	} while (now() < until);
}

/* Return whether both states tell the context switches of the thread, and it has had none between. */
static bool is_still(const struct outside_state *a, const struct outside_state *b)
{
	return a->counted && b->counted && a->switches == b->switches;
}

/* Return whether the thread S has run since the first look. False also if the system does not tell it. */
static bool has_moved(const struct seen *s)
{
	bool waited_again = s->first.call < 0 || s->settled.call >= 0;

	/* The thread was stopped for the look that found it running: its switches tell nothing. */
	if (s->first.kind == MPROF_STATE_runs)
		return true;
	if (s->first.call >= 0 && s->last.call >= 0 && !is_same(&s->first, &s->last))
		return true;
	return waited_again && s->settled.counted && s->last.counted && s->settled.switches != s->last.switches;
}

/* The owner of the lock for which S waits counts if it is the same one as before. */
static void owner_check(const struct attached *a, struct seen *s)
{
	const struct futex_wait futex = {.address = s->first.arguments[0],
					 .operation = (uint32_t)s->first.arguments[1],
					 .value = (uint32_t)s->first.arguments[2]};
	struct lock_memory again;

	lock_memory_find(a->pid, s->call, &futex, a->glibc, &again);
	if (again.owner != s->lock.owner || again.type != s->lock.type)
		s->lock.owner = 0;
	if (s->lock.type == MPROF_THREAD_Task && s->lock.owner) {
		const struct seen *awaited = attach_find(a, s->lock.owner);

		s->on = awaited ? awaited->tid : 0;
	}
}

/* Find where the thread S, which runs in the second look, is. It may have begun to wait since. */
static void run_find(struct attached *a, struct seen *s)
{
	struct seen again = {.call = RUN_CALL_COUNT};
	uint64_t calls[FRAMES];
	struct stack_copy copy;
	enum outside_stop stop = outside_stack(a->pid, s->tid, &s->last, &a->late, &copy, stack_bytes);

	if (s->last.kind != MPROF_STATE_runs && s->last.kind != MPROF_STATE_KINDS && !mprof_state_is_stop(s->last.kind))
		s->last.kind = MPROF_STATE_moved;
	if (s->last.kind != MPROF_STATE_runs || stop != OUTSIDE_STOPPED || !copy.n)
		return;
	place_find(a, &again, calls, symbols_calls(a->symbols, &copy, calls, FRAMES));
	memcpy(s->last_code, again.code, sizeof(s->last_code));
}

static void look_second(struct attached *a, struct seen *s)
{
	if (s->gone || !state_read(a, s, &s->last)) {
		s->gone = true;
		return;
	}
	s->stays = is_same(&s->first, &s->settled) && is_same(&s->settled, &s->last) && is_still(&s->settled, &s->last);
	if (!s->stays && s->last.kind != MPROF_STATE_runs && s->last.kind != MPROF_STATE_KINDS &&
	    !mprof_state_is_stop(s->last.kind) && has_moved(s))
		s->last.kind = MPROF_STATE_moved;
	if (s->last.kind == MPROF_STATE_runs)
		run_find(a, s);
}

static void look_again(struct attached *a)
{
	uint64_t until = now() + SETTLE_NS;

	for (uint32_t i = 0; i < a->n; i++)
		if (!a->threads[i].gone && a->threads[i].settled.kind == MPROF_STATE_KINDS)
			settle(a, &a->threads[i], until);
	sleep_until(now() + BETWEEN_NS);
	a->ended = now();
	for (uint32_t i = 0; i < a->n; i++)
		look_second(a, &a->threads[i]);
	for (uint32_t i = 0; i < a->n; i++)
		if (a->threads[i].stays && a->threads[i].first.call == SYS_futex)
			owner_check(a, &a->threads[i]);
}

/* ---- the directory, and what is said ---- */

/*
 * Write the name of the directory of the process PID to NAME (SIZE bytes). Return whether that place in DIR is free, or has an earlier
 * look; if not, write a sentence to TEXT.
 */
static bool path_find(pid_t pid, const char *dir, char *name, size_t size, char *text, size_t text_size)
{
	char program[24], *path;
	int there;
	bool own;

	process_name(pid, program, sizeof(program));
	snprintf(name, size, "%s.%d", program, (int)pid);
	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		snprintf(text, text_size, "memory is short");
		return false;
	}
	there = directory_open(path);
	own = there == -ENOENT || (there >= 0 && faccessat(there, ATTACH_RING, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	if (there >= 0)
		close(there);
	if (!own && there >= 0)
		snprintf(text, text_size,
			 "%s is there and has rings of mprof-run already; ask `mprofctl why` for it, or name another "
			 "directory with --dir",
			 path);
	else if (!own)
		snprintf(text, text_size,
			 "%s is there and is no directory of this user: %s; name another directory with --dir", path,
			 strerror(-there));
	free(path);
	return own;
}

/* Say that the file NAME in the directory PATH is not there, if ERROR is not 0. */
static void file_warn(const char *path, const char *name, int error)
{
	if (error)
		fprintf(stderr, "mprof-run: %s/%s: cannot write this file: %s.\n", path, name, strerror(-error));
}

/* Say what the looks have found, and what to ask. */
static void tell(const struct attached *a, const char *path)
{
	uint32_t stay = 0, run = 0, moved = 0, gone = 0, other = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct seen *s = &a->threads[i];
		bool runs = s->last.kind == MPROF_STATE_runs, went = s->last.kind == MPROF_STATE_moved;

		stay += s->stays;
		gone += s->gone;
		run += !s->stays && !s->gone && runs;
		moved += !s->stays && !s->gone && went;
		other += !s->stays && !s->gone && !runs && !went;
	}
	printf("mprof-run: process %d was looked at twice in %.1f s; threads that wait where they waited: %" PRIu32
	       ", that run: %" PRIu32 ", that ran between and wait again: %" PRIu32,
	       (int)a->pid, (double)(a->ended - a->began) / 1e9, stay, run, moved);
	if (gone)
		printf(", that ended: %" PRIu32, gone);
	if (other)
		printf(", whose wait is unknown: %" PRIu32, other);
	printf(".\nmprof-run: ask: mprofctl why %s\n", path);
	if (!a->stacks_error)
		printf("mprof-run: the stacks are in %s/" STACKS "\n", path);
	file_warn(path, STACKS, a->stacks_error);
	file_warn(path, ".modules", a->modules_error);
}

/* Return whether the process has ended. */
static bool has_gone(const struct attached *a)
{
	struct pollfd p = {.fd = a->pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

/* Look at the threads, and write what is found into DIRECTORY, which lies at DIR. Return false and a sentence in TEXT if that fails. */
static bool look(struct attached *a, int directory, const char *dir, char *text, size_t size)
{
	int r;

	a->symbols = symbols_new(a->pid);
	if (!a->symbols || !threads_find(a)) {
		snprintf(text, size, "process %d ended while it was looked at, or memory is short", (int)a->pid);
		return false;
	}
	a->glibc = symbols_glibc(a->symbols);
	a->stacks = directory_file(directory, STACKS);
	a->stacks_error = a->stacks ? 0 : -errno;
	a->began = now();
	for (uint32_t i = 0; i < a->n; i++)
		if (!look_first(a, &a->threads[i])) {
			attach_refused(a->pid, text, size);
			return false;
		}
	look_again(a);
	if (!a->stacks_error)
		a->stacks_error = directory_file_end(directory, STACKS, a->stacks);
	a->stacks = NULL;
	a->modules_error = symbols_list(a->symbols, directory);
	r = attach_record(a, directory);
	/* Another process may have its number since. The caller throws away all that was read. */
	if (has_gone(a)) {
		snprintf(text, size, "process %d ended while it was looked at", (int)a->pid);
		return false;
	}
	if (r)
		snprintf(text, size, "%s: cannot write a ring there: %s", dir, strerror(-r));
	return !r;
}

static void attached_free(struct attached *a)
{
	symbols_free(a->symbols);
	free(a->threads);
	if (a->stacks)
		fclose(a->stacks);
	if (a->pidfd >= 0)
		close(a->pidfd);
}

/* Return why directory_make() has returned the -errno R. */
static const char *make_error(int r)
{
	if (r == -EBUSY)
		return "another mprof-run makes it at this moment";
	if (r == -ESTALE)
		return "the file system gives it another owner at once; name a directory in another file system with "
		       "--dir";
	return strerror(-r);
}

/*
 * Look at the process, and make its directory in DIR, whose path becomes *PATH. Return false and a sentence in TEXT if that fails; then no
 * directory is left.
 */
static bool look_into(struct attached *a, const char *dir, char **path, char *text, size_t size)
{
	char name[40];
	int directory, error, r = 0;
	bool done;

	a->pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	error = a->pidfd < 0 ? errno : 0;
	if (!attach_check(a->pid, text, size))
		return false;
	/* Without it another process could take the number of one that ends. */
	if (error) {
		snprintf(text, size, "process %d cannot be watched: %s", (int)a->pid, strerror(error));
		return false;
	}
	if (!path_find(a->pid, dir, name, sizeof(name), text, size))
		return false;
	directory = directory_make(dir, name, path);
	if (directory < 0) {
		snprintf(text, size, "%s: cannot make this directory: %s", *path ? *path : dir, make_error(directory));
		return false;
	}
	done = look(a, directory, *path, text, size);
	if (done)
		r = directory_show(directory, dir, name, path);
	if (r)
		snprintf(text, size, "%s: cannot give it the name %s: %s", *path, name,
			 r == -ESTALE ? "another user has put something else there" : strerror(-r));
	if (!done || r)
		directory_drop(directory, *path);
	close(directory);
	return done && !r;
}

int attach_run(pid_t pid, const char *dir)
{
	static struct attached a; /* the handler of outside_watch() reads it until this process ends */
	char text[512] = "", *path = NULL;
	bool done;

	a.pid = pid;
	outside_watch(&a.late);
	/* A thread that is stopped must not wait for a person who has stopped this process. */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	done = look_into(&a, dir, &path, text, sizeof(text));
	if (done)
		tell(&a, path);
	else
		fprintf(stderr, "mprof-run: --pid %d: %s.\n", (int)pid, text);
	attached_free(&a);
	free(path);
	return done ? 0 : EXIT_CANNOT;
}
