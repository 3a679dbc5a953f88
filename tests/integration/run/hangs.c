/* Programs that hang, and beside each one that is healthy and waits as well. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

#define WORKERS 3
#define JOBS	20

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t go, done;
static volatile int jobs, idle;

static void take(sem_t *s)
{
	while (sem_wait(s) < 0) {
	}
}

static pthread_t begin(void *(*run)(void *), const char *name)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	CHECK(pthread_setname_np(thread, name) == 0);
	return thread;
}

/* ---- a pool: idle after its work, and at the end of the program */

static void *worker(void *nothing)
{
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		idle++;
		while (!jobs)
			pthread_cond_wait(&work, &queue_lock);
		idle--;
		jobs--;
		pthread_mutex_unlock(&queue_lock);
		take(&go);
		sem_post(&done);
	}
	return nothing;
}

static void give_job(void)
{
	pthread_mutex_lock(&queue_lock);
	jobs++;
	pthread_mutex_unlock(&queue_lock);
	pthread_cond_signal(&work);
}

/* Return whether N workers wait, or had to. */
static bool are_idle(int n)
{
	bool are;

	pthread_mutex_lock(&queue_lock);
	are = idle == n;
	pthread_mutex_unlock(&queue_lock);
	return are;
}

static void start_pool(void)
{
	CHECK(sem_init(&go, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	for (int i = 0; i < WORKERS; i++)
		begin(worker, "worker");
	while (!are_idle(WORKERS))
		usleep(1000);
	/* Wake each worker: it has one job then, and waits for GO. */
	for (int i = WORKERS; i-- > 0;) {
		give_job();
		while (!are_idle(i))
			usleep(1000);
	}
}

/* HEALTHY. The last signals come while all workers are busy; then the workers empty the queue and are idle. */
int program_idle_pool(void)
{
	start_pool();
	for (int i = 0; i < JOBS; i++)
		give_job();
	for (int i = 0; i < JOBS + WORKERS; i++)
		sem_post(&go);
	for (int i = 0; i < JOBS + WORKERS; i++)
		take(&done);
	return pause();
}

/* HEALTHY. The workers end with the process, by the return of main() and by _exit() in a child. */
int program_pool_ends(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	start_pool();
	if (!child)
		_exit(0);
	printf("%d\n", (int)child);
	CHECK(waitpid(child, NULL, 0) == child);
	return 0;
}

/* ---- a wake-up that is lost */

static volatile int called;

static void *listener(void *nothing)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&queue_lock);
		while (!called) {
			if (i == 2) { /* the test is over, the wait has not begun */
				sem_post(&done);
				take(&go);
			}
			pthread_cond_wait(&work, &queue_lock);
		}
		called = 0;
		pthread_mutex_unlock(&queue_lock);
		sem_post(&done);
	}
	return nothing;
}

static void *caller(void *nothing)
{
	for (int i = 0; i < 2; i++) {
		called = 1; /* without the mutex */
		do {
			pthread_cond_signal(&work);
			usleep(1000);
		} while (sem_trywait(&done) < 0);
	}
	take(&done);
	called = 1;
	pthread_cond_signal(&work);
	sem_post(&go);
	return nothing;
}

/* HANGS. The caller sets the flag and signals without the mutex, between the listener's test and its wait. */
int program_lost_wakeup(void)
{
	pthread_t waits;

	CHECK(sem_init(&go, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	waits = begin(listener, "listener");
	begin(caller, "caller");
	return pthread_join(waits, NULL);
}

/* ---- mutexes that nobody releases */

static void *lock_and_end(void *nothing)
{
	/* Another thread might name it too late. */
	CHECK(pthread_setname_np(pthread_self(), "holder") == 0);
	pthread_mutex_lock(&queue_lock);
	return nothing;
}

int program_holder_ends(void)
{
	pthread_t holder;

	CHECK(pthread_create(&holder, NULL, lock_and_end, NULL) == 0);
	CHECK(pthread_join(holder, NULL) == 0);
	return pthread_mutex_lock(&queue_lock);
}

int program_waits_for_itself(void)
{
	pthread_mutex_lock(&queue_lock);
	return pthread_mutex_lock(&queue_lock);
}

static void *lock_and_wait(void *nothing)
{
	pthread_mutex_lock(&queue_lock);
	sem_post(&done);
	take(&go);
	pthread_mutex_unlock(&queue_lock);
	return nothing;
}

/* HANGS in the child. The other thread of the parent holds the mutex at the fork. */
int program_lock_over_fork(void)
{
	pid_t child;

	CHECK(sem_init(&go, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
	begin(lock_and_wait, "logger");
	take(&done);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(pthread_mutex_lock(&queue_lock));
	printf("%d\n", (int)child);
	fflush(stdout);
	sem_post(&go);
	CHECK(waitpid(child, NULL, 0) == child);
	return 0;
}

/* ---- a lock that was made anew while a thread had it for reading */

static pthread_rwlock_t remade;

static void *read_and_wait(void *nothing)
{
	CHECK(pthread_rwlock_rdlock(&remade) == 0);
	sem_post(&go);
	pause();
	return nothing;
}

int program_remade(void)
{
	CHECK(pthread_rwlock_init(&remade, NULL) == 0);
	CHECK(pthread_rwlock_rdlock(&remade) == 0);
	CHECK(pthread_rwlock_init(&remade, NULL) == 0);
	begin(read_and_wait, "reader");
	take(&go);
	pthread_rwlock_wrlock(&remade);
	return 0;
}
