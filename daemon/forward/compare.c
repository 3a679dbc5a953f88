/*
 * Compare the captures of the archive with the hub's, month by month, and then the packets. Only
 * identifiers are in memory: of the archive's captures and streams, which quotas bound, and ranges of
 * packets that the hub has.
 */
#include "compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "head.h"
#include "sender.h"

#define PAGE	500u
#define PACKETS 64u /* packets that are listed at a time */

/* Return LIST of N elements of SIZE bytes with room for one more; *ROOM is its room. NULL: no memory, LIST stays. */
static void *grow(void *list, size_t n, size_t *room, size_t size)
{
	size_t wanted = 2 * *room + 64;
	void *more = n < *room ? list : reallocarray(list, wanted, size);

	if (n == *room && more)
		*room = wanted;
	return more;
}

struct held {
	int64_t id;
	char month[MONTH_BYTES];
	bool is_there; /* the hub has it */
};

struct list {
	struct held *held; /* newest first */
	size_t n, room;
};

static int add_capture(void *context, const struct reader_capture *capture)
{
	struct list *list = context;
	struct held *more = grow(list->held, list->n, &list->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->held = more;
	list->held[list->n] = (struct held){.id = capture->capture.id};
	month_of(capture->capture.real, list->held[list->n++].month);
	return 0;
}

static int list_captures(struct reader *r, struct list *list)
{
	size_t before;
	int rc;

	do {
		before = list->n;
		rc = reader_captures(r, 0, before ? list->held[before - 1].id : INT64_MAX, PAGE, add_capture, list);
	} while (rc == 0 && list->n - before == PAGE);
	return rc;
}

static int descending(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->id > y->id ? -1 : x->id < y->id;
}

static int mark(void *context, int64_t capture)
{
	struct list *list = context;
	const struct held key = {.id = capture};
	struct held *found = list->n ? bsearch(&key, list->held, list->n, sizeof(key), descending) : NULL;

	if (found)
		found->is_there = true;
	return 0;
}

/* Mark what the hub has of each month that the list has, none older than KEEPS_SINCE. */
static int ask_months(struct hub *hub, struct list *list, const char *keeps_since)
{
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++) {
		bool is_asked = strcmp(list->held[i].month, keeps_since) < 0;

		for (size_t j = i; j-- > 0 && !is_asked && i - j <= PAGE;)
			is_asked = strcmp(list->held[j].month, list->held[i].month) == 0;
		if (!is_asked)
			r = hub_inventory(hub, list->held[i].month, mark, list);
	}
	return r;
}

static int send_missing(struct collector_client *collector, const struct list *list, const char *keeps_since,
			uint64_t *again)
{
	for (size_t i = 0; i < list->n; i++) {
		int r;

		if (list->held[i].is_there || strcmp(list->held[i].month, keeps_since) < 0)
			continue;
		r = collector_send_again(collector, list->held[i].id);
		if (r != 0 && r != -ENOENT)
			return SENDER_E_ARCHIVE;
		*again += r == 0;
	}
	return 0;
}

/* ---- packets ----------------------------------------------------------------------------------- */

struct range {
	int64_t stream;
	uint64_t first, last;
};

struct ranges {
	struct range *ranges; /* what the hub has, sorted by stream and first */
	size_t n, room;
	int64_t *streams; /* of the archive */
	size_t n_streams, room_streams;
	int64_t run; /* the last run of a page */
	size_t in_page;
	struct reader *r;
};

static int add_range(void *context, int64_t stream, uint64_t first, uint64_t last)
{
	struct ranges *ranges = context;
	struct range *more = grow(ranges->ranges, ranges->n, &ranges->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	ranges->ranges = more;
	ranges->ranges[ranges->n++] = (struct range){stream, first, last};
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int add_stream(void *context, const struct reader_stream *stream)
{
	struct ranges *ranges = context;
	int64_t *more = grow(ranges->streams, ranges->n_streams, &ranges->room_streams, sizeof(*more));

	if (!more)
		return -ENOMEM;
	ranges->streams = more;
	ranges->streams[ranges->n_streams++] = stream->stream.id;
	return 0;
}

static int note_run(void *context, const struct archive_run *run)
{
	struct ranges *ranges = context;

	ranges->run = run->id;
	ranges->in_page++;
	return 0;
}

/* List the streams of all runs. */
static int list_streams(struct ranges *ranges)
{
	int r;

	/* One run at a time: a list of runs may not be left open while streams are listed. */
	do {
		ranges->in_page = 0;
		r = reader_all_runs(ranges->r, ranges->run, 1, note_run, ranges);
		if (r == 0 && ranges->in_page)
			r = reader_streams(ranges->r, ranges->run, add_stream, ranges);
	} while (r == 0 && ranges->in_page);
	return r;
}

/* Return whether the hub has packet SEQUENCE of STREAM. */
static bool hub_has(const struct ranges *ranges, int64_t stream, uint64_t sequence)
{
	size_t low = 0, high = ranges->n;

	/* The last range that begins at SEQUENCE or before is the only one that may have it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct range *range = &ranges->ranges[middle];

		if (range->stream < stream || (range->stream == stream && range->first <= sequence))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && ranges->ranges[low - 1].stream == stream && ranges->ranges[low - 1].last >= sequence;
}

/* Find the first and the last complete packet of STREAM that the hub has not. *ANY: there are some. */
static int find_missing(const struct ranges *ranges, int64_t stream, struct range *missing, bool *any)
{
	struct reader_packet packets[PACKETS];
	size_t n = PACKETS;
	uint64_t from = 0;

	*any = false;
	while (n == PACKETS) {
		int r = reader_packets(ranges->r, (struct reader_source){.stream = stream}, from, INT64_MAX, false,
				       packets, &n);

		if (r != 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			from = packets[i].sequence + 1;
			if (!packets[i].complete || hub_has(ranges, stream, packets[i].sequence))
				continue;
			if (!*any)
				*missing = (struct range){stream, packets[i].sequence, packets[i].sequence};
			missing->last = packets[i].sequence;
			*any = true;
		}
	}
	return 0;
}

/* Have packets sent again that the hub has not; the collector knows of which guests they are sent. */
static int compare_packets(struct hub *hub, struct collector_client *collector, struct ranges *ranges)
{
	int r = hub_inventory_packets(hub, add_range, ranges);

	if (r != 0)
		return r;
	if (ranges->n)
		qsort(ranges->ranges, ranges->n, sizeof(*ranges->ranges), by_position);
	if (list_streams(ranges) != 0)
		return SENDER_E_ARCHIVE;
	for (size_t i = 0; i < ranges->n_streams; i++) {
		struct range missing;
		bool any;

		if (find_missing(ranges, ranges->streams[i], &missing, &any) != 0)
			return SENDER_E_ARCHIVE;
		r = any ? collector_send_packets_again(collector, missing.stream, missing.first, missing.last) : 0;
		if (r != 0 && r != -ENOENT)
			return SENDER_E_ARCHIVE;
	}
	return 0;
}

int compare_inventories(struct reader *r, struct hub *hub, struct collector_client *collector, const char *keeps_since,
			uint64_t *again)
{
	struct list list = {0};
	struct ranges ranges = {.r = r};
	int rc = list_captures(r, &list) ? SENDER_E_ARCHIVE : 0;

	*again = 0;
	if (rc == 0)
		rc = ask_months(hub, &list, keeps_since);
	if (rc == 0)
		rc = send_missing(collector, &list, keeps_since, again);
	if (rc == 0)
		rc = compare_packets(hub, collector, &ranges);
	free(list.held);
	free(ranges.ranges);
	free(ranges.streams);
	return rc;
}
