/*
 * Programs that hang as public reports describe it (docs/reports.md): run-reports NAME. None of them ends by itself.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table;
static sem_t step, slots;
static int ends[2][2];
static volatile bool stop;

static void take(sem_t *s)
{
	while (sem_wait(s) < 0) {
	}
}

static void begin(void *(*run)(void *), const char *name)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	CHECK(pthread_setname_np(thread, name) == 0);
	pthread_detach(thread);
}

/* ---- a thread is cancelled, or ends, while it has a mutex */

static void *holder(void *nothing)
{
	pthread_mutex_lock(&first);
	sem_post(&step);
	for (;;)
		pause();
	return nothing;
}

static void cancelled(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, holder, NULL) == 0);
	CHECK(pthread_setname_np(thread, "background") == 0);
	take(&step);
	CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
	pthread_mutex_lock(&first);
}

/* ---- a mutex that is locked twice */

static void twice(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&first);
}

/* ---- two mutexes in two orders */

static void *backwards(void *nothing)
{
	pthread_mutex_lock(&second);
	sem_post(&step);
	pthread_mutex_lock(&first);
	return nothing;
}

static void orders(void)
{
	pthread_mutex_lock(&first);
	begin(backwards, "timer");
	take(&step);
	pthread_mutex_lock(&second);
}

/* ---- a callback under the mutex waits for a thread that needs it */

static void *callback(void *nothing)
{
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	return nothing;
}

static void joins(void)
{
	pthread_t thread;

	pthread_mutex_lock(&first);
	CHECK(pthread_create(&thread, NULL, callback, NULL) == 0);
	CHECK(pthread_setname_np(thread, "refresher") == 0);
	pthread_join(thread, NULL);
}

/* ---- a signal before the wait, whose condition nobody looks at */

static void *announcer(void *nothing)
{
	pthread_mutex_lock(&first);
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&first);
	return nothing;
}

static void early(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, announcer, NULL) == 0);
	CHECK(pthread_setname_np(thread, "announcer") == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	pthread_mutex_lock(&first);
	pthread_cond_wait(&ready, &first);
}

/* ---- workers that wait for work when nobody makes any more */

static void *consumer(void *nothing)
{
	pthread_mutex_lock(&first);
	sem_post(&step);
	for (;;)
		pthread_cond_wait(&ready, &first);
	return nothing;
}

static void finished(void)
{
	begin(consumer, "consumer");
	take(&step);
	begin(consumer, "consumer");
	take(&step);
	for (;;)
		pause();
}

/* ---- a semaphore that nobody posts */

static void unposted(void)
{
	take(&slots);
}

/* ---- a pool of two connections, which two clients keep */

static void *client(void *nothing)
{
	take(&slots);
	sem_post(&step);
	return nothing; /* without posting it */
}

static void pool(void)
{
	sem_post(&slots);
	sem_post(&slots);
	begin(client, "client");
	begin(client, "client");
	take(&step);
	take(&step);
	take(&slots);
}

/* ---- read-write locks */

static void *writer(void *nothing)
{
	sem_post(&step);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	return nothing;
}

static void prefer_writers(void)
{
	pthread_rwlockattr_t attributes;

	CHECK(pthread_rwlockattr_init(&attributes) == 0);
	CHECK(pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0);
	CHECK(pthread_rwlock_init(&table, &attributes) == 0);
}

/* Return whether a writer waits: a reader gets no lock then. */
static bool writer_waits(void)
{
	if (pthread_rwlock_tryrdlock(&table) != 0)
		return true;
	pthread_rwlock_unlock(&table);
	return false;
}

static void rereads(void)
{
	prefer_writers();
	pthread_rwlock_rdlock(&table);
	begin(writer, "writer");
	take(&step);
	while (!writer_waits())
		usleep(1000);
	pthread_rwlock_rdlock(&table);
}

static void *upgrader(void *nothing)
{
	pthread_rwlock_rdlock(&table);
	sem_post(&step);
	take(&slots);
	pthread_rwlock_wrlock(&table);
	return nothing;
}

static void upgrade(void)
{
	prefer_writers();
	begin(upgrader, "upgrader");
	begin(upgrader, "upgrader");
	take(&step);
	take(&step);
	sem_post(&slots);
	sem_post(&slots);
	for (;;)
		pause();
}

/* ---- fork with a mutex that another thread has */

static void forks(void)
{
	begin(holder, "allocator");
	take(&step);
	if (fork() == 0)
		pthread_mutex_lock(&first);
	for (;;)
		pause();
}

/* ---- pipes */

static void fill(int fd)
{
	static char bytes[1 << 20];

	for (size_t n = 0; n < sizeof(bytes); n++)
		if (write(fd, bytes, sizeof(bytes)) < 0)
			break;
}

static void pipes(void)
{
	CHECK(pipe(ends[0]) == 0 && pipe(ends[1]) == 0);
	if (fork() == 0)
		fill(ends[1][1]);
	fill(ends[0][1]);
}

static void child(void)
{
	pid_t pid;

	CHECK(pipe(ends[0]) == 0);
	pid = fork();
	if (pid == 0)
		fill(ends[0][1]);
	waitpid(pid, NULL, 0);
}

/* ---- a wait with a time limit leaves its mutex locked */

static struct timespec in_a_second(void)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += 1;
	return at;
}

static void timed(void)
{
	for (int i = 0; i < 2; i++) {
		struct timespec at = in_a_second();

		pthread_mutex_lock(&first);
		pthread_cond_timedwait(&ready, &first, &at);
	}
}

/* ---- no fault: a wait for a lock gives up, and the holder gives the lock back later and ends */

static void *writer_of_table(void *nothing)
{
	pthread_rwlock_wrlock(&table);
	sem_post(&slots);
	take(&step);
	pthread_rwlock_unlock(&table);
	return nothing;
}

static void gives_up(void)
{
	struct timespec at;
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, writer_of_table, NULL) == 0);
	take(&slots);
	at = in_a_second();
	CHECK(pthread_rwlock_timedwrlock(&table, &at) == ETIMEDOUT);
	sem_post(&step);
	CHECK(pthread_join(thread, NULL) == 0);
	pause();
}

/* ---- a thread that computes */

static void spin(void)
{
	while (!stop) {
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"cancelled", cancelled}, {"twice", twice},	  {"orders", orders},	  {"joins", joins},
	{"early", early},	  {"finished", finished}, {"unposted", unposted}, {"pool", pool},
	{"rereads", rereads},	  {"upgrade", upgrade},	  {"forks", forks},	  {"pipes", pipes},
	{"child", child},	  {"spin", spin},	  {"timed", timed},	  {"gives-up", gives_up},
};

int main(int argc, char **argv)
{
	CHECK(sem_init(&step, 0, 0) == 0 && sem_init(&slots, 0, 0) == 0);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i].name, argv[1]) == 0)
			cases[i].run();
	return 1;
}
