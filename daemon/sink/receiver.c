#include "receiver.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include "clock.h"

#define TICK_NS	   (NS_PER_S / 5)
#define FILE_TICKS 5u /* ticks between two checks whether the archive's file still exists */
/*
 * Time for which bytes wait for the next batch; a commit takes up to 0.2 s, so bytes are archived
 * within a second.
 */
#define FLUSH_NS    (NS_PER_S / 2)
#define FLUSH_BYTES (1u << 20)
/*
 * A batch with FLUSH_BYTES grows for FEW_NS, or to MANY_BYTES: the more bytes of a stream a row has,
 * the less a byte costs to compress and to write.
 */
#define FEW_NS	   (NS_PER_S / 10)
#define MANY_BYTES (16u << 20)
#define END_NS	   (3 * NS_PER_S)
#define QUIET_NS   (5 * NS_PER_S)
#define KEPT_BYTES (64 << 20) /* bytes of free memory that are kept for new blocks */

/* ---- batches --------------------------------------------------------------------------------- */

/* Return whether as many bytes wait as a batch may have: MANY_BYTES, or an eighth of the queue. */
static bool has_many(const struct receiver *s)
{
	uint64_t most = s->config->sink_queue_bytes / 8;

	return s->held - s->given >= (most < MANY_BYTES ? most : MANY_BYTES);
}

/*
 * Return whether to give a batch to the commit thread now: something waits in it, bytes have waited
 * for FLUSH_NS, or many bytes wait.
 */
static bool is_due(const struct receiver *s, uint64_t now)
{
	uint64_t waited = s->oldest ? now - s->oldest : 0;

	return s->batch.first || waited >= FLUSH_NS || has_many(s) ||
	       (s->held - s->given >= FLUSH_BYTES && waited >= FEW_NS);
}

static void hand_over(struct receiver *s)
{
	struct stream *next;

	commit_thread_state(s->commit_thread, &s->state);
	if (!s->state.idle || !is_due(s, clock_mono()))
		return;
	for (struct stream *stream = s->streams; stream; stream = next) {
		next = stream->next;
		stream_flush(stream, &s->batch);
	}
	s->oldest = 0;
	if (!s->batch.first)
		return;
	s->given = s->batch.bytes;
	commit_thread_give(s->commit_thread, &s->batch);
}

void receiver_dirty(struct receiver *s)
{
	if (!s->oldest)
		s->oldest = clock_mono();
	hand_over(s);
}

static void fail(struct receiver *s, int r)
{
	s->failed = r;
	sd_event_exit(s->event, 1);
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct receiver *s = context;
	struct batch done;
	eventfd_t n;

	(void)source;
	(void)events;
	if (eventfd_read(fd, &n) < 0 && errno != EAGAIN)
		return -errno;
	commit_thread_state(s->commit_thread, &s->state);
	if (s->state.failed) {
		sd_notifyf(0, "STATUS=%s", s->state.sentence);
		fail(s, -EIO);
		return 0;
	}
	commit_thread_take(s->commit_thread, &done);
	s->held -= done.bytes;
	s->given -= done.bytes;
	receiver_answers(s, &done);
	batch_deinit(&done);
	control_notify(s->control, s->state.serial);
	hand_over(s);
	return 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* Lower *N to what fits into a limit MOST (0 = no limit) of which HAD are used. Return whether *N was lowered. */
static bool cut_to(uint64_t *n, uint64_t most, uint64_t had)
{
	uint64_t room = had < most ? most - had : 0;

	if (most == 0 || *n <= room)
		return false;
	*n = room;
	return true;
}

uint64_t receiver_room(struct receiver *s, struct account *account, uint64_t bytes, const char **reason)
{
	const struct config *c = s->config;
	uint64_t now = clock_mono(), n = bytes, wanted;
	bool over;

	*reason = NULL;
	if (s->held + bytes > c->sink_queue_bytes) {
		n = s->held < c->sink_queue_bytes ? c->sink_queue_bytes - s->held : 0;
		s->counts.overrun++;
		*reason = s->state.full ? "disk" : "overrun";
	}
	/* The commit thread deletes old recordings, but not those that are being made. */
	over = cut_to(&n, c->sink_bytes, s->accounts.bytes);
	over |= cut_to(&n, c->sink_guest_bytes, account->bytes);
	if (over) {
		s->counts.quota++;
		*reason = "quota";
	}
	wanted = n;
	n = bucket_take(&account->bucket, c->sink_guest_rate, now, n);
	n = bucket_take(&s->accounts.bucket, c->sink_rate, now, n);
	if (n < wanted) {
		s->counts.rate++;
		*reason = "rate";
	}
	return n;
}

void receiver_complain(struct receiver *s, const char *address, const char *what)
{
	s->counts.garbage++;
	for (unsigned i = 0; i < COMPLAINTS; i++)
		if (strcmp(s->complaints[i], address) == 0)
			return;
	snprintf(s->complaints[s->next_complaint++ % COMPLAINTS], STREAM_ADDRESS_MAX, "%s", address);
	log_write_limited(&s->limit, LOG_LEVEL_WARNING, NULL, "what came from a guest %s: address=%s", what, address);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Let malloc keep the memory of freed blocks for new ones: the kernel clears new pages, which takes
 * longer than receiving bytes into them.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 * ARCHIVE_PIECE_MAX);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

/* Return free memory to the kernel if few bytes have come for QUIET_NS. */
static void give_memory_back(struct receiver *s)
{
	uint64_t now = clock_mono();

	if (s->counts.bytes - s->seen_bytes >= FLUSH_BYTES)
		s->busy = now;
	s->seen_bytes = s->counts.bytes;
	if (s->busy && s->held < FLUSH_BYTES && now - s->busy >= QUIET_NS) {
		s->busy = 0;
		malloc_trim(0);
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* End all streams and their recordings, and leave the loop. */
static void end(struct receiver *s)
{
	s->ending = true;
	while (s->streams)
		stream_end(s->streams, "shutdown");
	sd_event_exit(s->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct receiver *s = context;
	struct stream *next;

	(void)source;
	(void)info;
	if (s->ending) {
		end(s);
		return 0;
	}
	sd_notify(0, "STOPPING=1");
	s->ending = true;
	s->end_by = clock_mono() + END_NS;
	for (struct stream *stream = s->streams; stream; stream = next) {
		next = stream->next;
		stream_stop(stream, "shutdown", (struct control_asker){0});
	}
	return 0;
}

/*
 * End the process if the archive's file was deleted or replaced, because all bytes written later
 * would be lost.
 */
static void check_file(struct receiver *s)
{
	if (s->ending || !opened_file_replaced(&s->file))
		return;
	log_error("The archive %s was deleted or replaced while mprofd-sink was writing it; mprofd-sink ends, and "
		  "makes a new "
		  "one when it is started again",
		  s->file.path);
	fail(s, -ESTALE);
}

static void on_tick(void *context)
{
	struct receiver *s = context;

	if (++s->ticks % FILE_TICKS == 0)
		check_file(s);
	notice_tick(s->collector);
	collector_ask_again(s);
	collector_ask_offers(s);
	accounts_tidy(&s->accounts, clock_mono());
	give_memory_back(s);
	hand_over(s);
	if (s->ending && (!s->streams || clock_mono() > s->end_by))
		end(s);
	timer_set_in(&s->tick, TICK_NS);
}

static int loop_open(struct receiver *s)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return -errno;
	r = sd_event_new(&s->event);
	if (r >= 0)
		r = sd_event_add_signal(s->event, NULL, SIGTERM, on_signal, s);
	if (r >= 0)
		r = sd_event_add_signal(s->event, NULL, SIGINT, on_signal, s);
	if (r >= 0)
		r = sd_event_add_io(s->event, &s->wake_source, s->wake_fd, EPOLLIN, on_wake, s);
	if (r >= 0)
		r = timer_open(&s->tick, s->event, TIMER_LOOSE_NS, on_tick, s);
	if (r >= 0)
		timer_set_in(&s->tick, TICK_NS);
	if (r >= 0)
		r = sd_event_set_watchdog(s->event, 1);
	return r < 0 ? r : 0;
}

/* Raise the limit of open descriptors, because each stream takes one. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int receiver_init(struct receiver *s, const struct config *config, const struct receiver_options *options,
		  char *sentence, size_t size)
{
	char path[512];
	int r;

	*s = (struct receiver){.config = config, .wake_fd = -1};
	batch_init(&s->batch);
	raise_files();
	keep_memory();
	snprintf(sentence, size, "cannot start");
	r = loop_open(s);
	if (r == 0) {
		*sentence = '\0';
		r = commit_thread_start(&s->commit_thread, options->state, config, s->wake_fd, &s->last_id, sentence,
					size);
	}
	if (r == 0)
		r = opened_file_init(&s->file, options->state, MEMTRACES_FILE);
	if (r == 0)
		r = collector_open(s, options->run);
	snprintf(path, sizeof(path), "%s/sink/sink.sock", options->run);
	if (r == 0)
		r = control_server_open(&s->control, s->event, path, receiver_request, s, sentence, size);
	for (size_t i = 0; r == 0 && config->sink_listen && config->sink_listen[i]; i++)
		r = receiver_listen(s, config->sink_listen[i], sentence, size);
	if (r < 0 && !*sentence)
		snprintf(sentence, size, "cannot start: %s", strerror(-r));
	return r;
}

int receiver_run(struct receiver *s)
{
	int r;

	sd_notify(0, "READY=1");
	r = sd_event_loop(s->event);
	return s->failed ? s->failed : r < 0 ? r : 0;
}

/* Commit the bytes and items that are left, for at most END_NS. */
static void commit_rest(struct receiver *s)
{
	uint64_t by = clock_mono() + END_NS;
	struct batch done;

	while (clock_mono() < by) {
		commit_thread_take(s->commit_thread, &done);
		batch_deinit(&done);
		commit_thread_state(s->commit_thread, &s->state);
		if (s->state.failed)
			return;
		if (s->state.idle && s->batch.first)
			commit_thread_give(s->commit_thread, &s->batch);
		else if (s->state.idle)
			return;
		clock_sleep(5 * NS_PER_MS);
	}
}

void receiver_deinit(struct receiver *s)
{
	s->ending = true;
	while (s->streams)
		stream_end(s->streams, "shutdown");
	while (s->guests)
		guest_free(s->guests);
	if (s->commit_thread)
		commit_rest(s);
	s->commit_thread = commit_thread_stop(s->commit_thread);
	for (size_t i = 0; i < s->n_listeners; i++)
		sd_event_source_disable_unref(s->listeners[i]);
	free(s->listeners);
	control_server_close(s->control);
	notice_free(s->collector);
	batch_deinit(&s->batch);
	accounts_deinit(&s->accounts);
	sd_event_source_disable_unref(s->wake_source);
	timer_close(&s->tick);
	sd_event_unref(s->event);
	closep(&s->wake_fd);
	opened_file_deinit(&s->file);
}
