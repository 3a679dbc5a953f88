/*
 * run-load: calls that mprof-run wraps, many times, and the processor time of one, in nanoseconds: a line
 * for each, its name and the time. The calls never have to wait, so the time is that of the call alone.
 *
 *	run-load CALLS
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

static struct pollfd polled = {.events = POLLIN};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static void call_poll(void)
{
	poll(&polled, 1, -1);
}

static void call_poll_zero(void)
{
	poll(&polled, 1, 0);
}

static void call_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void call_signal(void)
{
	pthread_cond_signal(&condition);
}

static void call_semaphore(void)
{
	sem_wait(&semaphore);
	sem_post(&semaphore);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {{"mutex", call_mutex},
		     {"signal", call_signal},
		     {"semaphore", call_semaphore},
		     {"poll-zero", call_poll_zero},
		     {"poll", call_poll}};
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	uint64_t began = 0;

	polled.fd = eventfd(1, 0);
	if (n <= 0 || polled.fd < 0 || sem_init(&semaphore, 0, 1) < 0) {
		fprintf(stderr, "Usage: run-load CALLS\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		/* A tenth comes first, without being measured. */
		for (long k = -n / 10; k < n; k++) {
			if (k == 0)
				began = now();
			calls[i].call();
		}
		printf("%s %.2f\n", calls[i].name, (double)(now() - began) / (double)n);
	}
	return 0;
}
