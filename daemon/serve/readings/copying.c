/* Copy captures, stream by stream and block by block: the loop reads rows, and the store's thread decodes them. */
#include "copying.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "reading-feed.h"

#define STEP_NS	   (2 * NS_PER_MS)
#define QUEUE_MOST 16u
#define TRIED_MOST 64u

struct copying {
	struct reader *reader;
	struct scratch *scratch;
	struct decoded *store;
	uint64_t most;
	sd_event_source *work, *stored; /* the next step; a block was stored */
	int64_t queue[QUEUE_MOST];
	unsigned n_queue;
	int64_t tried[TRIED_MOST]; /* the last captures that were wanted; N_TRIED in all */
	uint64_t n_tried, archives;
	int64_t newest; /* that was begun */
	/* The capture that is copied. */
	bool runs, planning, in_body;
	struct feed feed; /* for its streams' selections */
	uint32_t at;
	uint64_t room, rows; /* bytes that it may have, and rows that were read */
	struct plan plan;
	struct body body;
	struct block block; /* the store has it, unless decoded_ready() */
};

static void work_on(struct copying *c)
{
	(void)sd_event_source_set_enabled(c->work, SD_EVENT_ONESHOT);
}

/* ---- one capture ---- */

static void end_body(struct copying *c)
{
	if (c->in_body)
		body_deinit(&c->body);
	if (c->planning)
		plan_deinit(&c->plan);
	c->in_body = c->planning = false;
}

static void end_capture(struct copying *c)
{
	end_body(c);
	feed_close(&c->feed);
	decode_batch_deinit(&c->block.batch);
	free(c->block.data);
	c->block = (struct block){0};
	c->runs = false;
}

static int note_end(void *context, const struct reader_capture *capture)
{
	static const char *const others[] = {"periodic", "manual", "trigger", "suspend"};
	bool *ends = context;

	*ends = true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		*ends &= strcmp(capture->capture.kind, others[i]) != 0;
	return 0;
}

/* Copy CAPTURE when it is wanted again: the archive was busy. */
static void forget(struct copying *c, int64_t capture)
{
	for (unsigned i = 0; i < TRIED_MOST; i++)
		if (c->tried[i] == capture)
			c->tried[i] = 0;
}

/* Begin the first capture of the queue that is of a guest's end and has streams. */
static void begin_next(struct copying *c)
{
	while (c->n_queue && !c->runs) {
		int64_t capture = c->queue[0];
		bool ends = false;
		int rc = reader_capture(c->reader, capture, note_end, &ends);

		c->n_queue--;
		memmove(c->queue, c->queue + 1, c->n_queue * sizeof(c->queue[0]));
		if (rc == 0 && !ends)
			continue;
		if (rc == 0)
			rc = feed_open(&c->feed, c->reader, c->scratch, capture);
		if (rc == ARCHIVE_E_BUSY)
			forget(c, capture);
		if (rc != 0)
			continue;
		c->runs = true;
		c->at = 0;
		c->rows = 0;
		c->room = capture >= c->newest ? c->most : decoded_room(c->store);
		c->newest = capture > c->newest ? capture : c->newest;
	}
}

/* Plan the next stream, and begin its body. Return 0, BODY_E_END if it does not fit, or what the reader returns. */
static int step_plan(struct copying *c)
{
	int rc;

	if (!c->planning)
		plan_init(&c->plan, c->reader, c->scratch, &c->feed.streams[c->at].selection);
	c->planning = true;
	rc = plan_step(&c->plan, clock_mono() + STEP_NS);
	if (rc != 0 || !c->plan.done)
		return rc;
	if (c->plan.total > c->room)
		return BODY_E_END;
	c->room -= c->plan.total;
	rc = body_init(&c->body, c->reader, c->scratch, &c->plan, false, false, c->plan.total);
	c->in_body = rc == 0;
	return rc;
}

/* Have the next block stored. Return 0, BODY_E_END at the end of the stream, -E2BIG after too many rows, or what the reader returns. */
static int step_body(struct copying *c)
{
	int rc = block_reserve(&c->block, BLOCK_BYTES);

	decode_batch_clear(&c->block.batch);
	c->block.bytes = 0;
	if (rc == 0)
		rc = body_fill(&c->body, &c->block);
	c->rows += c->block.batch.n;
	if (rc == 0 && c->rows > DECODED_ROWS_MOST)
		rc = -E2BIG;
	if (rc == 0)
		decoded_store(c->store, &c->block.batch);
	return rc;
}

/* The event loop has nothing else to do. No handler has limited what the archive's reader shows. */
static int on_work(sd_event_source *source, void *context)
{
	struct copying *c = context;
	bool was_body;
	int rc;

	(void)source;
	if (!decoded_ready(c->store))
		return 0;
	if (!c->runs)
		begin_next(c);
	if (!c->runs)
		return 0;
	was_body = c->in_body;
	rc = was_body ? step_body(c) : step_plan(c);
	if (was_body && rc == BODY_E_END && ++c->at < c->feed.n) {
		end_body(c);
		rc = 0;
	}
	if (rc == ARCHIVE_E_BUSY)
		forget(c, c->feed.capture);
	if (rc != 0) /* all is done, it does not fit, or rows are damaged or were deleted */
		end_capture(c);
	work_on(c);
	return 0;
}

static int on_stored(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct copying *c = context;

	(void)source;
	(void)fd;
	(void)events;
	if (decoded_ready(c->store))
		work_on(c);
	return 0;
}

/* ---- the interface ---- */

void copying_want(struct copying *c, int64_t capture)
{
	if (reader_archives(c->reader) != c->archives) {
		c->archives = reader_archives(c->reader);
		c->n_tried = 0;
		c->newest = 0;
	}
	for (uint64_t i = 0; i < c->n_tried && i < TRIED_MOST; i++)
		if (c->tried[i] == capture)
			return;
	if (c->n_queue == QUEUE_MOST)
		return;
	c->tried[c->n_tried++ % TRIED_MOST] = capture;
	c->queue[c->n_queue++] = capture;
	work_on(c);
}

int copying_new(struct copying **cp, sd_event *event, struct reader *reader, struct scratch *scratch, int directory,
		uint64_t most)
{
	CLEANUP(copying_freep) struct copying *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->reader = reader;
	c->scratch = scratch;
	c->most = most;
	rc = decoded_new(&c->store, directory, most);
	if (rc == 0)
		rc = sd_event_add_defer(event, &c->work, on_work, c);
	if (rc >= 0)
		rc = sd_event_source_set_enabled(c->work, SD_EVENT_OFF);
	if (rc >= 0)
		rc = sd_event_source_set_priority(c->work, SD_EVENT_PRIORITY_IDLE);
	if (rc >= 0)
		rc = sd_event_add_io(event, &c->stored, decoded_fd(c->store), EPOLLIN, on_stored, c);
	if (rc >= 0)
		rc = sd_event_source_set_priority(c->stored, SD_EVENT_PRIORITY_IDLE);
	if (rc < 0)
		return rc;
	scratch->decoded = c->store;
	*cp = TAKE_PTR(c);
	return 0;
}

struct copying *copying_free(struct copying *c)
{
	if (!c)
		return NULL;
	sd_event_source_disable_unref(c->stored);
	sd_event_source_disable_unref(c->work);
	if (c->scratch->decoded == c->store)
		c->scratch->decoded = NULL;
	decoded_free(c->store); /* it has the block */
	end_capture(c);
	free(c);
	return NULL;
}
