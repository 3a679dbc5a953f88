/* Begin a thread beside an event loop. */
#ifndef COMMON_THREAD_H
#define COMMON_THREAD_H

#include <pthread.h>
#include <signal.h>

/*
 * Begin *THREAD, which runs RUN with CONTEXT and gets no signals: they are for the thread of the event
 * loop. Return 0 or -errno.
 */
static inline int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

#endif
