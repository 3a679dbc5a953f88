/*
 * Captures whose rows are decoded to a file: a body has the same bytes as without it, also when the file is wrong, and
 * fails as without it when a row is damaged.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "archive-fixture.h"
#include "body.h"
#include "copying.h"
#include "reading-feed.h"

#include <mprof/event.h>

#define STREAM 5
#define EVENT  17u
#define ROW    (3500 * EVENT)
#define TAIL   4u  /* packets of the tail of a capture */
#define EACH   10u /* packets of a capture, and its tail */
#define BYTES  ((uint64_t)(EACH + TAIL) * ROW)

struct served {
	struct fixture f;
	char cache[64];
	int directory;
	sd_event *event;
	struct reader *reader;
	struct scratch scratch;
	struct decode_thread *thread;
	struct copying *copying;
};

/* Return a row with the events of packet SEQUENCE, which DATA has room for. CAPTURE makes the events of a tail differ. */
static struct archive_piece piece(uint8_t *data, uint64_t sequence, int64_t capture)
{
	uint64_t time = 100000 * (sequence + 1);

	for (unsigned i = 0; i < ROW / EVENT; i++) {
		mprof_store64(data + i * EVENT, time + i);
		data[i * EVENT + 8] = MPROF_EVENT_switch;
		mprof_store64(data + i * EVENT + 9, (uint64_t)capture * 100 + i % 64);
	}
	return (struct archive_piece){.stream = STREAM,
				      .sequence = sequence,
				      .offset = 30,
				      .length = ROW,
				      .packet_bytes = 65536,
				      .first_timestamp = time,
				      .data = data};
}

/* Put capture ID of KIND: the packets from EACH * (ID - 1) on, and a tail. */
static void put_capture(struct served *s, int64_t id, const char *kind)
{
	struct archive_capture c = {.id = id, .run = 1, .kind = kind, .mono = 1000000000, .real = 2000000000};
	uint64_t first = EACH * (uint64_t)(id - 1);
	struct archive_capture_stream range = {.capture = id,
					       .stream = STREAM,
					       .first_sequence = first,
					       .last_sequence = first + EACH - 1,
					       .last_offset = 30 + ROW};
	uint8_t *data = malloc(ROW);

	for (uint64_t i = first; i < first + EACH; i++) {
		struct archive_end end = {.offset = 30 + ROW, .mono = 2000 + i, .real = 3000 + i};
		struct archive_piece p = piece(data, i, 0);

		p.flags = ARCHIVE_CHUNK_LAST;
		p.ends = &end;
		p.n_ends = 1;
		CHECK_EQ_INT(archive_writer_append(s->f.w, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_put_capture(s->f.w, &c), 0);
	for (uint64_t i = first + EACH; i < first + EACH + TAIL; i++) {
		struct archive_piece p = piece(data, i, id);

		CHECK_EQ_INT(archive_writer_tail(s->f.w, id, &p), 0);
	}
	CHECK_EQ_INT(archive_writer_put_capture_stream(s->f.w, &range), 0);
	free(data);
}

static bool served_init(struct served *s, uint64_t most)
{
	static const char *const kinds[] = {"ended", "manual", "crash", "periodic", "trigger", "watchdog", "suspend"};

	*s = (struct served){0};
	strcpy(s->cache, "/tmp/mprof-cache-XXXXXX");
	if (!fixture_init(&s->f) || !CHECK_EQ_INT(fixture_put(&s->f, 1, "web", "ended", STREAM), 0) ||
	    !CHECK(mkdtemp(s->cache) != NULL) || !CHECK(sd_event_new(&s->event) >= 0))
		return false;
	CHECK_EQ_INT(archive_writer_begin(s->f.w), 0);
	for (int64_t i = 0; i < 7; i++)
		put_capture(s, i + 1, kinds[i]);
	CHECK_EQ_INT(archive_writer_commit(s->f.w), 0);
	s->directory = open(s->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return CHECK_EQ_INT(reader_new(&s->reader, s->f.state), 0) && CHECK_EQ_INT(reader_ready(s->reader), 0) &&
	       CHECK_EQ_INT(scratch_init(&s->scratch), 0) && CHECK_EQ_INT(decode_thread_new(&s->thread), 0) &&
	       CHECK_EQ_INT(copying_new(&s->copying, s->event, s->reader, &s->scratch, s->directory, most), 0);
}

static void served_deinit(struct served *s)
{
	copying_free(s->copying);
	CHECK(!s->scratch.decoded);
	decode_thread_free(s->thread);
	reader_free(s->reader);
	scratch_deinit(&s->scratch);
	sd_event_unref(s->event);
	close(s->directory);
	CHECK_EQ_INT(rmdir(s->cache), 0);
	fixture_deinit(&s->f);
}

/* Let the loop run until the file has BYTES. */
static void wait_for(struct served *s, uint64_t bytes)
{
	while (decoded_counts(s->scratch.decoded).bytes < bytes && CHECK(sd_event_run(s->event, UINT64_MAX) >= 0))
		;
	CHECK_EQ_UINT(decoded_counts(s->scratch.decoded).bytes, bytes);
}

/*
 * Read the body of CAPTURE to OUT, with decoded rows or without. Return the last result, and store the number of
 * bytes in *N.
 */
static int read_capture(struct served *s, int64_t capture, bool decoded, char *out, size_t *n)
{
	struct decoded *store = s->scratch.decoded;
	struct body_stream b;
	struct feed f;
	struct plan plan;
	size_t got;
	int rc;

	CHECK_EQ_INT(feed_open(&f, s->reader, &s->scratch, capture), 0);
	s->scratch.decoded = decoded ? store : NULL;
	plan_init(&plan, s->reader, &s->scratch, &f.streams[0].selection);
	rc = plan_step(&plan, UINT64_MAX);
	*n = 0;
	if (rc == 0) {
		CHECK_EQ_UINT(plan.total, BYTES + (EACH + TAIL) * 30);
		CHECK_EQ_INT(body_stream_init(&b, s->reader, &s->scratch, s->thread, &plan, false, false, plan.total),
			     0);
		for (; (rc = body_stream_pull(&b, out + *n, 2 * BYTES - *n, &got)) == 0; *n += got)
			;
		body_stream_deinit(&b);
	}
	plan_deinit(&plan);
	feed_close(&f);
	s->scratch.decoded = store;
	return rc;
}

/* Compare the two bodies of CAPTURE. Return how many rows of the file were read. */
static uint64_t compare(struct served *s, int64_t capture)
{
	uint64_t before = decoded_counts(s->scratch.decoded).reads;
	char *with = malloc(2 * BYTES), *without = malloc(2 * BYTES);
	size_t n, m;

	CHECK_EQ_INT(read_capture(s, capture, true, with, &n), read_capture(s, capture, false, without, &m));
	CHECK_EQ_UINT(n, m);
	CHECK(memcmp(with, without, n) == 0);
	free(with);
	free(without);
	return decoded_counts(s->scratch.decoded).reads - before;
}

/* Fill the store's file with wrong bytes. */
static void forge(const struct served *s)
{
	char path[64], target[256], wrong[4096];
	ssize_t n;

	memset(wrong, 'x', sizeof(wrong));
	for (int fd = 3; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		for (uint64_t at = 0;
		     strstr(target, s->cache) && strstr(target, "/decoded (deleted)") && at < 6 * BYTES;
		     at += sizeof(wrong))
			CHECK(pwrite(fd, wrong, sizeof(wrong), (off_t)at) == sizeof(wrong));
	}
}

/* Every row of a capture is copied, in chunks and tail, and each is read from the file. */
static void test_copied(void)
{
	struct served s;

	if (!served_init(&s, 6 * BYTES))
		return;
	CHECK_EQ_UINT(compare(&s, 1), 0);
	copying_want(s.copying, 1);
	wait_for(&s, BYTES);
	CHECK_EQ_UINT(compare(&s, 1), EACH + TAIL);
	CHECK_EQ_UINT(compare(&s, 3), 0);
	copying_want(s.copying, 1); /* it was wanted before */
	copying_want(s.copying, 3);
	wait_for(&s, 2 * BYTES);
	CHECK_EQ_UINT(compare(&s, 1), EACH + TAIL);
	CHECK_EQ_UINT(compare(&s, 3), EACH + TAIL);
	CHECK_EQ_UINT(decoded_counts(s.scratch.decoded).missed, 0);
	served_deinit(&s);
}

static void test_forged(void)
{
	struct served s;

	if (!served_init(&s, 6 * BYTES))
		return;
	copying_want(s.copying, 1);
	wait_for(&s, BYTES);
	forge(&s);
	CHECK_EQ_UINT(compare(&s, 1), 0);
	CHECK_EQ_UINT(decoded_counts(s.scratch.decoded).missed, EACH + TAIL);
	served_deinit(&s);
}

/* A row that was damaged after it was copied is damaged, and one that was written anew is decoded. */
static void test_rows_that_change(void)
{
	struct reader_damage damage;
	struct served s;
	char *out = malloc(2 * BYTES);
	size_t n;

	if (!served_init(&s, 6 * BYTES))
		return;
	copying_want(s.copying, 1);
	copying_want(s.copying, 3);
	wait_for(&s, 2 * BYTES);
	fixture_number(&s.f, "UPDATE tails SET data = zeroblob(length(data)) WHERE capture = 1 AND sequence = %u",
		       EACH + 1);
	CHECK_EQ_INT(read_capture(&s, 1, true, out, &n), ARCHIVE_E_DAMAGED);
	CHECK(n < BYTES);
	CHECK(reader_take_damage(s.reader, &damage) && damage.capture == 1 && damage.sequence == EACH + 1);
	fixture_number(&s.f, "UPDATE chunks SET data = zeroblob(length(data)) WHERE sequence = %u", 2 * EACH + 1);
	CHECK_EQ_INT(read_capture(&s, 3, true, out, &n), ARCHIVE_E_DAMAGED);
	CHECK(n < 3 * ROW);
	free(out);
	served_deinit(&s);
}

/* Captures that a person or a period asked for, and those of a guest that goes on, are not copied. A capture that does not fit has none, or only free room. */
static void test_room(void)
{
	struct served s;

	if (!served_init(&s, 6 * BYTES))
		return;
	for (int64_t i = 7; i > 1; i--)
		if (i != 3)
			copying_want(s.copying, i);
	wait_for(&s, BYTES);
	CHECK_EQ_UINT(compare(&s, 7), 0);
	CHECK_EQ_UINT(compare(&s, 6), EACH + TAIL);
	CHECK_EQ_UINT(compare(&s, 5), 0);
	served_deinit(&s);

	if (!served_init(&s, BYTES + BYTES / 2))
		return;
	copying_want(s.copying, 3);
	wait_for(&s, BYTES);
	copying_want(s.copying, 1); /* it is older */
	copying_want(s.copying, 6);
	while (!compare(&s, 6) && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
		;
	while (decoded_counts(s.scratch.decoded).bytes < BYTES + BYTES / 2 - ROW)
		CHECK(sd_event_run(s.event, UINT64_MAX) >= 0);
	CHECK_EQ_UINT(compare(&s, 1), 0);
	served_deinit(&s);

	if (!served_init(&s, BYTES - ROW))
		return;
	copying_want(s.copying, 1);
	while (sd_event_run(s.event, 0) > 0)
		;
	CHECK_EQ_UINT(decoded_counts(s.scratch.decoded).bytes, 0);
	served_deinit(&s);
}

/* Have another process keep all readers from the archive. Return its identifier. */
static pid_t occupy(const struct served *s)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 8}; /* SQLite's in a WAL */
	char path[128], byte = 0;
	int ends[2], fd;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/archive/trace.db-shm", s->f.state);
	if (!CHECK_EQ_INT(pipe(ends), 0))
		return -1;
	pid = fork();
	if (pid == 0) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && fcntl(fd, F_SETLKW, &lock) == 0 && write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ends[1]);
	CHECK_EQ_INT(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

/* A capture that was wanted while the archive was busy is copied when it is wanted again. */
static void test_busy(void)
{
	struct served s;
	pid_t pid;

	for (unsigned steps = 0; steps < 3; steps++) {
		if (!served_init(&s, 6 * BYTES))
			return;
		copying_want(s.copying, 1);
		for (unsigned i = 0; i < steps; i++)
			CHECK(sd_event_run(s.event, UINT64_MAX) >= 0);
		pid = occupy(&s);
		while (sd_event_run(s.event, 0) > 0)
			;
		kill(pid, SIGKILL);
		CHECK_EQ_INT(waitpid(pid, NULL, 0), pid);
		copying_want(s.copying, 1);
		wait_for(&s, BYTES);
		served_deinit(&s);
	}
}

/* A capture is deleted while it is copied, and after that: it is gone, and the next one is copied. */
static void test_deleted(void)
{
	struct served s;
	struct feed f;

	for (unsigned steps = 0; steps < 12; steps += check_step(3)) {
		if (!served_init(&s, 6 * BYTES))
			return;
		copying_want(s.copying, 1);
		copying_want(s.copying, 3);
		for (unsigned i = 0; i < steps; i++)
			CHECK(sd_event_run(s.event, UINT64_MAX) >= 0);
		CHECK_EQ_INT(archive_writer_begin(s.f.w), 0);
		CHECK_EQ_INT(archive_writer_delete_capture(s.f.w, 1), 0);
		CHECK_EQ_INT(archive_writer_commit(s.f.w), 0);
		while (compare(&s, 3) < EACH + TAIL && CHECK(sd_event_run(s.event, UINT64_MAX) >= 0))
			;
		CHECK(feed_open(&f, s.reader, &s.scratch, 1) != 0);
		served_deinit(&s);
	}
}

/* The object ends while it copies, and while its thread has a block. */
static void test_ended(void)
{
	struct served s;

	for (unsigned steps = 1; steps < 12; steps += check_step(3)) {
		if (!served_init(&s, 6 * BYTES))
			return;
		copying_want(s.copying, 1);
		copying_want(s.copying, 3);
		for (unsigned i = 0; i < steps; i++)
			CHECK(sd_event_run(s.event, UINT64_MAX) >= 0);
		served_deinit(&s);
	}
}

int main(void)
{
	CHECK_RUN(test_copied);
	CHECK_RUN(test_forged);
	CHECK_RUN(test_rows_that_change);
	CHECK_RUN(test_room);
	CHECK_RUN(test_busy);
	CHECK_RUN(test_deleted);
	CHECK_RUN(test_ended);
	return check_done();
}
