/* The collector: the loop, the state of all guests, and the commit thread. */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <systemd/sd-event.h>

#include "commit-thread.h"
#include "guest.h"
#include "opened.h"
#include "schedule.h"
#include "source.h"

struct control;

/*
 * The archive's state of one stream when the process began, or of a run that has no stream
 * (resume.stream 0).
 */
struct resume_entry {
	struct archive_resume resume;
	char *texts;  /* owned: the texts of RESUME */
	bool settled; /* its run was resumed, or is over */
};

struct collector {
	sd_event *event;
	const struct config *config;
	struct guest_shared shared;
	struct queue *queue;
	struct commit_thread *commit_thread;
	struct commit_thread_state archive; /* state as last read */
	int wake;			    /* eventfd: the commit thread has news */
	struct schedule schedule;
	struct opened_file file; /* the archive's file */
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

/*
 * Open everything and do the first scan. CONFIG is borrowed. On failure return -errno and write a
 * SENTENCE of SIZE bytes.
 */
int collector_init(struct collector *c, const struct config *config, const struct collector_options *options,
		   char *sentence, size_t size);
/* Run until SIGTERM or SIGINT, or until the archive fails. Return 0 or -errno. */
int collector_run(struct collector *c);
void collector_deinit(struct collector *c);

/* Run TASK at DUE (CLOCK_MONOTONIC ns). */
void collector_at(struct collector *c, struct task *task, uint64_t due);
/*
 * Tell every program that watches the control socket why guests may not be found. "" = nothing is
 * wrong any more.
 */
void collector_report_trouble(struct collector *c, const char *sentence);
/*
 * Write the metrics, a source's own last, as OpenMetrics text of at most SIZE bytes, terminated.
 * Leave out what does not fit.
 */
void collector_metrics(const struct collector *c, char *text, size_t size);

/* ---- resume index (resume-index.c); results are borrowed until collector_deinit ---- */

/*
 * Return the entry of stream NUMBER in the newest run that the archive had of this source and key;
 * NULL if there is none or the run is settled. For number 0 this may be a run without any stream.
 */
struct resume_entry *collector_resume_find(struct collector *c, const char *source, const char *key, uint32_t number);
/*
 * Return an entry of the newest run, settled or not, whose key begins with PREFIX; NULL if there is
 * none.
 */
const struct archive_resume *collector_resume_life(struct collector *c, const char *source, const char *prefix);
/* Return the entry of stream NUMBER of RUN, settled or not; NULL if the archive has none. */
struct resume_entry *collector_resume_stream(struct collector *c, int64_t run, uint32_t number);
/* Settle RUN, which continues, so that nobody resumes it again or ends it. */
void collector_resume_taken_up(struct collector *c, int64_t run);
/*
 * Settle the run of ENTRY, which did not continue. Tell the archive that it ended while mprofd was
 * down, unless the archive knows.
 */
void collector_resume_over(struct collector *c, struct resume_entry *entry);
/* Do the same for every run of SOURCE that is not settled. */
void collector_resume_settle(struct collector *c, const char *source);

/*
 * For collector.c: add RESUME (a callback of archive_writer_resume; CONTEXT is the collector), and
 * free all entries.
 */
int collector_resume_add(void *context, const struct archive_resume *resume);
void collector_resume_free(struct collector *c);

#endif
