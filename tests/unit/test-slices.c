/*
 * The slice builder, for output formats with slices and flows: its output is consistent for any
 * events, and its memory is bounded.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fxt.h"
#include "output.h"
#include "perfetto.h"
#include "slices.h"
#include "thread-table.h"
#include "utf8.h"

#define TRACKS_MAX 20000u

/* The state of the checks on the output. */
struct judge {
	struct slice_ops ops;
	bool known[TRACKS_MAX];
	uint64_t slice[TRACKS_MAX]; /* time of the newest begin or end on each track */
	uint32_t depth[TRACKS_MAX];
	bool life[TRACKS_MAX];
	uint64_t flow;	/* flows that have begun and not ended */
	uint64_t flows; /* flows that have ended */
	uint64_t own;	/* slice events that represent an event of the trace */
	uint64_t slices, tracks;
	const char *category; /* category of the newest event that OWN counts */
	int64_t value;
	char name[64]; /* name of the newest track */
};

static struct judge judge;

static bool is_event(const char *category)
{
	uint8_t id;

	for (id = 0; id < MPROF_EVENT_IDS; id++)
		if (strcmp(category, mprof_event_name(id)) == 0)
			return true;
	return false;
}

static int on_track(void *context, const struct slice_track *t)
{
	struct judge *j = context;

	CHECK(t->track && t->track < TRACKS_MAX && j->known[t->track] == t->renamed);
	CHECK(mprof_text_is_utf8(t->name, t->name_bytes) && t->scale_bytes <= t->name_bytes);
	CHECK(t->kind == TRACK_PROCESS || j->known[t->process]);
	j->known[t->track] = true;
	j->tracks++;
	snprintf(j->name, sizeof(j->name), "%.*s", (int)t->name_bytes, t->name);
	return 0;
}

static void check_slice(struct judge *j, const struct slice_event *event)
{
	CHECK(event->time >= j->slice[event->track]);
	j->slice[event->track] = event->time;
	if (event->kind == SLICE_BEGIN) {
		/* A life begins before the run intervals inside it. */
		CHECK(!event->life || !j->depth[event->track]);
		j->life[event->track] = j->life[event->track] || event->life;
		j->depth[event->track]++;
		return;
	}
	CHECK(j->depth[event->track] && (!event->life || j->depth[event->track] == 1));
	j->depth[event->track]--;
}

static void check_flow(struct judge *j, const struct slice_event *event)
{
	CHECK(event->kind == SLICE_INSTANT && event->flow_id);
	if (event->flow == SLICE_FLOW_BEGINS) {
		CHECK(!j->flow && event->flow_id == j->flows + 1);
		j->flow = event->flow_id;
	} else {
		CHECK_EQ_UINT(event->flow_id, j->flow);
		j->flow = 0;
		j->flows++;
	}
}

static int on_event(void *context, const struct slice_event *event)
{
	struct judge *j = context;

	CHECK(event->track < TRACKS_MAX && j->known[event->track] && event->time <= INT64_MAX);
	CHECK(event->category && event->name && mprof_text_is_utf8(event->name, event->name_bytes));
	CHECK(event->n_notes <= SLICE_NOTES_MAX);
	if (event->kind == SLICE_BEGIN || event->kind == SLICE_END)
		check_slice(j, event);
	if (event->flow != SLICE_FLOW_NONE)
		check_flow(j, event);
	j->slices++;
	if (event->kind != SLICE_END && is_event(event->category)) {
		j->own++;
		j->category = event->category;
		j->value = event->value;
	}
	return 0;
}

static void judge_init(void)
{
	memset(&judge, 0, sizeof(judge));
	judge.ops = (struct slice_ops){.track = on_track, .event = on_event, .context = &judge};
}

static void check_over(void)
{
	uint32_t i;

	for (i = 0; i < TRACKS_MAX; i++)
		CHECK_EQ_UINT(judge.depth[i], 0);
	CHECK_EQ_UINT(judge.flow, 0);
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Return an id. Most ids are used again and again, so their events contradict each other. */
static int64_t random_id(uint64_t *state)
{
	static const int64_t ids[] = {-1, 0, 1, 2, 3, 4, 5, INT64_MAX, INT64_MIN};
	uint64_t i = random_next(state) % 16;

	return i < 9 ? ids[i] : (int64_t)(random_next(state) % 500);
}

static struct mprof_event random_event(uint64_t *state, uint64_t *now)
{
	static const char *const texts[] = {
		"", "label", "a#b", "\xff\xc0", "__should_resolve", "caf\xc3\xa9", "\xed\xa0\x80"};
	struct mprof_event e = {.raw = {.id = (uint8_t)(random_next(state) % MPROF_EVENT_IDS)}};
	uint64_t step = random_next(state) % 100;

	*now = step == 0 ? UINT64_MAX - 5 : step == 1 ? 7 : step < 10 ? *now - step : (*now & INT64_MAX) + step;
	e.raw.timestamp = *now;
	if (step == 0)
		*now = 1000;
	e.raw.context = mprof_event_has_thread(e.raw.id) ? random_id(state) : 0;
	e.raw.number = random_id(state);
	e.raw.type = (uint8_t)random_next(state);
	switch (mprof_event_shape(e.raw.id)) {
	case MPROF_SHAPE_THREAD_TEXT:
	case MPROF_SHAPE_TEXT:
	case MPROF_SHAPE_AMOUNT_TEXT:
	case MPROF_SHAPE_EXTRA:
		e.raw.text = texts[random_next(state) % 7];
		e.raw.text_bytes = strlen(e.raw.text);
		break;
	default:
		break;
	}
	return e;
}

/* Pass N random events, made from SEED, to OPS, with room for MOST threads (0: for all). */
static void play(const struct slice_ops *ops, uint64_t seed, unsigned int n, uint32_t most)
{
	struct slices a;
	struct consumer consumer;
	uint64_t now = 1000, state = seed;
	unsigned int i, kept = 0;
	uint64_t before;

	slices_init(&a, ops, "random\xff", 1, spool_file);
	a.threads_most = most ? most : a.threads_most;
	consumer = slices_consumer(&a);
	for (i = 0; i < n; i++) {
		struct mprof_event e = random_event(&state, &now);
		uint64_t own = judge.own;

		CHECK_EQ_INT(consumer.events(consumer.context, 0, &e, 1), 0);
		if (ops == &judge.ops && (e.raw.id == MPROF_EVENT_gc || e.raw.id == MPROF_EVENT_extra)) {
			CHECK_EQ_UINT(judge.own, own); /* it comes at the end */
			kept++;
		} else if (ops == &judge.ops) {
			CHECK_EQ_UINT(judge.own, own + 1);
			CHECK_EQ_STR(judge.category, mprof_event_name(e.raw.id));
		}
		if (i % 97 == 0)
			CHECK_EQ_INT(consumer.gap(consumer.context, 0, i + 1), 0);
		if (i % 89 == 0)
			CHECK_EQ_INT(consumer.damage(consumer.context, 0, &(struct mprof_damage){.packet = i}), 0);
	}
	before = judge.own;
	CHECK_EQ_INT(slices_finish(&a), 0);
	CHECK(ops != &judge.ops || judge.own == before + kept);
	CHECK_EQ_UINT(a.events, n);
	CHECK((a.refused != 0) == (most == 16));
	slices_deinit(&a);
}

/*
 * Whatever the events (times that go back, ids used again, threads that become each other), slices
 * are nested and each event is reported once.
 */
static void test_contradictions(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 40; seed++) {
		judge_init();
		play(&judge.ops, seed, 2000, 0);
		check_over();
	}
}

/* If there is room for only a few threads, the other threads share a track. */
static void test_bounded(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 10; seed++) {
		judge_init();
		play(&judge.ops, seed, 2000, 16);
		check_over();
	}
}

/* The writers of both formats accept every output of the slice builder. */
static void test_formats(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct writer w;
	struct perfetto p;
	static struct fxt f;

	CHECK(fd >= 0 && writer_init(&w, fd));
	perfetto_init(&p, &w, 1);
	play(&p.ops, 5, 3000, 0);
	perfetto_deinit(&p);
	fxt_init(&f, &w);
	CHECK_EQ_INT(fxt_begin(&f, "name"), 0);
	play(&f.ops, 5, 3000, 0);
	fxt_deinit(&f);
	writer_deinit(&w);
	close(fd);
}

/* A program creates and ends threads for ever. The table needs room only for those that live. */
static void test_forgetting(void)
{
	struct thread_table c;
	uint32_t running, i, kept;
	int64_t id;

	thread_table_init(&c, 64, 12345);
	running = THREAD_NONE;
	CHECK_EQ_INT(thread_table_reserve(&c, &running), 0);
	kept = thread_table_add(&c, -7, 1, 1);
	for (id = 0; id < 10000; id++) {
		running = kept;
		CHECK_EQ_INT(thread_table_reserve(&c, &running), 0);
		kept = running;
		i = thread_table_add(&c, id, 2, 2);
		CHECK(i != THREAD_NONE && thread_table_find(&c, id) == i);
		c.list[i].flags |= THREAD_ENDED;
		CHECK(c.n <= 64 && c.list[kept].id == -7 && thread_table_find(&c, -7) == kept);
	}
	CHECK_EQ_UINT(c.refused, 0);
	thread_table_deinit(&c);
}

/*
 * A thread stays an alias of the thread that it became. An alias that would close a cycle is
 * refused.
 */
static void test_becoming(void)
{
	uint32_t running = THREAD_NONE, a, b, d;
	struct thread_table c;

	thread_table_init(&c, 64, 1);
	CHECK_EQ_INT(thread_table_reserve(&c, &running), 0);
	a = thread_table_add(&c, 1, 0, 1);
	b = thread_table_add(&c, 2, 0, 2);
	d = thread_table_add(&c, 3, 0, 3);
	CHECK(thread_table_alias(&c, a, b) && thread_table_alias(&c, b, d));
	CHECK(!thread_table_alias(&c, d, a));
	CHECK_EQ_UINT(thread_table_find(&c, 1), d);
	CHECK_EQ_UINT(thread_table_newest(&c, 1), a);
	thread_table_deinit(&c);
}

static int no_track(void *context, const struct slice_track *t)
{
	(void)context;
	(void)t;
	return 0;
}

/* Store the end of each life, so that the newest remains. */
static int ends_act(void *context, const struct slice_event *event)
{
	if (event->kind == SLICE_END && event->life)
		*(uint64_t *)context = event->time;
	return 0;
}

/*
 * If a thread that should resolve becomes another thread, the other thread's life lasts until the
 * end of the trace.
 */
static void test_expected_becoming(void)
{
	static const struct mprof_event e[] = {
		{.raw = {.timestamp = 10000, .id = MPROF_EVENT_creates, .context = -1, .number = 1, .type = 2}},
		{.raw = {.timestamp = 10001, .id = MPROF_EVENT_creates, .context = -1, .number = 2, .type = 2}},
		{.raw = {.timestamp = 10002,
			 .id = MPROF_EVENT_label,
			 .context = 1,
			 .text = "__should_resolve",
			 .text_bytes = 16}},
		{.raw = {.timestamp = 10003, .id = MPROF_EVENT_becomes, .context = 1, .number = 2}},
		{.raw = {.timestamp = 90000, .id = MPROF_EVENT_switch, .context = -1}},
	};
	uint64_t end = 0;
	const struct slice_ops ops = {.track = no_track, .event = ends_act, .context = &end};
	struct slices a;
	struct consumer consumer;

	slices_init(&a, &ops, "trace", 1, spool_file);
	consumer = slices_consumer(&a);
	CHECK_EQ_INT(consumer.events(consumer.context, 0, e, sizeof(e) / sizeof(e[0])), 0);
	CHECK_EQ_INT(slices_finish(&a), 0);
	CHECK_EQ_UINT(end, 90000);
	slices_deinit(&a);
}

/* The threads at which a flow begins and ends. */
struct flows {
	uint32_t track_of[3]; /* tracks of the threads 1 and 2 */
	int64_t from, to;
	uint32_t n;
};

static int flows_act(void *context, const struct slice_event *event)
{
	struct flows *f = context;
	int64_t id;

	if (event->kind == SLICE_BEGIN && event->life)
		f->track_of[event->notes[1].number] = event->track;
	if (event->flow == SLICE_FLOW_NONE)
		return 0;
	id = event->track == f->track_of[1] ? 1 : event->track == f->track_of[2] ? 2 : -1;
	if (event->flow == SLICE_FLOW_BEGINS)
		f->from = id;
	else
		f->to = id;
	f->n++;
	/*
	 * The event is reported on the track of the thread that acts: the first thread of the
	 * event, 1, but for a signal the second one, which is the sender.
	 */
	if (strcmp(event->category, "target") != 0)
		CHECK_EQ_INT(event->notes[0].number, id);
	return 0;
}

static void check_direction(enum mprof_event_id id, int64_t from, int64_t to)
{
	struct flows f = {.from = 0};
	const struct slice_ops ops = {.track = no_track, .event = flows_act, .context = &f};
	struct mprof_event e[] = {
		{.raw = {.timestamp = 1, .id = MPROF_EVENT_creates, .context = -1, .number = 1, .type = 2}},
		{.raw = {.timestamp = 2, .id = MPROF_EVENT_creates, .context = -1, .number = 2, .type = 2}},
		{.raw = {.timestamp = 3, .id = (uint8_t)id, .context = 1, .number = 2, .text = "x", .text_bytes = 1}},
	};
	struct slices a;
	struct consumer consumer;

	slices_init(&a, &ops, "trace", 1, spool_file);
	consumer = slices_consumer(&a);
	CHECK_EQ_INT(consumer.events(consumer.context, 0, e, 3), 0);
	CHECK_EQ_UINT(f.n, 2);
	CHECK_EQ_INT(f.from, from);
	CHECK_EQ_INT(f.to, to);
	CHECK_EQ_INT(slices_finish(&a), 0);
	slices_deinit(&a);
}

/*
 * The flow of a read begins at the thread that is read. Each other flow begins at the thread that
 * acts.
 */
static void test_directions(void)
{
	check_direction(MPROF_EVENT_read, 2, 1);
	check_direction(MPROF_EVENT_read_later, 2, 1);
	check_direction(MPROF_EVENT_try_read, 1, 2);
	check_direction(MPROF_EVENT_fulfills, 1, 2);
	check_direction(MPROF_EVENT_fails, 1, 2);
	check_direction(MPROF_EVENT_becomes, 1, 2);
	check_direction(MPROF_EVENT_signal, 2, 1);
	check_direction(MPROF_EVENT_signal_noswitch, 2, 1);
}

static void check_utf8(const char *text, size_t len, const char *want)
{
	struct utf8 u = {0};

	CHECK_EQ_INT(utf8_set(&u, text, len), 0);
	CHECK(u.bytes == strlen(want) && memcmp(u.text, want, u.bytes) == 0);
	utf8_deinit(&u);
}

static void test_utf8(void)
{
#define BAD "\xef\xbf\xbd"
	check_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xab", 14, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xab");
	check_utf8("\x80x\xff", 3, BAD "x" BAD);
	check_utf8("\xc0\xaf", 2, BAD BAD);
	check_utf8("\xe0\x9f\xbf", 3, BAD BAD BAD);
	check_utf8("\xed\xa0\x80", 3, BAD BAD BAD);
	check_utf8("\xf4\x90\x80\x80", 4, BAD BAD BAD BAD);
	check_utf8("\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf");
	check_utf8("ab\xe2\x82", 4, "ab" BAD BAD);
	check_utf8("ab\xe2\x82\xac", 4, "ab" BAD BAD);
	CHECK_EQ_UINT(utf8_cut("a\xc3\xa9", 3, 2), 1);
	CHECK_EQ_UINT(utf8_cut("a\xc3\xa9", 3, 3), 3);
	CHECK_EQ_UINT(utf8_cut("a\xc3\xa9z", 4, 3), 3);
}

/* ---- whole slices */

#define WHOLES 3000u

struct laid {
	const struct whole_slice *list; /* as they were added */
	bool seen[WHOLES];
	uint64_t ends[WHOLE_LANES_MAX][64]; /* ends of the open slices */
	unsigned int depth[WHOLE_LANES_MAX];
	unsigned int lanes, n;
	uint64_t start;
};

static int lays(void *context, const struct whole_place *place)
{
	struct laid *l = context;
	const struct whole_slice *w = place->slice;
	unsigned int depth = l->depth[place->lane];
	char name[16];

	CHECK(place->lane <= l->lanes);
	l->lanes += place->lane == l->lanes;
	CHECK(w->number < WHOLES && !l->seen[w->number]);
	l->seen[w->number] = true;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)w->number);
	CHECK(w->name_bytes == strlen(name) && memcmp(place->name, name, w->name_bytes) == 0);
	CHECK(w->start >= l->start && w->start == l->list[w->number].start && place->end == l->list[w->number].end);
	l->start = w->start;
	CHECK(depth < 64 && (!depth || l->ends[place->lane][depth - 1] >= place->end));
	l->ends[place->lane][depth] = place->end;
	l->depth[place->lane]++;
	l->n++;
	return 0;
}

static int ends(void *context, uint32_t group, unsigned int lane, uint64_t time)
{
	struct laid *l = context;

	CHECK_EQ_UINT(group, 0);
	CHECK(l->depth[lane] && l->ends[lane][--l->depth[lane]] == time);
	return 0;
}

/*
 * Add WHOLES slices of which one in ODD overlaps others in part, in memory of MOST bytes. Return the number of
 * lanes.
 */
static unsigned int lay(unsigned int odd, size_t most)
{
	static struct whole_slice list[WHOLES];
	static struct laid laid;
	struct whole_slices s = {.spool = -1, .open = spool_file, .most = most};
	uint64_t state = odd;

	laid = (struct laid){.list = list};
	for (unsigned int i = 0; i < WHOLES; i++) {
		/* Trees of slices: a root of 64 ns, halves, quarters; an inner one is recorded first. */
		unsigned int level = i % 4, span = 8u << level;
		uint64_t root = 100 * (uint64_t)(i / 4);
		char name[16];

		list[i] = (struct whole_slice){.start = root, .end = root + span};
		if (odd && random_next(&state) % odd == 0)
			list[i].start = root > 150 ? root - 150 : 0;
		list[i].name_bytes = (uint32_t)snprintf(name, sizeof(name), "%u", i);
		CHECK_EQ_INT(whole_slices_add(&s, &list[i], name), 0);
	}
	CHECK((s.spool >= 0) == (most != 0));
	CHECK_EQ_INT(whole_slices_lay(&s, &(struct whole_ops){.begin = lays, .end = ends, .context = &laid}), 0);
	CHECK_EQ_UINT(laid.n, WHOLES);
	for (unsigned int i = 0; i < laid.lanes; i++)
		CHECK_EQ_UINT(laid.depth[i], 0);
	return laid.lanes;
}

/*
 * Slices inside of each other need one lane, and others as many as overlap; the same from memory and from a
 * temporary file.
 */
static void test_lanes(void)
{
	CHECK_EQ_UINT(lay(0, 0), 1);
	CHECK_EQ_UINT(lay(0, 4096), 1);
	CHECK(lay(5, 0) > 1);
	CHECK_EQ_UINT(lay(5, 4096), lay(5, 0));
}

/* Where there are no files, slices of more bytes than may be held are refused. */
static void test_no_files(void)
{
	struct whole_slices s = {.spool = -1, .most = 4096};
	const struct whole_slice w = {.end = 1, .name_bytes = 100};
	const char name[100] = "name";
	unsigned int n = 0;
	int r;

	while ((r = whole_slices_add(&s, &w, name)) == 0)
		n++;
	CHECK_EQ_INT(r, -ENOMEM);
	CHECK(n > 10 && s.used <= 4096 && s.used + 200 > 4096);
	whole_slices_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_contradictions);
	CHECK_RUN(test_bounded);
	CHECK_RUN(test_formats);
	CHECK_RUN(test_forgetting);
	CHECK_RUN(test_becoming);
	CHECK_RUN(test_expected_becoming);
	CHECK_RUN(test_directions);
	CHECK_RUN(test_utf8);
	CHECK_RUN(test_lanes);
	CHECK_RUN(test_no_files);
	return check_done();
}
