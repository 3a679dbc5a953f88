/* A library that is loaded before the shim: its constructor makes calls that the shim wraps. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;

static void *other(void *nothing)
{
	sem_post(&semaphore);
	if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex))
		abort();
	return nothing;
}

__attribute__((constructor(101))) static void early(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	pthread_t thread;
	int fds[2];
	char byte = 0;

	sem_init(&semaphore, 0, 0);
	pthread_mutex_lock(&mutex);
	if (pthread_create(&thread, NULL, other, NULL) || sem_wait(&semaphore) || nanosleep(&ms, NULL))
		abort();
	pthread_mutex_unlock(&mutex);
	if (pthread_join(thread, NULL) || pipe(fds) || write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
		abort();
	close(fds[0]);
	close(fds[1]);
}
