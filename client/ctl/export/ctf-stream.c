/*
 * Packets are made anew: those of the input may be a few events long or 256 MiB, and a selection cuts them anyhow.  Their counts begin at
 * 0 and jump where packets were lost, by as many, so that a reader sees every loss and its length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "ctf-stream.h"

#define PACKET_BYTES 262144u
/* A count that jumps by more than half of its range seems to go back. */
#define GAP_MAX 0x7fffu
/* An event without its text. */
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

static int write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;
	ssize_t n;

	while (len) {
		n = write(fd, p, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		p += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Write what there is of the packet, which goes on for MORE bytes that the caller writes. */
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

/* All of an event but its text at P, FIXED_MAX bytes; returns how many it needs. */
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

/* A time that can stand behind the last one. */
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

/* An event that is longer than a packet is one by itself. */
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

/* Each loss stands between two packets; where there is none, an empty one is made. */
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
