/*
 * The C library's own functions behind the wrappers.
 *
 * REAL(name) is the next definition of NAME after the shim. The constructor finds all of them; a
 * call that comes earlier finds its own. Looking up a symbol that exists allocates nothing in
 * glibc since 2.34.
 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#include <stddef.h>

#define REALS(X)                      \
	X(_Exit)                      \
	X(_exit)                      \
	X(accept)                     \
	X(accept4)                    \
	X(chroot)                     \
	X(clock_nanosleep)            \
	X(close)                      \
	X(close_range)                \
	X(closedir)                   \
	X(closefrom)                  \
	X(cnd_broadcast)              \
	X(cnd_signal)                 \
	X(cnd_timedwait)              \
	X(cnd_wait)                   \
	X(connect)                    \
	X(creat)                      \
	X(creat64)                    \
	X(dup)                        \
	X(dup2)                       \
	X(dup3)                       \
	X(epoll_create)               \
	X(epoll_create1)              \
	X(epoll_ctl)                  \
	X(epoll_pwait)                \
	X(epoll_pwait2)               \
	X(epoll_wait)                 \
	X(eventfd)                    \
	X(eventfd_read)               \
	X(eventfd_write)              \
	X(fclose)                     \
	X(fcntl)                      \
	X(fcntl64)                    \
	X(freopen)                    \
	X(freopen64)                  \
	X(inotify_init)               \
	X(inotify_init1)              \
	X(ioctl)                      \
	X(memfd_create)               \
	X(mtx_lock)                   \
	X(mtx_timedlock)              \
	X(mtx_trylock)                \
	X(mtx_unlock)                 \
	X(nanosleep)                  \
	X(open)                       \
	X(open64)                     \
	X(openat)                     \
	X(openat64)                   \
	X(pause)                      \
	X(pclose)                     \
	X(pipe)                       \
	X(pipe2)                      \
	X(poll)                       \
	X(posix_openpt)               \
	X(ppoll)                      \
	X(prctl)                      \
	X(pselect)                    \
	X(pthread_barrier_wait)       \
	X(pthread_clockjoin_np)       \
	X(pthread_create)             \
	X(pthread_join)               \
	X(pthread_mutex_clocklock)    \
	X(pthread_mutex_lock)         \
	X(pthread_mutex_timedlock)    \
	X(pthread_mutex_trylock)      \
	X(pthread_mutex_unlock)       \
	X(pthread_rwlock_clockrdlock) \
	X(pthread_rwlock_clockwrlock) \
	X(pthread_rwlock_destroy)     \
	X(pthread_rwlock_init)        \
	X(pthread_rwlock_rdlock)      \
	X(pthread_rwlock_timedrdlock) \
	X(pthread_rwlock_timedwrlock) \
	X(pthread_rwlock_tryrdlock)   \
	X(pthread_rwlock_trywrlock)   \
	X(pthread_rwlock_unlock)      \
	X(pthread_rwlock_wrlock)      \
	X(pthread_setname_np)         \
	X(pthread_timedjoin_np)       \
	X(quick_exit)                 \
	X(read)                       \
	X(readv)                      \
	X(recv)                       \
	X(recvfrom)                   \
	X(recvmmsg)                   \
	X(recvmsg)                    \
	X(select)                     \
	X(sem_clockwait)              \
	X(sem_post)                   \
	X(sem_timedwait)              \
	X(sem_trywait)                \
	X(sem_wait)                   \
	X(send)                       \
	X(sendmmsg)                   \
	X(sendmsg)                    \
	X(sendto)                     \
	X(setns)                      \
	X(signalfd)                   \
	X(sigsuspend)                 \
	X(sigtimedwait)               \
	X(sigwait)                    \
	X(sigwaitinfo)                \
	X(sleep)                      \
	X(socket)                     \
	X(socketpair)                 \
	X(syscall)                    \
	X(thrd_create)                \
	X(thrd_join)                  \
	X(thrd_sleep)                 \
	X(timerfd_create)             \
	X(unshare)                    \
	X(usleep)                     \
	X(wait)                       \
	X(wait3)                      \
	X(wait4)                      \
	X(waitid)                     \
	X(waitpid)                    \
	X(write)                      \
	X(writev)                     \
	X(__open64_2)                 \
	X(__open_2)                   \
	X(__openat64_2)               \
	X(__openat_2)                 \
	X(__poll_chk)                 \
	X(__ppoll_chk)                \
	X(__read_chk)                 \
	X(__recv_chk)                 \
	X(__recvfrom_chk)

/* Condition variables have two layouts on x86-64, and two versions of each function. */
#ifdef __x86_64__
#define OLD_VERSION "GLIBC_2.2.5"
#define NEW_VERSION "GLIBC_2.3.2"
#define REALS_VERSIONED(X)                          \
	X(pthread_cond_wait, old, OLD_VERSION)      \
	X(pthread_cond_timedwait, old, OLD_VERSION) \
	X(pthread_cond_signal, old, OLD_VERSION)    \
	X(pthread_cond_broadcast, old, OLD_VERSION) \
	X(pthread_cond_wait, new, NEW_VERSION)      \
	X(pthread_cond_timedwait, new, NEW_VERSION) \
	X(pthread_cond_signal, new, NEW_VERSION)    \
	X(pthread_cond_broadcast, new, NEW_VERSION) \
	X(pthread_cond_clockwait, new, "GLIBC_2.30")
#else
#define REALS_VERSIONED(X)                   \
	X(pthread_cond_wait, new, NULL)      \
	X(pthread_cond_timedwait, new, NULL) \
	X(pthread_cond_signal, new, NULL)    \
	X(pthread_cond_broadcast, new, NULL) \
	X(pthread_cond_clockwait, new, NULL)
#endif

enum real_index {
#define X(name) REAL_##name,
	REALS(X)
#undef X
#define X(name, age, version) REAL_##name##_##age,
		REALS_VERSIONED(X)
#undef X
			REAL_COUNT,
};

extern void *reals[REAL_COUNT] __attribute__((visibility("hidden")));

/* Find the function I and keep it. A function that the C library does not have is NULL. */
void *real_find(enum real_index i) __attribute__((visibility("hidden")));

static inline void *real_get(enum real_index i)
{
	void *f = __atomic_load_n(&reals[i], __ATOMIC_RELAXED);

	return __builtin_expect(f != NULL, 1) ? f : real_find(i);
}

#define REAL(name)	   ((__typeof__(&name))real_get(REAL_##name))
#define REAL_OF(name, age) ((__typeof__(&name))real_get(REAL_##name##_##age))

#endif
