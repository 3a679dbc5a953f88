/* The merge of several streams into one order of events. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "merge.h"
#include "trace-make.h"

/* Input of the consumer as text: "stream:time " for each event, "stream!packets " for each gap. */
struct told {
	char text[400];
	size_t n;
};

static int on_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct told *told = context;

	for (size_t i = 0; i < n; i++)
		told->n += (size_t)snprintf(told->text + told->n, sizeof(told->text) - told->n, "%u:%u ", stream,
					    (unsigned)events[i].raw.timestamp);
	return 0;
}

static int on_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct told *told = context;

	told->n += (size_t)snprintf(told->text + told->n, sizeof(told->text) - told->n, "%u!%u ", stream,
				    (unsigned)packets);
	return 0;
}

/*
 * Add a stream with one packet for each of TIMES, which ends with 0. The time UINT64_MAX stands for
 * a missing packet.
 */
static void stream_add(struct merge *merge, const char *name, const uint64_t *times)
{
	static struct make m;
	int fd = memfd_create(name, MFD_CLOEXEC);
	uint16_t count = 0;

	m.used = 0;
	for (; *times; times++, count++)
		if (*times != UINT64_MAX)
			make_numbered(&m, count, *times, 0);
	CHECK(write(fd, m.bytes, m.used) == (ssize_t)m.used);
	CHECK_EQ_INT(merge_add(merge, name, fd), 0);
}

#define TIMES(...) ((const uint64_t[]){__VA_ARGS__, 0})

/*
 * The earliest event comes first. Among events with one time, that of the first stream comes first.
 */
static void test_order(void)
{
	struct told told = {0};
	const struct consumer consumer = {.events = on_events, .gap = on_gap, .context = &told};
	struct merge merge = {.consumer = &consumer};

	stream_add(&merge, "a", TIMES(5, 7, 9));
	stream_add(&merge, "b", TIMES(5, 6, 9, 10));
	stream_add(&merge, "c", TIMES(5, 9));
	CHECK_EQ_INT(merge_run(&merge), 0);
	CHECK_EQ_STR(told.text, "0:5 1:5 2:5 1:6 0:7 0:9 1:9 2:9 1:10 ");
	merge_deinit(&merge);
}

/* A gap is reported once, before the first event behind the gap. */
static void test_gap(void)
{
	struct told told = {0};
	const struct consumer consumer = {.events = on_events, .gap = on_gap, .context = &told};
	struct merge merge = {.consumer = &consumer};

	stream_add(&merge, "a", TIMES(5, UINT64_MAX, UINT64_MAX, 8, 9));
	CHECK_EQ_INT(merge_run(&merge), 0);
	CHECK_EQ_STR(told.text, "0:5 0!2 0:8 0:9 ");
	CHECK_EQ_UINT(merge.totals[0].lost_packets, 2);
	merge_deinit(&merge);
}

int main(void)
{
	CHECK_RUN(test_order);
	CHECK_RUN(test_gap);
	return check_done();
}
