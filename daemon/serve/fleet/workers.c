/*
 * Threads with a connection each, and a queue of jobs.
 *
 * One lock guards the queue, the list of what is done, and the counts; no thread asks the database while it
 * holds it. After a connection has failed, jobs fail at once for a moment: else each would wait for its own
 * attempt while clients queue up.
 */
#include "workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "exchange.h"
#include "log.h"
#include "thread.h"

#define THREADS	     4u
#define WAITING_MOST 256u
#define ANSWER_MS    30000u
#define QUIET_NS     NS_PER_S /* after a failed connection */

struct worker {
	struct workers *workers;
	pthread_t thread;
	bool started;
	struct postgres *postgres;
};

struct workers {
	struct worker worker[THREADS];
	sd_event_source *source;
	int fd; /* an eventfd: jobs are done */
	pthread_mutex_t lock;
	pthread_cond_t work;
	bool ending; /* guarded by LOCK, like the rest */
	struct job *oldest, **end, *done;
	struct workers_counts counts;
	uint64_t failed; /* when a connection failed, CLOCK_MONOTONIC ns; 0 = the last one did not */
	char sentence[512];
	struct log_limit log;
};

/* ---- in a worker ---- */

/* Return whether a connection has failed a moment ago; then JOB has failed, too. */
static bool is_quiet(struct workers *w, struct job *job)
{
	bool quiet;

	pthread_mutex_lock(&w->lock);
	quiet = w->failed && clock_mono() - w->failed < QUIET_NS;
	if (quiet)
		snprintf(job->sentence, sizeof(job->sentence), "%s", w->sentence);
	pthread_mutex_unlock(&w->lock);
	if (quiet)
		job->rc = POSTGRES_E_LOST;
	return quiet;
}

static void fail(struct workers *w, struct job *job, const struct postgres *p)
{
	snprintf(job->sentence, sizeof(job->sentence), "%s", postgres_sentence(p));
	snprintf(job->state, sizeof(job->state), "%s", postgres_state(p));
	pthread_mutex_lock(&w->lock);
	if (job->rc == POSTGRES_E_LOST) {
		w->failed = clock_mono();
		snprintf(w->sentence, sizeof(w->sentence), "%s", job->sentence);
	}
	log_write_limited(&w->log, LOG_LEVEL_WARNING, NULL, "The fleet's database cannot be asked: %s", job->sentence);
	pthread_mutex_unlock(&w->lock);
}

static int connect_and_run(struct job *job, struct postgres *p)
{
	int rc = 0;

	if (!postgres_connected(p)) {
		rc = postgres_connect(p);
		if (rc == 0)
			rc = postgres_call(p, "SET statement_timeout = 30000", NULL, NULL);
	}
	if (rc == 0)
		rc = job->run(job, p);
	postgres_rollback(p);
	return rc;
}

static void run_job(struct workers *w, struct job *job, struct postgres *p)
{
	bool connected = postgres_connected(p);

	if (!connected && is_quiet(w, job))
		return;
	job->rc = connect_and_run(job, p);
	/* The server may have ended a connection that was idle. */
	if (job->rc == POSTGRES_E_LOST && connected)
		job->rc = connect_and_run(job, p);
	if (job->rc > 0)
		fail(w, job, p);
}

static void *worker_run(void *context)
{
	struct worker *self = context;
	struct workers *w = self->workers;
	const uint64_t one = 1;
	struct job *job;
	ssize_t n;

	pthread_setname_np(pthread_self(), "fleet-worker");
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->oldest && !w->ending)
			pthread_cond_wait(&w->work, &w->lock);
		if (w->ending)
			break;
		job = w->oldest;
		w->oldest = job->next;
		if (!w->oldest)
			w->end = &w->oldest;
		w->counts.waiting--;
		pthread_mutex_unlock(&w->lock);
		run_job(w, job, self->postgres);
		pthread_mutex_lock(&w->lock);
		w->counts.failures += job->rc != 0;
		if (job->rc == 0)
			w->failed = 0;
		job->next = w->done;
		w->done = job;
		n = write(w->fd, &one, sizeof(one)); /* fails only if the counter is full: it is readable then */
		(void)n;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- in the loop's thread ---- */

/* Pass on what is done. */
static int on_done(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct workers *w = context;
	struct job *job, *list = NULL;
	uint64_t n;
	ssize_t got = read(fd, &n, sizeof(n));

	(void)got;
	(void)source;
	(void)events;
	pthread_mutex_lock(&w->lock);
	while ((job = w->done)) { /* oldest first */
		w->done = job->next;
		job->next = list;
		list = job;
	}
	pthread_mutex_unlock(&w->lock);
	while ((job = list)) {
		list = job->next;
		job->is_done = true;
		if (job->abandoned)
			job->free(job);
		else if (job->done)
			job->done(job);
		else if (job->exchange)
			exchange_resume(job->exchange);
	}
	return 0;
}

bool workers_run(struct workers *w, struct job *job)
{
	bool ok;

	job->next = NULL;
	pthread_mutex_lock(&w->lock);
	ok = w->counts.waiting < WAITING_MOST;
	if (ok) {
		*w->end = job;
		w->end = &job->next;
		w->counts.waiting++;
		w->counts.jobs++;
		pthread_cond_signal(&w->work);
	}
	pthread_mutex_unlock(&w->lock);
	return ok;
}

void workers_abandon(struct workers *w, struct job *job)
{
	struct job **at;

	if (job->is_done) {
		job->free(job);
		return;
	}
	job->abandoned = true;
	job->exchange = NULL;
	pthread_mutex_lock(&w->lock);
	for (at = &w->oldest; *at && *at != job; at = &(*at)->next)
		;
	if (*at) { /* no worker has begun it */
		*at = job->next;
		if (w->end == &job->next)
			w->end = at;
		w->counts.waiting--;
	} else {
		job = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	if (job)
		job->free(job);
}

struct workers_counts workers_counts(struct workers *w)
{
	struct workers_counts counts;

	pthread_mutex_lock(&w->lock);
	counts = w->counts;
	counts.connected = w->failed == 0;
	pthread_mutex_unlock(&w->lock);
	return counts;
}

static int start(struct workers *w, const char *connection)
{
	int rc = 0;

	for (unsigned i = 0; i < THREADS && rc == 0; i++) {
		w->worker[i].workers = w;
		rc = postgres_new(&w->worker[i].postgres, connection, "mprofd-http", ANSWER_MS);
		if (rc == 0)
			rc = thread_start(&w->worker[i].thread, worker_run, &w->worker[i]);
		w->worker[i].started = rc == 0;
	}
	return rc;
}

int workers_new(struct workers **wp, sd_event *event, const char *connection)
{
	CLEANUP(workers_freep) struct workers *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->end = &w->oldest;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return -errno;
	rc = sd_event_add_io(event, &w->source, w->fd, EPOLLIN, on_done, w);
	if (rc >= 0)
		rc = start(w, connection);
	if (rc < 0)
		return rc;
	*wp = TAKE_PTR(w);
	return 0;
}

static void free_jobs(struct job *list)
{
	struct job *job;

	while ((job = list)) {
		list = job->next;
		job->free(job);
	}
}

struct workers *workers_free(struct workers *w)
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < THREADS; i++) {
		if (w->worker[i].started)
			pthread_join(w->worker[i].thread, NULL);
		postgres_free(w->worker[i].postgres);
	}
	free_jobs(w->oldest);
	free_jobs(w->done);
	sd_event_source_disable_unref(w->source);
	if (w->fd >= 0)
		close(w->fd);
	pthread_cond_destroy(&w->work);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}
