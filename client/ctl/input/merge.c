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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "cleanup.h"
#include "file-hole.h"
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

static void stream_free(struct merge_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	mprof_order_free(s->order);
	mprof_decoder_free(s->decoder);
	free(s);
}

/* Return a copy of NAME, behind the program's, or NULL without memory. The caller frees it. */
static char *full_name(const struct merge *m, const char *name)
{
	char *full;

	if (!m->program)
		return strdup(name);
	return asprintf(&full, "%s/%s", m->program, name) < 0 ? NULL : full;
}

/* Return the full name, with a number if another stream has it, or NULL without memory. The caller frees it. */
static char *own_name(const struct merge *m, const char *name)
{
	CLEANUP(freep) char *full = full_name(m, name);
	char *own = full ? strdup(full) : NULL;

	for (unsigned int number = 2, i = 0; own && i < m->n; i++) {
		if (!m->names[i] || strcmp(m->names[i], own) != 0)
			continue;
		free(own);
		if (asprintf(&own, "%s (%u)", full, number++) < 0)
			own = NULL;
		i = UINT_MAX; /* the new name may be another stream's, too: look at all again */
	}
	return own;
}

int merge_add(struct merge *m, const char *name, int fd)
{
	CLEANUP(closep) int owned = fd; /* until a stream owns it */
	struct stat st = {0};
	struct merge_stream *a;

	if (m->n == MERGE_STREAMS_MAX)
		return -E2BIG;
	if (fstat(fd, &st) != 0)
		return -errno;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	m->names[m->n] = own_name(m, name);
	m->guest[m->n] = m->one_guest && m->packets ? m->packets - 1 : m->n;
	m->packets = m->packets ? m->packets : m->n + 1;
	a->decoder = mprof_decoder_new();
	a->fd = owned;
	a->name = m->names[m->n];
	a->size = (uint64_t)st.st_size;
	owned = -1;
	m->stream[m->n++] = a;
	return a->name && a->decoder ? 0 : -ENOMEM;
}

void merge_deinit(struct merge *m)
{
	for (unsigned int i = 0; i < m->n; i++) {
		free(m->names[i]);
		stream_free(m->stream[i]);
	}
	m->n = 0;
	free(m->program);
	m->program = NULL;
}

int merge_begin_program(struct merge *m, const char *name)
{
	free(m->program);
	m->program = strdup(name);
	m->packets = 0;
	return m->program ? 0 : -ENOMEM;
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
static int stream_order(struct merge_stream *s)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	size_t used = 0;
	ssize_t n = 1;

	if (s->size > MPROF_RING_BYTES_MAX)
		return 0;
	bytes = malloc(s->size ? (size_t)s->size : 1);
	s->order = mprof_order_new();
	if (!bytes || !s->order)
		return -ENOMEM;
	while (used < s->size && n > 0) {
		n = read_at(s->fd, bytes + used, (size_t)s->size - used, used);
		if (n < 0)
			return (int)n;
		used += (size_t)n;
	}
	mprof_order_scan(s->order, bytes, used);
	return 0;
}

/* Begin the next span of packets. Return false after the last span. */
static bool stream_span(struct merge_stream *s)
{
	struct mprof_span whole = {.bytes = s->size};
	const struct mprof_span *span = &whole;

	if (s->span == (s->order ? mprof_order_spans(s->order) : 1))
		return false;
	if (s->order)
		span = mprof_order_span(s->order, s->span);
	s->span++;
	s->at = span->offset;
	s->end = span->offset + span->bytes;
	mprof_decoder_begin(s->decoder, span->offset, span->packet);
	return true;
}

/* Feed the decoder the next piece of the span. */
static int stream_read(struct merge_stream *s)
{
	uint64_t left = s->end - s->at;
	ssize_t n = 0;

	if (left)
		n = read_at(s->fd, s->piece, left < PIECE ? (size_t)left : PIECE, s->at);
	if (n < 0)
		return (int)n;
	mprof_decoder_feed(s->decoder, s->piece, (size_t)n);
	s->at += (uint64_t)n;
	if (!n || s->at == s->end)
		mprof_decoder_finish(s->decoder);
	return 0;
}

static int pass_damage(struct merge *m, unsigned int i)
{
	const struct mprof_damage *damage = mprof_decoder_damage(m->stream[i]->decoder);
	int r = m->consumer->damage ? m->consumer->damage(m->consumer->context, i, damage) : 0;

	if (!r && m->consumer->pause)
		r = m->consumer->pause(m->consumer->context);
	report_damage(m->names[i], damage, ++m->damages);
	return r;
}

/*
 * Tell the consumer how many packets are missing before the events that were just decoded. Call
 * this function after all earlier events were passed on.
 */
static int pass_gap(struct merge *m, unsigned int i)
{
	struct merge_stream *a = m->stream[i];
	uint64_t lost = mprof_decoder_totals(a->decoder)->lost_packets, n = lost - a->lost;

	a->lost = lost;
	return n && m->consumer->gap ? m->consumer->gap(m->consumer->context, i, n) : 0;
}

/* Decode the next batch of events of stream I. The batch is empty after the last event. */
static int stream_fill(struct merge *m, unsigned int i)
{
	struct merge_stream *a = m->stream[i];
	enum mprof_status status;
	int r = 0;

	a->next = 0;
	for (a->n = 0; !a->n && !r;) {
		a->n = mprof_decoder_batch(a->decoder, a->events, BATCH, &status);
		r = pass_gap(m, i);
		if (r)
			break;
		if (status == MPROF_NOMEM)
			r = -ENOMEM;
		else if (status == MPROF_MORE)
			r = stream_read(a);
		else if (status == MPROF_CORRUPT)
			r = pass_damage(m, i);
		else if (status == MPROF_END && !stream_span(a))
			break;
	}
	return r;
}

/*
 * Report the packet of the events that follow, unless the consumer knows it. The decoder is at the
 * packet of the whole batch.
 */
static int pass_packet(struct merge *m, unsigned int i)
{
	struct merge_stream *a = m->stream[i];
	const struct mprof_packet *packet = mprof_decoder_packet(a->decoder);

	if (!m->consumer->packet || (a->in_packet && packet->index == a->packet))
		return 0;
	a->in_packet = true;
	a->packet = packet->index;
	return m->consumer->packet(m->consumer->context, i, packet);
}

static uint64_t head(const struct merge_stream *s)
{
	return s->events[s->next].raw.timestamp;
}

/*
 * Return the stream with the oldest next event, the first of equals, or MERGE_STREAMS_MAX if all
 * have ended. Set *ELSEWHERE to the oldest time in the other streams.
 */
static unsigned int oldest(const struct merge *m, uint64_t *elsewhere)
{
	unsigned int best = MERGE_STREAMS_MAX;

	*elsewhere = UINT64_MAX;
	for (unsigned int i = 0; i < m->n; i++) {
		const struct merge_stream *a = m->stream[i];

		if (!a->n)
			continue;
		if (best == MERGE_STREAMS_MAX) {
			best = i;
		} else if (head(a) < head(m->stream[best])) {
			*elsewhere = head(m->stream[best]);
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
static int stream_advance(struct merge *m, unsigned int i, uint64_t elsewhere)
{
	struct merge_stream *a = m->stream[i];
	size_t from = a->next;
	int r = pass_packet(m, i);

	do
		a->next++;
	while (a->next < a->n && head(a) <= elsewhere);
	r = r ? r : m->consumer->events(m->consumer->context, i, a->events + from, a->next - from);
	return r || a->next < a->n ? r : stream_fill(m, i);
}

static int merge_begin(struct merge *m)
{
	int r = m->consumer->guests ? m->consumer->guests(m->consumer->context, m->guest, m->n) : 0;

	if (!r && m->n > 1 && m->consumer->streams)
		r = m->consumer->streams(m->consumer->context, m->names, m->n);
	for (unsigned int i = 0; i < m->n && !r; i++) {
		mprof_decoder_recorders(m->stream[i]->decoder, m->consumer->recorders);
		r = stream_order(m->stream[i]);
		if (!r && stream_span(m->stream[i]))
			r = stream_fill(m, i);
	}
	return r;
}

int merge_run(struct merge *m)
{
	uint64_t elsewhere;
	unsigned int i;
	int r = merge_begin(m);

	while (!r && (i = oldest(m, &elsewhere)) != MERGE_STREAMS_MAX)
		r = stream_advance(m, i, elsewhere);
	for (i = 0; i < m->n; i++) {
		m->totals[i] = *mprof_decoder_totals(m->stream[i]->decoder);
		m->bytes[i] = m->stream[i]->size;
	}
	return r ? r : m->consumer->pause ? m->consumer->pause(m->consumer->context) : 0;
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

int merge_add_file(struct merge *m, const char *name, int fd)
{
	CLEANUP(closep) int owned = fd;
	bool is_runtime;
	uint8_t magic[4];
	int r = runtime_file_add(m, name, fd, &is_runtime);

	if (r || is_runtime)
		return r;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || mprof_load32(magic) != MPROF_PACKET_MAGIC)
		return 0;
	r = file_hole_check(fd, name);
	if (r)
		return r;
	owned = -1;
	return merge_add(m, name, fd);
}

static int wanted_entry(const struct dirent *entry)
{
	return directory_wants(entry->d_name);
}

static int add_entry(struct merge *m, int dir, const char *name)
{
	struct stat st;
	int fd;

	/* Open regular files only: opening a pipe would wait for its writer. */
	if (fstatat(dir, name, &st, 0) != 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : merge_add_file(m, name, fd);
}

/* Call ADD for each entry of the directory DIR that can be a stream or have some, in the order of the names. Return as it. */
static int add_entries(struct merge *m, int dir, int (*add)(struct merge *m, int dir, const char *name))
{
	struct dirent **entries;
	int n = scandirat(dir, ".", &entries, wanted_entry, alphasort), r = 0;

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		r = r ? r : add(m, dir, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* Add the streams of the directory NAME in DIR. Return as merge_add_directory(). */
static int add_directory_at(struct merge *m, int dir, const char *name)
{
	CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	m->one_guest = faccessat(fd, "metadata", F_OK, 0) != 0;
	return add_entries(m, fd, add_entry);
}

int merge_add_directory(struct merge *m, const char *path)
{
	return add_directory_at(m, AT_FDCWD, path);
}

/* Add the streams of NAME in DIR as those of a program, if it is a directory. Return as merge_add_directory(). */
static int add_program(struct merge *m, int dir, const char *name)
{
	struct stat st;
	int r;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	r = merge_begin_program(m, name);
	r = r ? r : add_directory_at(m, dir, name);
	return r == -ENOENT || r == -EACCES ? 0 : r;
}

int merge_add_tree(struct merge *m, const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : add_entries(m, fd, add_program);
}
