/*
 * The resume index: it finds the archive's runs by key, by life and by stream, and ends each run
 * once. When it ends a run, it declares lost the bytes that no ring has any more.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collector.h"

static void know(struct collector *c, int64_t run, int64_t stream, uint32_t number, const char *key, const char *state,
		 uint64_t last_real)
{
	const struct archive_resume resume = {
		.run = run,
		.stream = stream,
		.source = "xen",
		.key = key,
		.name = "web",
		.uuid = "its uuid",
		.domid = 5,
		.state = state,
		.label = "ring",
		.number = number,
		.any = last_real != 0,
		.sequence = last_real,
		.offset = 40,
		.end_known = number == 9,
		.last_real = last_real,
	};

	CHECK_EQ_INT(collector_resume_add(c, &resume), 0);
}

static void init(struct collector *c)
{
	*c = (struct collector){.queue = queue_new(1 << 20, 1 << 20, 0)};
	c->shared.queue = c->queue;
	know(c, 1, 1, 0, "boot 5 u 0", "ended", 10);
	know(c, 2, 2, 0, "boot 5 u 1", "running", 20);
	know(c, 2, 3, 7, "boot 5 u 1", "running", 40);
	know(c, 2, 4, 8, "boot 5 u 1", "running", 30);
	know(c, 2, 5, 9, "boot 5 u 1", "running", 35); /* the ring was withdrawn before */
	/* The run's only stream, whose number is not 0. */
	know(c, 4, 9, 3, "boot 6 v 0", "suspended", 50);
	/* A kill came before the run's streams were archived. */
	know(c, 5, 0, 0, "boot 7 w 0", "running", 0);
	know(c, 6, 10, 0, "boot 5 u 0", "running", 60); /* the same key as run 1 */
	/* Run 8 has two streams with the same name: the second file replaced the first. */
	know(c, 8, 11, 0, "boot 8 x", "running", 70);
	know(c, 8, 12, 4, "boot 8 x", "running", 80);
	know(c, 8, 13, 2, "boot 8 x", "running", 80);
	c->resume_index[c->n_resume - 1].resume.label = NULL;
}

static void deinit(struct collector *c)
{
	collector_resume_free(c);
	c->queue = queue_free(c->queue);
}

/*
 * Take the next item from the queue. It must be a gap that declares the end of STREAM lost, behind
 * offset 40 of packet SEQUENCE.
 */
static void lost(struct collector *c, int64_t stream, uint64_t sequence)
{
	struct item *item = queue_take(c->queue, 1, 0, 0);

	if (CHECK(item && item->kind == ITEM_GAP)) {
		CHECK_EQ_INT(item->stream, stream);
		CHECK_EQ_INT(item->gap.stream, stream);
		CHECK_EQ_STR(item->gap.kind, "lost");
		CHECK_EQ_STR(item->gap.reason, "restart");
		CHECK_EQ_UINT(item->gap.after_sequence, sequence);
		CHECK_EQ_UINT(item->gap.after_offset, 40);
		CHECK_EQ_UINT(item->gap.next_sequence, sequence + 1);
		CHECK(item->gap.packets == 1 && item->gap.at_least && item->gap.real && item->gap.mono);
	}
	queue_item_free(c->queue, item);
}

/*
 * Take the next item from the queue, which must be the end of a run. Return the run's id, or 0 if
 * the queue is empty. Store the run's end time and reason.
 */
static int64_t told(struct collector *c, uint64_t *ended_real, char *reason)
{
	struct item *item = queue_take(c->queue, 1, 0, 0);
	int64_t run = 0;

	/* queue_take() returned the only item, because the queue has at least the 1 byte that it was given. */
	if (item && CHECK(item->kind == ITEM_RUN)) {
		CHECK_EQ_STR(item->run.state, "ended");
		CHECK_EQ_STR(item->run.uuid, "its uuid");
		run = item->run.id;
		*ended_real = item->run.ended_real;
		strcpy(reason, item->run.reason);
	}
	CHECK(!item || !item->next);
	queue_item_free(c->queue, item);
	return run;
}

static void test_find(void)
{
	struct collector c;
	struct resume_entry *entry;

	init(&c);
	entry = collector_resume_find(&c, "xen", "boot 5 u 1", 7);
	CHECK(entry && entry->resume.stream == 3);
	CHECK(!collector_resume_find(&c, "xen", "boot 5 u 1", 3));
	CHECK(!collector_resume_find(&c, "xen", "boot 5 u ", 0));
	CHECK(!collector_resume_find(&c, "dir", "boot 5 u 1", 0));
	entry = collector_resume_find(&c, "xen", "boot 7 w 0", 0);
	CHECK(entry && entry->resume.run == 5 && entry->resume.stream == 0);
	/* The newest run of a key is found. When this run is settled, no older run is found. */
	entry = collector_resume_find(&c, "xen", "boot 5 u 0", 0);
	CHECK(entry && entry->resume.run == 6);
	collector_resume_taken_up(&c, 6);
	CHECK(entry && entry->settled && !collector_resume_find(&c, "xen", "boot 5 u 0", 0));

	CHECK(collector_resume_life(&c, "xen", "boot 5 u ")->resume.run == 6);
	CHECK(collector_resume_life(&c, "xen", "boot 6 ")->resume.run == 4);
	CHECK(!collector_resume_life(&c, "xen", "boot 9 "));
	CHECK(!collector_resume_life(&c, "dir", "boot"));

	entry = collector_resume_stream(&c, 2, 8);
	CHECK(entry && entry->resume.stream == 4);
	CHECK(!collector_resume_stream(&c, 2, 1) && !collector_resume_stream(&c, 3, 0));
	CHECK(!collector_resume_stream(&c, 5, 0)); /* run 5 has no streams */
	CHECK(collector_resume_stream(&c, 6, 0) && !collector_resume_stream(&c, 7, 0) &&
	      !collector_resume_stream(&c, 0, 0));
	deinit(&c);
}

static void test_label(void)
{
	struct collector c;
	struct resume_entry *entry;

	init(&c);
	entry = collector_resume_run(&c, "xen", "boot 8 x");
	CHECK(entry && entry->resume.run == 8);
	CHECK_EQ_UINT(collector_resume_numbers(&c, 8), 5);
	CHECK_EQ_UINT(collector_resume_numbers(&c, 5), 0); /* run 5 has no streams */
	CHECK_EQ_UINT(collector_resume_numbers(&c, 7), 0);
	entry = collector_resume_label(&c, 8, "ring");
	CHECK(entry && entry->resume.stream == 12);
	collector_resume_attached(&c, 8, 4);
	entry = collector_resume_label(&c, 8, "ring");
	CHECK(entry && entry->resume.stream == 11);
	collector_resume_attached(&c, 8, 0);
	CHECK(!collector_resume_label(&c, 8, "ring") && !collector_resume_label(&c, 2, "other"));
	collector_resume_taken_up(&c, 8);
	CHECK(!collector_resume_run(&c, "xen", "boot 8 x") && !collector_resume_run(&c, "dir", "boot 8 x"));
	deinit(&c);
}

static bool is_run(const void *context, const struct archive_resume *resume)
{
	return resume->run == *(const int64_t *)context;
}

static void test_over(void)
{
	struct collector c;
	uint64_t real = 0;
	char reason[32] = "";

	init(&c);
	collector_resume_over(&c, collector_resume_stream(&c, 2, 8));
	for (uint32_t k = 0; k <= 8; k++)
		CHECK(!collector_resume_find(&c, "xen", "boot 5 u 1", k));
	lost(&c, 2, 20);
	lost(&c, 3, 40);
	lost(&c, 4, 30);
	CHECK_EQ_INT(told(&c, &real, reason), 2);
	CHECK_EQ_UINT(c.shared.counters.gaps, 3);
	CHECK_EQ_UINT(c.shared.counters.lost_packets, 3);
	CHECK_EQ_UINT(real, 40); /* the latest time of the run's streams */
	CHECK_EQ_STR(reason, "ended");
	collector_resume_taken_up(&c, 6);
	collector_resume_taken_up(&c, 8);
	collector_resume_settle(&c, "dir", NULL, NULL);
	CHECK_EQ_INT(told(&c, &real, reason), 0);
	collector_resume_settle(&c, "xen", is_run, &(int64_t){5});
	CHECK_EQ_INT(told(&c, &real, reason), 4);
	CHECK(real == 50 && strcmp(reason, "suspend") == 0);
	CHECK_EQ_INT(told(&c, &real, reason), 0); /* run 5 waits */
	collector_resume_settle(&c, "xen", NULL, NULL);
	CHECK_EQ_INT(told(&c, &real, reason), 5);
	CHECK(real > 1000);
	CHECK_EQ_INT(told(&c, &real, reason), 0);
	collector_resume_settle(&c, "xen", NULL, NULL);
	CHECK_EQ_INT(told(&c, &real, reason), 0);
	deinit(&c);
}

/* A run goes on with one of its rings. The ends of its other rings are declared lost, once. */
static void test_declare(void)
{
	struct collector c;

	init(&c);
	collector_resume_taken_up(&c, 2);
	collector_resume_attached(&c, 2, 7);
	collector_resume_attached(&c, 2, 1); /* run 2 has no stream with the number 1 */
	collector_resume_declare(&c, 2);
	lost(&c, 2, 20);
	lost(&c, 4, 30);
	collector_resume_declare(&c, 2);
	collector_resume_declare(&c, 1); /* run 1 had ended */
	collector_resume_declare(&c, 4); /* run 4 was suspended */
	collector_resume_declare(&c, 5); /* run 5 has no streams */
	collector_resume_declare(&c, 3); /* run 3 does not exist */
	CHECK(!queue_take(c.queue, 1, 0, 0));
	CHECK_EQ_UINT(c.shared.counters.lost_packets, 2);
	deinit(&c);
}

int main(void)
{
	CHECK_RUN(test_find);
	CHECK_RUN(test_label);
	CHECK_RUN(test_over);
	CHECK_RUN(test_declare);
	return check_done();
}
