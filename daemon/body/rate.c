/*
 * Compute the rate at which a stream is archived, from the times of its chunk ends. Nothing is kept
 * between requests, and an idle stream costs one read of its newest packet.
 *
 * The times ascend with the sequences. So the oldest packet that was copied within the last
 * RATE_SECONDS is found by doubling steps, then by bisection. An index gives the sum of the bytes
 * of the packets behind it.
 */
#include <mprof/ring.h>

#include "clock.h"
#include "rate.h"

struct search {
	struct reader *reader;
	int64_t stream;
	uint64_t since;
};

/*
 * Read into *P the newest packet with a sequence from FROM to TO. *RECENT: some of it was copied
 * within the window. If there is no such packet, *P stays as it is. Return what the reader returns.
 */
static int is_recent(const struct search *s, uint64_t from, uint64_t to, struct reader_packet *p, bool *recent)
{
	struct reader_packet found;
	struct archive_end end;
	size_t n = 1;
	int rc = reader_packets(s->reader, (struct reader_source){.stream = s->stream}, from, to, true, &found, &n);

	*recent = false;
	if (rc != 0 || n == 0)
		return rc;
	*p = found;
	rc = reader_end_below(s->reader, s->stream, p->sequence, UINT32_MAX, &end);
	*recent = rc == 0 && end.real > s->since;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/*
 * Set *OLDEST, at first the newest packet, to the oldest packet of which some bytes were copied
 * within the window. Return what the reader returns.
 */
static int find_oldest(const struct search *s, struct reader_packet *oldest)
{
	uint64_t old = 0, step = 1, middle; /* all packets with sequences below OLD are too old */
	struct reader_packet p;
	bool recent = true;
	int rc = 0;

	while (recent && step <= oldest->sequence) {
		middle = oldest->sequence - step;
		rc = is_recent(s, 0, middle, &p, &recent);
		if (rc != 0)
			return rc;
		if (recent)
			*oldest = p;
		else
			old = middle + 1;
		step *= 2;
	}
	while (old < oldest->sequence) {
		middle = old + (oldest->sequence - 1 - old) / 2;
		rc = is_recent(s, old, middle, &p, &recent);
		if (rc != 0)
			return rc;
		if (recent)
			*oldest = p;
		else
			old = middle + 1;
	}
	return 0;
}

int rate_of_stream(struct reader *r, int64_t stream, const struct reader_packet *newest, uint64_t now, uint64_t *rate)
{
	struct search s = {.reader = r, .stream = stream, .since = now - RATE_SECONDS * NS_PER_S};
	struct reader_packet oldest;
	struct archive_end before;
	uint64_t bytes = 0;
	bool recent;
	int rc = is_recent(&s, newest->sequence, newest->sequence, &oldest, &recent);

	*rate = 0;
	if (rc != 0 || !recent)
		return rc;
	rc = find_oldest(&s, &oldest);
	if (rc == 0)
		rc = reader_content_above(r, stream, oldest.sequence, &bytes);
	if (rc != 0)
		return rc;
	rc = reader_end_copied(r, stream, oldest.sequence, s.since, &before);
	if (rc == ARCHIVE_E_ABSENT)
		before.offset = oldest.begin, rc = 0;
	if (oldest.end > before.offset)
		bytes += oldest.end - before.offset;
	*rate = bytes / RATE_SECONDS;
	return rc;
}
