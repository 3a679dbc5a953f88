/*
 * One reading of a capture: its tails are walked in steps, then a reader process is fed in steps, and its answer is
 * read. The steps that feed the process run when the event loop has nothing else to do.
 */
#include "reading-job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "quantity.h"

#define STEP_NS (2 * NS_PER_MS)
#define LIMITS	((struct reader_limits){.memory = GIB, .seconds = 15, .wall_seconds = 60})

int reading_job_open(struct reading_job *j, sd_event *event, struct reader *reader, struct scratch *scratch,
		     int64_t capture, reading_job_ended *ended, void *context)
{
	*j = (struct reading_job){.event = event, .began = clock_mono(), .in = -1, .ended = ended, .context = context};
	return feed_open(&j->feed, reader, scratch, capture);
}

void reading_job_close(struct reading_job *j)
{
	struct reading_result none = {0};

	if (j->process.pid > 0)
		(void)reader_process_end(&j->process, &LIMITS, true, j->answer, 0, &none);
	reading_result_deinit(&none);
	sd_event_source_disable_unref(j->in_source);
	sd_event_source_disable_unref(j->out_source);
	timer_close(&j->deadline);
	closep(&j->in);
	feed_close(&j->feed);
	*j = (struct reading_job){.in = -1};
}

/* Return whether the process has answered. Else it was ended, perhaps by a machine that lacked memory or time. */
static bool has_answered(const struct reading_job *j)
{
	struct reading_result result;
	bool taken = reader_process_answered(j->answer, j->n, &result);

	reading_result_deinit(&result);
	return taken;
}

/* The process has answered, or is LATE. */
static void take_answer(struct reading_job *j, bool late)
{
	struct reading_result result = {0};
	struct reading_job_end end = {.result = &result, .ns = clock_mono() - j->began, .whole = !j->broken};

	closep(&j->in);
	end.rc = reader_process_end(&j->process, &LIMITS, late, j->answer, j->n, &result);
	end.was_killed = j->process.was_killed;
	end.lasts = end.rc == 0 && !late && !j->broken && has_answered(j);
	j->ended(j->context, &end);
	reading_result_deinit(&result);
}

static void on_deadline(void *context)
{
	take_answer(context, true);
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct reading_job *j = context;
	ssize_t n = read(fd, j->answer + j->n, sizeof(j->answer) - j->n);

	(void)source;
	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n > 0)
		j->n += (size_t)n;
	if (n <= 0 || j->n == sizeof(j->answer)) /* a longer answer is none */
		take_answer(j, false);
	return 0;
}

/* The feed has ended or failed: the process reads the end of its input. */
static void stop_feeding(struct reading_job *j)
{
	j->in_source = sd_event_source_disable_unref(j->in_source);
	closep(&j->in);
}

static int on_room(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct reading_job *j = context;
	ssize_t n;
	int rc = 0;

	(void)source;
	(void)events;
	if (!j->left)
		rc = feed_step(&j->feed, clock_mono() + STEP_NS, &j->bytes, &j->left);
	if (rc != 0) {
		j->left = 0;
		j->broken = rc != FEED_E_AGAIN && rc != FEED_E_END;
		if (rc != FEED_E_AGAIN)
			stop_feeding(j);
		return 0;
	}
	n = write(fd, j->bytes, j->left);
	if (n > 0) {
		j->bytes += n;
		j->left -= (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		stop_feeding(j);
	}
	return 0;
}

/* Begin the process, with a pipe for its input. Return 0 or -errno. */
static int begin_process(struct reading_job *j)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	j->in = ends[1];
	rc = reader_process_begin(ends[0], &LIMITS, &j->process);
	close(ends[0]);
	if (rc < 0)
		return rc;
	(void)fcntl(j->in, F_SETFL, O_NONBLOCK);
	(void)fcntl(j->in, F_SETPIPE_SZ, 1 << 20);
	rc = sd_event_add_io(j->event, &j->out_source, j->process.out, EPOLLIN, on_answer, j);
	if (rc >= 0)
		rc = sd_event_add_io(j->event, &j->in_source, j->in, EPOLLOUT, on_room, j);
	if (rc >= 0)
		rc = sd_event_source_set_priority(j->in_source, SD_EVENT_PRIORITY_IDLE);
	if (rc >= 0)
		rc = timer_open(&j->deadline, j->event, 100 * NS_PER_MS, on_deadline, j);
	if (rc >= 0)
		timer_set_in(&j->deadline, LIMITS.wall_seconds * NS_PER_S);
	return rc < 0 ? rc : 0;
}

int reading_job_step(struct reading_job *j)
{
	int rc = j->process.pid > 0 ? 0 : feed_step(&j->feed, clock_mono() + STEP_NS, &j->bytes, &j->left);

	return rc == FEED_E_AGAIN && feed_plans_done(&j->feed) ? begin_process(j) : rc;
}
