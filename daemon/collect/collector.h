/*
 * The collector: the loop, what all guests share, and the thread that commits.
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <systemd/sd-event.h>

#include "commit-thread.h"
#include "guest.h"
#include "opened.h"
#include "schedule.h"
#include "source.h"

struct control;

/* What the archive knew of a stream when the process began, or of a run that has none (resume.stream 0); the texts are owned. */
struct resume_entry {
	struct archive_resume resume;
	bool settled; /* its run was taken up again, or is over */
};

struct collector {
	sd_event *event;
	const struct config *config;
	struct guest_shared shared;
	struct queue *queue;
	struct commit_thread *commit_thread;
	struct commit_thread_state archive; /* as last seen */
	int wake;			    /* eventfd: the archivist has news */
	struct schedule schedule;
	struct opened_file file; /* of the archive */
	struct task file_check;
	sd_event_source *timer;
	uint64_t timer_at;
	struct source *source;
	struct control *control;
	struct resume_entry *resume_index;
	size_t n_resume;
	uint64_t began; /* CLOCK_MONOTONIC ns */
	int failed;	/* -errno that ended the loop */
};

struct collector_options {
	source_open *source_open; /* called once, when the archive and the control socket are open */
	void *source_context;	  /* its context, borrowed until collector_init returns */
	const char *state;	  /* directory of the archive */
	const char *run;	  /* directory of the control socket */
};

/* Open everything and do the first scan.  On failure -errno and a SENTENCE of SIZE bytes.  CONFIG is borrowed. */
int collector_init(struct collector *c, const struct config *config, const struct collector_options *options,
		   char *sentence, size_t size);
/* Until SIGTERM or SIGINT, or until the archive fails.  0 or -errno. */
int collector_run(struct collector *c);
void collector_deinit(struct collector *c);

/* Run TASK at DUE (CLOCK_MONOTONIC ns). */
void collector_at(struct collector *c, struct task *task, uint64_t due);
/* Tell every program that watches the control socket what users are to know of guests that are not found.  "" = nothing any more. */
void collector_say(struct collector *c, const char *sentence);
/* The metrics, a source's own behind them, as OpenMetrics text of at most SIZE bytes, terminated; what has no room is left out. */
void collector_metrics(const struct collector *c, char *text, size_t size);

/* ---- what the archive knew (known.c); what is returned is borrowed until collector_deinit ---- */

/*
 * Stream NUMBER of the newest run that the archive had of this source and key, or NULL, also where that run is settled.  For number 0 it may be
 * a run of which no stream was put yet.
 */
struct resume_entry *collector_resume_find(struct collector *c, const char *source, const char *key, uint32_t number);
/* The newest run, settled or not, whose key begins with PREFIX: any of its streams.  NULL: none. */
const struct archive_resume *collector_resume_life(struct collector *c, const char *source, const char *prefix);
/* Stream NUMBER of RUN, settled or not; NULL: the archive has none. */
struct resume_entry *collector_resume_stream(struct collector *c, int64_t run, uint32_t number);
/* RUN goes on: it is settled, so that nobody takes it up again or calls it over. */
void collector_resume_taken_up(struct collector *c, int64_t run);
/* The run of KNOWN did not go on: it is settled, and ended while nobody looked unless the archive has it as ended. */
void collector_resume_over(struct collector *c, struct resume_entry *entry);
/* The same for every run of SOURCE that is not settled. */
void collector_resume_settle(struct collector *c, const char *source);

/* For collector.c: remember (for archive_writer_resume; CONTEXT is the collector) and forget. */
int collector_resume_add(void *context, const struct archive_resume *resume);
void collector_resume_free(struct collector *c);

#endif
