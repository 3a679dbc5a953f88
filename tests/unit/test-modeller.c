/* The modeller, which passes gaps to a model: a gap belongs to the first event behind the gap. */
#include "check.h"
#include "ctl.h"
#include "modeller.h"

static void put(const struct consumer *consumer, unsigned int stream, uint64_t ns)
{
	struct mprof_event e = {.raw = {.timestamp = ns, .id = MPROF_EVENT_switch, .context = 1}};

	CHECK_EQ_INT(consumer->events(consumer->context, stream, &e, 1), 0);
}

/*
 * Make a model of events up to the time TO. Check the number of gaps in it, and of the packets that
 * they lack.
 */
static void check_gaps(const char *to, uint32_t gaps, uint64_t packets)
{
	char *const names[] = {"a", "b"};
	struct modeller m;
	struct wall_zone zone = {.utc = true};
	struct period period;
	uint64_t sum = 0;
	uint32_t i;

	CHECK_EQ_INT(period_parse(&period, NULL, to, &zone, 0, "test"), CTL_OK);
	if (!CHECK(modeller_init(&m, &period, to)))
		return;
	CHECK_EQ_INT(m.consumer.streams(m.consumer.context, names, 2), 0);
	put(&m.consumer, 0, 10);
	put(&m.consumer, 1, 11);
	CHECK_EQ_INT(m.consumer.gap(m.consumer.context, 1, 4), 0);
	CHECK_EQ_INT(m.consumer.gap(m.consumer.context, 1, 1), 0);
	put(&m.consumer, 0, 20);
	put(&m.consumer, 1, 30);
	CHECK_EQ_INT(m.consumer.gap(m.consumer.context, 0, 7), 0);
	if (!CHECK(modeller_finish(&m)))
		return;
	CHECK_EQ_UINT(m.view->n_gaps, gaps);
	for (i = 0; i < m.view->n_gaps; i++)
		sum += m.view->gaps[i].packets;
	CHECK_EQ_UINT(sum, packets);
	if (gaps) {
		CHECK_EQ_UINT(m.view->gaps[0].from, 11);
		CHECK_EQ_UINT(m.view->gaps[0].to, 30);
		CHECK_EQ_UINT(m.view->gaps[0].stream, 1);
	}
	modeller_deinit(&m);
}

static void test_gaps(void)
{
	check_gaps(NULL, 2, 12);
	check_gaps("30ns", 1, 5); /* events after 30 ns, and the gap before them, are left out */
	check_gaps("29ns", 0, 0);
}

/* A stream without a name. */
static void test_one_stream(void)
{
	struct period period = {0};
	struct modeller m;

	if (!CHECK(modeller_init(&m, &period, false)))
		return;
	CHECK_EQ_INT(m.consumer.gap(m.consumer.context, 0, 2), 0);
	put(&m.consumer, 0, 10);
	CHECK(modeller_finish(&m));
	CHECK_EQ_UINT(m.view->n_gaps, 1);
	CHECK_EQ_UINT(m.view->n_streams, 1);
	modeller_deinit(&m);
}

int main(void)
{
	CHECK_RUN(test_gaps);
	CHECK_RUN(test_one_stream);
	return check_done();
}
