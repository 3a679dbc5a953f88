/*
 * run-sandbox MODE: a program that has itself killed for each system call that it does not make itself, and then reads a
 * pipe, waits for a lock, starts a thread and a child. It prints what it has done.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

/* The C library's calls in the functions that the program calls after its filter is on. */
static const int own[] = {SYS_read,	    SYS_write,		 SYS_futex,	SYS_exit,
			  SYS_exit_group,   SYS_clock_nanosleep, SYS_mmap,	SYS_munmap,
			  SYS_mprotect,	    SYS_clone,		 SYS_clone3,	SYS_rt_sigprocmask,
			  SYS_rseq,	    SYS_set_robust_list, SYS_madvise,	SYS_wait4,
			  SYS_rt_sigreturn, SYS_rt_sigaction,	 SYS_getrandom, SYS_brk};
/* Calls that a program needs to be executed, too. */
static const int start[] = {SYS_execve,	    SYS_openat,	   SYS_newfstatat, SYS_fstat,		SYS_close,
			    SYS_pread64,    SYS_faccessat, SYS_prlimit64,  SYS_set_tid_address, SYS_pipe2,
#ifdef __x86_64__
			    SYS_arch_prctl, SYS_access,	   SYS_readlink
#endif
};

static struct sock_filter code[128];
static struct sock_fprog program = {.filter = code};

static void add(struct sock_filter instruction)
{
	code[program.len++] = instruction;
}

static void allow(const int *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)numbers[i], 0, 1));
		add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
}

static void filter_make(bool starts)
{
	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	allow(own, sizeof(own) / sizeof(*own));
	if (starts)
		allow(start, sizeof(start) / sizeof(*start));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void say(const char *text)
{
	CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static int fds[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *nothing)
{
	char byte;

	CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	CHECK(read(fds[0], &byte, 1) == 1);
	return nothing;
}

static void threads(void)
{
	const struct timespec while_it_waits = {.tv_nsec = 20000000};
	pthread_t thread;

	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_create(&thread, NULL, lock, NULL) == 0);
	nanosleep(&while_it_waits, NULL);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	nanosleep(&while_it_waits, NULL);
	CHECK(write(fds[1], "x", 1) == 1);
	CHECK(pthread_join(thread, NULL) == 0);
	say("thread\n");
}

static void child(void)
{
	pid_t pid = fork();
	int status;
	char byte;

	if (pid == 0) {
		CHECK(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1);
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	say("child\n");
}

static void work(void)
{
	char byte;

	CHECK(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1);
	say("pipe\n");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char byte;

	CHECK(pipe(fds) == 0);
	if (strcmp(mode, "strict") == 0) {
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		work();
		syscall(SYS_exit, 3);
	}
	if (strcmp(mode, "inherited") != 0) {
		filter_make(strcmp(mode, "execute") == 0);
		if (strcmp(mode, "seccomp") == 0)
			CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
		else
			CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	}
	if (strcmp(mode, "execute") == 0) {
		argv[1] = "inherited";
		execv(argv[0], argv);
	}
	work();
	threads();
	child();
	if (strcmp(mode, "hang") == 0)
		CHECK(read(fds[0], &byte, 1) == 1);
	_exit(3);
}
