#include "kernel-clock.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From now on have the process killed for any system call but exit(). Strict mode would forbid the time stamp counter, too. */
static bool forbid_all(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool clock_is_memory(void)
{
	struct timespec ts;
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (!forbid_all())
			_exit(1);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
		syscall(SYS_exit, 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return status == 0;
}
