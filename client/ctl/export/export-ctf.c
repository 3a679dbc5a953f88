/*
 * The Common Trace Format: a directory with the text that describes the packets, and a file of them for each stream.
 *
 * In a CTF directory the packets' count bears the name by which other readers know it, so that they report what is missing; but they take
 * its wrap at 65,536 for a loss of 2^64 packets.  With so many it keeps the name that it has in schema/ctf/metadata.tsdl.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf-metadata.h"
#include "ctf-stream.h"
#include "ctl.h"
#include "exporter.h"
#include "scope.h"

#define NAME_BYTES 200u
#define COUNT	   "stream_packet_count"
#define SEQUENCE   "packet_seq_num"

struct ctf_state {
	struct ctf_stream *streams;
	unsigned int n;		      /* initialised */
	struct output_directory *dir; /* borrowed */
};

/* A file's name of a stream's, which is any bytes: nothing hidden, nothing that a shell or a terminal takes for something else. */
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

/* Two names may have become one. */
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

static int ctf_streams(void *data, char *const *names, unsigned int count)
{
	struct ctf_state *s = data;
	unsigned int i;
	int r = 0;

	s->streams = calloc(count, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	for (i = 0; i < count && !r; i++)
		r = add_stream(s, names[i]);
	return r;
}

/* Where there is one stream nobody names it. */
static int reserve(struct ctf_state *s)
{
	char *const name = "stream";

	return s->streams ? 0 : ctf_streams(s, &name, 1);
}

static int ctf_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct ctf_state *s = data;
	int r = reserve(s);
	size_t i;

	for (i = 0; i < n && !r; i++)
		r = ctf_stream_event(&s->streams[stream], &events[i].raw);
	return r;
}

static int ctf_gap(void *data, unsigned int stream, uint64_t packets)
{
	struct ctf_state *s = data;
	int r = reserve(s);

	return r ? r : ctf_stream_gap(&s->streams[stream], packets);
}

static int ctf_open(struct export_job *job, struct sink *sink)
{
	struct ctf_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->dir = job->dir;
	*sink = (struct sink){.streams = ctf_streams, .events = ctf_events, .gap = ctf_gap, .data = s};
	return 0;
}

/* The schema's text, with another name for the count where COUNTED. */
static int write_metadata(struct output_directory *dir, bool counted)
{
	SCOPED(closep) int fd = output_directory_file(dir, "metadata");
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

/* What was changed, and what another reader will not see. */
static void tell(const struct export_job *job, uint64_t moved, bool counted)
{
	if (moved)
		say("note: %s: %" PRIu64
		    " events are older than the one before in their stream, which CTF does not allow: "
		    "they bear its time",
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
	unsigned int i;
	int r = reserve(s);

	for (i = 0; i < s->n && !r; i++) {
		r = ctf_stream_end(&s->streams[i]);
		moved += s->streams[i].moved;
		counted = counted && s->streams[i].sequence <= UINT16_MAX + 1u;
	}
	r = r ? r : write_metadata(job->dir, counted);
	if (!r)
		tell(job, moved, counted);
	return r;
}

static void ctf_close(struct export_job *job)
{
	struct ctf_state *s = job->state;
	unsigned int i;

	for (i = 0; s && i < s->n; i++)
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
