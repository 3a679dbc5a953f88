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
static bool has_many(const struct receiver *receiver)
{
	uint64_t most = receiver->config->sink_queue_bytes / 8;

	return receiver->held - receiver->given >= (most < MANY_BYTES ? most : MANY_BYTES);
}

/*
 * Return whether to give a batch to the commit thread now: something waits in it, bytes have waited
 * for FLUSH_NS, or many bytes wait.
 */
static bool is_due(const struct receiver *receiver, uint64_t now)
{
	uint64_t waited = receiver->oldest ? now - receiver->oldest : 0;

	return receiver->batch.first || waited >= FLUSH_NS || has_many(receiver) ||
	       (receiver->held - receiver->given >= FLUSH_BYTES && waited >= FEW_NS);
}

static void hand_over(struct receiver *receiver)
{
	struct stream *next;

	commit_thread_state(receiver->commit_thread, &receiver->state);
	if (!receiver->state.idle || !is_due(receiver, clock_mono()))
		return;
	for (struct stream *stream = receiver->streams; stream; stream = next) {
		next = stream->next;
		stream_flush(stream, &receiver->batch);
	}
	receiver->oldest = 0;
	if (!receiver->batch.first)
		return;
	receiver->given = receiver->batch.bytes;
	commit_thread_give(receiver->commit_thread, &receiver->batch);
}

void receiver_dirty(struct receiver *receiver)
{
	if (!receiver->oldest)
		receiver->oldest = clock_mono();
	hand_over(receiver);
}

static void fail(struct receiver *receiver, int r)
{
	receiver->failed = r;
	sd_event_exit(receiver->event, 1);
}

static int on_wake(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct receiver *receiver = context;
	struct batch done;
	eventfd_t n;

	(void)source;
	(void)events;
	if (eventfd_read(fd, &n) < 0 && errno != EAGAIN)
		return -errno;
	commit_thread_state(receiver->commit_thread, &receiver->state);
	if (receiver->state.failed) {
		sd_notifyf(0, "STATUS=%s", receiver->state.sentence);
		fail(receiver, -EIO);
		return 0;
	}
	commit_thread_take(receiver->commit_thread, &done);
	receiver->held -= done.bytes;
	receiver->given -= done.bytes;
	receiver_answers(receiver, &done);
	batch_deinit(&done);
	control_notify(receiver->control, receiver->state.serial);
	hand_over(receiver);
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

uint64_t receiver_room(struct receiver *receiver, struct account *account, uint64_t bytes, const char **reason)
{
	const struct config *c = receiver->config;
	uint64_t now = clock_mono(), n = bytes, wanted;
	bool over;

	*reason = NULL;
	if (receiver->held + bytes > c->sink_queue_bytes) {
		n = receiver->held < c->sink_queue_bytes ? c->sink_queue_bytes - receiver->held : 0;
		receiver->counts.overrun++;
		*reason = receiver->state.full ? "disk" : "overrun";
	}
	/* The commit thread deletes old recordings, but not those that are being made. */
	over = cut_to(&n, c->sink_bytes, receiver->accounts.bytes);
	over |= cut_to(&n, c->sink_guest_bytes, account->bytes);
	if (over) {
		receiver->counts.quota++;
		*reason = "quota";
	}
	wanted = n;
	n = bucket_take(&account->bucket, c->sink_guest_rate, now, n);
	n = bucket_take(&receiver->accounts.bucket, c->sink_rate, now, n);
	if (n < wanted) {
		receiver->counts.rate++;
		*reason = "rate";
	}
	return n;
}

void receiver_complain(struct receiver *receiver, const char *address, const char *what)
{
	receiver->counts.garbage++;
	for (unsigned i = 0; i < COMPLAINTS; i++)
		if (strcmp(receiver->complaints[i], address) == 0)
			return;
	snprintf(receiver->complaints[receiver->next_complaint++ % COMPLAINTS], STREAM_ADDRESS_MAX, "%s", address);
	log_write_limited(&receiver->limit, LOG_LEVEL_WARNING, NULL, "what came from a guest %s: address=%s", what,
			  address);
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
static void give_memory_back(struct receiver *receiver)
{
	uint64_t now = clock_mono();

	if (receiver->counts.bytes - receiver->seen_bytes >= FLUSH_BYTES)
		receiver->busy = now;
	receiver->seen_bytes = receiver->counts.bytes;
	if (receiver->busy && receiver->held < FLUSH_BYTES && now - receiver->busy >= QUIET_NS) {
		receiver->busy = 0;
		malloc_trim(0);
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* End all streams and their recordings, and leave the loop. */
static void end(struct receiver *receiver)
{
	receiver->ending = true;
	while (receiver->streams)
		stream_end(receiver->streams, "shutdown");
	sd_event_exit(receiver->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct receiver *receiver = context;
	struct stream *next;

	(void)source;
	(void)info;
	if (receiver->ending) {
		end(receiver);
		return 0;
	}
	sd_notify(0, "STOPPING=1");
	receiver->ending = true;
	receiver->end_by = clock_mono() + END_NS;
	for (struct stream *stream = receiver->streams; stream; stream = next) {
		next = stream->next;
		stream_stop(stream, "shutdown", (struct control_asker){0});
	}
	return 0;
}

/*
 * End the process if the archive's file was deleted or replaced, because all bytes written later
 * would be lost.
 */
static void check_file(struct receiver *receiver)
{
	if (receiver->ending || !opened_file_replaced(&receiver->file))
		return;
	log_error("The archive %s was deleted or replaced while mprofd-sink was writing it; mprofd-sink ends, and "
		  "makes a new "
		  "one when it is started again",
		  receiver->file.path);
	fail(receiver, -ESTALE);
}

static void on_tick(void *context)
{
	struct receiver *receiver = context;

	if (++receiver->ticks % FILE_TICKS == 0)
		check_file(receiver);
	notice_tick(receiver->collector);
	collector_ask_again(receiver);
	collector_ask_offers(receiver);
	accounts_tidy(&receiver->accounts, clock_mono());
	give_memory_back(receiver);
	hand_over(receiver);
	if (receiver->ending && (!receiver->streams || clock_mono() > receiver->end_by))
		end(receiver);
	timer_set_in(&receiver->tick, TICK_NS);
}

static int loop_open(struct receiver *receiver)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	receiver->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (receiver->wake_fd < 0)
		return -errno;
	r = sd_event_new(&receiver->event);
	if (r >= 0)
		r = sd_event_add_signal(receiver->event, NULL, SIGTERM, on_signal, receiver);
	if (r >= 0)
		r = sd_event_add_signal(receiver->event, NULL, SIGINT, on_signal, receiver);
	if (r >= 0)
		r = sd_event_add_io(receiver->event, &receiver->wake_source, receiver->wake_fd, EPOLLIN, on_wake,
				    receiver);
	if (r >= 0)
		r = timer_open(&receiver->tick, receiver->event, TIMER_LOOSE_NS, on_tick, receiver);
	if (r >= 0)
		timer_set_in(&receiver->tick, TICK_NS);
	if (r >= 0)
		r = sd_event_set_watchdog(receiver->event, 1);
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

int receiver_init(struct receiver *receiver, const struct config *config, const struct receiver_options *options,
		  char *sentence, size_t size)
{
	char path[512];
	int r;

	*receiver = (struct receiver){.config = config, .wake_fd = -1};
	batch_init(&receiver->batch);
	raise_files();
	keep_memory();
	snprintf(sentence, size, "cannot start");
	r = loop_open(receiver);
	if (r == 0) {
		*sentence = '\0';
		r = commit_thread_start(&receiver->commit_thread, options->state, config, receiver->wake_fd,
					&receiver->last_id, sentence, size);
	}
	if (r == 0)
		r = opened_file_init(&receiver->file, options->state, MEMTRACES_FILE);
	if (r == 0)
		r = collector_open(receiver, options->run);
	snprintf(path, sizeof(path), "%s/sink/sink.sock", options->run);
	if (r == 0)
		r = control_server_open(&receiver->control, receiver->event, path, receiver_request, receiver, sentence,
					size);
	for (size_t i = 0; r == 0 && config->sink_listen && config->sink_listen[i]; i++)
		r = receiver_listen(receiver, config->sink_listen[i], sentence, size);
	if (r < 0 && !*sentence)
		snprintf(sentence, size, "cannot start: %s", strerror(-r));
	return r;
}

int receiver_run(struct receiver *receiver)
{
	int r;

	sd_notify(0, "READY=1");
	r = sd_event_loop(receiver->event);
	return receiver->failed ? receiver->failed : r < 0 ? r : 0;
}

/* Commit the bytes and items that are left, for at most END_NS. */
static void commit_rest(struct receiver *receiver)
{
	uint64_t by = clock_mono() + END_NS;
	struct batch done;

	while (clock_mono() < by) {
		commit_thread_take(receiver->commit_thread, &done);
		batch_deinit(&done);
		commit_thread_state(receiver->commit_thread, &receiver->state);
		if (receiver->state.failed)
			return;
		if (receiver->state.idle && receiver->batch.first)
			commit_thread_give(receiver->commit_thread, &receiver->batch);
		else if (receiver->state.idle)
			return;
		clock_sleep(5 * NS_PER_MS);
	}
}

void receiver_deinit(struct receiver *receiver)
{
	receiver->ending = true;
	while (receiver->streams)
		stream_end(receiver->streams, "shutdown");
	while (receiver->guests)
		guest_free(receiver->guests);
	if (receiver->commit_thread)
		commit_rest(receiver);
	receiver->commit_thread = commit_thread_stop(receiver->commit_thread);
	for (size_t i = 0; i < receiver->n_listeners; i++)
		sd_event_source_disable_unref(receiver->listeners[i]);
	free(receiver->listeners);
	control_server_close(receiver->control);
	notice_free(receiver->collector);
	batch_deinit(&receiver->batch);
	accounts_deinit(&receiver->accounts);
	sd_event_source_disable_unref(receiver->wake_source);
	timer_close(&receiver->tick);
	sd_event_unref(receiver->event);
	closep(&receiver->wake_fd);
	opened_file_deinit(&receiver->file);
}
