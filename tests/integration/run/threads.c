/* Each wait for a thread, a lock, a condition, a semaphore or a barrier, once for real. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "target.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t barrier;
static mtx_t plain;
static cnd_t plain_condition;
static sem_t release; /* the other thread gives its lock back */
static sem_t locked;  /* the other thread has its lock */
static unsigned int word;

static void post(void *context)
{
	CHECK(sem_post(context) == 0);
}

static void *hold_mutex(void *nothing)
{
	CHECK(pthread_mutex_lock(&mutex) == 0);
	sem_post(&locked);
	sem_wait(&release);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	return nothing;
}

static void *hold_rwlock(void *nothing)
{
	CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
	sem_post(&locked);
	sem_wait(&release);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	return nothing;
}

static void *hold_plain(void *nothing)
{
	CHECK(mtx_lock(&plain) == thrd_success);
	sem_post(&locked);
	sem_wait(&release);
	CHECK(mtx_unlock(&plain) == thrd_success);
	return nothing;
}

/* Start a thread that holds a lock until release is posted. */
static pthread_t holder(void *(*hold)(void *))
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, hold, NULL) == 0);
	while (sem_wait(&locked) < 0)
		CHECK(errno == EINTR);
	return thread;
}

static void mutexes(void)
{
	pthread_t thread = holder(hold_mutex);
	struct timespec until = soon(CLOCK_REALTIME, 5);

	CHECK(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
	until = soon(CLOCK_MONOTONIC, 5);
	CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	wake_when_asleep(post, &release);
	CHECK(pthread_mutex_lock(&mutex) == 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	woken();
	CHECK(pthread_join(thread, NULL) == 0);
}

static void rwlocks(void)
{
	pthread_t thread = holder(hold_rwlock);
	struct timespec until = soon(CLOCK_REALTIME, 5);

	CHECK(pthread_rwlock_timedrdlock(&rwlock, &until) == ETIMEDOUT);
	CHECK(pthread_rwlock_timedwrlock(&rwlock, &until) == ETIMEDOUT);
	until = soon(CLOCK_MONOTONIC, 5);
	CHECK(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	wake_when_asleep(post, &release);
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	woken();
	CHECK(pthread_join(thread, NULL) == 0);
	thread = holder(hold_rwlock);
	wake_when_asleep(post, &release);
	CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	woken();
	CHECK(pthread_join(thread, NULL) == 0);
}

static void plain_mutexes(void)
{
	pthread_t thread;
	struct timespec until = soon(CLOCK_REALTIME, 5);

	CHECK(mtx_init(&plain, mtx_timed) == thrd_success);
	thread = holder(hold_plain);
	CHECK(mtx_timedlock(&plain, &until) == thrd_timedout);
	wake_when_asleep(post, &release);
	CHECK(mtx_lock(&plain) == thrd_success);
	CHECK(mtx_unlock(&plain) == thrd_success);
	woken();
	CHECK(pthread_join(thread, NULL) == 0);
}

static void signal_condition(void *nothing)
{
	(void)nothing;
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
}

static void conditions(void)
{
	struct timespec until = soon(CLOCK_REALTIME, 5);

	pthread_mutex_lock(&mutex);
	CHECK(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT);
	until = soon(CLOCK_MONOTONIC, 5);
	CHECK(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	wake_when_asleep(signal_condition, NULL);
	CHECK(pthread_cond_wait(&condition, &mutex) == 0);
	pthread_mutex_unlock(&mutex);
	woken();
}

static void signal_plain(void *nothing)
{
	(void)nothing;
	mtx_lock(&plain);
	cnd_signal(&plain_condition);
	mtx_unlock(&plain);
}

static void plain_conditions(void)
{
	struct timespec until = soon(CLOCK_REALTIME, 5);

	CHECK(cnd_init(&plain_condition) == thrd_success);
	mtx_lock(&plain);
	CHECK(cnd_timedwait(&plain_condition, &plain, &until) == thrd_timedout);
	wake_when_asleep(signal_plain, NULL);
	CHECK(cnd_wait(&plain_condition, &plain) == thrd_success);
	mtx_unlock(&plain);
	woken();
}

static void semaphores(void)
{
	struct timespec until = soon(CLOCK_REALTIME, 5);

	CHECK(sem_timedwait(&semaphore, &until) < 0 && errno == ETIMEDOUT);
	until = soon(CLOCK_MONOTONIC, 5);
	CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) < 0 && errno == ETIMEDOUT);
	wake_when_asleep(post, &semaphore);
	CHECK(sem_wait(&semaphore) == 0);
	woken();
}

static void meet(void *nothing)
{
	(void)nothing;
	pthread_barrier_wait(&barrier);
}

static void barriers(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	wake_when_asleep(meet, NULL);
	pthread_barrier_wait(&barrier);
	woken();
}

static void *wait_for_release(void *nothing)
{
	sem_wait(&release);
	return nothing;
}

static int wait_for_release_plain(void *nothing)
{
	(void)nothing;
	sem_wait(&release);
	return 7;
}

static void joins(void)
{
	struct timespec until = soon(CLOCK_REALTIME, 5);
	pthread_t thread;
	thrd_t plain_thread;
	int value = 0;

	CHECK(pthread_create(&thread, NULL, wait_for_release, NULL) == 0);
	CHECK(pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
	until = soon(CLOCK_MONOTONIC, 5);
	CHECK(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
	wake_when_asleep(post, &release);
	CHECK(pthread_join(thread, NULL) == 0);
	woken();
	CHECK(thrd_create(&plain_thread, wait_for_release_plain, NULL) == thrd_success);
	wake_when_asleep(post, &release);
	CHECK(thrd_join(plain_thread, &value) == thrd_success && value == 7);
	woken();
}

static void wake_word(void *nothing)
{
	(void)nothing;
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0);
}

static void futexes(void)
{
	wake_when_asleep(wake_word, NULL);
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0 || errno == EAGAIN);
	woken();
}

int program_calls_threads(void)
{
	sem_init(&release, 0, 0);
	sem_init(&locked, 0, 0);
	sem_init(&semaphore, 0, 0);
	mutexes();
	rwlocks();
	plain_mutexes();
	conditions();
	plain_conditions();
	semaphores();
	barriers();
	joins();
	futexes();
	return 0;
}

/* ---- the two stories that `mprofctl why` tells ---- */

static pthread_mutex_t account_a = PTHREAD_MUTEX_INITIALIZER, account_b = PTHREAD_MUTEX_INITIALIZER;

static void *transfer(void *from_a)
{
	pthread_mutex_lock(from_a ? &account_a : &account_b);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(from_a ? &account_b : &account_a);
	return NULL;
}

int program_deadlock(void)
{
	pthread_t teller, auditor;

	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(pthread_create(&teller, NULL, transfer, &account_a) == 0);
	CHECK(pthread_setname_np(teller, "teller") == 0);
	CHECK(pthread_create(&auditor, NULL, transfer, NULL) == 0);
	CHECK(pthread_setname_np(auditor, "auditor") == 0);
	return pthread_join(teller, NULL);
}

#define ITEMS 3

static sem_t taken, sent;

static void *consume(void *nothing)
{
	for (int i = 0; i < ITEMS; i++) {
		if (i == ITEMS - 1)
			while (sem_wait(&sent) < 0) {
			}
		pthread_mutex_lock(&mutex);
		pthread_cond_wait(&condition, &mutex);
		pthread_mutex_unlock(&mutex);
		sem_post(&taken);
	}
	return nothing;
}

/* Signal each item when the consumer waits, and the last one before it waits. */
static void *produce(void *waits_for)
{
	struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < ITEMS; i++) {
		do {
			nanosleep(&pause, NULL);
			pthread_mutex_lock(&mutex);
			pthread_cond_signal(&condition);
			pthread_mutex_unlock(&mutex);
		} while (i < ITEMS - 1 && sem_trywait(&taken) < 0);
	}
	sem_post(&sent);
	return waits_for;
}

int program_missed(void)
{
	pthread_t producer, consumer;

	sem_init(&taken, 0, 0);
	sem_init(&sent, 0, 0);
	CHECK(pthread_create(&consumer, NULL, consume, NULL) == 0);
	CHECK(pthread_setname_np(consumer, "consumer") == 0);
	CHECK(pthread_create(&producer, NULL, produce, NULL) == 0);
	CHECK(pthread_setname_np(producer, "producer") == 0);
	pthread_join(producer, NULL);
	return pthread_join(consumer, NULL);
}

int program_uncontended(void)
{
	static pthread_mutex_t locks[100];

	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < 100; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (int i = 0; i < 1000000; i++) {
		CHECK(pthread_mutex_lock(&locks[i % 100]) == 0);
		CHECK(pthread_mutex_unlock(&locks[i % 100]) == 0);
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
		CHECK(sem_post(&semaphore) == 0);
		CHECK(sem_wait(&semaphore) == 0);
	}
	return 0;
}
