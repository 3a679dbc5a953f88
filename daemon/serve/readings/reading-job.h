/*
 * One reading of a capture, by a process without rights (daemon/reading).
 *
 * First the tails of the capture are walked in steps, so that their ends are remembered. Then the process begins, which
 * the job feeds when the event loop has nothing else to do.
 */
#ifndef SERVE_READING_JOB_H
#define SERVE_READING_JOB_H

#include <systemd/sd-event.h>

#include "reader-process.h"
#include "reading-feed.h"
#include "timer.h"

/* How a job's process has ended. */
struct reading_job_end {
	uint64_t ns; /* since reading_job_open() */
	int rc;	     /* 0; or -EPERM: the process could not begin or lock itself, which says nothing of the capture */
	struct reading_result *result; /* borrowed; with a failure if there is no good answer */
	bool whole;		       /* the process had the whole capture */
	bool lasts;		       /* the answer is the process's own, so the next one would be the same */
	bool was_killed; /* there is no answer, as the process was late, or something else has killed it (reader-process.h) */
};
/* Called once, when the process has ended. It must close the job. */
typedef void reading_job_ended(void *context, const struct reading_job_end *end);

struct reading_job {
	sd_event *event; /* borrowed */
	uint64_t began;	 /* CLOCK_MONOTONIC ns */
	struct feed feed;
	struct reader_process process; /* PID is 0 until it is begun */
	int in;			       /* pipe to the process; owned; -1 = closed */
	sd_event_source *in_source, *out_source;
	struct timer deadline;
	const uint8_t *bytes; /* of the feed, which are not written yet */
	size_t left;
	uint8_t answer[READER_ANSWER_MAX];
	size_t n;
	bool broken; /* the feed failed, so the answer is of a part */
	reading_job_ended *ended;
	void *context;
};

/*
 * Set up J, which must not move, to read CAPTURE. EVENT, READER, SCRATCH and CONTEXT are borrowed. Return 0; or what
 * feed_open() returns, and J is closed.
 */
int reading_job_open(struct reading_job *j, sd_event *event, struct reader *reader, struct scratch *scratch,
		     int64_t capture, reading_job_ended *ended, void *context);
/* End the process, if it runs, and free all. A closed J is allowed. */
void reading_job_close(struct reading_job *j);

#define READING_JOB_E_AGAIN FEED_E_AGAIN
/*
 * Work for some ms. Return READING_JOB_E_AGAIN: call this again when the loop has nothing else to do; 0: the
 * process runs, and ENDED will be called; or an error: the rows are damaged or were deleted, or no process
 * could be made.
 */
int reading_job_step(struct reading_job *j);

#endif
