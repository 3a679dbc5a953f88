/*
 * This file writes CTF packets. It copies no packets of the input: a packet of the input may hold a
 * few events or 256 MiB, and a selected period may begin or end inside of a packet. The packets
 * written are numbered from 0. Lost packets are counted too, so a reader sees from the numbers each
 * loss and its length.
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
#include "output-writer.h"

#define PACKET_BYTES 262144u
/*
 * Most lost packets between two packets of a file. The number of a packet has 16 bits, so a reader
 * would take a larger jump for a step back.
 */
#define GAP_MAX	       0x7fffu
#define FIXED_MAX      32u /* most bytes of an event without its text */
#define DURATION_BYTES 20u /* of a duration without its name, behind the kind */

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

/*
 * Write the packet's header and content so far to the file, and begin an empty packet. The caller
 * writes MORE further bytes of the packet to the file after this call.
 */
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

/* Store the fields of a duration in front of its name. Return their number of bytes. */
static size_t store_duration(const struct mprof_raw_event *e, uint8_t *p)
{
	mprof_store16(p, (uint16_t)(DURATION_BYTES + e->text_bytes + 1));
	p[2] = MPROF_EXTRA_DURATION;
	mprof_store64(p + 3, (uint64_t)e->context);
	mprof_store64(p + 11, (uint64_t)e->number);
	mprof_store32(p + 19, 0); /* the name follows */
	return MPROF_EXTRA_HEADER_BYTES + DURATION_BYTES;
}

/*
 * Store the event without its text at P, which has room for FIXED_MAX bytes. Return the number of
 * bytes stored.
 */
static size_t store_fixed(const struct mprof_raw_event *e, uint64_t ns, uint8_t *p)
{
	enum mprof_shape shape = mprof_event_shape(e->id);
	size_t at = MPROF_EVENT_HEADER_BYTES;

	mprof_store64(p, ns);
	p[8] = e->id;
	if (shape == MPROF_SHAPE_EXTRA)
		return at + store_duration(e, p + at);
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

/*
 * Write an event that does not fit a packet of PACKET_BYTES as a longer packet with this event
 * only.
 */
static int put_long(struct ctf_stream *s, const struct mprof_raw_event *e, const uint8_t *fixed, size_t n)
{
	int r = flush(s);

	memcpy(s->packet + s->used, fixed, n);
	s->used += n;
	r = r ? r : write_packet(s, e->text_bytes + 1);
	r = r ? r : write_all(s->fd, e->text, e->text_bytes);
	return r ? r : write_all(s->fd, "", 1);
}

int ctf_stream_event(struct ctf_stream *s, const struct mprof_raw_event *event)
{
	struct mprof_raw_event copy = *event;
	const struct mprof_raw_event *e = &copy;
	uint8_t fixed[FIXED_MAX];
	size_t n, all;
	int r;

	/* A name can be longer in an event that was decoded from another format. */
	if (e->id == MPROF_EVENT_extra && e->text_bytes > MPROF_EXTRA_BYTES_MAX - DURATION_BYTES - 1)
		copy.text_bytes = MPROF_EXTRA_BYTES_MAX - DURATION_BYTES - 1;
	n = store_fixed(e, time_of(s, e->timestamp), fixed);
	all = n + (e->text ? e->text_bytes + 1 : 0);
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

/*
 * A reader sees a loss as a jump between the numbers of two packets. So write an empty packet in
 * front of the loss if the file has no packet yet, or if the file ends with another loss. Split a
 * loss of more than GAP_MAX packets by empty packets.
 */
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
 * The export format `ctf`: a directory with one file of packets for each stream, and the file
 * `metadata`, which describes the packets.
 *
 * Other readers report lost packets if the packets' number is called SEQUENCE in the metadata. But
 * after packet 65,535 the number begins again at 0, which these readers take for a loss of 2^64
 * packets. So a trace with a higher number calls it COUNT, as schema/ctf/metadata.tsdl does.
 */

#define NAME_BYTES 200u
#define COUNT	   "stream_packet_count"
#define SEQUENCE   "packet_seq_num"
/* The line of the metadata in whose place the offset of the clock stands. */
#define UNKNOWN "\tabsolute = false;\n"
#define SECOND	INT64_C(1000000000)

struct ctf_state {
	struct ctf_stream *streams;
	unsigned int n;		      /* number of STREAMS that are initialized */
	struct output_directory *dir; /* borrowed */
};

/*
 * Make a file name from the stream's name NAME, which may have any bytes. Write at most NAME_BYTES
 * bytes and a NUL to OUT. Replace each byte that a shell or a terminal may interpret by `_`. The
 * result is not empty, does not begin with `.` or `-`, and is not `metadata`.
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

/*
 * Create a file for the stream NAME in DIR. If another stream's name gave the same file name,
 * append a number. Return a file descriptor or -errno.
 */
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

/*
 * Open the file of a single stream before its first event: the consumer's streams() is not called
 * for a single stream. Return 0 or -errno.
 */
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

/* Put the offset of the clock C in place of UNKNOWN, which ctf_clock_parse() reads again. */
static void put_clock(struct writer *w, const struct clock_offset *c)
{
	int64_t rest = c->ns % SECOND, seconds = c->ns / SECOND;
	char text[160];
	size_t n = 0;

	if (!c->known) {
		writer_put(w, UNKNOWN, strlen(UNKNOWN));
		return;
	}
	if (rest < 0) {
		rest += SECOND;
		seconds--;
	}
	if (c->uncertainty_ns <= INT64_MAX)
		n = (size_t)snprintf(text, sizeof(text), "\tprecision = %" PRIu64 ";\n", c->uncertainty_ns);
	n += (size_t)snprintf(text + n, sizeof(text) - n,
			      "\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n\tabsolute = true;\n", seconds,
			      rest);
	writer_put(w, text, n);
}

/* Put the wall time of the newest copy of the trace, C->end_ns. */
static void put_copied(struct writer *w, const struct clock_offset *c)
{
	char text[64];

	writer_put(w, text,
		   (size_t)snprintf(text, sizeof(text), "\nenv {\n\tlast_copied_ns = %" PRId64 ";\n};\n", c->end_ns));
}

/*
 * Write the file `metadata`: the text of schema/ctf/metadata.tsdl with the offset of the clock C. If
 * COUNTED is set, call the packets' number SEQUENCE instead of COUNT.
 */
static int write_metadata(struct output_directory *dir, const struct clock_offset *c, bool counted)
{
	CLEANUP(closep) int fd = output_directory_file(dir, "metadata");
	const char *text = (const char *)ctf_metadata, *end = text + sizeof(ctf_metadata);
	const char *count = memmem(text, sizeof(ctf_metadata), COUNT, strlen(COUNT));
	const char *clock = memmem(text, sizeof(ctf_metadata), UNKNOWN, strlen(UNKNOWN));
	struct writer w;
	int r;

	if (fd < 0)
		return fd;
	if (!writer_init(&w, fd))
		return -ENOMEM;
	writer_put(&w, text, (size_t)(clock - text));
	put_clock(&w, c);
	clock += strlen(UNKNOWN);
	writer_put(&w, clock, (size_t)(count - clock));
	writer_put(&w, counted ? SEQUENCE : COUNT, strlen(counted ? SEQUENCE : COUNT));
	count += strlen(COUNT);
	writer_put(&w, count, (size_t)(end - count));
	if (c->known && c->ends)
		put_copied(&w, c);
	r = writer_flush(&w);
	writer_deinit(&w);
	return r;
}

/*
 * Report that MOVED events got another time. Unless COUNTED is set, report also that other readers
 * will not see losses.
 */
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
	struct clock_offset clock = *job->clock;
	uint64_t moved = 0;
	int64_t wall;
	int r = reserve(s);

	for (unsigned int i = 0; i < s->n && !r; i++) {
		r = ctf_stream_end(&s->streams[i]);
		moved += s->streams[i].moved;
		/* Other programs refuse a trace whose wall times exceed 64 bits. */
		clock.known = clock.known && !__builtin_add_overflow((int64_t)s->streams[i].last_ns, clock.ns, &wall);
		counted = counted && s->streams[i].sequence <= UINT16_MAX + 1u;
	}
	r = r ? r : write_metadata(job->dir, &clock, counted);
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
	.wall = true,
	.open = ctf_open,
	.finish = ctf_finish,
	.close = ctf_close,
};
