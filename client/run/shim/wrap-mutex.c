/*
 * Mutexes, of POSIX and of C11, and reader-writer locks.
 *
 * Each lock is tried first, so an uncontended lock costs no event. The owner is read from the
 * lock, whose layout is part of the C library's binary interface.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "hold.h"
#include "readers.h"
#include "real.h"
#include "shim.h"

static const char *failure(int result)
{
	if (result == EDEADLK)
		return "the thread has the lock already";
	return result == EOWNERDEAD ? NULL : failure_code(result);
}

static int owner_of(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) & 0x3fffffff;
}

/* Return whether threads may wait for M: the lock word of glibc is then greater than 1. */
static bool is_waited_for(const pthread_mutex_t *m)
{
	return __atomic_load_n((const unsigned int *)&m->__data.__lock, __ATOMIC_RELAXED) > 1;
}

/* Note that the thread has M, if R, what the call returned, says so. Return R. */
static inline int took(const volatile void *m, int r, int good)
{
	if (r == good || r == EOWNERDEAD)
		hold_took(object_id(m));
	return r;
}

#define LOCK(call, m, expression) \
	took(m, WAITING(call, object_id(m), Mutex, owner_of(m), expression, failure(result)), 0)

WRAPPER int pthread_mutex_lock(pthread_mutex_t *m)
{
	int r = REAL(pthread_mutex_trylock)(m);

	if (r != EBUSY)
		return took(m, r, 0);
	return LOCK(pthread_mutex_lock, m, REAL(pthread_mutex_lock)(m));
}

WRAPPER int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	int r;

	if (!is_time(CLOCK_REALTIME, until))
		return REAL(pthread_mutex_timedlock)(m, until);
	r = REAL(pthread_mutex_trylock)(m);
	if (r != EBUSY)
		return took(m, r, 0);
	return LOCK(pthread_mutex_timedlock, m, REAL(pthread_mutex_timedlock)(m, until));
}

WRAPPER int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	int r;

	if (!is_time(clock, until))
		return REAL(pthread_mutex_clocklock)(m, clock, until);
	r = REAL(pthread_mutex_trylock)(m);
	if (r != EBUSY)
		return took(m, r, 0);
	return LOCK(pthread_mutex_clocklock, m, REAL(pthread_mutex_clocklock)(m, clock, until));
}

WRAPPER int pthread_mutex_trylock(pthread_mutex_t *m)
{
	return took(m, REAL(pthread_mutex_trylock)(m), 0);
}

WRAPPER int pthread_mutex_unlock(pthread_mutex_t *m)
{
	hold_releases(object_id(m));
	if (is_waited_for(m))
		wake(HERE, object_id(m), MPROF_THREAD_Mutex);
	return REAL(pthread_mutex_unlock)(m);
}

#define LOCK_C11(call, m, expression)                                                               \
	took(m,                                                                                     \
	     WAITING(call, object_id(m), Mutex, owner_of((const pthread_mutex_t *)(m)), expression, \
		     failure_c11(result)),                                                          \
	     thrd_success)

WRAPPER int mtx_lock(mtx_t *m)
{
	int r = REAL(mtx_trylock)(m);

	if (r != thrd_busy)
		return took(m, r, thrd_success);
	return LOCK_C11(mtx_lock, m, REAL(mtx_lock)(m));
}

WRAPPER int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	int r;

	if (!is_time(CLOCK_REALTIME, until))
		return REAL(mtx_timedlock)(m, until);
	r = REAL(mtx_trylock)(m);
	if (r != thrd_busy)
		return took(m, r, thrd_success);
	return LOCK_C11(mtx_timedlock, m, REAL(mtx_timedlock)(m, until));
}

WRAPPER int mtx_trylock(mtx_t *m)
{
	return took(m, REAL(mtx_trylock)(m), thrd_success);
}

WRAPPER int mtx_unlock(mtx_t *m)
{
	hold_releases(object_id(m));
	if (is_waited_for((const pthread_mutex_t *)m))
		wake(HERE, object_id(m), MPROF_THREAD_Mutex);
	return REAL(mtx_unlock)(m);
}

/* ---- reader-writer locks: the lock has its writer, and the number of its readers ---- */

/* Readers that have L, or that wait for it: from bit 3 on of glibc's word. */
static uint32_t readers_of(const pthread_rwlock_t *l)
{
	return __atomic_load_n(&l->__data.__readers, __ATOMIC_RELAXED) >> 3;
}

/* Return the thread that has L, or one of them, or 0 if none is known. */
static int holder_of(const pthread_rwlock_t *l)
{
	int writer = __atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED);

	return writer ? writer : readers_one(object_id(l), readers_of(l));
}

/* Note that the thread has L for reading, if R, what the call returned, says so. Return R. */
static inline int took_shared(const pthread_rwlock_t *l, int r)
{
	if (r == 0)
		readers_took(object_id(l));
	return r;
}

static inline int took_alone(const pthread_rwlock_t *l, int r)
{
	(void)l;
	return r;
}

#define RWLOCK(call, try, took, timely, ...)                  \
	int r;                                                \
                                                              \
	if (!(timely))                                        \
		return took(l, REAL(call)(l, ##__VA_ARGS__)); \
	r = REAL(try)(l);                                     \
	if (r != EBUSY)                                       \
		return took(l, r);                            \
	return took(l, WAITING(call, object_id(l), Mutex, holder_of(l), REAL(call)(l, ##__VA_ARGS__), failure(result)))

WRAPPER int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	RWLOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, took_shared, true);
}

WRAPPER int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	RWLOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, took_alone, true);
}

WRAPPER int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return took_shared(l, REAL(pthread_rwlock_tryrdlock)(l));
}

WRAPPER int pthread_rwlock_timedrdlock(pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
	RWLOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, took_shared, is_time(CLOCK_REALTIME, until),
	       until);
}

WRAPPER int pthread_rwlock_timedwrlock(pthread_rwlock_t *restrict l, const struct timespec *restrict until)
{
	RWLOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, took_alone, is_time(CLOCK_REALTIME, until), until);
}

WRAPPER int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t clock,
				       const struct timespec *restrict until)
{
	RWLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, took_shared, is_time(clock, until), clock, until);
}

WRAPPER int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t clock,
				       const struct timespec *restrict until)
{
	RWLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, took_alone, is_time(clock, until), clock, until);
}

WRAPPER int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	const struct object *o = object_find(object_id(l));

	readers_releases(object_id(l));
	if (o && __atomic_load_n(&o->waiters, __ATOMIC_RELAXED))
		wake(HERE, object_id(l), MPROF_THREAD_Mutex);
	return REAL(pthread_rwlock_unlock)(l);
}

WRAPPER int pthread_rwlock_init(pthread_rwlock_t *restrict l, const pthread_rwlockattr_t *restrict attributes)
{
	readers_clear(object_id(l));
	return REAL(pthread_rwlock_init)(l, attributes);
}

WRAPPER int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	readers_clear(object_id(l));
	return REAL(pthread_rwlock_destroy)(l);
}
