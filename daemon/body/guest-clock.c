/*
 * This file estimates the offset of a guest's clock and writes it into CTF metadata.
 *
 * CTF 1.8 splits the offset into seconds and the rest. It is a property of the clock that all
 * streams share, so a reader of the metadata gets wall times for all events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "guest-clock.h"

_Static_assert(READER_ENDS == MPROF_CLOCKS_POLLS, "the archive's reader finds the stamps that an estimate uses");

/* The line of schema/ctf/metadata.tsdl that the offset replaces. */
#define UNKNOWN "\tabsolute = false;\n"

/*
 * Some packets, in order, give valid bounds, too. Neighbours give the least uncertainty, and packets
 * from all over the stream show whether the clocks move against each other.
 */
#define BLOCKS	      16u
#define BLOCK_PACKETS 512u

void guest_clock_stream(struct guest_clock *c, struct reader *reader, struct scratch *scratch,
			const struct selection *selection)
{
	mprof_clocks_stream(&c->clocks);
	c->selection = *selection;
	c->selection.capture = 0;
	packet_walk_init(&c->walk, reader, scratch, &c->selection);
	c->block = c->taken = 0;
	c->done = false;
}

/* Return END as a stamp, with the right time if the host's clock is known to have been wrong. */
static struct mprof_stamp stamp_of(struct reader *r, const struct archive_end *end)
{
	return (struct mprof_stamp){end->mono, end->real + (uint64_t)reader_correction(r, end->mono, end->real),
				    end->offset};
}

/*
 * Add the stamps of packet V. Its first event, of which the time is, was verified if its bytes are unproven.
 * Return 0 or what the reader returns.
 */
static int take_packet(struct guest_clock *c, const struct packet_view *v)
{
	struct mprof_copied_packet packet;
	struct reader_stamps stamps;
	int rc;

	if (v->end <= MPROF_PACKET_HEADER_BYTES)
		return 0;
	rc = reader_stamps(c->walk.reader, c->walk.selection->stream, v->sequence, v->chunks_end, &stamps);
	if (rc != 0)
		return rc == ARCHIVE_E_ABSENT ? 0 : rc;
	packet = (struct mprof_copied_packet){.guest_ns = stamps.first_timestamp,
					      .first = stamp_of(c->walk.reader, &stamps.first),
					      .last = stamp_of(c->walk.reader, &stamps.last),
					      .n_newest = (uint32_t)stamps.newest.n,
					      .stepped = stamps.clock};
	for (size_t i = 0; i < stamps.newest.n; i++)
		packet.newest[i] = stamp_of(c->walk.reader, &stamps.newest.end[i]);
	if (packet_view_ends(v))
		rc = packet_last_chunk(c->walk.reader, c->walk.scratch, c->walk.selection->stream, v->sequence,
				       &stamps.newest, &packet.last_chunk_ns, &packet.has_last_chunk);
	if (rc != 0)
		return rc;
	mprof_clocks_packet(&c->clocks, &packet);
	if (packet.last.real > c->newest)
		c->newest = packet.last.real;
	return 0;
}

/*
 * Move the walk to the next block of a long stream that begins behind packet SEQUENCE. Return false if
 * there is none.
 */
static bool next_block(struct guest_clock *c, uint64_t sequence)
{
	const struct selection *s = c->walk.selection;
	uint64_t apart = (s->last - s->first - BLOCK_PACKETS) / (BLOCKS - 1), begin;

	c->taken = 0;
	do
		begin = s->first + apart * ++c->block;
	while (c->block < BLOCKS && begin <= sequence);
	if (c->block < BLOCKS)
		packet_walk_seek(&c->walk, begin);
	return c->block < BLOCKS;
}

int guest_clock_step(struct guest_clock *c, uint64_t until)
{
	const struct selection *s = c->walk.selection;
	bool blocks = !s->empty && s->last > s->first && s->last - s->first > (uint64_t)BLOCKS * BLOCK_PACKETS;
	struct packet_view view;
	bool have;
	int rc;

	while (!c->done && clock_mono() < until) {
		rc = packet_walk_next(&c->walk, &view, &have);
		if (rc == 0 && have)
			rc = take_packet(c, &view);
		if (rc != 0)
			return rc;
		c->done = !have || (blocks && ++c->taken == BLOCK_PACKETS && !next_block(c, view.sequence));
	}
	return 0;
}

char *guest_clock_metadata(struct guest_clock *c, bool local, const char *text, size_t *bytes)
{
	const char *at = memmem(text, *bytes, UNKNOWN, strlen(UNKNOWN));
	char precision[48] = "", *out = NULL;
	uint64_t uncertainty;
	int64_t offset, seconds, rest;
	int n;

	if (local)
		mprof_clocks_host(&c->clocks);
	if (!at || !mprof_clocks_offset(&c->clocks, true, &offset, &uncertainty)) {
		out = malloc(*bytes + 1);
		return out ? memcpy(out, text, *bytes) : NULL;
	}
	rest = offset % (int64_t)NS_PER_S;
	seconds = offset / (int64_t)NS_PER_S - (rest < 0);
	rest += rest < 0 ? (int64_t)NS_PER_S : 0;
	/* An unknown uncertainty is left out. */
	if (uncertainty <= INT64_MAX)
		snprintf(precision, sizeof(precision), "\tprecision = %" PRIu64 ";\n", uncertainty);
	n = asprintf(&out,
		     "%.*s%s\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n\tabsolute = true;\n%.*s\n"
		     "env {\n\tlast_copied_ns = %" PRIu64 ";\n};\n",
		     (int)(at - text), text, precision, seconds, rest,
		     (int)(*bytes - (size_t)(at - text) - strlen(UNKNOWN)), at + strlen(UNKNOWN),
		     c->newest <= INT64_MAX ? c->newest : 0);
	if (n < 0)
		return NULL;
	*bytes = (size_t)n;
	return out;
}
