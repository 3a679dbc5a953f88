#include "lock-memory.h"

#include <linux/futex.h>
#include <string.h>

#include "remote-memory.h"
#include "shared.h"

/* pthread_mutex_t: u32 lock, u32 count, i32 owner, u32 users, u32 kind. */
#define MUTEX_WORDS  5u
#define MUTEX_OWNER  2u
#define MUTEX_KIND   4u
#define KIND_TYPE    0x3u /* normal, recursive, error-checking, adaptive */
#define KIND_ROBUST  0x10u
#define KIND_INHERIT 0x20u
#define KIND_PROTECT 0x40u
#define KIND_SHARED  0x80u
#define KIND_ELISION 0x300u
#define KIND_ALL     (KIND_TYPE | KIND_ROBUST | KIND_INHERIT | KIND_PROTECT | KIND_SHARED | KIND_ELISION)
#define OWNER_MAX    0x3ffffffdu /* above: no thread, but a mark of a robust mutex */

/*
 * pthread_rwlock_t: u32 readers, writers, phase, writers' futex, two unused words, i32 writer, i32 shared, and behind some
 * bytes the flags.
 */
#define RWLOCK_PHASE	 8u
#define RWLOCK_WRITERS	 12u
#define RWLOCK_WORDS	 13u
#define RWLOCK_WRITER	 6u
#define RWLOCK_SHARED	 7u
#define RWLOCK_FLAGS	 12u
#define RWLOCK_FLAGS_MAX 2u

/* pthread_cond_t: where the two words are on which threads wait. They moved with glibc 2.41. */
#define CONDITION_SIGNALS     40u
#define CONDITION_SIGNALS_NEW 32u
#define CONDITION_NEW	      41u

#define BARRIER_ROUND 4u /* pthread_barrier_t: the word on which threads wait */

static bool is_of_mutex(uint32_t call)
{
	return call == RUN_CALL_pthread_mutex_lock || call == RUN_CALL_pthread_mutex_timedlock ||
	       call == RUN_CALL_pthread_mutex_clocklock || call == RUN_CALL_mtx_lock || call == RUN_CALL_mtx_timedlock;
}

static bool is_of_condition(uint32_t call)
{
	return call == RUN_CALL_pthread_cond_wait || call == RUN_CALL_pthread_cond_timedwait ||
	       call == RUN_CALL_pthread_cond_clockwait || call == RUN_CALL_cnd_wait || call == RUN_CALL_cnd_timedwait;
}

static bool is_of_rwlock(uint32_t call)
{
	return call == RUN_CALL_pthread_rwlock_rdlock || call == RUN_CALL_pthread_rwlock_wrlock ||
	       call == RUN_CALL_pthread_rwlock_timedrdlock || call == RUN_CALL_pthread_rwlock_timedwrlock ||
	       call == RUN_CALL_pthread_rwlock_clockrdlock || call == RUN_CALL_pthread_rwlock_clockwrlock;
}

static bool is_of_semaphore(uint32_t call)
{
	return call == RUN_CALL_sem_wait || call == RUN_CALL_sem_timedwait || call == RUN_CALL_sem_clockwait;
}

static bool is_of_join(uint32_t call)
{
	return call == RUN_CALL_pthread_join || call == RUN_CALL_pthread_timedjoin_np ||
	       call == RUN_CALL_pthread_clockjoin_np || call == RUN_CALL_thrd_join;
}

/* Return whether the wait is one for a lock word: a condition's is with FUTEX_WAIT_BITSET. */
static bool is_of_lock(const struct futex_wait *f)
{
	uint32_t operation = f->operation & (uint32_t)FUTEX_CMD_MASK;

	return (operation == FUTEX_WAIT && f->value == 2) || operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

/* A mutex that is locked has a lock word, and its kind is one that glibc makes. */
static void mutex_read(pid_t pid, uint64_t address, struct lock_memory *lock)
{
	uint32_t words[MUTEX_WORDS], kind, owner;

	lock->id = (int64_t)address;
	lock->type = MPROF_THREAD_Mutex;
	if (remote_copy(pid, address, words, sizeof(words)) != sizeof(words))
		return;
	kind = words[MUTEX_KIND];
	if (!words[0] || (kind & ~KIND_ALL))
		return;
	owner = kind & (KIND_ROBUST | KIND_INHERIT) ? words[0] & FUTEX_TID_MASK : words[MUTEX_OWNER];
	lock->shared = kind & KIND_SHARED;
	lock->owner = owner <= OWNER_MAX ? (pid_t)owner : 0;
}

/* A thread waits in the word of the phase, or in that of the writers. */
static void rwlock_read(pid_t pid, uint64_t futex, struct lock_memory *lock)
{
	uint64_t address = futex - (futex % 8 ? RWLOCK_WRITERS : RWLOCK_PHASE);
	uint32_t words[RWLOCK_WORDS];

	lock->id = (int64_t)address;
	lock->type = MPROF_THREAD_Mutex;
	if (remote_copy(pid, address, words, sizeof(words)) != sizeof(words) ||
	    words[RWLOCK_FLAGS] > RWLOCK_FLAGS_MAX || words[RWLOCK_SHARED] > 1)
		return;
	lock->shared = words[RWLOCK_SHARED];
	lock->owner = words[RWLOCK_WRITER] <= OWNER_MAX ? (pid_t)words[RWLOCK_WRITER] : 0;
}

static void condition_find(uint64_t futex, uint32_t minor, struct lock_memory *lock)
{
	uint64_t signals = minor >= CONDITION_NEW ? CONDITION_SIGNALS_NEW : CONDITION_SIGNALS;

	/* The second of the two words is not aligned as the structure is. */
	lock->id = (int64_t)(futex - futex % 8 - signals);
	lock->type = MPROF_THREAD_Condition;
}

/* A join jumps to a function that has no name in a stripped library: its futex is no private one, and holds what is awaited. */
static bool is_like_join(uint32_t call, const struct futex_wait *f)
{
	return call == RUN_CALL_futex && !(f->operation & FUTEX_PRIVATE_FLAG) && f->value > 1 &&
	       (f->operation & (uint32_t)FUTEX_CMD_MASK) != FUTEX_LOCK_PI;
}

/* The word holds the number of the thread that is awaited; the kernel clears it when the thread ends. */
static void join_read(pid_t pid, const struct futex_wait *f, struct lock_memory *lock)
{
	uint32_t thread;

	if (remote_copy(pid, f->address, &thread, sizeof(thread)) != sizeof(thread) || thread != f->value ||
	    thread > OWNER_MAX)
		return;
	lock->owner = (pid_t)thread;
	lock->type = MPROF_THREAD_Task;
}

void lock_memory_find(pid_t pid, uint32_t call, const struct futex_wait *f, uint32_t minor, struct lock_memory *lock)
{
	*lock = (struct lock_memory){.id = (int64_t)f->address, .type = MPROF_THREAD_Condition};
	/* A thread that was signalled waits for the mutex before it returns. */
	if (is_of_mutex(call) || (is_of_condition(call) && is_of_lock(f)))
		mutex_read(pid, f->address, lock);
	else if (is_of_condition(call))
		condition_find(f->address, minor, lock);
	else if (is_of_rwlock(call))
		rwlock_read(pid, f->address, lock);
	else if (is_of_semaphore(call))
		lock->type = MPROF_THREAD_Semaphore;
	else if (is_of_join(call) || is_like_join(call, f))
		join_read(pid, f, lock);
	else if (call == RUN_CALL_pthread_barrier_wait)
		lock->id = (int64_t)(f->address - BARRIER_ROUND);
}
