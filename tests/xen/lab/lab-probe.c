/*
 * lab-probe: try what the units forbid. It prints a line per attempt: its name, and "done", the name
 * of the error, or the signal that ended the attempt. packaged.py runs it in each unit, in place of
 * the daemon, and outside of the units, and prepares the files and addresses that it uses.
 *
 * Each attempt runs in a process of its own, which ends with 0 or an errno.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"

#define SUID_COPY     "/usr/local/libexec/lab-suid"
#define SHM_KEY	      0x6c6162
#define PROCESSES     64
#define PORT	      7999
#define CONNECT_MS    3000
#define KLOG_READ_ALL 3

/* An attempt takes one text, which most ignore. */
#define UNUSED __attribute__((unused)) const char *unused

/* Return 0 if a system call succeeded, else its errno. */
static int status(long result)
{
	return result < 0 ? errno : 0;
}

/* ---- system calls */

static int try_ptrace(UNUSED)
{
	return status(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_setuid(UNUSED)
{
	return status(setuid(getuid()));
}

static int try_chown(UNUSED)
{
	CLEANUP(closep) int fd = memfd_create("probe", 0);

	return status(fchown(fd, getuid(), (gid_t)-1));
}

static int try_setpriority(UNUSED)
{
	return status(setpriority(PRIO_PROCESS, 0, 19));
}

static int try_capset(UNUSED)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	return status(syscall(SYS_capset, &header, none));
}

static int try_scheduler(UNUSED)
{
	return status(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}));
}

/* glibc's setrlimit makes another system call. */
static int try_setrlimit(UNUSED)
{
	return status(syscall(SYS_setrlimit, RLIMIT_CORE, &(struct rlimit){0, 0}));
}

static int try_mempolicy(UNUSED)
{
	return status(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
}

static int try_fanotify(UNUSED)
{
	return status(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}

#ifdef __x86_64__
static int try_modify_ldt(UNUSED)
{
	char table[16];

	return status(syscall(SYS_modify_ldt, 0, table, sizeof(table)));
}

/* Make a system call of the 32-bit ABI: getpid. */
static int try_foreign_abi(UNUSED)
{
	long result = 20;

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result < 0 ? (int)-result : 0;
}
#endif

static int try_mount(UNUSED)
{
	if (mount("none", "/srv/lab", "tmpfs", 0, NULL) < 0)
		return errno;
	return status(umount("/srv/lab"));
}

static int try_chroot(UNUSED)
{
	return status(chroot("/"));
}

static int try_sethostname(UNUSED)
{
	char name[65];

	if (gethostname(name, sizeof(name)) < 0)
		return errno;
	return status(sethostname(name, strlen(name)));
}

static int try_settime(UNUSED)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return status(clock_settime(CLOCK_REALTIME, &now));
}

static int try_namespace(UNUSED)
{
	return status(unshare(CLONE_NEWUSER));
}

static int try_personality(UNUSED)
{
	return status(personality(ADDR_NO_RANDOMIZE));
}

static int try_write_and_execute(UNUSED)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static int try_write_then_execute(UNUSED)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : status(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int try_set_suid(UNUSED)
{
	CLEANUP(closep) int fd = memfd_create("probe", 0);

	return status(fchmod(fd, 04755));
}

/* Run a copy of this program that belongs to root and has the set-user-ID bit. */
static int try_run_suid(UNUSED)
{
	execl(SUID_COPY, SUID_COPY, "euid", NULL);
	return errno;
}

static int try_kernel_log(UNUSED)
{
	char text[64];

	return status(klogctl(KLOG_READ_ALL, text, sizeof(text)));
}

static int try_processes(UNUSED)
{
	pid_t pids[PROCESSES];
	int n = 0, failure = 0;

	for (; n < PROCESSES && !failure; n++) {
		pids[n] = fork();
		if (pids[n] == 0) {
			pause();
			_exit(0);
		}
		if (pids[n] < 0)
			failure = errno;
	}
	for (int i = 0; i < n; i++)
		if (pids[i] > 0) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
	return failure;
}

/* ---- sockets */

static int family(int domain, int type)
{
	CLEANUP(closep) int fd = socket(domain, type, 0);

	return status(fd);
}

static int try_unix(UNUSED)
{
	return family(AF_UNIX, SOCK_STREAM);
}

static int try_inet(UNUSED)
{
	return family(AF_INET, SOCK_STREAM);
}

static int try_inet6(UNUSED)
{
	return family(AF_INET6, SOCK_STREAM);
}

static int try_netlink(UNUSED)
{
	return family(AF_NETLINK, SOCK_RAW);
}

static int try_packet(UNUSED)
{
	return family(AF_PACKET, SOCK_RAW);
}

static struct sockaddr_in address(const char *text, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, text, &to.sin_addr);
	return to;
}

/* Send a datagram. */
static int send_to(const char *text)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in to = address(text, PORT);

	return fd < 0 ? errno : status(sendto(fd, "", 1, 0, (const struct sockaddr *)&to, sizeof(to)));
}

/* Connect to a listener. The kernel drops forbidden packets of TCP, and reports no error. */
static int connect_to(const char *text)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in to = address(text, PORT);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int failure = 0;
	socklen_t size = sizeof(failure);

	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&wait, 1, CONNECT_MS) <= 0)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 ? errno : failure;
}

static int bind_to(int port)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in to = address("127.0.0.1", port);

	return fd < 0 ? errno : status(bind(fd, (const struct sockaddr *)&to, sizeof(to)));
}

static int try_bind_low(UNUSED)
{
	return bind_to(80);
}

static int try_bind_high(UNUSED)
{
	return bind_to(PORT + 1);
}

/* ---- files and devices */

static int open_as(const char *path, int flags)
{
	CLEANUP(closep) int fd = open(path, flags | O_CLOEXEC, 0600);

	return status(fd);
}

static int read_from(const char *path)
{
	return open_as(path, O_RDONLY);
}

static int write_to(const char *path)
{
	return open_as(path, O_WRONLY);
}

/* Make a file in a directory, and remove it. */
static int write_in(const char *directory)
{
	char path[128];
	int failure;

	snprintf(path, sizeof(path), "%s/probe-%d", directory, (int)getpid());
	failure = open_as(path, O_WRONLY | O_CREAT | O_EXCL);
	if (!failure)
		unlink(path);
	return failure;
}

static int try_control_group(UNUSED)
{
	if (mkdir("/sys/fs/cgroup/lab/probe", 0700) < 0)
		return errno;
	return status(rmdir("/sys/fs/cgroup/lab/probe"));
}

static int try_shared_memory(UNUSED)
{
	return status(shmget(SHM_KEY, 0, 0));
}

static const struct {
	const char *name;
	int (*run)(const char *);
	const char *with;
} attempts[] = {
	{"ptrace", try_ptrace, NULL},
	{"setuid", try_setuid, NULL},
	{"chown", try_chown, NULL},
	{"setpriority", try_setpriority, NULL},
	{"capset", try_capset, NULL},
	{"scheduler", try_scheduler, NULL},
	{"setrlimit", try_setrlimit, NULL},
	{"mempolicy", try_mempolicy, NULL},
	{"fanotify", try_fanotify, NULL},
#ifdef __x86_64__
	{"modify-ldt", try_modify_ldt, NULL},
	{"foreign-abi", try_foreign_abi, NULL},
#endif
	{"mount", try_mount, NULL},
	{"chroot", try_chroot, NULL},
	{"sethostname", try_sethostname, NULL},
	{"settime", try_settime, NULL},
	{"namespace", try_namespace, NULL},
	{"personality", try_personality, NULL},
	{"write-and-execute", try_write_and_execute, NULL},
	{"write-then-execute", try_write_then_execute, NULL},
	{"set-suid", try_set_suid, NULL},
	{"run-suid", try_run_suid, NULL},
	{"kernel-log", try_kernel_log, NULL},
	{"processes", try_processes, NULL},
	{"unix", try_unix, NULL},
	{"inet", try_inet, NULL},
	{"inet6", try_inet6, NULL},
	{"netlink", try_netlink, NULL},
	{"packet", try_packet, NULL},
	{"send-loopback", send_to, "127.0.0.1"},
	{"send-viewer", send_to, "192.0.2.1"},
	{"send-guest", send_to, "198.51.100.1"},
	{"connect-loopback", connect_to, "127.0.0.1"},
	{"connect-viewer", connect_to, "192.0.2.1"},
	{"connect-guest", connect_to, "198.51.100.1"},
	{"bind-low", try_bind_low, NULL},
	{"bind-high", try_bind_high, NULL},
	{"write-system", write_in, "/srv/lab"},
	{"write-archive", write_in, "/var/lib/mprofd/lab"},
	{"write-profiles", write_in, "/var/lib/mprofd/memtraces/lab"},
	{"write-tokens", write_in, "/var/lib/mprofd-http/lab"},
	{"read-home", read_from, "/home/lab/file"},
	{"read-tmp", read_from, "/tmp/lab-file"},
	{"read-process", read_from, "/proc/1/status"},
	{"read-meminfo", read_from, "/proc/meminfo"},
	{"control-group", try_control_group, NULL},
	{"shared-memory", try_shared_memory, NULL},
	{"kmsg", write_to, "/dev/kmsg"},
	{"disk", read_from, "/dev/vda"},
	{"grant-device", write_to, "/dev/xen/gntdev"},
	{"grant-maker", write_to, "/dev/xen/gntalloc"},
};

static void report(const char *name, int ended)
{
	if (WIFSIGNALED(ended))
		printf("%s SIG%s\n", name, sigabbrev_np(WTERMSIG(ended)));
	else if (WEXITSTATUS(ended))
		printf("%s %s\n", name, strerrorname_np(WEXITSTATUS(ended)));
	else
		printf("%s done\n", name);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "euid") == 0)
		return geteuid() == 0 ? 0 : EPERM;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		int ended;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0)
			_exit(attempts[i].run(attempts[i].with));
		if (child < 0 || waitpid(child, &ended, 0) < 0) {
			perror("lab-probe");
			return 1;
		}
		report(attempts[i].name, ended);
	}
	return 0;
}
