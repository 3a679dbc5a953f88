#include "outside.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "remote-memory.h"

#define STOP_NS	    1000000000u /* a thread that does not stop for so long is left alone */
#define POLL_NS	    20000	/* between two questions whether it has stopped */
#define STATUS_LINE 512u	/* bytes of a line of the file `status` that are read at once */

/*
 * Read the file NAME of the thread TID of PID into TEXT, SIZE bytes, terminated. Return whether there is anything; if not, errno says why,
 * 0 = the file is empty.
 */
static bool task_read(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	errno = 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Return the kind of the state that LETTER of the file `stat` means; MPROF_STATE_KINDS = unknown. */
static enum mprof_state_kind kind_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return MPROF_STATE_runs;
	case 'S':
	case 'I':
		return MPROF_STATE_sleeps;
	case 'D':
		return MPROF_STATE_blocked;
	case 'T':
		return MPROF_STATE_stopped;
	case 't':
		return MPROF_STATE_traced;
	case 'Z':
	case 'X':
		return MPROF_STATE_ended;
	default:
		return MPROF_STATE_KINDS;
	}
}

/* Open the file `status` of the thread TID of PID. Return NULL if that fails. */
static FILE *status_open(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	return fopen(path, "re");
}

/*
 * Read the file F `status` on to the line that begins with NAME, into LINE. Return what stands behind NAME, or NULL. The line of the groups
 * before it may have 700 KiB.
 */
static const char *status_find(FILE *f, const char *name, char line[STATUS_LINE])
{
	bool begins = true;

	while (fgets(line, STATUS_LINE, f)) {
		if (begins && strncmp(line, name, strlen(name)) == 0)
			return line + strlen(name);
		begins = strchr(line, '\n');
	}
	return NULL;
}

/* A call that was interrupted and went on is restart_syscall for the kernel: find out which one it was. */
static int64_t call_of_channel(const char *channel)
{
	if (strstr(channel, "futex"))
		return SYS_futex;
	if (strstr(channel, "nanosleep"))
		return SYS_clock_nanosleep;
	return strstr(channel, "poll") ? SYS_ppoll : SYS_restart_syscall;
}

/* The file has numbers, the first one in decimal digits. */
void outside_call(pid_t pid, pid_t tid, struct outside_state *s)
{
	char text[256], *at;
	long long call;

	s->call = -1;
	if (!task_read(pid, tid, "syscall", text, sizeof(text))) {
		s->refused = errno == EPERM || errno == EACCES;
		return;
	}
	if (*text == 'r')
		return;
	call = strtoll(text, &at, 10);
	for (unsigned int i = 0; call >= 0 && i < 6; i++)
		s->arguments[i] = strtoull(at, &at, 16);
	s->stack_pointer = strtoull(at, &at, 16);
	s->code = strtoull(at, &at, 16);
	s->restarted = call == SYS_restart_syscall;
	s->call = s->restarted ? call_of_channel(s->channel) : call;
}

bool outside_stat(pid_t pid, pid_t tid, struct outside_state *s)
{
	char text[512];
	const char *end;
	unsigned long long user, system;
	char letter;

	*s = (struct outside_state){.kind = MPROF_STATE_KINDS, .call = -1};
	if (!task_read(pid, tid, "stat", text, sizeof(text)))
		return false;
	end = strrchr(text, ')'); /* the program may have called the thread anything */
	if (!end || sscanf(end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &letter, &user, &system) != 3)
		return false;
	s->kind = kind_of_letter(letter);
	s->processor_ns = (user + system) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

void outside_channel(pid_t pid, pid_t tid, struct outside_state *s)
{
	char text[OUTSIDE_CHANNEL];

	if (task_read(pid, tid, "wchan", text, sizeof(text)) && strcmp(text, "0") != 0)
		for (size_t i = 0; text[i] > ' ' && text[i] < 127; i++)
			s->channel[i] = text[i];
}

/* Read where in the kernel the thread waits, and by which system call. */
static void wait_read(pid_t pid, pid_t tid, struct outside_state *s)
{
	outside_channel(pid, tid, s);
	outside_call(pid, tid, s);
	if (s->kind == MPROF_STATE_sleeps && s->call == SYS_futex) {
		s->kind = MPROF_STATE_futex;
		*s->channel = '\0';
	}
}

/* Read the context switches of the thread, and whether this process has stopped it. Return false if it has gone. */
static bool status_read(pid_t pid, pid_t tid, struct outside_state *s)
{
	static const char *const kinds[] = {"voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"};
	FILE *f = status_open(pid, tid);
	const char *found = "";
	char line[STATUS_LINE];

	if (!f)
		return false;
	if (s->kind == MPROF_STATE_traced) {
		found = status_find(f, "TracerPid:", line);
		if (found && strtol(found, NULL, 10) == getpid()) {
			s->kind = MPROF_STATE_KINDS;
			s->call = -1;
		}
	}
	for (unsigned int i = 0; found && i < 2; i++) {
		found = status_find(f, kinds[i], line);
		s->switches += found ? strtoull(found, NULL, 10) : 0;
	}
	s->counted = found;
	fclose(f);
	return true;
}

/* Read what the thread does, all of S but its context switches. Return false if it has gone. */
static bool doing_read(pid_t pid, pid_t tid, struct outside_state *s)
{
	if (!outside_stat(pid, tid, s) || s->kind == MPROF_STATE_ended)
		return false;
	if (s->kind != MPROF_STATE_runs)
		wait_read(pid, tid, s);
	return true;
}

bool outside_look(pid_t pid, pid_t tid, struct outside_state *s)
{
	/* The switches last: the kernel tells the call of a thread only when the switch by which it went to sleep is counted. */
	return doing_read(pid, tid, s) && status_read(pid, tid, s);
}

void outside_name(pid_t pid, pid_t tid, char name[OUTSIDE_NAME])
{
	task_read(pid, tid, "comm", name, OUTSIDE_NAME);
	name[strcspn(name, "\n")] = '\0';
}

pid_t outside_inner(pid_t pid, pid_t tid)
{
	FILE *f = status_open(pid, tid);
	char line[STATUS_LINE], *end;
	const char *at;
	long long number = 0;

	if (!f)
		return 0;
	at = status_find(f, "NSpid:", line);
	fclose(f);
	if (!at)
		return tid;
	/* One number for each namespace, the innermost one last. */
	for (; *at && *at != '\n'; at = end) {
		long long n = strtoll(at, &end, 10);

		if (end == at)
			break;
		number = n;
	}
	return (pid_t)number;
}

/* Return whether the system call goes on after a stop as if nothing had been: others fail with EINTR (signal(7)). */
static bool goes_on(int64_t call)
{
	switch (call) {
	case SYS_futex:
	case SYS_clock_nanosleep:
	case SYS_nanosleep:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_restart_syscall:
	case SYS_rt_sigsuspend:
	case SYS_wait4:
	case SYS_waitid:
#ifdef SYS_poll
	case SYS_poll:
#endif
#ifdef SYS_select
	case SYS_select:
#endif
#ifdef SYS_pause
	case SYS_pause:
#endif
		return true;
	default:
		return false;
	}
}

static bool may_stop(const struct outside_state *s)
{
	if (s->kind == MPROF_STATE_runs)
		return true;
	return (s->kind == MPROF_STATE_sleeps || s->kind == MPROF_STATE_futex) && goes_on(s->call);
}

/* Read the registers of the thread TID, which is stopped. */
static bool registers_read(pid_t tid, uint64_t registers[RUN_REGISTERS])
{
	struct user_regs_struct r;
	struct iovec iov = {.iov_base = &r, .iov_len = sizeof(r)};

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) < 0)
		return false;
#if defined(__x86_64__)
	memcpy(registers, (const uint64_t[]){r.rbx, r.rbp, r.rsp, r.r12, r.r13, r.r14, r.r15, r.rip},
	       RUN_REGISTERS * sizeof(*registers));
#elif defined(__aarch64__)
	memcpy(registers, r.regs + 19, 12 * sizeof(*registers));
	registers[12] = r.sp;
	registers[13] = r.pc;
#endif
	return true;
}

/* Let the thread go on, with the signal that it was about to get when it stopped. */
static void stop_end(pid_t tid, int status)
{
	int number = status >> 16 ? 0 : WSTOPSIG(status);

	ptrace(PTRACE_DETACH, tid, 0, (void *)(intptr_t)number);
}

static struct outside_late *watched; /* NULL = none yet */

/* Let those of LATE that have stopped by now go on. The handler may interrupt this anywhere: the kernel tells each stop once. */
static void release(struct outside_late *late)
{
	for (unsigned int i = 0; i < late->n; i++) {
		pid_t tid = late->tids[i], got;
		int status;

		got = tid ? waitpid(tid, &status, __WALL | WNOHANG) : 0;
		if (got == tid && tid && WIFSTOPPED(status))
			stop_end(tid, status);
		if (got)
			late->tids[i] = 0;
	}
}

static void on_child(int number)
{
	int error = errno;

	(void)number;
	release(watched);
	errno = error;
}

void outside_watch(struct outside_late *late)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	sigset_t child;

	watched = late;
	sigaction(SIGCHLD, &action, NULL);
	/* The parent process may have blocked it. */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &child, NULL);
}

/* Wait until the thread has stopped, and store how in *STATUS. If that takes too long, it is one of LATE. */
static enum outside_stop stop_await(pid_t tid, struct outside_late *late, int *status)
{
	uint64_t began = now();

	for (;;) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid && WIFSTOPPED(*status))
			return OUTSIDE_STOPPED;
		if (got)
			return OUTSIDE_LEFT;
		if (now() - began > STOP_NS) {
			late->tids[late->n++] = tid;
			/* The signal of a stop before that line found the thread in no list. */
			release(late);
			return OUTSIDE_LATE;
		}
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
}

/* The stack of a thread that is not stopped: the kernel tells its stack pointer and the address of its code. */
static enum outside_stop stack_leave(pid_t pid, const struct outside_state *s, struct stack_copy *copy, uint8_t *bytes)
{
	if (!s->stack_pointer)
		return OUTSIDE_LEFT;
	copy->bare = true;
	copy->registers[RUN_STACK_POINTER] = s->stack_pointer;
	copy->registers[RUN_REGISTERS - 1] = s->code;
	copy->n = remote_copy(pid, s->stack_pointer, bytes, OUTSIDE_STACK_BYTES);
	return OUTSIDE_LEFT;
}

/* Return whether the thread has ended. The kernel refuses to trace such a thread as one of another user. */
static bool has_ended(pid_t pid, pid_t tid)
{
	struct outside_state s;

	return !outside_stat(pid, tid, &s) || s.kind == MPROF_STATE_ended;
}

/* Stop the thread TID, copy its registers and stack, and let it go on. Its state was S. */
static enum outside_stop stack_stop(pid_t pid, pid_t tid, const struct outside_state *s, struct outside_late *late,
				    struct stack_copy *copy, uint8_t *bytes)
{
	enum outside_stop stop;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return errno == ESRCH || has_ended(pid, tid) ? OUTSIDE_LEFT : OUTSIDE_REFUSED;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return stack_leave(pid, s, copy, bytes);
	stop = stop_await(tid, late, &status);
	if (stop != OUTSIDE_STOPPED) {
		stack_leave(pid, s, copy, bytes);
		return stop;
	}
	if (registers_read(tid, copy->registers))
		copy->n = remote_copy(pid, copy->registers[RUN_STACK_POINTER], bytes, OUTSIDE_STACK_BYTES);
	stop_end(tid, status);
	return OUTSIDE_STOPPED;
}

enum outside_stop outside_stack(pid_t pid, pid_t tid, struct outside_state *s, struct outside_late *late,
				struct stack_copy *copy, uint8_t *bytes)
{
	struct outside_state again;

	*copy = (struct stack_copy){.bytes = bytes};
	if (!may_stop(s) || late->n == OUTSIDE_LATE_MAX)
		return stack_leave(pid, s, copy, bytes);
	/* The thread may have begun another call since S was read: ask again as late as possible. */
	if (!doing_read(pid, tid, &again))
		return OUTSIDE_LEFT;
	*s = again;
	if (may_stop(s))
		return stack_stop(pid, tid, s, late, copy, bytes);
	status_read(pid, tid, s);
	return stack_leave(pid, s, copy, bytes);
}
