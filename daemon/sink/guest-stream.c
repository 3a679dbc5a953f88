#include "guest-stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "clock.h"
#include "receiver.h"

#define READ_ROOM   (64u << 10) /* least room in the block for a read */
#define READS_MAX   8u		/* reads in a row, before other streams are served */
#define BLOCK_FIRST (128u << 10)
/* Time in which a guest must send its first packet; a writer sends it at once. */
#define FIRST_NS (10 * NS_PER_S)
/*
 * Time for the last bytes of a guest to which the receiver has connected; a running guest sends
 * them within a millisecond.
 */
#define STOP_ASKED_NS (5 * NS_PER_S)
/* Time for the last bytes of a guest that has connected by itself: it ignores our shutdown(). */
#define STOP_NS (NS_PER_S / 2)
#define WHO_NS	(3 * NS_PER_S) /* time for the collector's answer who the guest was, on a busy machine */

static void stream_free(struct stream *s)
{
	struct stream **at = &s->receiver->streams;

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at) {
		*at = s->next;
		s->receiver->n_streams--;
	}
	if (s->account)
		account_leave(&s->receiver->accounts, s->account, s->counted, clock_mono());
	sd_event_source_disable_unref(s->io);
	timer_close(&s->timer);
	closep(&s->fd);
	s->receiver->held -= s->len;
	free(s->block);
	free(s->name);
	free(s->uuid);
	free(s->info);
	free(s);
}

static void set_deadline(struct stream *s, uint64_t ns)
{
	s->deadline = ns ? clock_mono() + ns : 0;
	if (ns)
		timer_set(&s->timer, s->deadline);
	else
		timer_stop(&s->timer);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/*
 * Move the block's whole packets to the batch B, and the bytes behind them to a new block. Return 0
 * or -ENOMEM.
 */
static int seal(struct stream *s, struct batch *b)
{
	size_t rest = s->len - s->whole;
	uint8_t *block = NULL, *fit;
	int r;

	if (s->whole == 0)
		return 0;
	if (rest) {
		block = malloc(rest > BLOCK_FIRST ? rest : BLOCK_FIRST);
		if (!block)
			return -ENOMEM;
		memcpy(block, s->block + s->whole, rest);
	}
	fit = realloc(s->block, s->whole);
	r = batch_append(b, s->about.id, s->about.bytes, fit ? fit : s->block, (uint32_t)s->whole);
	if (r == 0) {
		s->about.bytes += s->whole;
	} else {
		s->receiver->held -= s->whole;
	}
	s->block = block;
	s->room = block ? (rest > BLOCK_FIRST ? rest : BLOCK_FIRST) : 0;
	s->len = rest;
	s->whole = 0;
	s->dirty = true;
	return r;
}

/* Make room in the block for another read. Return 0 or -ENOMEM. */
static int make_room(struct stream *s)
{
	size_t room = s->room ? s->room * 2 : BLOCK_FIRST;
	uint8_t *more;
	int r = 0;

	if (s->room - s->len >= READ_ROOM)
		return 0;
	if (room > ARCHIVE_PIECE_MAX && s->whole) {
		r = seal(s, &s->receiver->batch);
		return r ? r : make_room(s);
	}
	more = realloc(s->block, room);
	if (!more)
		return -ENOMEM;
	s->block = more;
	s->room = room;
	return 0;
}

struct item *stream_put(struct stream *s, struct batch *b)
{
	struct item *item = seal(s, b) < 0 ? NULL : batch_put(b, &s->about);

	s->dirty = s->dirty && !item;
	return item;
}

void stream_flush(struct stream *s, struct batch *b)
{
	if (s->state < STREAM_RECORDING || (!s->whole && !s->dirty))
		return;
	if (stream_put(s, b))
		return;
	/*
	 * Do not end the stream here, because the caller may still use it: end it by its deadline.
	 */
	s->stop_reason = s->stop_reason ? s->stop_reason : "overrun";
	set_deadline(s, 1);
}

/* ---- a recording ----------------------------------------------------------------------------- */

/*
 * Begin a recording with the description in the first packet; the block has LEN bytes of whole
 * packets. Return false if that packet has no description.
 */
static bool begin_recording(struct stream *s, size_t len)
{
	struct moment now = moment_now();

	s->info = malloc(sizeof(*s->info));
	if (!s->info || !framing_info(s->block, len, s->info))
		return false;
	s->about.id = ++s->receiver->last_id;
	s->about.state = "recording";
	s->about.began_real = now.real;
	s->about.began_mono = now.mono;
	s->about.version = s->info->version;
	s->about.program = s->info->program;
	s->about.host = s->info->host;
	s->about.context = *s->info->context ? s->info->context : NULL;
	s->about.rate = s->info->rate;
	s->about.has_pid = s->info->has_pid;
	s->about.pid = s->info->pid;
	s->state = STREAM_RECORDING;
	s->dirty = true;
	set_deadline(s, 0);
	s->receiver->counts.recordings++;
	collector_ask_who(s);
	log_write_limited(&s->receiver->recorded, LOG_LEVEL_INFO, s->about.name,
			  "new memory profile: recording=%lld address=%s origin=%s", (long long)s->about.id, s->address,
			  s->about.origin);
	return true;
}

/*
 * Move the stream to the account of its guest, which is known now. Return false if that guest has
 * too many streams.
 */
static bool move_account(struct stream *s)
{
	struct receiver *receiver = s->receiver;
	struct account *account = account_enter(&receiver->accounts, s->uuid, s->address, s->counted);

	if (!account)
		return true;
	account_leave(&receiver->accounts, s->account, s->counted, clock_mono());
	s->account = account;
	return account->streams <= receiver->config->sink_guest_streams;
}

void stream_identify(struct stream *s, int64_t run, const char *name, const char *uuid, int64_t domid)
{
	char *new_name = name ? strdup(name) : NULL, *new_uuid = uuid ? strdup(uuid) : NULL;

	free(s->name);
	free(s->uuid);
	s->name = new_name;
	s->uuid = new_uuid;
	s->about.name = new_name;
	s->about.uuid = new_uuid;
	s->about.run = run;
	s->about.domid = domid;
	s->dirty = true;
	receiver_dirty(s->receiver);
	if (!move_account(s) && s->state == STREAM_RECORDING && !s->guest) {
		s->receiver->counts.refused++;
		stream_end(s, "quota");
	} else if (s->state == STREAM_ENDED) {
		stream_end(s, s->stop_reason);
	}
}

/* End the recording for REASON. The client that has stopped it is answered after the commit. */
static void end_recording(struct stream *s, const char *reason)
{
	struct receiver *receiver = s->receiver;
	struct moment now = moment_now();
	struct item *item;

	s->about.state = "ended";
	s->about.reason = reason;
	s->about.ended_real = now.real;
	s->about.ended_mono = now.mono;
	s->about.dropped += s->len - s->whole;
	receiver->counts.dropped += s->len - s->whole;
	if (seal(s, &receiver->batch) < 0)
		s->about.dropped += s->whole;
	item = batch_put(&receiver->batch, &s->about);
	if (item)
		item->asker = s->stopper;
	else
		log_error("The end of a memory profile cannot be noted, out of memory: recording=%lld",
			  (long long)s->about.id);
	log_write_limited(&receiver->recorded, LOG_LEVEL_INFO, s->about.name,
			  "memory profile ended: recording=%lld reason=%s bytes=%llu", (long long)s->about.id, reason,
			  (unsigned long long)s->about.bytes);
}

/*
 * If the connection has ended while the collector is asked who the guest is, keep the stream until
 * the answer comes or WHO_NS is over. Return whether the stream is kept.
 */
static bool linger(struct stream *s, const char *reason)
{
	if (!s->who || s->state < STREAM_RECORDING || s->state == STREAM_ENDED || s->receiver->ending)
		return false;
	s->stop_reason = s->stop_reason ? s->stop_reason : reason;
	s->state = STREAM_ENDED;
	s->io = sd_event_source_disable_unref(s->io);
	closep(&s->fd);
	set_deadline(s, WHO_NS);
	return true;
}

void stream_end(struct stream *s, const char *reason)
{
	struct receiver *receiver = s->receiver;
	struct guest *guest = s->guest;
	bool recorded = s->state >= STREAM_RECORDING;

	if (linger(s, reason))
		return;
	reason = s->stop_reason ? s->stop_reason : reason;
	if (recorded)
		end_recording(s, reason);
	s->guest = NULL;
	stream_free(s);
	if (guest) {
		guest->stream = NULL;
		guest_ended(guest, reason, recorded);
	}
	receiver_dirty(receiver);
}

void stream_stop(struct stream *s, const char *reason, struct control_asker asker)
{
	if (s->state == STREAM_STOPPING)
		return;
	s->stop_reason = reason;
	s->stopper = asker;
	if (s->state != STREAM_RECORDING) {
		stream_end(s, reason);
		return;
	}
	/*
	 * This is the only message to the guest: in an offering guest a read returns, and the guest
	 * sends its last bytes and closes.
	 */
	s->state = STREAM_STOPPING;
	shutdown(s->fd, SHUT_WR);
	set_deadline(s, s->guest ? STOP_ASKED_NS : STOP_NS);
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Handle N bytes that were received into the block: take those that the limits allow, and drop the others.
 * Return the reason to end the stream, or NULL.
 */
static const char *take(struct stream *s, size_t n)
{
	uint64_t packets = s->framing.packets;
	const char *reason;
	uint64_t fits = receiver_room(s->receiver, s->account, n, &reason);
	size_t whole;
	bool good, first = s->state == STREAM_FIRST;

	s->len += fits;
	s->receiver->held += fits;
	s->counted += fits;
	account_add(&s->receiver->accounts, s->account, fits);
	good = framing_whole(&s->framing, s->block + s->whole, s->len - s->whole, &whole);
	s->receiver->counts.bytes += whole;
	s->receiver->counts.packets += s->framing.packets - packets;
	if (first && whole && !begin_recording(s, s->whole + whole))
		good = false;
	if (s->state >= STREAM_RECORDING) {
		s->whole += whole;
		s->about.packets = s->framing.packets;
		s->about.dropped += n - fits;
		s->receiver->counts.dropped += n - fits;
	}
	if (first && s->guest && s->state == STREAM_RECORDING)
		guest_recording(s->guest);
	if (!good) {
		receiver_complain(s->receiver, s->address,
				  s->state == STREAM_FIRST ? "is no memtrace stream" : "is damaged");
		return "damaged";
	}
	if (s->whole)
		receiver_dirty(s->receiver);
	return reason;
}

/*
 * Read once. Return 1 if there may be more bytes, 0 if there are none now, -1 if the stream was
 * ended and freed.
 */
static int read_some(struct stream *s)
{
	const char *reason;
	ssize_t n;

	if (make_room(s) < 0) {
		stream_end(s, "overrun");
		return -1;
	}
	n = recv(s->fd, s->block + s->len, s->room - s->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0) {
		s->heard = clock_mono();
		reason = take(s, (size_t)n);
		if (!reason)
			return n >= (ssize_t)READ_ROOM;
		stream_end(s, reason);
		return -1;
	}
	s->receiver->counts.reset += n < 0;
	s->receiver->counts.cut += n == 0 && s->len > s->whole;
	stream_end(s, n < 0 ? "reset" : s->len > s->whole ? "cut" : "closed");
	return -1;
}

static void finish_connect(struct stream *s)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error) {
		stream_end(s, strerror(error));
		return;
	}
	s->state = STREAM_FIRST;
	s->receiver->counts.connected++;
	sd_event_source_set_io_events(s->io, EPOLLIN);
	set_deadline(s, FIRST_NS);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct stream *s = context;
	int r = 1;

	(void)source;
	(void)fd;
	(void)events;
	if (s->state == STREAM_CONNECTING) {
		finish_connect(s);
		return 0;
	}
	for (unsigned i = 0; i < READS_MAX && r > 0; i++)
		r = read_some(s);
	if (r == 0 && s->len == 0) { /* an idle guest needs no block */
		free(s->block);
		s->block = NULL;
		s->room = 0;
	}
	return 0;
}

/*
 * Read the bytes that have come, because the process itself may be late. Return false if the stream was ended
 * and freed.
 */
static bool catch_up(struct stream *s)
{
	int r = 1;

	for (unsigned i = 0; i < READS_MAX && r > 0; i++)
		r = read_some(s);
	return r >= 0;
}

/* Return whether the stream still waits as it did. Return false also if it was ended and freed. */
static bool is_overdue(struct stream *s)
{
	enum stream_state state = s->state;

	if (state != STREAM_FIRST && state != STREAM_STOPPING)
		return true;
	return catch_up(s) && s->state == state;
}

static void on_deadline(void *context)
{
	struct stream *s = context;

	if (!is_overdue(s))
		return;
	stream_end(s, s->state == STREAM_CONNECTING ? "it does not answer"
		      : s->state == STREAM_FIRST    ? "it sends nothing"
						    : "closed");
}

/* Return whether a recording is still silent. Return false also if it was ended and freed. */
static bool is_silent(struct stream *s)
{
	uint64_t heard = s->heard;

	return catch_up(s) && s->heard == heard;
}

void stream_evict(struct stream *s)
{
	struct receiver *receiver = s->receiver;
	bool recorded = s->state == STREAM_RECORDING;

	if (recorded ? !is_silent(s) : !is_overdue(s))
		return;
	receiver->counts.evicted++;
	log_write_limited(&receiver->limit, LOG_LEVEL_WARNING, s->about.name,
			  "A connection that has sent %s was closed, to make room for another one: address=%s",
			  recorded ? "nothing for long" : "no profile", s->address);
	stream_end(s, "evicted");
}

/* Enable keep-alive, to notice that a guest has vanished. An idle guest stays connected. */
static void keep_alive(int fd)
{
	int on = 1, idle = 60, interval = 10, count = 6;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

struct stream *stream_new(struct receiver *receiver, int fd, const char *address, uint32_t port, struct guest *guest)
{
	struct stream *s = calloc(1, sizeof(*s));
	uint64_t now;
	int r;

	if (!s) {
		close(fd);
		return NULL;
	}
	/*
	 * NOW is the begin of this turn of the loop. It is before the connection was asked for, so
	 * it is before the guest could have sent anything.
	 */
	now = timer_turn(receiver->event);
	s->receiver = receiver;
	s->heard = now;
	s->fd = fd;
	s->guest = guest;
	s->state = guest ? STREAM_CONNECTING : STREAM_FIRST;
	snprintf(s->address, sizeof(s->address), "%s", address);
	s->about = (struct memtrace){
		.domid = -1,
		.address = s->address,
		.port = port,
		.origin = guest ? "asked" : "listened",
		.connected_mono = now,
	};
	s->next = receiver->streams;
	receiver->streams = s;
	receiver->n_streams++;
	keep_alive(fd);
	s->account = account_enter(&receiver->accounts, NULL, s->address, 0);
	r = s->account ? 0 : -ENOMEM;
	if (r == 0)
		r = sd_event_add_io(receiver->event, &s->io, fd, guest ? EPOLLOUT : EPOLLIN, on_io, s);
	if (r >= 0)
		r = timer_open(&s->timer, receiver->event, TIMER_LOOSE_NS, on_deadline, s);
	if (r >= 0)
		timer_set_in(&s->timer, FIRST_NS);
	if (r < 0) {
		s->guest = NULL;
		stream_free(s);
		return NULL;
	}
	if (guest)
		stream_identify(s, guest->run, guest->name, guest->uuid, guest->domid);
	return s;
}
