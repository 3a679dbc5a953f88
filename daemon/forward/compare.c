/*
 * Compare what the archive has with what the hub has: captures by a sum for each month, and one by one in a month whose
 * sums differ; and packets one by one. In memory are identifiers: of the archive's captures and streams, which
 * quotas bound, and ranges of packets that the hub has.
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
	bool is_there;	/* the hub has it */
	bool is_spared; /* it waits to be sent, or the hub refuses it */
};

struct list {
	const struct compare *compare;
	const char *keeps_since;
	struct held *held; /* newest first */
	size_t n, room;
	int64_t last; /* identifier of the last capture of a page */
	size_t in_page;
	struct hub_sum *months; /* of the hub */
	size_t n_months, room_months;
	uint64_t pieces; /* of packets, on the hub */
};

static bool is_refused(const struct compare *c, int64_t capture)
{
	for (size_t i = 0; i < COMPARE_REFUSED; i++)
		if (c->refused[i] == capture)
			return true;
	return false;
}

void compare_refused(struct compare *c, int64_t capture)
{
	if (!is_refused(c, capture))
		c->refused[c->next_refused++ % COMPARE_REFUSED] = capture;
}

/* ---- captures: what the host has ---------------------------------------------------------------- */

static int add_capture(void *context, const struct reader_capture *capture)
{
	struct list *list = context;
	struct held *more, held = {.id = capture->capture.id};
	char taken[MONTH_BYTES];

	list->last = held.id;
	list->in_page++;
	month_of(capture->capture.real, held.month); /* the hub knows captures by the month of the stamp */
	month_of(periods_taken(list->compare->periods, capture->capture.mono, capture->capture.real), taken);
	if (strcmp(taken, list->keeps_since) < 0 || strcmp(capture->capture.kind, ARCHIVE_UNREAD) == 0 ||
	    config_policy(list->compare->config, capture->name).send == SEND_NOTHING)
		return 0;
	held.is_spared = is_refused(list->compare, held.id);
	more = grow(list->held, list->n, &list->room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	list->held = more;
	list->held[list->n++] = held;
	return 0;
}

static int descending(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->id > y->id ? -1 : x->id < y->id;
}

static struct held *find(const struct list *list, int64_t capture)
{
	const struct held key = {.id = capture};

	return list->n ? bsearch(&key, list->held, list->n, sizeof(key), descending) : NULL;
}

static int note_waiting(void *context, int64_t capture)
{
	struct held *found = find(context, capture);

	if (found)
		found->is_spared = true;
	return 0;
}

/*
 * List the captures that the hub should have. Those in the outbox are looked for last: what came before is on
 * the hub.
 */
static int list_captures(struct reader *r, struct list *list)
{
	int rc = 0;

	list->last = INT64_MAX;
	do {
		list->in_page = 0;
		rc = reader_captures(r, 0, list->last, PAGE, add_capture, list);
	} while (rc == 0 && list->in_page == PAGE);
	return rc ? rc : reader_waiting(r, note_waiting, list);
}

/* ---- captures: what the hub has ------------------------------------------------------------------ */

static int note_month(void *context, const struct hub_sum *sum)
{
	struct list *list = context;
	struct hub_sum *more = grow(list->months, list->n_months, &list->room_months, sizeof(*more));

	if (!more)
		return -ENOMEM;
	list->months = more;
	list->months[list->n_months++] = *sum;
	list->pieces += sum->packet_pieces;
	return 0;
}

static int mark(void *context, int64_t capture)
{
	struct held *found = find(context, capture);

	if (found)
		found->is_there = true;
	return 0;
}

static bool equal(const struct hub_sum *a, const struct hub_sum *b)
{
	return a->captures == b->captures && a->sum == b->sum;
}

/*
 * Return whether the hub lacks nothing of MINE, by sums: those of the hub's month are the same, or both are as when its
 * captures were listed and none was missing. The hub may have more captures than the host, which has deleted them.
 */
static bool is_known(const struct compare *c, const struct hub_sum *hub, const struct hub_sum *mine)
{
	if (equal(hub, mine))
		return true;
	for (size_t i = 0; i < COMPARE_MONTHS; i++)
		if (strcmp(c->seen[i].hub.month, mine->month) == 0)
			return equal(&c->seen[i].hub, hub) && equal(&c->seen[i].mine, mine);
	return false;
}

/* Remember that the hub lacks nothing of MINE. */
static void know(struct compare *c, const struct hub_sum *hub, const struct hub_sum *mine)
{
	size_t place = 0;

	while (place < COMPARE_MONTHS && *c->seen[place].hub.month &&
	       strcmp(c->seen[place].hub.month, mine->month) != 0)
		place++;
	if (place == COMPARE_MONTHS)
		return; /* it is listed each time */
	c->seen[place].hub = *hub;
	c->seen[place].mine = *mine;
	memcpy(c->seen[place].hub.month, mine->month, sizeof(mine->month));
}

/* Find out which captures of the month of capture I the hub has. */
static int ask_month(struct compare *c, struct hub *hub, struct list *list, size_t i)
{
	struct hub_sum mine = {0}, theirs = {0};
	bool lacks = false;
	int r;

	memcpy(mine.month, list->held[i].month, sizeof(mine.month));
	for (size_t j = i; j < list->n; j++)
		if (!list->held[j].is_spared && strcmp(list->held[j].month, mine.month) == 0)
			hub_sum_add(&mine, list->held[j].id);
	for (size_t j = 0; j < list->n_months; j++)
		if (strcmp(list->months[j].month, mine.month) == 0)
			theirs = list->months[j];
	if (!is_known(c, &theirs, &mine)) {
		r = hub_inventory(hub, mine.month, mark, list);
		for (size_t j = i; j < list->n && r == 0; j++)
			lacks = lacks || (!list->held[j].is_spared && !list->held[j].is_there &&
					  strcmp(list->held[j].month, mine.month) == 0);
		if (r == 0 && !lacks)
			know(c, &theirs, &mine);
		return r;
	}
	for (size_t j = i; j < list->n; j++)
		if (strcmp(list->held[j].month, mine.month) == 0)
			list->held[j].is_there = true;
	return 0;
}

/* Return whether the month of capture I was asked for with a newer one. */
static bool is_asked(const struct list *list, size_t i)
{
	for (size_t j = i; j-- > 0;)
		if (strcmp(list->held[j].month, list->held[i].month) == 0)
			return true;
	return false;
}

static int ask_months(struct compare *c, struct hub *hub, struct list *list)
{
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++) {
		bool same = i > 0 && strcmp(list->held[i - 1].month, list->held[i].month) == 0;

		if (!same && !is_asked(list, i))
			r = ask_month(c, hub, list, i);
	}
	return r;
}

static int send_missing(struct collector_client *collector, const struct list *list, uint64_t *again)
{
	for (size_t i = 0; i < list->n; i++) {
		int r;

		if (list->held[i].is_there || list->held[i].is_spared)
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
	bool sends;  /* packets of its guest are to be sent */
	size_t in_page;
	const struct config *config;
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
	ranges->sends = config_policy(ranges->config, run->name).send == SEND_ALL;
	ranges->in_page++;
	return 0;
}

/* List the streams of the runs whose packets are to be sent. */
static int list_streams(struct ranges *ranges)
{
	int r;

	/* One run at a time: a list of runs may not be left open while streams are listed. */
	do {
		ranges->in_page = 0;
		r = reader_all_runs(ranges->r, ranges->run, 1, note_run, ranges);
		if (r == 0 && ranges->in_page && ranges->sends)
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

/* Have packets sent again that the hub has not. */
static int compare_packets(struct hub *hub, struct collector_client *collector, struct ranges *ranges, uint64_t *again)
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
		*again += any && r == 0;
	}
	return 0;
}

int compare_captures(struct compare *c, struct reader *r, struct hub *hub, struct collector_client *collector,
		     const char *keeps_since, struct compare_result *result)
{
	struct list list = {.compare = c, .keeps_since = keeps_since};
	int rc = hub_sums(hub, keeps_since, note_month, &list);

	*result = (struct compare_result){.has_sums = rc == 0};
	if (rc == HUB_E_EARLIER)
		rc = 0;
	if (rc == 0)
		rc = list_captures(r, &list) ? SENDER_E_ARCHIVE : 0;
	if (rc == 0)
		rc = ask_months(c, hub, &list);
	if (rc == 0)
		rc = send_missing(collector, &list, &result->captures);
	result->pieces = list.pieces;
	free(list.held);
	free(list.months);
	return rc;
}

int compare_all_packets(const struct compare *c, struct reader *r, struct hub *hub, struct collector_client *collector,
			struct compare_result *result)
{
	struct ranges ranges = {.config = c->config, .r = r};
	int rc = compare_packets(hub, collector, &ranges, &result->streams);

	free(ranges.ranges);
	free(ranges.streams);
	return rc;
}
