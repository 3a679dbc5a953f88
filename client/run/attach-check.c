/* Whether a process can be looked at, and if not, why, and what helps. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "program.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD, among the flags that /proc/PID/stat tells */
#define YAMA	      "/proc/sys/kernel/yama/ptrace_scope"

/* Read the file NAME of PID into TEXT, SIZE bytes, terminated. Return whether it is there. */
static bool file_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return f && n;
}

/* Return the number behind NAME in STATUS, the text of a file `status`, or 0. */
static int number_of(const char *status, const char *name)
{
	const char *found = strstr(status, name);

	return found ? (int)strtol(found + strlen(name), NULL, 10) : 0;
}

static bool is_kernel_thread(pid_t pid)
{
	char text[512];
	const char *end;
	unsigned int flags;

	if (!file_read(pid, "stat", text, sizeof(text)))
		return false;
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & KERNEL_THREAD);
}

/* Return how strict Yama is, or 0 without it. */
static int yama(void)
{
	FILE *f = fopen(YAMA, "re");
	int scope = 0;

	if (f) {
		if (fscanf(f, "%d", &scope) != 1)
			scope = 0;
		fclose(f);
	}
	return scope;
}

void attach_refused(pid_t pid, char *text, size_t size)
{
	char path[64];
	struct stat st = {0};
	int scope = yama();

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (geteuid() != 0 && stat(path, &st) == 0 && st.st_uid != geteuid())
		snprintf(text, size,
			 "process %d belongs to another user, or has changed its own: run mprof-run as root", (int)pid);
	else if (scope >= 3)
		snprintf(text, size, "process %d may not be looked at: " YAMA " is 3, until the machine boots anew",
			 (int)pid);
	else if (scope >= 1 && geteuid() != 0)
		snprintf(text, size,
			 "process %d may not be looked at: " YAMA " is %d; run mprof-run as root, or write 0 there",
			 (int)pid, scope);
	else
		snprintf(text, size,
			 "process %d may not be looked at: the system refuses ptrace; run mprof-run as root, with the "
			 "capability CAP_SYS_PTRACE",
			 (int)pid);
}

/* Say what the program of PID is, if it is none whose locks can be read. */
static bool check_program(pid_t pid, char *text, size_t size)
{
	static const char *const reasons[] = {
		[PROGRAM_STATIC] = "is statically linked, so its C library's locks cannot be found",
		[PROGRAM_GO] = "is a Go program, whose threads do not wait in the C library",
		[PROGRAM_FOREIGN] = "runs a program for another processor or another C library",
	};
	enum program_kind kind;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT || errno == ESRCH)
			snprintf(text, size, "process %d ended while it was looked at", (int)pid);
		else
			attach_refused(pid, text, size);
		return false;
	}
	close(fd);
	kind = program_kind(path);
	if (kind == PROGRAM_DYNAMIC)
		return true;
	snprintf(text, size, "process %d %s", (int)pid,
		 kind == PROGRAM_UNKNOWN ? "runs a program that is no ELF file" : reasons[kind]);
	return false;
}

bool attach_check(pid_t pid, char *text, size_t size)
{
	char status[4096];
	int of, tracer;

	errno = ENOENT;
	if (!file_read(pid, "status", status, sizeof(status))) {
		if (errno == ENOENT || errno == ESRCH)
			snprintf(text, size, "there is no process %d; `ps -e` lists those that are there", (int)pid);
		else
			snprintf(text, size, "/proc/%d/status: cannot read it: %s", (int)pid, strerror(errno));
		return false;
	}
	of = number_of(status, "\nTgid:");
	tracer = number_of(status, "\nTracerPid:");
	if (of && of != pid)
		snprintf(text, size, "%d is a thread of process %d: write --pid %d", (int)pid, of, of);
	else if (pid == getpid())
		snprintf(text, size, "process %d is mprof-run itself: write the number of another one", (int)pid);
	else if (strstr(status, "\nState:\tZ") || strstr(status, "\nState:\tX"))
		snprintf(text, size,
			 "process %d has ended, and its parent has not waited for it: it has no thread any more",
			 (int)pid);
	else if (is_kernel_thread(pid))
		snprintf(text, size, "process %d is a thread of the kernel: it runs no program", (int)pid);
	else if (tracer)
		snprintf(text, size, "process %d is traced by process %d, such as a debugger: end that first", (int)pid,
			 tracer);
	else
		return check_program(pid, text, size);
	return false;
}
