/* The collector is told of each unread capture once until it answers, and of few at a time. */
#include <sys/socket.h>
#include <sys/un.h>

#include "archive-fixture.h"
#include "reader-process.h"
#include "verdicts.h"

#include <mprof/event.h>

#define STREAM	 5
#define CAPTURES 20u
#define EVENT	 17u
#define END	 (30 + 2 * EVENT)

/* A server that has read all captures, and a collector that says nothing of itself. */
struct scene {
	struct fixture f;
	sd_event *event;
	struct reader *reader;
	struct scratch scratch;
	struct readings *readings;
	struct notice *notice;
	struct verdicts verdicts;
	int listener, peer;
	uint64_t last; /* the capture that the collector was told last */
	char path[128], archive[READER_ARCHIVE_BYTES], text[MESSAGE_BYTES_MAX + 1];
};

static void on_reading(void *context, int64_t capture)
{
	(void)context;
	(void)capture;
}

static void on_answer(void *context, uint64_t tag, const struct message *m)
{
	(void)m;
	CHECK(verdicts_answer(context, tag));
	CHECK(!verdicts_answer(context, tag));
}

static void on_lost(void *context)
{
	verdicts_lost(context);
}

static const struct notice_calls calls = {.answer = on_answer, .lost = on_lost};

/* Put run 1, which has ended, with a packet of two events, and CAPTURES unread captures of it. */
static void put_all(struct fixture *f)
{
	struct archive_end end = {.offset = END, .mono = 2000, .real = 3000};
	uint8_t data[2 * EVENT] = {0};
	struct archive_piece p = {.stream = STREAM,
				  .offset = 30,
				  .length = sizeof(data),
				  .packet_bytes = 4096,
				  .first_timestamp = 100,
				  .data = data,
				  .ends = &end,
				  .n_ends = 1};

	for (size_t i = 0; i < 2; i++) {
		mprof_store64(data + i * EVENT, 100 + i);
		data[i * EVENT + 8] = MPROF_EVENT_switch;
		mprof_store64(data + i * EVENT + 9, 1 + i);
	}
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_append(f->w, &p), 0);
	for (int64_t id = 1; id <= CAPTURES; id++) {
		struct archive_capture c = {.id = id, .run = 1, .kind = "unread", .mono = 5000, .real = 6000};
		struct archive_capture_stream range = {.capture = id, .stream = STREAM, .last_offset = END};

		CHECK_EQ_INT(archive_writer_put_capture(f->w, &c), 0);
		CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

static void listen_at(struct scene *s)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(s->path, sizeof(s->path), "%s/collect.sock", s->f.state);
	strcpy(address.sun_path, s->path);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(bind(s->listener, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(s->listener, 4) == 0);
}

static bool scene_init(struct scene *s)
{
	*s = (struct scene){0};
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK(sd_event_new(&s->event) >= 0))
		return false;
	put_all(&s->f);
	listen_at(s);
	CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0);
	CHECK_EQ_INT(scratch_init(&s->scratch), 0);
	CHECK_EQ_INT(readings_new(&s->readings, s->event, s->reader, &s->scratch, NULL, 0, on_reading, s), 0);
	CHECK_EQ_INT(notice_new(&s->notice, s->event, s->path, &calls, &s->verdicts), 0);
	s->verdicts = (struct verdicts){.reader = s->reader, .readings = s->readings, .collector = s->notice};
	CHECK_EQ_INT(reader_ready(s->reader), 0);
	CHECK_EQ_INT(reader_archive(s->reader, s->archive), 0);
	for (int64_t id = 1; id <= CAPTURES; id++)
		CHECK(!readings_find(s->readings, id, true));
	while (readings_counts(s->readings).waiting && CHECK(sd_event_run(s->event, UINT64_MAX) >= 0))
		;
	return CHECK_EQ_UINT(readings_counts(s->readings).read, CAPTURES);
}

static void scene_deinit(struct scene *s)
{
	close(s->peer);
	close(s->listener);
	notice_free(s->notice);
	readings_free(s->readings);
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	sd_event_unref(s->event);
	fixture_deinit(&s->f);
}

static void connect_them(struct scene *s)
{
	notice_tick(s->notice);
	s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(notice_connected(s->notice) && s->peer >= 0);
}

/* Some seconds pass. Count in TOLD, by capture, what the collector is told. Return the tag of the last message, or 0. */
static uint64_t ticks(struct scene *s, unsigned told[CAPTURES + 1])
{
	uint64_t capture, crashed, tag = 0;
	struct message m;
	ssize_t n;

	memset(told, 0, (CAPTURES + 1) * sizeof(*told));
	for (unsigned i = 0; i < 5; i++) {
		verdicts_tick(&s->verdicts);
		while ((n = recv(s->peer, s->text, MESSAGE_BYTES_MAX, MSG_DONTWAIT)) > 0) {
			if (!CHECK(message_parse(&m, s->text, (size_t)n)) || !CHECK_EQ_STR(m.verb, "judge-capture") ||
			    !CHECK(message_number(&m, "capture", &capture) && capture && capture <= CAPTURES) ||
			    !CHECK(message_number(&m, "crashed", &crashed) && crashed == 0) ||
			    !CHECK_EQ_STR(message_value(&m, "archive"), s->archive))
				continue;
			told[capture]++;
			told[0]++;
			tag = m.tag;
			s->last = capture;
		}
	}
	return tag;
}

/* Return the captures of TOLD that were told more than once. */
static unsigned repeated(const unsigned told[CAPTURES + 1])
{
	unsigned n = 0;

	for (unsigned i = 1; i <= CAPTURES; i++)
		n += told[i] > 1;
	return n;
}

/* Answer the request with TAG, as a collector whose commit has failed. */
static void answer(struct scene *s, uint64_t tag)
{
	struct message_writer w;
	char text[128];
	size_t n;

	message_begin(&w, text, sizeof(text), "error", tag);
	message_add_number(&w, "status", 503);
	n = message_end(&w);
	CHECK(send(s->peer, text, n, MSG_NOSIGNAL) == (ssize_t)n);
	CHECK(sd_event_run(s->event, UINT64_MAX) > 0);
}

/* A collector that does not answer is told of VERDICTS_OPEN captures, each once. It is told of one more when it answers one. */
static void test_no_answer(void)
{
	unsigned told[CAPTURES + 1];
	struct scene s;
	uint64_t tag;

	if (!scene_init(&s))
		return;
	connect_them(&s);
	tag = ticks(&s, told);
	CHECK_EQ_UINT(told[0], VERDICTS_OPEN);
	CHECK_EQ_UINT(repeated(told), 0);
	CHECK_EQ_UINT(ticks(&s, told), 0);
	answer(&s, tag);
	CHECK(ticks(&s, told) > tag);
	CHECK_EQ_UINT(told[0], 1);
	scene_deinit(&s);
}

/* When the connection was lost, all captures are told again. */
static void test_lost(void)
{
	unsigned told[CAPTURES + 1];
	struct scene s;

	if (!scene_init(&s))
		return;
	connect_them(&s);
	ticks(&s, told);
	close(s.peer);
	while (notice_connected(s.notice) && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	connect_them(&s);
	ticks(&s, told);
	CHECK_EQ_UINT(told[0], VERDICTS_OPEN);
	CHECK_EQ_UINT(repeated(told), 0);
	scene_deinit(&s);
}

/* A collector that refuses each verdict hears of all captures, and of none that it has still to answer. */
static void test_refused(void)
{
	bool heard[CAPTURES + 1] = {0}, open[CAPTURES + 1] = {0};
	unsigned told[CAPTURES + 1], n = 0;
	struct scene s;
	uint64_t tag;

	if (!scene_init(&s))
		return;
	connect_them(&s);
	for (unsigned i = 0; i < 2 * CAPTURES; i++) {
		tag = ticks(&s, told);
		for (unsigned k = 1; k <= CAPTURES; k++) {
			n += told[k] && !heard[k];
			heard[k] |= told[k] != 0;
			CHECK(told[k] + open[k] <= 1);
			open[k] |= told[k] != 0;
		}
		if (CHECK(tag != 0))
			answer(&s, tag);
		open[s.last] = false;
	}
	CHECK_EQ_UINT(n, CAPTURES);
	scene_deinit(&s);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], READER_WORD) == 0)
		return reader_process_be(argv[2], argv[3]);
	signal(SIGPIPE, SIG_IGN);
	if (!reader_process_works())
		return check_skip("a sanitizer needs more than a reader may have; a build without one runs this");
	CHECK_RUN(test_no_answer);
	CHECK_RUN(test_lost);
	CHECK_RUN(test_refused);
	return check_done();
}
