/*
 * Condition variables, semaphores and barriers.
 *
 * Each signal of a condition variable is recorded, also one that no thread waits for: that one may
 * be the wake-up that a later wait has missed. On x86-64 glibc has two versions of the functions;
 * an old program keeps its own.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "hold.h"
#include "real.h"
#include "shim.h"

/* A wait for a condition releases the mutex inside the C library: wake those that wait for it. */
static void release(const void *place, const pthread_mutex_t *m)
{
	shim_self.waits_with = object_id(m);
	shim_self.waits_since = hold_since(object_id(m));
	hold_releases(object_id(m));
	if (__atomic_load_n((const unsigned int *)&m->__data.__lock, __ATOMIC_RELAXED) > 1)
		wake(place, object_id(m), MPROF_THREAD_Mutex);
}

/* The wait for a condition has returned R, and the thread has the mutex M again. Return R. */
static inline int has_again(const volatile void *m, int r)
{
	hold_took(object_id(m));
	return r;
}

#define CONDITION(call, c, m, expression) \
	has_again(m, WAITING(call, object_id(c), Condition, 0, expression, failure_code(result)))

#define CONDITION_FUNCTIONS(age, symbol_wait, symbol_timedwait, symbol_signal, symbol_broadcast)                   \
	WRAPPER int symbol_wait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m)                           \
	{                                                                                                          \
		release(HERE, m);                                                                                  \
		return CONDITION(pthread_cond_wait, c, m, REAL_OF(pthread_cond_wait, age)(c, m));                  \
	}                                                                                                          \
                                                                                                                   \
	WRAPPER int symbol_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,                      \
				     const struct timespec *restrict until)                                        \
	{                                                                                                          \
		release(HERE, m);                                                                                  \
		return CONDITION(pthread_cond_timedwait, c, m, REAL_OF(pthread_cond_timedwait, age)(c, m, until)); \
	}                                                                                                          \
                                                                                                                   \
	WRAPPER int symbol_signal(pthread_cond_t *c)                                                               \
	{                                                                                                          \
		wake(HERE, object_id(c), MPROF_THREAD_Condition);                                                  \
		return REAL_OF(pthread_cond_signal, age)(c);                                                       \
	}                                                                                                          \
                                                                                                                   \
	WRAPPER int symbol_broadcast(pthread_cond_t *c)                                                            \
	{                                                                                                          \
		wake(HERE, object_id(c), MPROF_THREAD_Condition);                                                  \
		return REAL_OF(pthread_cond_broadcast, age)(c);                                                    \
	}

#ifdef OLD_VERSION

int cond_wait_old(pthread_cond_t *restrict c, pthread_mutex_t *restrict m);
int cond_timedwait_old(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict until);
int cond_signal_old(pthread_cond_t *c);
int cond_broadcast_old(pthread_cond_t *c);
int cond_wait_new(pthread_cond_t *restrict c, pthread_mutex_t *restrict m);
int cond_timedwait_new(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict until);
int cond_signal_new(pthread_cond_t *c);
int cond_broadcast_new(pthread_cond_t *c);

CONDITION_FUNCTIONS(old, cond_wait_old, cond_timedwait_old, cond_signal_old, cond_broadcast_old)
CONDITION_FUNCTIONS(new, cond_wait_new, cond_timedwait_new, cond_signal_new, cond_broadcast_new)

#define VERSIONED(name)                                                             \
	__asm__(".symver cond_" #name "_old, pthread_cond_" #name "@" OLD_VERSION); \
	__asm__(".symver cond_" #name "_new, pthread_cond_" #name "@@" NEW_VERSION)

VERSIONED(wait);
VERSIONED(timedwait);
VERSIONED(signal);
VERSIONED(broadcast);

#else

CONDITION_FUNCTIONS(new, pthread_cond_wait, pthread_cond_timedwait, pthread_cond_signal, pthread_cond_broadcast)

#endif

WRAPPER int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
				   const struct timespec *restrict until)
{
	release(HERE, m);
	return CONDITION(pthread_cond_clockwait, c, m, REAL_OF(pthread_cond_clockwait, new)(c, m, clock, until));
}

WRAPPER int cnd_wait(cnd_t *c, mtx_t *m)
{
	release(HERE, (const pthread_mutex_t *)m);
	return has_again(m, WAITING(cnd_wait, object_id(c), Condition, 0, REAL(cnd_wait)(c, m), failure_c11(result)));
}

WRAPPER int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
	release(HERE, (const pthread_mutex_t *)m);
	return has_again(m, WAITING(cnd_timedwait, object_id(c), Condition, 0, REAL(cnd_timedwait)(c, m, until),
				    failure_c11(result)));
}

WRAPPER int cnd_signal(cnd_t *c)
{
	wake(HERE, object_id(c), MPROF_THREAD_Condition);
	return REAL(cnd_signal)(c);
}

WRAPPER int cnd_broadcast(cnd_t *c)
{
	wake(HERE, object_id(c), MPROF_THREAD_Condition);
	return REAL(cnd_broadcast)(c);
}

/* ---- semaphores: tried first, as locks are ---- */

/* Return whether the call failed because it had to wait. Restore ERROR as errno. */
static bool must_wait(int result, int error)
{
	if (result == 0 || errno != EAGAIN)
		return false;
	errno = error;
	return true;
}

static const char *failure_errno(int result)
{
	return result == 0 ? NULL : failure_code(errno);
}

#define SEMAPHORE(call, timely, ...)                 \
	int error = errno, r;                        \
                                                     \
	if (!(timely))                               \
		return REAL(call)(s, ##__VA_ARGS__); \
	r = REAL(sem_trywait)(s);                    \
	if (!must_wait(r, error))                    \
		return r;                            \
	return WAITING(call, object_id(s), Semaphore, 0, REAL(call)(s, ##__VA_ARGS__), failure_errno(result))

WRAPPER int sem_wait(sem_t *s)
{
	pthread_testcancel(); /* it is a cancellation point also if it need not wait */
	SEMAPHORE(sem_wait, true);
}

WRAPPER int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	if (is_time(CLOCK_REALTIME, until))
		pthread_testcancel();
	SEMAPHORE(sem_timedwait, is_time(CLOCK_REALTIME, until), until);
}

/* glibc's function is a cancellation point only if it waits. */
WRAPPER int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
	SEMAPHORE(sem_clockwait, is_time(clock, until), clock, until);
}

WRAPPER int sem_post(sem_t *s)
{
	const struct object *o = object_find(object_id(s));

	if (o && __atomic_load_n(&o->waiters, __ATOMIC_RELAXED))
		wake(HERE, object_id(s), MPROF_THREAD_Semaphore);
	return REAL(sem_post)(s);
}

/* The last thread that arrives wakes the others. It is known only when it returns. */
WRAPPER int pthread_barrier_wait(pthread_barrier_t *b)
{
	int r = WAITING(pthread_barrier_wait, object_id(b), Condition, 0, REAL(pthread_barrier_wait)(b), NULL);

	if (r == PTHREAD_BARRIER_SERIAL_THREAD)
		wake(HERE, object_id(b), MPROF_THREAD_Condition);
	return r;
}
