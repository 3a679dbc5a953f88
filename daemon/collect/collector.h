/* The collector: the loop, the state that all guests share, and the commit thread. */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <systemd/sd-event.h>

#include "commit-thread.h"
#include "guest.h"
#include "opened.h"
#include "schedule.h"
#include "source.h"
#include "timer.h"

struct control;

/*
 * One entry of the resume index: the archive's record of one stream when the process began. A run
 * without a stream also has an entry, with RESUME.stream 0.
 */
struct resume_entry {
	struct archive_resume resume;
	char *texts;   /* memory of the strings in RESUME; owned */
	bool settled;  /* its run was continued, or is over: do not continue it again */
	bool attached; /* its stream was attached since, or its end was declared lost */
};

/* The state of mprofd-forward, as it reported last. */
struct forwarding {
	uint64_t at; /* time of the report, CLOCK_MONOTONIC ns; 0 = there was none */
	bool connected;
	uint64_t captures, packets, bytes; /* acknowledged by the hub since mprofd-forward began */
	uint64_t refused;		   /* rows that the hub refused for good */
	uint64_t compared, again;	   /* comparisons with the hub; captures and streams that it lacked */
};

struct collector {
	sd_event *event;
	const struct config *config;
	struct guest_shared shared;
	struct queue *queue;
	struct commit_thread *commit_thread;
	struct commit_thread_state archive; /* the commit thread's state, as last read */
	int wake;			    /* eventfd to which the commit thread writes */
	struct schedule schedule;
	struct opened_file file; /* the archive's file, to notice that it is deleted */
	struct task file_check;
	struct timer timer, status;
	struct source *source;
	struct control *control;
	struct forwarding forwarding;
	struct resume_entry *resume_index;
	size_t n_resume;
	uint64_t began; /* when the collector was opened, CLOCK_MONOTONIC ns */
	int failed;	/* -errno that ended the loop, or 0 */
};

struct collector_options {
	source_open *source_open; /* called once, after the archive and the control socket were opened */
	void *source_context;	  /* first argument of SOURCE_OPEN, borrowed until collector_init() returns */
	const char *state;	  /* directory of the archive */
	const char *run;	  /* directory of the control socket */
};

/*
 * Open the archive, the control socket and the source, whose first scan is then complete. CONFIG is
 * borrowed. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int collector_init(struct collector *c, const struct config *config, const struct collector_options *options,
		   char *sentence, size_t size);
/* Run until SIGTERM or SIGINT, or until the archive fails. Return 0 or -errno. */
int collector_run(struct collector *c);
void collector_deinit(struct collector *c);

/* Schedule TASK for DUE (CLOCK_MONOTONIC ns). */
void collector_at(struct collector *c, struct task *task, uint64_t due);
/*
 * Tell every program that watches the control socket why guests may not be found. "" = there is no
 * problem any more.
 */
void collector_report_trouble(struct collector *c, const char *sentence);
/*
 * Write the metrics as OpenMetrics text, the source's own metrics last. TEXT has SIZE bytes; the
 * text is terminated, and metrics that do not fit are left out.
 */
void collector_metrics(const struct collector *c, char *text, size_t size);

/*
 * ---- resume index (resume-index.c). Returned entries are borrowed until collector_deinit(). ----
 */

/*
 * Return the entry of stream NUMBER in the newest run of SOURCE and KEY, or NULL if there is none
 * or the run is settled. NUMBER 0 also finds a run that has no stream yet.
 */
struct resume_entry *collector_resume_find(struct collector *c, const char *source, const char *key, uint32_t number);
/*
 * Return an entry of the newest run of SOURCE whose key begins with PREFIX, settled or not; NULL if
 * there is none.
 */
const struct resume_entry *collector_resume_life(struct collector *c, const char *source, const char *prefix);
/* Return the newest run of SOURCE and KEY, by one of its entries; NULL if there is none or it is settled. */
struct resume_entry *collector_resume_run(struct collector *c, const char *source, const char *key);
/*
 * Return the newest stream of RUN whose name is LABEL, printable as stream_attach() takes it, and
 * which was not attached since this process began. Return NULL if there is none.
 */
struct resume_entry *collector_resume_label(struct collector *c, int64_t run, const char *label);
/* Return the number behind the greatest stream number of RUN, 0 if it has no stream. */
uint32_t collector_resume_numbers(struct collector *c, int64_t run);
/* Return the entry of stream NUMBER of RUN, settled or not; NULL if the archive has none. */
struct resume_entry *collector_resume_stream(struct collector *c, int64_t run, uint32_t number);
/* Note that stream NUMBER of RUN is attached: its ring tells what was lost. */
void collector_resume_attached(struct collector *c, int64_t run, uint32_t number);
/*
 * RUN ends. Declare the end of each of its streams lost, from the archive's position on, if no ring
 * was attached since this process began and the archive does not know the end. How much was lost is
 * not known.
 */
void collector_resume_declare(struct collector *c, int64_t run);
/*
 * Settle RUN because it continues, so it is neither continued again nor ended by
 * collector_resume_settle().
 */
void collector_resume_taken_up(struct collector *c, int64_t run);
/*
 * Settle the run of ENTRY because it did not continue. If the archive has not the end of the run,
 * report to the archive that it ended while mprofd was not running, and that its end is lost.
 */
void collector_resume_over(struct collector *c, struct resume_entry *entry);
/*
 * Call collector_resume_over() for every run of SOURCE that is not settled, except those for which WAITS(CONTEXT, its record) returns true:
 * nobody knows yet whether they go on. WAITS may be NULL.
 */
void collector_resume_settle(struct collector *c, const char *source,
			     bool (*waits)(const void *context, const struct archive_resume *resume),
			     const void *context);

/*
 * For collector.c. Add RESUME to the index; this is the callback of archive_writer_resume(), with
 * the collector as CONTEXT. Return 0 or -ENOMEM. collector_resume_free() frees the index.
 */
int collector_resume_add(void *context, const struct archive_resume *resume);
void collector_resume_free(struct collector *c);

#endif
