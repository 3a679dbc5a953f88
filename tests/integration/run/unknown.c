/* Programs that hang, where the recording does not prove why: what it lacks must be said. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "target.h"

static sem_t permits;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static atomic_bool computes;

static void *take_permit(void *nothing)
{
	while (sem_wait(&permits) < 0) {
	}
	return nothing;
}

/* A permit is given while nobody waits, and taken without a wait. Then one is missing. */
int program_permits(void)
{
	pthread_t client;

	CHECK(sem_init(&permits, 0, 0) == 0 && sem_post(&permits) == 0 && sem_wait(&permits) == 0);
	CHECK(pthread_create(&client, NULL, take_permit, NULL) == 0);
	return pthread_join(client, NULL);
}

static void *wait_for_ready(void *nothing)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&ready, &mutex);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

/* Signal READY before the other thread waits for it, and then write so much that the ring forgets it. */
int program_forgets(void)
{
	struct timespec moment = {.tv_nsec = 1};
	pthread_t waiter;

	CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
	CHECK(pthread_create(&waiter, NULL, wait_for_ready, NULL) == 0);
	pthread_cond_signal(&ready);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20000; i++)
		nanosleep(&moment, NULL);
	printf("forgotten\n");
	fflush(stdout);
	return pthread_join(waiter, NULL);
}

static void *compute(void *nothing)
{
	pthread_mutex_lock(&mutex);
	computes = true;
	while (getppid() != 1) {
	}
	pthread_mutex_unlock(&mutex);
	return nothing;
}

/* One thread computes with a lock, for which the other one waits. It gets its name while it computes. */
int program_computes(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
	while (!computes) {
	}
	CHECK(pthread_setname_np(thread, "computes") == 0);
	return pthread_mutex_lock(&mutex);
}

/* Read a pipe that nobody of this trace writes. */
int program_pipe(void)
{
	int fds[2];
	char byte;

	CHECK(pipe(fds) == 0);
	return read(fds[0], &byte, 1) != 1;
}
