/*
 * run-twin: what the functions that mprof-run's library wraps return, one line for each function and question.
 * run.py compares the lines with and without mprof-run.
 *
 *   calm         a call that need not wait: its result, and errno, which was 4321
 *   wrong        a call that fails
 *   cancelled    the same as calm in a thread with a cancellation request: whether the thread was cancelled
 *   interrupted  a call that waits until a signal comes
 *   handler      the same as calm in a signal handler that interrupts a thread that locks and unlocks
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "target.h"
#include "twin-rows.h"

#define FULL 65536
#define NONE (-12345) /* no such call */

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buffer, size_t n, size_t size);
ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict buffer, size_t n, size_t size, int flags,
		       struct sockaddr *restrict address, socklen_t *restrict length);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size);

/* ---- what the calls work on, new for each ---- */

static int side[2]; /* a stream socket: the first side has bytes to read, the second none */
static int file, listening, epoll_ready, epoll_quiet;
static struct sockaddr_un address;
static socklen_t address_length;
static char buffer[FULL];
static struct iovec iov;
static struct msghdr message;
static struct mmsghdr messages;
static struct pollfd ready, quiet;
static struct pollfd *volatile nowhere = (struct pollfd *)8;
static fd_set set;
static sigset_t none, second; /* SECOND: SIGUSR2, which is blocked */
static siginfo_t info;
static pthread_mutex_t mutex, taken; /* TAKEN: of the kind that reports errors, locked by the thread */
static mtx_t mutex_c11;
static pthread_rwlock_t rwlock, remade, written; /* WRITTEN: locked for writing by the thread */
static pthread_cond_t condition;
static cnd_t condition_c11;
static pthread_barrier_t barrier;
static sem_t permits, empty, go;
static pthread_t helper; /* waits for GO */
static bool helper_is_joined;
static pthread_attr_t huge;

static const struct timespec past = {.tv_sec = 1}, bad = {.tv_nsec = -1}, instant = {.tv_nsec = 1},
			     ages = {.tv_sec = 100000};
static struct timespec ages_on; /* that long from now */
static struct timeval zero_us;
static struct rusage usage;
static int status;
static pid_t child;
static int made[2], *volatile no_pair = (int *)8;
static DIR *volatile no_directory;
static eventfd_t count;

static void *wait_for_go(void *nothing)
{
	while (sem_wait(&go) < 0) {
	}
	return nothing;
}

static void *nothing_more(void *nothing)
{
	return nothing;
}

static int nothing_c11(void *nothing)
{
	return nothing ? 1 : 0;
}

static int epoll_of(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	return epoll;
}

static void files_make(void)
{
	int dialled;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, side) == 0);
	CHECK(write(side[1], "12345678", 8) == 8);
	file = memfd_create("twin", 0);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	address = (struct sockaddr_un){.sun_family = AF_UNIX};
	CHECK(bind(listening, (const struct sockaddr *)&address, sizeof(sa_family_t)) == 0 &&
	      listen(listening, 8) == 0);
	address_length = sizeof(address);
	CHECK(getsockname(listening, (struct sockaddr *)&address, &address_length) == 0);
	dialled = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(dialled, (const struct sockaddr *)&address, address_length) == 0 && close(dialled) == 0);
	epoll_ready = epoll_of(side[0]);
	epoll_quiet = epoll_of(side[1]);
	iov = (struct iovec){.iov_base = buffer, .iov_len = 1};
	message = (struct msghdr){.msg_iov = &iov, .msg_iovlen = 1};
	messages = (struct mmsghdr){.msg_hdr = message};
	ready = (struct pollfd){.fd = side[0], .events = POLLIN};
	quiet = (struct pollfd){.fd = side[1], .events = POLLIN};
	FD_ZERO(&set);
	FD_SET(side[0], &set);
	zero_us = (struct timeval){0};
}

static void locks_make(void)
{
	pthread_mutexattr_t checks;

	pthread_mutexattr_init(&checks);
	pthread_mutexattr_settype(&checks, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_init(&taken, &checks);
	pthread_rwlock_init(&rwlock, NULL);
	pthread_rwlock_init(&written, NULL);
	pthread_cond_init(&condition, NULL);
	pthread_barrier_init(&barrier, NULL, 1);
	mtx_init(&mutex_c11, mtx_timed);
	cnd_init(&condition_c11);
	sem_init(&permits, 0, 1);
	sem_init(&empty, 0, 0);
	sem_init(&go, 0, 0);
	pthread_attr_init(&huge);
	pthread_attr_setstacksize(&huge, (size_t)1 << 46);
}

static void twin_make(void)
{
	files_make();
	locks_make();
	ages_on = (struct timespec){.tv_sec = time(NULL) + ages.tv_sec};
	sigemptyset(&none);
	sigaddset(&none, SIGUSR2);
	second = none;
	CHECK(pthread_sigmask(SIG_BLOCK, &second, NULL) == 0);
	CHECK(pthread_create(&helper, NULL, wait_for_go, NULL) == 0);
	helper_is_joined = false;
}

static void twin_end(void)
{
	const struct timespec now = {0};

	sem_post(&go);
	if (!helper_is_joined)
		CHECK(pthread_join(helper, NULL) == 0);
	while (sigtimedwait(&second, NULL, &now) > 0) {
	}
	if (child > 0)
		kill(child, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0) {
	}
	child = 0;
	for (int fd = 3; fd < 64; fd++)
		close(fd);
}

/* ---- calls that need some words ---- */

static long is_descriptor(long result)
{
	return result < 0 ? result : 0;
}

/* Return what WAY of ending a process makes of the code 7. */
static long ended(void (*way)(int))
{
	pid_t pid = fork();

	if (pid == 0)
		way(7);
	CHECK(waitpid(pid, &status, 0) == pid);
	return WEXITSTATUS(status);
}

/* Start a child that ends at once, or one that never does. */
static void child_make(bool ends)
{
	child = fork();
	if (child == 0 && ends)
		_exit(7);
	while (child == 0)
		pause();
}

static long reap(pid_t (*way)(int *), bool ends)
{
	pid_t pid;

	child_make(ends);
	pid = way(&status);
	if (pid != child)
		return pid;
	child = 0;
	return WEXITSTATUS(status);
}

static pid_t by_waitpid(int *code)
{
	return waitpid(child, code, 0);
}

static pid_t by_waitpid_hurried(int *code)
{
	return waitpid(child, code, WNOHANG);
}

static pid_t by_wait3(int *code)
{
	return wait3(code, 0, &usage);
}

static pid_t by_wait4(int *code)
{
	return wait4(child, code, 0, &usage);
}

static pid_t by_waitid(int *code)
{
	int r = waitid(P_PID, (id_t)child, &info, WEXITED);

	*code = info.si_status << 8;
	return r < 0 ? r : info.si_pid;
}

static long vforked(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(7);
	CHECK(waitpid(pid, &status, 0) == pid);
	return WEXITSTATUS(status);
}

/* Return what the call of THEN gives with the signal SIGUSR2 pending. */
static long pended(int (*then)(void))
{
	CHECK(raise(SIGUSR2) == 0);
	return then();
}

static int by_sigwait(void)
{
	int number = 0, r = sigwait(&second, &number);

	return r ? -r : number;
}

static int by_sigwaitinfo(void)
{
	return sigwaitinfo(&second, &info);
}

static int by_sigtimedwait(void)
{
	return sigtimedwait(&second, &info, NULL);
}

static long joined(long result)
{
	helper_is_joined = result == 0;
	return result;
}

static long posix_created(const pthread_attr_t *attributes)
{
	pthread_t thread;
	int r = pthread_create(&thread, attributes, nothing_more, NULL);

	CHECK(r || pthread_detach(thread) == 0);
	return r;
}

static long c11_created(void)
{
	thrd_t thread;
	int r = thrd_create(&thread, nothing_c11, NULL);

	CHECK(r != thrd_success || thrd_detach(thread) == thrd_success);
	return r;
}

static long c11_joined(void)
{
	thrd_t thread;
	int code = 3;

	CHECK(thrd_create(&thread, nothing_c11, &thread) == thrd_success);
	return thrd_join(thread, &code) * 10 + code;
}

/* Fill the socket, and return a number of bytes that it has no room for. */
static size_t too_much(void)
{
	while (send(side[1], buffer, sizeof(buffer), MSG_DONTWAIT) > 0) {
	}
	iov.iov_len = sizeof(buffer);
	return sizeof(buffer);
}

static long dialled(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return connect(fd, (const struct sockaddr *)&address, address_length);
}

/* Lock for writing the whole file, in a child that ends with its parent's kill. */
static struct flock *locked_by_another(void)
{
	static struct flock all = {.l_type = F_WRLCK};
	int ready_pipe[2];
	char byte;

	CHECK(pipe(ready_pipe) == 0);
	child = fork();
	if (child == 0) {
		while (fcntl(file, F_SETLKW, &all) < 0 || write(ready_pipe[1], "x", 1) != 1) {
		}
		for (;;)
			pause();
	}
	while (read(ready_pipe[0], &byte, 1) != 1) {
	}
	return &all;
}

static long closed_range(void)
{
	int fd = dup2(side[0], 60), r = close_range(60, 61, 0);

	return r < 0 ? r : fcntl(fd, F_GETFD);
}

static int full_eventfd(void)
{
	int fd = eventfd(0, 0);
	const eventfd_t most = UINT64_MAX - 1;

	CHECK(write(fd, &most, sizeof(most)) == sizeof(most));
	return fd;
}

static long freopened(FILE *(*way)(const char *restrict, const char *restrict, FILE *restrict))
{
	FILE *f = way("/dev/null", "w", fdopen(dup(file), "r"));

	return f ? fclose(f) : -1;
}

static long pclosed(void)
{
	FILE *f = popen("exit 7", "r"); /* NOLINT(cert-env33-c): the function is asked for */

	return f ? WEXITSTATUS(pclose(f)) : -1;
}

static long file_mode(int fd)
{
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	unlink("twin-mode");
	return st.st_mode & 0777;
}

static struct flock unlock = {.l_type = F_UNLCK};

/* ---- the rows ---- */

struct row {
	const char *name;
	long (*calm)(void), (*wrong)(void), (*slow)(void);
};

#define X(name, calm, wrong, slow)           \
	static long calm_##name(void)        \
	{                                    \
		return (long)(calm);         \
	}                                    \
	static long wrong_##name(void)       \
	{                                    \
		return (long)(wrong);        \
	}                                    \
	static long interrupted_##name(void) \
	{                                    \
		return (long)(slow);         \
	}
ROWS(X)
CANCELLED_ROWS(X)
#undef X

#define X(name, calm, wrong, slow) {#name, calm_##name, wrong_##name, interrupted_##name},
static const struct row rows[] = {ROWS(X)}, cancelled_rows[] = {CANCELLED_ROWS(X)};
#undef X

/* ---- the questions ---- */

static void say(const char *name, const char *question, long result, int error)
{
	if (result != NONE)
		printf("%s %s: %ld, errno %d\n", name, question, result, error);
	fflush(stdout);
}

static void ask(const char *name, const char *question, long (*call)(void))
{
	long result;

	twin_make();
	errno = 4321;
	result = call();
	say(name, question, result, errno);
	twin_end();
}

static long requested_result;

static void *with_request(void *row)
{
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
	CHECK(pthread_cancel(pthread_self()) == 0);
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
	requested_result = ((const struct row *)row)->calm();
	CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
	return NULL;
}

static void ask_cancelled(const struct row *r)
{
	pthread_t thread;
	void *result;

	twin_make();
	CHECK(pthread_create(&thread, NULL, with_request, (void *)(uintptr_t)r) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	if (result == PTHREAD_CANCELED)
		printf("%s cancelled: yes\n", r->name);
	else if (requested_result != NONE)
		printf("%s cancelled: no, %ld\n", r->name, requested_result);
	twin_end();
}

static void nothing_to_do(int number)
{
	(void)number;
}

static pthread_t first;
static bool volatile over;

/* Signal the first thread until its call is over: the first signal may come before the call waits. */
static void *interrupt(void *nothing)
{
	while (!over) {
		CHECK(pthread_kill(first, SIGUSR1) == 0);
		usleep(2000);
	}
	return nothing;
}

static void ask_interrupted(const struct row *r)
{
	pthread_t thread;
	long result;
	int error;

	twin_make();
	first = pthread_self();
	over = false;
	CHECK(pthread_create(&thread, NULL, interrupt, NULL) == 0);
	errno = 4321;
	result = r->slow();
	error = errno;
	over = true;
	CHECK(pthread_join(thread, NULL) == 0);
	say(r->name, "interrupted", result, error);
	twin_end();
}

static long (*handled)(void);
static long handler_result;
static int handler_error;
static bool handler_began; /* atomic */
static bool volatile handler_ran;

static void on_alarm(int number)
{
	int error = errno;

	(void)number;
	if (__atomic_exchange_n(&handler_began, true, __ATOMIC_RELAXED))
		return;
	errno = 4321;
	handler_result = handled();
	handler_error = errno;
	errno = error;
	handler_ran = true;
}

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;

static void *contend(void *nothing)
{
	while (!handler_ran) {
		pthread_mutex_lock(&contended);
		pthread_mutex_unlock(&contended);
	}
	return nothing;
}

/* The functions that POSIX allows in signal handlers. */
static const char safe[] = " accept close connect creat creat64 dup dup2 open open64 openat openat64 pipe socket "
			   "socketpair fcntl fcntl64 nanosleep poll pselect read recv recvfrom recvmsg select sem_post"
			   " send sendmsg sendto sleep wait waitpid write ";

static void ask_handler(const struct row *r)
{
	const struct itimerval soon_us = {.it_value = {.tv_usec = 200}, .it_interval = {.tv_usec = 200}}, never = {0};
	char word[40];
	pthread_t thread;

	snprintf(word, sizeof(word), " %s ", r->name);
	if (!strstr(safe, word))
		return;
	twin_make();
	handled = r->calm;
	handler_began = handler_ran = false;
	CHECK(setitimer(ITIMER_REAL, &soon_us, NULL) == 0);
	CHECK(pthread_create(&thread, NULL, contend, NULL) == 0);
	contend(NULL);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	say(r->name, "handler", handler_result, handler_error);
	twin_end();
}

int main(void)
{
	const struct sigaction kick = {.sa_handler = nothing_to_do},
			       alarmed = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	CHECK(sigaction(SIGUSR1, &kick, NULL) == 0 && sigaction(SIGALRM, &alarmed, NULL) == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ask(rows[i].name, "calm", rows[i].calm);
		ask(rows[i].name, "wrong", rows[i].wrong);
		ask_cancelled(&rows[i]);
		ask_interrupted(&rows[i]);
		ask_handler(&rows[i]);
	}
	for (size_t i = 0; i < sizeof(cancelled_rows) / sizeof(*cancelled_rows); i++)
		ask_cancelled(&cancelled_rows[i]);
	return 0;
}
