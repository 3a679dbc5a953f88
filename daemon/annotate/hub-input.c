/*
 * The capture is copied into an archive, which checks every row, and its streams are written as a host
 * serves them.
 */
#include "hub-input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "body.h"
#include "reader.h"
#include "reading.h"
#include "tree.h"
#include "write-all.h"

#define PART (256u << 10) /* bytes of a stream that are written at once */

struct input {
	struct reader *reader;
	struct scratch scratch;
	int64_t run;
	struct reader_capture_range ranges[READING_STREAMS_MAX];
	uint32_t ring_packets[READING_STREAMS_MAX];
	uint32_t n;
	int fd;
	char *part;
};

static int note_run(void *context, const struct reader_capture *capture)
{
	struct input *in = context;

	in->run = capture->capture.run;
	return 0;
}

static int note_range(void *context, const struct reader_capture_range *range)
{
	struct input *in = context;

	if (in->n < READING_STREAMS_MAX) {
		in->ranges[in->n] = *range;
		in->ranges[in->n++].name = NULL;
	}
	return 0;
}

static int note_stream(void *context, const struct reader_stream *stream)
{
	struct input *in = context;

	for (uint32_t i = 0; i < in->n; i++)
		if (in->ranges[i].range.stream == stream->stream.id)
			in->ring_packets[i] = stream->stream.ring_packets;
	return 0;
}

/* Select the range and the tail that the capture CAPTURE has of stream I. */
static int select_stream(const struct input *in, uint32_t i, int64_t capture, struct selection *s)
{
	const struct reader_capture_range *range = &in->ranges[i];
	int r;

	*s = (struct selection){.run = in->run,
				.number = range->number,
				.stream = range->range.stream,
				.ring_packets = in->ring_packets[i]};
	r = selection_all(s, in->reader);
	s->capture = capture;
	return r;
}

/* Write the stream of SELECTION: the number of its bytes, and the bytes. */
static int put_stream(struct input *in, const struct selection *selection)
{
	CLEANUP(plan_deinit) struct plan plan;
	struct body body;
	size_t n;
	int r;

	plan_init(&plan, in->reader, &in->scratch, selection);
	r = plan_step(&plan, UINT64_MAX);
	if (r == 0)
		r = write_all(in->fd, &plan.total, sizeof(plan.total));
	if (r == 0)
		r = body_init(&body, in->reader, &in->scratch, &plan, false, false, plan.total);
	if (r != 0)
		return r;
	while ((r = body_pull(&body, in->part, PART, &n)) == 0 && (r = write_all(in->fd, in->part, n)) == 0)
		;
	body_deinit(&body);
	return r == BODY_E_END ? 0 : r;
}

static int put_streams(struct input *in, int64_t capture)
{
	struct reading_head head = {.magic = READING_MAGIC};
	struct selection selection;
	int r = reader_ready(in->reader);

	if (r == 0)
		r = reader_capture(in->reader, capture, note_run, in);
	if (r == 0)
		r = reader_capture_ranges(in->reader, capture, note_range, in, NULL);
	if (r == 0)
		r = reader_streams(in->reader, in->run, note_stream, in);
	head.streams = in->n;
	if (r == 0)
		r = write_all(in->fd, &head, sizeof(head));
	for (uint32_t i = 0; i < in->n && r == 0; i++) {
		r = select_stream(in, i, capture, &selection);
		if (r == 0)
			r = put_stream(in, &selection);
	}
	return r == 0 && lseek(in->fd, 0, SEEK_SET) < 0 ? -errno : r;
}

static void input_deinit(struct input *in)
{
	reader_free(in->reader);
	scratch_deinit(&in->scratch);
	free(in->part);
	if (in->fd >= 0)
		close(in->fd);
}

/* Write the streams of the capture CAPTURE of the archive below STATE to *FD. */
static int input_of(const char *state, int64_t capture, int *fd, char *sentence, size_t size)
{
	struct input *in = calloc(1, sizeof(*in));
	int r = in ? scratch_init(&in->scratch) : -ENOMEM;

	if (!in)
		return r;
	in->fd = memfd_create("capture", MFD_CLOEXEC);
	in->part = malloc(PART);
	if (r == 0 && in->fd < 0)
		r = -errno;
	if (r == 0 && !in->part)
		r = -ENOMEM;
	if (r == 0)
		r = reader_new(&in->reader, state);
	if (r == 0)
		r = put_streams(in, capture);
	if (r == 0) {
		*fd = in->fd;
		in->fd = -1;
	} else if (r > 0) { /* a condition of the reader: the rows of the copy contradict each other */
		snprintf(sentence, size, "its packets do not follow each other");
		r = COPY_E_REFUSED;
	}
	input_deinit(in);
	free(in);
	return r;
}

int input_make(struct postgres *p, const struct capture_key *key, const char *directory, uint64_t most, int *fd,
	       char *sentence, size_t size)
{
	char state[512];
	int r, lock;

	r = tree_make(directory, "capture", state, sizeof(state), &lock);
	if (r < 0) {
		snprintf(sentence, size, "cannot make a directory below %s: %s", directory, strerror(-r));
		return COPY_E_DISK;
	}
	r = capture_copy(p, key, state, most, sentence, size);
	if (r == 0)
		r = input_of(state, key->capture, fd, sentence, size);
	if (r < 0)
		snprintf(sentence, size, "%s", strerror(-r));
	tree_remove(state);
	close(lock);
	return r;
}
