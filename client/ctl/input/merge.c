/*
 * This file merges the events of several streams by time.
 *
 * Each stream reads its own file in pieces and decodes a batch of events at a time. The stream
 * whose next event is the oldest passes on its events until another stream has an older event. The
 * memory needed grows only with the number of streams. One exception: a file that may be the image
 * of a ring is read as a whole, to find the order of its packets.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "cleanup.h"
#include "merge.h"
#include "runtime-file.h"
#include "stream-decoder.h"

#define PIECE (256u << 10)
#define BATCH 256u

struct merge_stream {
	int fd;
	const char *name; /* stream's name; borrowed */
	uint64_t size;
	struct mprof_order *order; /* order of the packets; NULL = order of the file; owned */
	size_t span;		   /* index of the next span */
	uint64_t at, end;	   /* unread part of the present span, in bytes of the file */
	struct mprof_decoder *decoder;
	uint64_t lost;	 /* missing packets that were reported to the consumer so far */
	uint64_t packet; /* index of the packet that the consumer knows, if IN_PACKET */
	bool in_packet;
	size_t next, n; /* indices into EVENTS */
	struct mprof_event events[BATCH];
	uint8_t piece[PIECE];
};

static void stream_free(struct merge_stream *a)
{
	if (a->fd >= 0)
		close(a->fd);
	mprof_order_free(a->order);
	mprof_decoder_free(a->decoder);
	free(a);
}

int merge_add(struct merge *l, const char *name, int fd)
{
	CLEANUP(closep) int owned = fd; /* until a stream owns it */
	struct stat st = {0};
	struct merge_stream *a;

	if (l->n == MERGE_STREAMS_MAX)
		return -E2BIG;
	if (fstat(fd, &st) != 0)
		return -errno;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	l->names[l->n] = strdup(name);
	a->decoder = mprof_decoder_new();
	a->fd = owned;
	a->name = l->names[l->n];
	a->size = (uint64_t)st.st_size;
	owned = -1;
	l->stream[l->n++] = a;
	return a->name && a->decoder ? 0 : -ENOMEM;
}

void merge_deinit(struct merge *l)
{
	for (unsigned int i = 0; i < l->n; i++) {
		free(l->names[i]);
		stream_free(l->stream[i]);
	}
	l->n = 0;
}

static ssize_t read_at(int fd, void *buf, size_t n, uint64_t at)
{
	ssize_t got;

	do
		got = pread(fd, buf, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* If the file may be the image of a ring, find the order of its packets. Return 0 or -errno. */
static int stream_order(struct merge_stream *a)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	size_t used = 0;
	ssize_t n = 1;

	if (a->size > MPROF_RING_BYTES_MAX)
		return 0;
	bytes = malloc(a->size ? (size_t)a->size : 1);
	a->order = mprof_order_new();
	if (!bytes || !a->order)
		return -ENOMEM;
	while (used < a->size && n > 0) {
		n = read_at(a->fd, bytes + used, (size_t)a->size - used, used);
		if (n < 0)
			return (int)n;
		used += (size_t)n;
	}
	mprof_order_scan(a->order, bytes, used);
	return 0;
}

/* Begin the next span of packets. Return false after the last span. */
static bool stream_span(struct merge_stream *a)
{
	struct mprof_span whole = {.bytes = a->size};
	const struct mprof_span *span = &whole;

	if (a->span == (a->order ? mprof_order_spans(a->order) : 1))
		return false;
	if (a->order)
		span = mprof_order_span(a->order, a->span);
	a->span++;
	a->at = span->offset;
	a->end = span->offset + span->bytes;
	mprof_decoder_begin(a->decoder, span->offset, span->packet);
	return true;
}

/* Feed the decoder the next piece of the span. */
static int stream_read(struct merge_stream *a)
{
	uint64_t left = a->end - a->at;
	ssize_t n = 0;

	if (left)
		n = read_at(a->fd, a->piece, left < PIECE ? (size_t)left : PIECE, a->at);
	if (n < 0)
		return (int)n;
	mprof_decoder_feed(a->decoder, a->piece, (size_t)n);
	a->at += (uint64_t)n;
	if (!n || a->at == a->end)
		mprof_decoder_finish(a->decoder);
	return 0;
}

static int pass_damage(struct merge *l, unsigned int i)
{
	const struct mprof_damage *damage = mprof_decoder_damage(l->stream[i]->decoder);
	int r = l->consumer->damage ? l->consumer->damage(l->consumer->context, i, damage) : 0;

	if (!r && l->consumer->pause)
		r = l->consumer->pause(l->consumer->context);
	report_damage(l->names[i], damage, ++l->damages);
	return r;
}

/*
 * Tell the consumer how many packets are missing before the events that were just decoded. Call
 * this function after all earlier events were passed on.
 */
static int pass_gap(struct merge *l, unsigned int i)
{
	struct merge_stream *a = l->stream[i];
	uint64_t lost = mprof_decoder_totals(a->decoder)->lost_packets, n = lost - a->lost;

	a->lost = lost;
	return n && l->consumer->gap ? l->consumer->gap(l->consumer->context, i, n) : 0;
}

/* Decode the next batch of events of stream I. The batch is empty after the last event. */
static int stream_fill(struct merge *l, unsigned int i)
{
	struct merge_stream *a = l->stream[i];
	enum mprof_status status;
	int r = 0;

	a->next = 0;
	for (a->n = 0; !a->n && !r;) {
		a->n = mprof_decoder_batch(a->decoder, a->events, BATCH, &status);
		r = pass_gap(l, i);
		if (r)
			break;
		if (status == MPROF_NOMEM)
			r = -ENOMEM;
		else if (status == MPROF_MORE)
			r = stream_read(a);
		else if (status == MPROF_CORRUPT)
			r = pass_damage(l, i);
		else if (status == MPROF_END && !stream_span(a))
			break;
	}
	return r;
}

/*
 * Report the packet of the events that follow, unless the consumer knows it. The decoder is at the
 * packet of the whole batch.
 */
static int pass_packet(struct merge *l, unsigned int i)
{
	struct merge_stream *a = l->stream[i];
	const struct mprof_packet *packet = mprof_decoder_packet(a->decoder);

	if (!l->consumer->packet || (a->in_packet && packet->index == a->packet))
		return 0;
	a->in_packet = true;
	a->packet = packet->index;
	return l->consumer->packet(l->consumer->context, i, packet);
}

static uint64_t head(const struct merge_stream *a)
{
	return a->events[a->next].raw.timestamp;
}

/*
 * Return the stream with the oldest next event, the first of equals, or MERGE_STREAMS_MAX if all
 * have ended. Set *ELSEWHERE to the oldest time in the other streams.
 */
static unsigned int oldest(const struct merge *l, uint64_t *elsewhere)
{
	unsigned int best = MERGE_STREAMS_MAX;

	*elsewhere = UINT64_MAX;
	for (unsigned int i = 0; i < l->n; i++) {
		const struct merge_stream *a = l->stream[i];

		if (!a->n)
			continue;
		if (best == MERGE_STREAMS_MAX) {
			best = i;
		} else if (head(a) < head(l->stream[best])) {
			*elsewhere = head(l->stream[best]);
			best = i;
		} else if (head(a) < *elsewhere) {
			*elsewhere = head(a);
		}
	}
	return best;
}

/*
 * Give out the events of stream I up to the time ELSEWHERE. Decode the next batch if none is left.
 */
static int stream_advance(struct merge *l, unsigned int i, uint64_t elsewhere)
{
	struct merge_stream *a = l->stream[i];
	size_t from = a->next;
	int r = pass_packet(l, i);

	do
		a->next++;
	while (a->next < a->n && head(a) <= elsewhere);
	r = r ? r : l->consumer->events(l->consumer->context, i, a->events + from, a->next - from);
	return r || a->next < a->n ? r : stream_fill(l, i);
}

static int merge_begin(struct merge *l)
{
	int r = l->one_guest && l->consumer->one_guest ? l->consumer->one_guest(l->consumer->context) : 0;

	if (!r && l->n > 1 && l->consumer->streams)
		r = l->consumer->streams(l->consumer->context, l->names, l->n);
	for (unsigned int i = 0; i < l->n && !r; i++) {
		mprof_decoder_recorders(l->stream[i]->decoder, l->consumer->recorders);
		r = stream_order(l->stream[i]);
		if (!r && stream_span(l->stream[i]))
			r = stream_fill(l, i);
	}
	return r;
}

int merge_run(struct merge *l)
{
	uint64_t elsewhere;
	unsigned int i;
	int r = merge_begin(l);

	while (!r && (i = oldest(l, &elsewhere)) != MERGE_STREAMS_MAX)
		r = stream_advance(l, i, elsewhere);
	for (i = 0; i < l->n; i++) {
		l->totals[i] = *mprof_decoder_totals(l->stream[i]->decoder);
		l->bytes[i] = l->stream[i]->size;
	}
	return r ? r : l->consumer->pause ? l->consumer->pause(l->consumer->context) : 0;
}

/*
 * A file is a stream if it begins with a packet. Names do not count, because each producer chooses
 * its own; CTF reserves only `metadata`.
 */

bool directory_wants(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return name[0] && name[0] != '.' && strcmp(name, "metadata") != 0;
}

int merge_add_file(struct merge *l, const char *name, int fd)
{
	CLEANUP(closep) int owned = fd;
	bool is_runtime, others = l->n && !l->one_guest;
	uint8_t magic[4];
	int r = runtime_file_add(l, name, fd, &is_runtime);

	l->one_guest = l->one_guest && !others;
	if (r || is_runtime)
		return r;
	l->one_guest = false;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || mprof_load32(magic) != MPROF_PACKET_MAGIC)
		return 0;
	owned = -1;
	return merge_add(l, name, fd);
}

static int wanted_entry(const struct dirent *entry)
{
	return directory_wants(entry->d_name);
}

static int add_entry(struct merge *l, int dir, const char *name)
{
	struct stat st;
	int fd;

	/* Open regular files only: opening a pipe would wait for its writer. */
	if (fstatat(dir, name, &st, 0) != 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : merge_add_file(l, name, fd);
}

int merge_add_directory(struct merge *l, const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int n, r = 0;

	if (fd < 0)
		return -errno;
	n = scandirat(fd, ".", &entries, wanted_entry, alphasort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		r = r ? r : add_entry(l, fd, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	l->one_guest = faccessat(fd, "metadata", F_OK, 0) != 0;
	return r;
}
