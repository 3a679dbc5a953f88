/*
 * Workers: threads that ask the fleet's database, each with a connection of its own, so that the event
 * loop never waits for it.
 *
 * A job is made and freed in the loop's thread; in between its RUN is called once in a worker, or twice if
 * the connection was lost meanwhile. It then touches nothing but the job and the connection.
 */
#ifndef SERVE_WORKERS_H
#define SERVE_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "postgres.h"

struct exchange;
struct workers;

struct job {
	/* Release what an earlier call has made, and do the job. Return 0, a postgres_condition or -errno. */
	int (*run)(struct job *job, struct postgres *p);
	/* Release what the job owns, and the job. */
	void (*free)(struct job *job);
	/* Called in the loop's thread when the job is done, unless it was abandoned; NULL: resume EXCHANGE. */
	void (*done)(struct job *job);
	struct exchange *exchange; /* that waits for the job; NULL: none */
	void *context;		   /* of DONE */
	/* Set by the workers; read it in the loop's thread once the job is done. */
	bool is_done;
	int rc;		    /* of RUN */
	char state[6];	    /* SQLSTATE, if RC is POSTGRES_E_REFUSED */
	char sentence[512]; /* why RC is a postgres_condition */
	/* Owned by the workers. */
	bool abandoned;
	struct job *next;
};

/*
 * Create workers for CONNECTION, libpq's connection string, which is copied. EVENT is borrowed until
 * workers_free(). Nothing is connected yet. Return 0, with the workers in *WP, or -errno.
 */
int workers_new(struct workers **wp, sd_event *event, const char *connection);
/* End the workers: wait until each has finished its statement. Jobs that wait are freed. Return NULL. */
struct workers *workers_free(struct workers *w);
CLEANUP_DEFINE(struct workers, workers_free)

/* Let a worker run JOB, which W owns until it is done. Return false if too many jobs wait; JOB is then the caller's. */
bool workers_run(struct workers *w, struct job *job);
/* Nobody waits for JOB any more: free it, or let the workers free it when it is done. */
void workers_abandon(struct workers *w, struct job *job);

struct workers_counts {
	uint64_t jobs, failures; /* FAILURES: jobs without a connection, or that the database refused */
	unsigned waiting, connected;
};
struct workers_counts workers_counts(struct workers *w);

#endif
