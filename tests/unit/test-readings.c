/*
 * Captures are read once by a process, their readings and the ends of their tails outlive the server, and a
 * reading never belongs to other rows. This program is its own reader.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "archive-fixture.h"
#include "reader-process.h"
#include "reading-feed.h"
#include "readings.h"

#include <mprof/event.h>

#define STREAM 5
#define EVENT  17u
#define PACKET 4u /* events of a packet */
#define END    (30 + PACKET * EVENT)

static bool is_late;	/* each timer is due at once */
static bool cannot_run; /* execve() fails, as on a machine without memory */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
/* They stand before those of the libraries. */
int sd_event_source_set_time(sd_event_source *source, uint64_t usec)
{
	int (*set)(sd_event_source *, uint64_t);

	*(void **)&set = dlsym(RTLD_NEXT, "sd_event_source_set_time");
	return set(source, is_late ? 0 : usec);
}

int execve(const char *path, char *const *args, char *const *environment)
{
	errno = ENOMEM;
	return cannot_run ? -1 : (int)syscall(SYS_execve, path, args, environment);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* An archive, and what a server has of it. */
struct served {
	struct fixture f;
	char cache[64];
	uint64_t decoded; /* bytes of decoded rows */
	sd_event *event;
	struct reader *reader;
	struct scratch scratch;
	struct readings *readings;
	unsigned notices;
	int64_t last; /* capture of the last notice */
};

static struct archive_piece piece(uint8_t *data, uint64_t sequence, uint32_t offset, unsigned n)
{
	uint64_t time = 100 * sequence + (offset - 30) / EVENT;

	for (unsigned i = 0; i < n; i++) {
		mprof_store64(data + i * EVENT, time + i);
		data[i * EVENT + 8] = MPROF_EVENT_switch;
		mprof_store64(data + i * EVENT + 9, 1 + i % 2);
	}
	return (struct archive_piece){.stream = STREAM,
				      .sequence = sequence,
				      .offset = offset,
				      .length = n * EVENT,
				      .packet_bytes = 4096,
				      .first_timestamp = 100 * sequence,
				      .data = data};
}

/* Put three packets, and capture 1 with a tail of 20 packets. In packet 9 the last event has an impossible time. */
static void put_all(struct fixture *f)
{
	struct archive_capture c = {.id = 1, .run = 1, .kind = "ended", .mono = 5000, .real = 6000};
	uint8_t data[64 * EVENT];

	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	for (uint64_t i = 0; i < 3; i++) {
		struct archive_piece p = piece(data, i, 30, PACKET);
		struct archive_end end = {.offset = END, .mono = 2000 + i, .real = 3000 + i};

		p.flags = ARCHIVE_CHUNK_LAST;
		p.ends = &end;
		p.n_ends = 1;
		CHECK_EQ_INT(archive_writer_append(f->w, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &c), 0);
	for (uint64_t i = 3; i < 23; i++) {
		struct archive_piece p = piece(data, i, 30, PACKET);

		if (i == 9)
			mprof_store64(data + 3 * EVENT, 1);
		CHECK_EQ_INT(archive_writer_tail(f->w, 1, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* The capture's stream has contributed. */
static void put_range(struct fixture *f)
{
	struct archive_capture_stream range = {.capture = 1, .stream = STREAM, .last_sequence = 2, .last_offset = END};

	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

static void on_reading(void *context, int64_t capture)
{
	struct served *s = context;

	CHECK(capture == 1 || capture == 2);
	s->notices++;
	s->last = capture;
}

/* Begin as a new server does. */
static void serve(struct served *s)
{
	CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0);
	CHECK_EQ_INT(scratch_init(&s->scratch), 0);
	CHECK_EQ_INT(readings_new(&s->readings, s->event, s->reader, &s->scratch, s->cache, s->decoded, on_reading, s),
		     0);
	CHECK_EQ_INT(reader_ready(s->reader), 0);
}

static void end(struct served *s)
{
	s->readings = readings_free(s->readings);
	s->reader = reader_free(s->reader);
	scratch_deinit(&s->scratch);
}

static bool served_init(struct served *s)
{
	*s = (struct served){0};
	strcpy(s->cache, "/tmp/mprof-cache-XXXXXX");
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK(mkdtemp(s->cache) != NULL) || !CHECK(sd_event_new(&s->event) >= 0))
		return false;
	put_all(&s->f);
	serve(s);
	return true;
}

static void served_deinit(struct served *s)
{
	end(s);
	sd_event_unref(s->event);
	nftw(s->cache, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
	fixture_deinit(&s->f);
}

/* Have capture 1 read, and wait for that. */
static void read_it(struct served *s)
{
	unsigned before = s->notices;

	CHECK(!readings_find(s->readings, 1, true));
	while (s->notices == before && CHECK(sd_event_run(s->event, UINT64_MAX) >= 0))
		;
}

/* Walk over capture 1. Return the number of statements. */
static uint64_t walk(struct served *s)
{
	struct selection selection = {.run = 1, .stream = STREAM, .ring_packets = 4};
	struct reader_version version;
	uint64_t before;
	struct plan plan;

	CHECK_EQ_INT(selection_all(&selection, s->reader), 0);
	selection.capture = 1;
	CHECK_EQ_INT(reader_version(s->reader, &version), 0);
	before = reader_begun(s->reader);
	plan_init(&plan, s->reader, &s->scratch, &selection);
	CHECK_EQ_INT(plan_step(&plan, UINT64_MAX), 0);
	CHECK(plan.done);
	CHECK_EQ_UINT(plan.packets, 23);
	CHECK_EQ_UINT(plan.cut_bytes, EVENT);
	CHECK_EQ_UINT(plan.first_cut.sequence, 9);
	return reader_begun(s->reader) - before;
}

/* Return how many files the cache has, and change byte AT of the last one, unless AT is negative. */
static unsigned files(struct served *s, int at)
{
	DIR *d = opendir(s->cache);
	struct dirent *e;
	unsigned n = 0;
	uint8_t byte;

	while ((e = readdir(d))) {
		int fd = *e->d_name == '.' ? -1 : openat(dirfd(d), e->d_name, O_RDWR);

		if (fd < 0)
			continue;
		n++;
		if (at >= 0) {
			CHECK(pread(fd, &byte, 1, at) == 1);
			byte ^= 1;
			CHECK(pwrite(fd, &byte, 1, at) == 1);
		}
		close(fd);
	}
	closedir(d);
	return n;
}

static void test_read_once(void)
{
	const struct reading_result *found;
	uint64_t first, second;
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	first = walk(&s);
	end(&s);
	serve(&s);
	read_it(&s);
	found = readings_find(s.readings, 1, false);
	CHECK(found && strncmp(found->cause, "last-", 5) == 0);
	CHECK(found && strncmp(found->sentence, "last: ", 6) == 0 && !*found->failure);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 1);
	second = walk(&s);
	CHECK(first >= second + 20); /* no row of the tail was read */
	end(&s);
	serve(&s); /* a new server has it from the cache */
	CHECK(readings_find(s.readings, 1, false) != NULL);
	CHECK_EQ_UINT(readings_counts(s.readings).read + readings_counts(s.readings).waiting, 0);
	CHECK_EQ_UINT(walk(&s), second);
	served_deinit(&s);
}

#define LONG	   700u	  /* packets of the long capture, which is longer than what a reader gets */
#define LONG_EVENT 60017u /* bytes of the only event of such a packet */

/* Put capture 2: the packets of capture 1, and long ones. */
static void put_long(struct fixture *f)
{
	struct archive_capture c = {.id = 2, .run = 1, .kind = "ended", .mono = 5000, .real = 6000};
	struct archive_capture_stream range = {
		.capture = 2, .stream = STREAM, .last_sequence = LONG - 1, .last_offset = 30 + LONG_EVENT};
	static uint8_t data[LONG_EVENT];

	memset(data + 17, 'a', LONG_EVENT - 18);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	for (uint64_t i = 3; i < LONG; i++) {
		struct archive_piece p = piece(data, i, 30, 1);
		struct archive_end end = {.offset = 30 + LONG_EVENT, .mono = 2000 + i, .real = 3000 + i};

		data[8] = MPROF_EVENT_label;
		p.length = LONG_EVENT;
		p.packet_bytes = 65536;
		p.flags = ARCHIVE_CHUNK_LAST;
		p.ends = &end;
		p.n_ends = 1;
		CHECK_EQ_INT(archive_writer_append(f->w, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &c), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* When a long capture was read, the plan of its body is remembered, although the reader gets only the end of it. */
static void test_long_plan(void)
{
	struct selection selection = {.run = 1, .stream = STREAM, .ring_packets = 4};
	struct served s;
	struct plan plan;
	uint64_t before;
	unsigned notices;

	if (!served_init(&s))
		return;
	put_long(&s.f);
	notices = s.notices;
	CHECK(!readings_find(s.readings, 2, true));
	while (s.notices == notices && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_INT(selection_all(&selection, s.reader), 0);
	selection.capture = 2;
	before = reader_begun(s.reader);
	plan_init(&plan, s.reader, &s.scratch, &selection);
	CHECK_EQ_INT(plan_step(&plan, UINT64_MAX), 0);
	CHECK(plan.done && plan.packets == LONG);
	CHECK(plan.total > FEED_BYTES_MOST);
	CHECK(reader_begun(s.reader) - before <= 2);
	plan_deinit(&plan);
	served_deinit(&s);
}

/* A file with any wrong byte is as a missing one: the capture is read again. */
static void test_damaged_cache(void)
{
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	read_it(&s);
	for (int at = 0; at < 120; at += 7) {
		end(&s);
		CHECK_EQ_UINT(files(&s, at), 1);
		serve(&s);
		CHECK(!readings_find(s.readings, 1, false));
		CHECK_EQ_UINT(files(&s, at), 1);
		CHECK(readings_find(s.readings, 1, false) != NULL);
	}
	end(&s);
	files(&s, 40);
	serve(&s);
	read_it(&s);
	CHECK(readings_find(s.readings, 1, false) != NULL);
	CHECK_EQ_UINT(files(&s, -1), 1);
	served_deinit(&s);
}

/* Rows that change have another reading. A capture that changes is not read until it is left alone for a tick. */
static void test_changed_rows(void)
{
	struct served s;

	if (!served_init(&s))
		return;
	readings_tick(s.readings);
	readings_tick(s.readings);
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 0);
	put_range(&s.f);
	readings_tick(s.readings);
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 0);
	readings_tick(s.readings);
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 1);
	while (!s.notices && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK(readings_find(s.readings, 1, false) != NULL);
	fixture_number(&s.f, "UPDATE capture_streams SET last_offset = last_offset - 17");
	CHECK(!readings_find(s.readings, 1, false));
	served_deinit(&s);
}

/* A capture whose rows are damaged is not read, and the next one is. */
static void test_damaged_rows(void)
{
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	fixture_number(&s.f, "UPDATE tails SET data = zeroblob(length(data)) WHERE sequence = 5");
	CHECK(!readings_find(s.readings, 1, true));
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK(!readings_find(s.readings, 1, false));
	CHECK_EQ_UINT(readings_counts(s.readings).read + readings_counts(s.readings).failed, 0);
	CHECK_EQ_UINT(files(&s, -1), 0);
	served_deinit(&s);
}

/* Return the reader's process, or 0. */
static pid_t child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid = 0;

	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

/* A reader that is killed while the loop feeds it changes no body and leaves no file. The next server reads the capture. */
static void test_killed_reader(void)
{
	struct served s;
	pid_t pid;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	walk(&s);
	CHECK(!readings_find(s.readings, 1, true));
	while (!(pid = child()) && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_INT(kill(pid, SIGKILL), 0);
	walk(&s);
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	walk(&s);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 0);
	CHECK_EQ_UINT(files(&s, -1), 0);
	end(&s);
	serve(&s);
	read_it(&s);
	CHECK_EQ_UINT(files(&s, -1), 1);
	served_deinit(&s);
}

/* A failure of a reader that was killed is shown, and the capture is read again, but not at once. */
static void test_killed_again(void)
{
	const struct reading_result *found;
	struct served s;
	pid_t pid;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	CHECK(!readings_find(s.readings, 1, true));
	while (!(pid = child()) && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_INT(kill(pid, SIGKILL), 0);
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	found = readings_find(s.readings, 1, true);
	CHECK(found && *found->failure);
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 0);
	while ((found = readings_find(s.readings, 1, true)) && *found->failure &&
	       CHECK(sd_event_run(s.event, 10000) >= 0))
		;
	CHECK(found && *found->sentence && !*found->failure);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 1);
	CHECK_EQ_UINT(files(&s, -1), 1);
	served_deinit(&s);
}

/* Have capture 1 read, and end N of its readers by SIGNAL. */
static void end_readers(struct served *s, unsigned n, int signal)
{
	pid_t pid, last = 0;

	while ((n || readings_counts(s->readings).waiting) && CHECK(sd_event_run(s->event, 10000) >= 0)) {
		(void)readings_find(s->readings, 1, true);
		pid = n ? child() : 0;
		if (!pid || pid == last)
			continue;
		CHECK_EQ_INT(kill(pid, signal), 0);
		last = pid;
		n--;
	}
}

/* A capture whose readers end by a limit is read once more. Then the failure is its reading, for the next server, too. */
static void test_limited(void)
{
	const struct reading_result *found;
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	end_readers(&s, 2, SIGXCPU);
	CHECK_EQ_UINT(readings_counts(s.readings).failed, 2);
	CHECK_EQ_UINT(files(&s, -1), 1);
	end(&s);
	serve(&s);
	found = readings_find(s.readings, 1, true);
	CHECK(found && strncmp(found->failure, "reading it took longer than", 27) == 0);
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 0);
	served_deinit(&s);
}

/* A reader that has not come to its end in time says nothing of the capture, however often: the next server reads it. */
static void test_late(void)
{
	const struct reading_result *found;
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	is_late = true;
	end_readers(&s, 2, SIGSTOP);
	is_late = false;
	CHECK_EQ_UINT(readings_counts(s.readings).failed, 2);
	found = readings_find(s.readings, 1, false);
	CHECK(found && strcmp(found->failure, "its reader gave no answer within 60 s") == 0);
	CHECK_EQ_UINT(files(&s, -1), 0);
	end(&s);
	serve(&s);
	read_it(&s);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 1);
	CHECK_EQ_UINT(files(&s, -1), 1);
	served_deinit(&s);
}

/* A reader that could not begin says nothing of the next one: the capture is read later. */
static void test_cannot_begin(void)
{
	const struct reading_result *found;
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	cannot_run = true;
	CHECK(!readings_find(s.readings, 1, true));
	while (!child() && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	cannot_run = false;
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK(!readings_find(s.readings, 1, false));
	CHECK_EQ_UINT(readings_counts(s.readings).failed, 0);
	for (unsigned i = 0; !(found = readings_find(s.readings, 1, true)) && CHECK(i < 3000); i++)
		CHECK(sd_event_run(s.event, 10000) >= 0);
	CHECK(found && *found->sentence && !*found->failure);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 1);
	served_deinit(&s);
}

/* A capture that was never read goes before one that is read again. */
static void test_first_goes_first(void)
{
	struct served s;
	pid_t pid;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	put_long(&s.f);
	CHECK(!readings_find(s.readings, 1, true));
	while (!(pid = child()) && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_INT(kill(pid, SIGKILL), 0);
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	while (readings_find(s.readings, 1, true) && !readings_counts(s.readings).waiting &&
	       CHECK(sd_event_run(s.event, 10000) >= 0))
		;
	CHECK_EQ_UINT(readings_counts(s.readings).waiting, 1);
	CHECK(!readings_find(s.readings, 2, true));
	for (unsigned n = s.notices; s.notices == n && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0);)
		;
	CHECK_EQ_INT(s.last, 2);
	while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_INT(s.last, 1);
	CHECK_EQ_UINT(readings_counts(s.readings).read, 2);
	served_deinit(&s);
}

/* A capture whose rows cannot be read is not tried at each request: each wait is four times as long, and this test takes no minute. */
static void test_damaged_later(void)
{
	unsigned tries = 0;
	struct served s;

	if (!served_init(&s))
		return;
	put_range(&s.f);
	fixture_number(&s.f, "UPDATE tails SET data = zeroblob(length(data)) WHERE sequence = 5");
	for (int i = 0; i < 20; i++) {
		CHECK(!readings_find(s.readings, 1, true));
		tries += readings_counts(s.readings).waiting;
		while (readings_counts(s.readings).waiting && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
			;
	}
	CHECK(tries > 0 && tries < 5);
	served_deinit(&s);
}

/* The reader gets the stream as a client does, without the invalid event, and knows its length before. */
static void test_feed(void)
{
	const size_t want = 23 * (30 + PACKET * EVENT) - EVENT;
	static uint8_t all[65536];
	struct reading_head head;
	const uint8_t *bytes;
	uint64_t length = 0;
	size_t used = 0, n;
	struct served s;
	struct feed f;
	int rc;

	if (!served_init(&s))
		return;
	CHECK_EQ_INT(feed_open(&f, s.reader, &s.scratch, 1), ARCHIVE_E_ABSENT);
	put_range(&s.f);
	CHECK_EQ_INT(feed_open(&f, s.reader, &s.scratch, 1), 0);
	while ((rc = feed_step(&f, 0, &bytes, &n)) == 0 || rc == FEED_E_AGAIN) {
		CHECK_EQ_INT(rc == 0, rc == 0 && feed_plans_done(&f));
		if (rc == 0 && CHECK(used + n <= sizeof(all))) {
			memcpy(all + used, bytes, n);
			used += n;
		}
	}
	CHECK_EQ_INT(rc, FEED_E_END);
	CHECK(tail_ends_find(&s.scratch.tails, &f.streams[0].tail) != NULL);
	feed_close(&f);
	memcpy(&head, all, sizeof(head));
	memcpy(&length, all + sizeof(head), sizeof(length));
	CHECK(head.magic == READING_MAGIC_CUT && head.streams == 1); /* the event is of the tail */
	CHECK_EQ_UINT(length, want);
	CHECK_EQ_UINT(used, sizeof(head) + sizeof(length) + want);
	served_deinit(&s);
}

/* Return the magic number of what a reader of CAPTURE gets. */
static uint32_t magic_of(struct served *s, int64_t capture)
{
	struct reading_head head = {0};
	const uint8_t *bytes;
	struct feed f;
	size_t n;
	int rc;

	CHECK_EQ_INT(feed_open(&f, s->reader, &s->scratch, capture), 0);
	while ((rc = feed_step(&f, UINT64_MAX, &bytes, &n)) == FEED_E_AGAIN)
		;
	if (CHECK_EQ_INT(rc, 0) && CHECK_EQ_UINT(n, sizeof(head)))
		memcpy(&head, bytes, n);
	feed_close(&f);
	return head.magic;
}

/* Put CAPTURE, which ends at OFFSET of packet SEQUENCE. Return the magic number of what its reader gets. */
static uint32_t magic_of_end(struct served *s, int64_t capture, uint64_t sequence, uint32_t offset)
{
	struct archive_capture c = {.id = capture, .run = 1, .kind = "ended", .mono = 5000, .real = 6000};
	struct archive_capture_stream range = {
		.capture = capture, .stream = STREAM, .last_sequence = sequence, .last_offset = offset};

	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(s->f.w, &c), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(s->f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
	return magic_of(s, capture);
}

/* A reader is told if the capture lacks the end of a stream. */
static void test_cut_ends(void)
{
	struct served s;

	if (!served_init(&s))
		return;
	put_long(&s.f);
	CHECK_EQ_UINT(magic_of(&s, 2), READING_MAGIC);
	CHECK_EQ_UINT(magic_of_end(&s, 3, LONG - 1, 30 + LONG_EVENT + 17), READING_MAGIC_CUT);
	CHECK_EQ_UINT(magic_of_end(&s, 4, LONG, 30 + EVENT), READING_MAGIC_CUT);
	CHECK_EQ_UINT(magic_of_end(&s, 5, LONG, 30), READING_MAGIC); /* an empty packet */
	CHECK_EQ_UINT(magic_of_end(&s, 6, LONG - 3, 30 + LONG_EVENT), READING_MAGIC);
	served_deinit(&s);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], READER_WORD) == 0)
		return reader_process_be(argv[2], argv[3]);
	signal(SIGPIPE, SIG_IGN); /* as the server does: a reader that ends leaves a pipe without a reader */
	CHECK_RUN(test_feed);
	CHECK_RUN(test_cut_ends);
	if (!reader_process_works()) /* a sanitizer needs more than a reader may have */
		return check_done();
	CHECK_RUN(test_read_once);
	CHECK_RUN(test_long_plan);
	CHECK_RUN(test_damaged_cache);
	CHECK_RUN(test_changed_rows);
	CHECK_RUN(test_damaged_rows);
	CHECK_RUN(test_killed_reader);
	CHECK_RUN(test_killed_again);
	CHECK_RUN(test_limited);
	CHECK_RUN(test_late);
	CHECK_RUN(test_cannot_begin);
	CHECK_RUN(test_first_goes_first);
	CHECK_RUN(test_damaged_later);
	return check_done();
}
