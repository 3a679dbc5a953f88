/*
 * The collector's loop. One timer runs all tasks of the schedule, polls among them. The commit
 * thread reports each commit through an eventfd. The source and the control socket add their own
 * event sources. This file itself touches no ring and no archive.
 */
#include "collector.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "control.h"
#include "log.h"
#include "space.h"
#include "store.h"

#define BATCH_NS      (10 * NS_PER_MS) /* time for tasks in one go, before other events are handled */
#define STATUS_NS     (10 * NS_PER_S)
#define FILE_CHECK_NS NS_PER_S
#define POLL_NICE     (-10)
#define FLUSH_LEVEL   3

/* ---- the schedule ---------------------------------------------------------------------------- */

static void run_at(struct collector *c, uint64_t at)
{
	if (c->timer.source && c->timer.due != at)
		timer_set(&c->timer, at);
}

void collector_at(struct collector *c, struct task *task, uint64_t due)
{
	if (schedule_at(&c->schedule, task, due)) {
		/*
		 * A task that is not in the schedule would mean a ring that is never polled again:
		 * end the process.
		 */
		c->failed = -ENOMEM;
		sd_event_exit(c->event, 1);
		return;
	}
	if (!c->timer.due || due < c->timer.due)
		run_at(c, due);
}

void collector_report_trouble(struct collector *c, const char *sentence)
{
	if (c->control)
		control_report_trouble(c->control, sentence);
}

static void on_timer(void *context)
{
	struct collector *c = context;
	uint64_t began = clock_mono(), now = began;
	struct task *task;

	while ((task = schedule_first(&c->schedule)) && task->due <= now && now - began < BATCH_NS) {
		schedule_remove(&c->schedule, task);
		task->run(task, now);
		now = clock_mono();
	}
	if (task)
		run_at(c, task->due > now ? task->due : now);
}

/* ---- reports of the commit thread ------------------------------------------------------------ */

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct collector *c = context;
	uint64_t n;

	(void)source;
	(void)events;
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return -errno;
	commit_thread_state(c->commit_thread, &c->archive);
	c->shared.archiving = c->archive.archiving;
	if (c->control)
		control_committed(c->control);
	if (c->archive.failed) {
		sd_notifyf(0, "STATUS=%s", c->archive.sentence);
		c->failed = -EIO;
		sd_event_exit(c->event, 1);
	}
	return 0;
}

/* ---- the archive's file ---------------------------------------------------------------------- */

/*
 * End the loop if the archive's file was deleted or replaced, because all bytes written from now on
 * would be lost. systemd starts mprofd anew; it creates a new archive, and each running guest gets
 * a new run.
 */
static void file_check_run(struct task *task, uint64_t now)
{
	struct collector *c = (struct collector *)((char *)task - offsetof(struct collector, file_check));

	if (!opened_file_replaced(&c->file)) {
		collector_at(c, task, now + FILE_CHECK_NS);
		return;
	}
	log_error("The archive %s was deleted or replaced while mprofd was writing it; mprofd ends, and makes a new "
		  "one when "
		  "it is started again",
		  c->file.path);
	c->failed = -ESTALE;
	sd_event_exit(c->event, 1);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void on_status(void *context)
{
	struct collector *c = context;
	const char *trouble = c->source->trouble ? c->source->trouble(c->source) : "";
	size_t guests = 0, rings = 0;

	c->source->count(c->source, &guests, &rings);
	sd_notifyf(0, "STATUS=%zu guests running, %zu rings, %llu MiB archived, %llu packets lost%s%s%s%s", guests,
		   rings, (unsigned long long)(c->archive.bytes >> 20),
		   (unsigned long long)c->shared.counters.lost_packets,
		   c->archive.archiving ? "" : "; not archiving: ", c->archive.archiving ? "" : c->archive.sentence,
		   *trouble ? "; " : "", trouble);
	timer_set_in(&c->status, STATUS_NS);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Write why the archive, which was opened, cannot be used: R is an error, or an archive_condition. */
static void describe_failure(struct archive_writer *w, int r, char *sentence, size_t size)
{
	char text[512];

	store_explain(archive_writer_store(w), r, text, sizeof(text));
	snprintf(sentence, size, "the archive cannot be used: %s", text);
}

static int archive_open(struct collector *c, const char *state, char *sentence, size_t size)
{
	struct archive_options options = {
		.wal_limit_bytes = c->config->wal_limit_bytes,
		.reserve_bytes = c->config->reserve_bytes,
		.level = FLUSH_LEVEL,
	};
	CLEANUP(archive_writer_freep) struct archive_writer *w = NULL;
	char small[PATH_MAX + 256];
	int r;

	mkdir(state, 0750); /* if systemd-tmpfiles did not create it; opening the archive reports an error */
	r = archive_writer_open(&w, state, &options, sentence, size);
	if (r)
		return r < 0 ? r : -EIO;
	if (space_is_small(archive_writer_store(w), config_smallest_space(c->config), small, sizeof(small)))
		log_warning("%s", small);
	r = archive_writer_last_ids(w, &c->shared.last_run, &c->shared.last_stream, &c->shared.last_capture);
	if (r == 0)
		r = archive_writer_resume(w, collector_resume_add, c);
	if (r) {
		describe_failure(w, r, sentence, size);
		return r < 0 ? r : -EIO;
	}
	r = opened_file_init(&c->file, state, ARCHIVE_FILE);
	if (r)
		return r;
	c->file_check.run = file_check_run;
	collector_at(c, &c->file_check, clock_mono() + FILE_CHECK_NS);
	return commit_thread_start(&c->commit_thread, &w, c->queue, c->config, c->wake);
}

static int loop_init(struct collector *c)
{
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	r = sd_event_new(&c->event);
	if (r >= 0)
		r = sd_event_add_signal(c->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(c->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_set_watchdog(c->event, true);
	if (r >= 0)
		r = sd_event_add_io(c->event, NULL, c->wake, EPOLLIN, on_wake, c);
	if (r >= 0)
		r = timer_open(&c->timer, c->event, 200 * NS_PER_US, on_timer, c);
	if (r >= 0)
		r = timer_open(&c->status, c->event, 100 * NS_PER_MS, on_status, c);
	if (r < 0)
		return r;
	timer_set(&c->status, c->began);
	return 0;
}

static int collector_open(struct collector *c, const struct collector_options *options, char *sentence, size_t size)
{
	int r = loop_init(c);

	if (r)
		return r;
	r = archive_open(c, options->state, sentence, size);
	if (r)
		return r;
	commit_thread_state(c->commit_thread, &c->archive);
	r = control_open(&c->control, c, options->run, sentence, size);
	if (r)
		return r;
	return options->source_open(options->source_context, &c->source, c, sentence, size);
}

int collector_init(struct collector *c, const struct config *config, const struct collector_options *options,
		   char *sentence, size_t size)
{
	*c = (struct collector){.config = config, .wake = -1, .began = clock_mono()};
	/*
	 * The commit thread frees memory that the loop has allocated. One arena for both threads
	 * lets the loop use that memory again, and the thresholds keep glibc from returning it to
	 * the kernel each time.
	 */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
	snprintf(sentence, size, "out of memory");
	c->shared.config = config;
	c->shared.archiving = true;
	c->shared.sends = config_sends(config);
	c->shared.budget = (struct cadence_budget){.share = config->cpu_budget, .burst_rate = config->burst_rate};
	c->queue = queue_new(config->queue_bytes, config->queue_per_guest_bytes, config->queue_reserve_bytes);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->queue || c->wake < 0)
		return -ENOMEM;
	c->shared.queue = c->queue;
	return collector_open(c, options, sentence, size);
}

/*
 * Raise the priority of this thread if allowed (LimitNICE= in the unit): a late poll loses packets,
 * and a poll costs little. On Linux this changes the calling thread only.
 */
static void prefer_polls(void)
{
	if (setpriority(PRIO_PROCESS, 0, POLL_NICE) < 0)
		log_debug("Polls run at ordinary priority: error=%s", strerror(errno));
}

int collector_run(struct collector *c)
{
	int r;

	prefer_polls();

	sd_notify(0, "READY=1");
	r = sd_event_loop(c->event);
	sd_notify(0, "STOPPING=1");
	return c->failed ? c->failed : r < 0 ? r : 0;
}

void collector_deinit(struct collector *c)
{
	if (c->source)
		c->source->close(c->source);
	if (c->commit_thread)
		c->commit_thread = commit_thread_stop(c->commit_thread);
	c->control = control_close(c->control);
	timer_close(&c->timer);
	timer_close(&c->status);
	sd_event_unref(c->event);
	c->queue = queue_free(c->queue);
	schedule_deinit(&c->schedule);
	opened_file_deinit(&c->file);
	if (c->wake >= 0)
		close(c->wake);
	collector_resume_free(c);
}
