/* Sleeps, waits for signals and for child processes, and futexes of the program's own. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "descriptor.h"
#include "real.h"
#include "root.h"
#include "seccomp.h"
#include "shim.h"

static const char *failure(long result)
{
	if (result >= 0)
		return NULL;
	return errno == EINTR ? "interrupted by a signal" : errno == ETIMEDOUT ? "timed out" : "failed";
}

/* For a call that returns an errno. */
static const char *failure_number(int result)
{
	return result == 0 ? NULL : result == EINTR ? "interrupted by a signal" : "failed";
}

#define SLEEP(call, expression) WAITING(call, 0, Wait, 0, expression, failure(result))

WRAPPER unsigned int sleep(unsigned int seconds)
{
	return WAITING(sleep, 0, Wait, 0, REAL(sleep)(seconds), result ? "interrupted by a signal" : NULL);
}

WRAPPER int usleep(useconds_t us)
{
	return SLEEP(usleep, REAL(usleep)(us));
}

WRAPPER int nanosleep(const struct timespec *time, struct timespec *left)
{
	return SLEEP(nanosleep, REAL(nanosleep)(time, left));
}

WRAPPER int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	return WAITING(clock_nanosleep, 0, Wait, 0, REAL(clock_nanosleep)(clock, flags, time, left),
		       failure_number(result));
}

WRAPPER int thrd_sleep(const struct timespec *time, struct timespec *left)
{
	return SLEEP(thrd_sleep, REAL(thrd_sleep)(time, left));
}

WRAPPER int pause(void)
{
	return SLEEP(pause, REAL(pause)());
}

WRAPPER int sigwait(const sigset_t *restrict set, int *restrict number)
{
	return WAITING(sigwait, 0, Wait, 0, REAL(sigwait)(set, number), failure_number(result));
}

WRAPPER int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return SLEEP(sigwaitinfo, REAL(sigwaitinfo)(set, info));
}

WRAPPER int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict time)
{
	return SLEEP(sigtimedwait, REAL(sigtimedwait)(set, info, time));
}

WRAPPER int sigsuspend(const sigset_t *mask)
{
	return SLEEP(sigsuspend, REAL(sigsuspend)(mask));
}

/* ---- child processes ---- */

WRAPPER pid_t wait(int *status)
{
	return SLEEP(wait, REAL(wait)(status));
}

WRAPPER pid_t waitpid(pid_t pid, int *status, int options)
{
	if (options & WNOHANG)
		return REAL(waitpid)(pid, status, options);
	return SLEEP(waitpid, REAL(waitpid)(pid, status, options));
}

WRAPPER pid_t wait3(int *status, int options, struct rusage *usage)
{
	if (options & WNOHANG)
		return REAL(wait3)(status, options, usage);
	return SLEEP(wait3, REAL(wait3)(status, options, usage));
}

WRAPPER pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (options & WNOHANG)
		return REAL(wait4)(pid, status, options, usage);
	return SLEEP(wait4, REAL(wait4)(pid, status, options, usage));
}

WRAPPER int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (options & WNOHANG)
		return REAL(waitid)(type, id, info, options);
	return SLEEP(waitid, REAL(waitid)(type, id, info, options));
}

/* ---- syscall() ---- */

static bool futex_waits(long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return true;
	default:
		return false;
	}
}

static bool futex_wakes(long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_UNLOCK_PI:
		return true;
	default:
		return false;
	}
}

/* Call seccomp(), which may turn filters on. */
static long seccomp_call(const long *a)
{
	struct seccomp_entry entry = {0};
	long r;

	/* A call without a filter asks what the kernel knows, and fails. */
	if (a[0] == SECCOMP_SET_MODE_STRICT || (a[0] == SECCOMP_SET_MODE_FILTER && a[2]))
		entry = seccomp_enters(a[0] == SECCOMP_SET_MODE_STRICT);
	r = REAL(syscall)(SYS_seccomp, a[0], a[1], a[2], a[3], a[4], a[5]);
	seccomp_entered(&entry, r);
	return r;
}

/* The system call NUMBER with the first argument A has returned R: forget what is known of a descriptor that it closed or made. */
static void descriptor_follows(long number, long a, long r)
{
	switch (number) {
	case SYS_close:
		descriptor_changed((int)a);
		break;
	case SYS_accept4:
	case SYS_dup:
	case SYS_dup3:
	case SYS_eventfd2:
	case SYS_memfd_create:
	case SYS_openat:
	case SYS_pidfd_getfd:
	case SYS_signalfd4:
	case SYS_socket:
	case SYS_timerfd_create:
		descriptor_changed((int)r);
		break;
	case SYS_pipe2:
		for (int i = 0; r == 0 && i < 2; i++)
			descriptor_changed(((const int *)a)[i]);
		break;
	default:
		break;
	}
}

WRAPPER long syscall(long number, ...)
{
	long a[6], r;
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_prctl)
		return prctl((int)a[0], a[1], a[2], a[3], a[4]);
	if (number == SYS_seccomp)
		return seccomp_call(a);
	if (number == SYS_futex && futex_waits(a[1]))
		return WAITING(futex, a[0], Condition, 0, REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]),
			       failure(result));
	if (number == SYS_futex && futex_wakes(a[1]))
		wake(HERE, a[0], MPROF_THREAD_Condition);
	r = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	descriptor_follows(number, a[0], r);
	if (r == 0 && (number == SYS_chroot || number == SYS_pivot_root))
		root_changed();
	return r;
}
