/* Cancellation, errno, signal handlers, many threads and random programs. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "target.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int fds[2];
static int cleaned;
static int waiting; /* id of the thread that waits, or soon will; 0 = it has not begun */

static void wait_begins(void)
{
	__atomic_store_n(&waiting, gettid(), __ATOMIC_RELEASE);
}

static void clean(void *locked)
{
	if (locked)
		CHECK(pthread_mutex_unlock(&mutex) == 0);
	cleaned++;
}

static void *cancelled_read(void *nothing)
{
	char byte;

	wait_begins();
	pthread_cleanup_push(clean, NULL);
	CHECK(read(fds[0], &byte, 1) < 0);
	pthread_cleanup_pop(0);
	return nothing;
}

static void *cancelled_condition(void *nothing)
{
	wait_begins();
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, &mutex);
	pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(0);
	return nothing;
}

static void *cancelled_semaphore(void *nothing)
{
	wait_begins();
	pthread_cleanup_push(clean, NULL);
	sem_wait(&semaphore);
	pthread_cleanup_pop(0);
	return nothing;
}

static void *cancelled_sleep(void *nothing)
{
	wait_begins();
	pthread_cleanup_push(clean, NULL);
	sleep(1000);
	pthread_cleanup_pop(0);
	return nothing;
}

static void *exits(void *value)
{
	pthread_cleanup_push(clean, NULL);
	pthread_exit(value);
	pthread_cleanup_pop(0);
	return NULL;
}

int program_cancel(void)
{
	static void *(*const runs[])(void *) = {cancelled_read, cancelled_condition, cancelled_semaphore,
						cancelled_sleep};
	static const long calls[] = {SYS_read, SYS_futex, SYS_futex, SYS_clock_nanosleep};
	pthread_t thread;
	void *value;

	CHECK(pipe(fds) == 0);
	sem_init(&semaphore, 0, 0);
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		waiting = 0;
		CHECK(pthread_create(&thread, NULL, runs[i], NULL) == 0);
		until_waits(&waiting, calls[i]);
		CHECK(pthread_cancel(thread) == 0);
		CHECK(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED);
		CHECK(cleaned == (int)i + 1);
	}
	CHECK(pthread_create(&thread, NULL, exits, &semaphore) == 0);
	CHECK(pthread_join(thread, &value) == 0 && value == &semaphore);
	CHECK(cleaned == 5);
	CHECK(pthread_mutex_trylock(&mutex) == 0);
	return 0;
}

/* Calls that succeed keep errno, calls that fail set it. */
int program_errno(void)
{
	struct timespec past = {0}, wrong = {.tv_nsec = -1};
	char byte = 0;

	CHECK(pipe(fds) == 0);
	sem_init(&semaphore, 0, 0);
	errno = 1234;
	CHECK(write(fds[1], &byte, 1) == 1 && read(fds[0], &byte, 1) == 1);
	CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
	CHECK(pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT);
	CHECK(pthread_mutex_unlock(&mutex) == 0 && sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
	CHECK(usleep(1) == 0 && errno == 1234);
	CHECK(read(-1, &byte, 1) < 0 && errno == EBADF);
	CHECK(read(fds[1], &byte, 1) < 0 && errno == EBADF);
	CHECK(sem_timedwait(&semaphore, &past) < 0 && errno == ETIMEDOUT);
	CHECK(nanosleep(&wrong, NULL) < 0 && errno == EINVAL);
	CHECK(close(-1) < 0 && errno == EBADF);
	CHECK(syscall(-1L) < 0 && errno == ENOSYS);
	CHECK(vfork() != 0 || (_exit(0), false));
	return 0;
}

/* ---- signal handlers at random moments ---- */

static volatile sig_atomic_t handled;

static void on_alarm(int number)
{
	int error = errno;
	char byte = 0;

	(void)number;
	CHECK(sem_post(&semaphore) == 0);
	CHECK(write(fds[1], &byte, 1) == 1);
	CHECK(read(fds[0], &byte, 1) == 1);
	handled = handled + 1;
	errno = error;
}

static void *contend(void *nothing)
{
	for (int i = 0; i < 30000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return nothing;
}

int program_signals(void)
{
	const struct itimerval often = {.it_interval = {.tv_usec = 300}, .it_value = {.tv_usec = 300}}, never = {0};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[3];

	CHECK(pipe(fds) == 0);
	sem_init(&semaphore, 0, 0);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, contend, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&mutex);
		usleep(100);
		pthread_mutex_unlock(&mutex);
	}
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	for (int i = handled; i > 0; i--)
		CHECK(sem_trywait(&semaphore) == 0);
	CHECK(sem_trywait(&semaphore) < 0 && handled > 0);
	return 0;
}

/* ---- a random program whose result is known ---- */

#define WORKERS 6
#define STEPS	2000

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t locks[4];
static long sums[4], shared, tokens_used;

/* One step of a worker, that changes a counter under its lock. */
static void step(unsigned int *seed)
{
	unsigned int choice = (unsigned int)rand_r(seed), lock = choice / 8 % 4;

	switch (choice % 5) {
	case 0:
	case 1:
		pthread_mutex_lock(&locks[lock]);
		sums[lock]++;
		if (choice % 3 == 0)
			sched_yield();
		pthread_mutex_unlock(&locks[lock]);
		break;
	case 2:
		pthread_rwlock_wrlock(&rwlock);
		shared++;
		pthread_rwlock_unlock(&rwlock);
		break;
	case 3:
		pthread_rwlock_rdlock(&rwlock);
		CHECK(shared >= 0);
		pthread_rwlock_unlock(&rwlock);
		break;
	default:
		while (sem_wait(&semaphore) < 0) {
		}
		__atomic_fetch_add(&tokens_used, 1, __ATOMIC_RELAXED);
		sem_post(&semaphore);
		break;
	}
}

static void *work(void *seed)
{
	unsigned int mine = *(unsigned int *)seed;

	for (int i = 0; i < STEPS; i++)
		step(&mine);
	return NULL;
}

/* The results that the workers must have, computed without threads. */
static void expect(unsigned int seed, long *mutexes, long *writes, long *tokens)
{
	for (int i = 0; i < STEPS; i++) {
		unsigned int choice = (unsigned int)rand_r(&seed) % 5;

		*mutexes += choice < 2;
		*writes += choice == 2;
		*tokens += choice == 4;
	}
}

int program_random(unsigned int seed)
{
	long mutexes = 0, writes = 0, tokens = 0;
	unsigned int seeds[WORKERS];
	pthread_t threads[WORKERS];

	sem_init(&semaphore, 0, 2);
	for (int i = 0; i < 4; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (int i = 0; i < WORKERS; i++) {
		seeds[i] = seed * 1000 + (unsigned int)i;
		expect(seeds[i], &mutexes, &writes, &tokens);
		CHECK(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
	}
	for (int i = 0; i < WORKERS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(sums[0] + sums[1] + sums[2] + sums[3] == mutexes);
	CHECK(shared == writes && tokens_used == tokens);
	return 0;
}

/* ---- more threads than rings ---- */

#define ALIVE 300
#define SHORT 5000

static pthread_barrier_t all;

static void *meet(void *nothing)
{
	pthread_barrier_wait(&all);
	usleep(1000);
	return nothing;
}

static void *pass(void *nothing)
{
	usleep(1);
	return nothing;
}

int program_many(void)
{
	static pthread_t threads[ALIVE];
	pthread_t one;

	pthread_barrier_init(&all, NULL, ALIVE + 1);
	for (int i = 0; i < ALIVE; i++)
		CHECK(pthread_create(&threads[i], NULL, meet, NULL) == 0);
	pthread_barrier_wait(&all);
	for (int i = 0; i < ALIVE; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int i = 0; i < SHORT; i++) {
		CHECK(pthread_create(&one, NULL, pass, NULL) == 0);
		CHECK(pthread_join(one, NULL) == 0);
	}
	return 0;
}
