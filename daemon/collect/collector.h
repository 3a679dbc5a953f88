/*
 * The collector: the loop, what all guests share, and the thread that commits.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <systemd/sd-event.h>

#include "archivist.h"
#include "guest.h"
#include "schedule.h"
#include "source.h"

struct control;

/* What the archive knew when the process began; the texts are owned. */
struct known_stream {
	struct archive_resume resume;
	bool settled; /* its run was taken up again, or is over */
};

struct collector {
	sd_event *event;
	const struct config *config;
	struct guest_shared shared;
	struct queue *queue;
	struct archivist *archivist;
	struct archivist_state archive; /* as last seen */
	int wake;			/* eventfd: the archivist has news */
	struct schedule schedule;
	sd_event_source *timer;
	uint64_t timer_at;
	struct source *source;
	struct control *control;
	struct known_stream *known;
	size_t n_known;
	uint64_t began; /* CLOCK_MONOTONIC ns */
	int failed;	/* -errno that ended the loop */
};

struct collector_options {
	const char *source; /* "dir:PATH" or "xen" */
	const char *state;
	const char *run;
};

/* Open everything and do the first scan.  On failure -errno and a SENTENCE of SIZE bytes.  CONFIG is borrowed. */
int collector_init(struct collector *c, const struct config *config, const struct collector_options *options,
		   char *sentence, size_t size);
/* Until SIGTERM or SIGINT, or until the archive fails.  0 or -errno. */
int collector_run(struct collector *c);
void collector_deinit(struct collector *c);

/* Run TASK at DUE (CLOCK_MONOTONIC ns). */
void collector_at(struct collector *c, struct task *task, uint64_t due);
/*
 * The newest run that the archive had of this source and key when the process began, or NULL; its stream 0.  A source settles what it
 * takes up, so that nobody takes it up again.
 */
struct known_stream *collector_known(struct collector *c, const char *source, const char *key);
/* That run did not go on: it ended while nobody looked. */
void collector_over(struct collector *c, struct known_stream *known);
/* The same for every run of SOURCE that is not settled. */
void collector_settle(struct collector *c, const char *source);

#endif
