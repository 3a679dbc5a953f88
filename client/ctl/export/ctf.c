/*
 * Packets are made anew, because those of the input may hold a few events or 256 MiB, and a
 * selection cuts them. Their counts begin at 0 and jump over lost packets, so that a reader sees
 * every loss and its length.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "cleanup.h"
#include "ctf-metadata.h"
#include "ctf.h"
#include "ctl.h"
#include "exporter.h"
#include "writer.h"

#define PACKET_BYTES 262144u
/* A larger jump would look like a step back. */
#define GAP_MAX 0x7fffu
/* Bytes of an event without its text. */
#define FIXED_MAX 26u

int ctf_stream_init(struct ctf_stream *s, int fd)
{
	*s = (struct ctf_stream){.fd = fd, .packet = malloc(PACKET_BYTES), .used = MPROF_PACKET_HEADER_BYTES};
	return s->packet ? 0 : -ENOMEM;
}

void ctf_stream_deinit(struct ctf_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->packet);
	*s = (struct ctf_stream){.fd = -1};
}

/* Write the packet so far. It continues with MORE bytes that the caller writes. */
static int write_packet(struct ctf_stream *s, size_t more)
{
	struct mprof_packet_header h = {
		.packet_bytes = (uint32_t)(s->used + more),
		.content_bytes = (uint32_t)(s->used + more),
		.count = (uint16_t)s->sequence,
	};
	int r;

	mprof_packet_store(&h, s->packet);
	r = write_all(s->fd, s->packet, s->used);
	s->used = MPROF_PACKET_HEADER_BYTES;
	s->sequence++;
	s->written = true;
	s->missing = false;
	return r;
}

static int flush(struct ctf_stream *s)
{
	return s->used > MPROF_PACKET_HEADER_BYTES ? write_packet(s, 0) : 0;
}

/* Store an event without its text at P, FIXED_MAX bytes. Return the number of bytes used. */
static size_t store_fixed(const struct mprof_raw_event *e, uint64_t ns, uint8_t *p)
{
	enum mprof_shape shape = mprof_event_shape(e->id);
	size_t at = MPROF_EVENT_HEADER_BYTES;

	mprof_store64(p, ns);
	p[8] = e->id;
	if (mprof_event_has_context(e->id)) {
		mprof_store64(p + at, (uint64_t)e->context);
		at += 8;
	}
	if (shape != MPROF_SHAPE_NONE && shape != MPROF_SHAPE_TEXT) {
		mprof_store64(p + at, (uint64_t)e->number);
		at += 8;
	}
	if (shape == MPROF_SHAPE_THREAD_TYPE)
		p[at++] = e->type;
	return at;
}

/* Return NS, or the last event's time if NS cannot follow it in a valid stream. */
static uint64_t time_of(struct ctf_stream *s, uint64_t ns)
{
	if (s->verbatim)
		return ns;
	if (ns < s->last_ns || ns > INT64_MAX) {
		s->moved++;
		return s->last_ns;
	}
	s->last_ns = ns;
	return ns;
}

/* Write an event that is longer than a packet of PACKET_BYTES as a packet of its own. */
static int put_long(struct ctf_stream *s, const struct mprof_raw_event *e, const uint8_t *fixed, size_t n)
{
	int r = flush(s);

	memcpy(s->packet + s->used, fixed, n);
	s->used += n;
	r = r ? r : write_packet(s, e->text_bytes + 1);
	r = r ? r : write_all(s->fd, e->text, e->text_bytes);
	return r ? r : write_all(s->fd, "", 1);
}

int ctf_stream_event(struct ctf_stream *s, const struct mprof_raw_event *e)
{
	uint8_t fixed[FIXED_MAX];
	size_t n = store_fixed(e, time_of(s, e->timestamp), fixed), all = n + (e->text ? e->text_bytes + 1 : 0);
	int r;

	if (all > PACKET_BYTES - MPROF_PACKET_HEADER_BYTES)
		return put_long(s, e, fixed, n);
	if (all > PACKET_BYTES - s->used) {
		r = flush(s);
		if (r)
			return r;
	}
	memcpy(s->packet + s->used, fixed, n);
	if (e->text) {
		memcpy(s->packet + s->used + n, e->text, e->text_bytes);
		s->packet[s->used + all - 1] = 0;
	}
	s->used += all;
	return 0;
}

/* A loss stands between two packets; write an empty packet if there is none. */
int ctf_stream_gap(struct ctf_stream *s, uint64_t packets)
{
	uint64_t some;
	int r = flush(s);

	for (; packets && !r; packets -= some) {
		if (!s->written || s->missing)
			r = write_packet(s, 0);
		some = packets < GAP_MAX ? packets : GAP_MAX;
		s->sequence += some;
		s->missing = true;
	}
	return r;
}

int ctf_stream_end(struct ctf_stream *s)
{
	int r = flush(s);

	if (!r && (s->missing || !s->written))
		r = write_packet(s, 0);
	if (r || s->verbatim)
		return r;
	return fsync(s->fd) < 0 && errno != EINVAL ? -errno : 0;
}

/*
 * The Common Trace Format: a directory with a text that describes the packets, and a file of
 * packets for each stream.
 *
 * The packets' count has the name by which other readers know it, so that they report lost packets.
 * But they take its wrap at 65,536 for a loss of 2^64 packets. With so many packets it keeps its
 * name of schema/ctf/metadata.tsdl.
 */

#define NAME_BYTES 200u
#define COUNT	   "stream_packet_count"
#define SEQUENCE   "packet_seq_num"

struct ctf_state {
	struct ctf_stream *streams;
	unsigned int n;		      /* initialized */
	struct output_directory *dir; /* borrowed */
};

/*
 * Make a file name of a stream's name, which is any bytes: not hidden, and plain for shells and
 * terminals.
 */
static void file_name(const char *name, char *out)
{
	size_t i;

	for (i = 0; i < NAME_BYTES && name[i]; i++) {
		bool plain = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
			     (name[i] >= '0' && name[i] <= '9') || strchr("._-+@", name[i]);

		out[i] = plain ? name[i] : '_';
	}
	out[i] = 0;
	if (!i || out[0] == '.' || out[0] == '-' || strcmp(out, "metadata") == 0)
		out[0] = '_';
	if (!i)
		out[1] = 0;
}

/* Two streams' names may give the same file name. */
static int open_file(struct output_directory *dir, const char *name)
{
	char base[NAME_BYTES + 1], path[NAME_BYTES + 16];
	unsigned int i = 1;
	int fd;

	file_name(name, base);
	snprintf(path, sizeof(path), "%s", base);
	for (;;) {
		fd = output_directory_file(dir, path);
		if (fd != -EEXIST)
			return fd;
		snprintf(path, sizeof(path), "%s-%u", base, ++i);
	}
}

static int add_stream(struct ctf_state *s, const char *name)
{
	int fd = open_file(s->dir, name);

	return fd < 0 ? fd : ctf_stream_init(&s->streams[s->n++], fd);
}

static int ctf_streams(void *context, char *const *names, unsigned int count)
{
	struct ctf_state *s = context;
	int r = 0;

	s->streams = calloc(count, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	for (unsigned int i = 0; i < count && !r; i++)
		r = add_stream(s, names[i]);
	return r;
}

/* streams() is not called for a single stream. */
static int reserve(struct ctf_state *s)
{
	char *const name = "stream";

	return s->streams ? 0 : ctf_streams(s, &name, 1);
}

static int ctf_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct ctf_state *s = context;
	int r = reserve(s);

	for (size_t i = 0; i < n && !r; i++)
		r = ctf_stream_event(&s->streams[stream], &events[i].raw);
	return r;
}

static int ctf_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct ctf_state *s = context;
	int r = reserve(s);

	return r ? r : ctf_stream_gap(&s->streams[stream], packets);
}

static int ctf_open(struct export_job *job, struct consumer *consumer)
{
	struct ctf_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->dir = job->dir;
	*consumer = (struct consumer){.streams = ctf_streams, .events = ctf_events, .gap = ctf_gap, .context = s};
	return 0;
}

/* Write the schema's text. If COUNTED, rename the packets' count for other readers. */
static int write_metadata(struct output_directory *dir, bool counted)
{
	CLEANUP(closep) int fd = output_directory_file(dir, "metadata");
	const char *text = (const char *)ctf_metadata;
	const char *count = memmem(text, sizeof(ctf_metadata), COUNT, strlen(COUNT));
	size_t head = (size_t)(count - text), tail = head + strlen(COUNT);
	struct writer w;
	int r;

	if (fd < 0)
		return fd;
	if (!writer_init(&w, fd))
		return -ENOMEM;
	writer_put(&w, text, head);
	writer_put(&w, counted ? SEQUENCE : COUNT, strlen(counted ? SEQUENCE : COUNT));
	writer_put(&w, text + tail, sizeof(ctf_metadata) - tail);
	r = writer_flush(&w);
	writer_deinit(&w);
	return r;
}

/* Report changed times, and losses that other readers will not see. */
static void report_changes(const struct export_job *job, uint64_t moved, bool counted)
{
	if (moved)
		say("note: %s: %" PRIu64
		    " events are older than the one before in their stream, which CTF does not allow: "
		    "they get its time",
		    job->trace, moved);
	if (!counted)
		say("note: %s: there are more than 65,535 packets, lost ones included: other readers will not report "
		    "what is lost",
		    job->trace);
}

static int ctf_finish(struct export_job *job)
{
	struct ctf_state *s = job->state;
	bool counted = true;
	uint64_t moved = 0;
	int r = reserve(s);

	for (unsigned int i = 0; i < s->n && !r; i++) {
		r = ctf_stream_end(&s->streams[i]);
		moved += s->streams[i].moved;
		counted = counted && s->streams[i].sequence <= UINT16_MAX + 1u;
	}
	r = r ? r : write_metadata(job->dir, counted);
	if (!r)
		report_changes(job, moved, counted);
	return r;
}

static void ctf_close(struct export_job *job)
{
	struct ctf_state *s = job->state;

	for (unsigned int i = 0; s && i < s->n; i++)
		ctf_stream_deinit(&s->streams[i]);
	if (s)
		free(s->streams);
	free(s);
}

const struct exporter export_ctf = {
	.name = "ctf",
	.what = "a CTF directory, for babeltrace2 and Trace Compass",
	.suffix = "-ctf",
	.directory = true,
	.open = ctf_open,
	.finish = ctf_finish,
	.close = ctf_close,
};
