/*
 * Limits and special cases of exports: numbers, track names, the time filter, CTF packets,
 * directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "ctf.h"
#include "ctl.h"
#include "digits.h"
#include "exporter.h"
#include "output-directory.h"
#include "thread-table.h"
#include "time-filter.h"

static void check_number(int64_t n)
{
	char got[DIGITS_MAX + 1], want[32];

	got[digits_put_signed(got, n)] = 0;
	snprintf(want, sizeof(want), "%" PRId64, n);
	CHECK_EQ_STR(got, want);
	got[digits_put(got, (uint64_t)n)] = 0;
	snprintf(want, sizeof(want), "%" PRIu64, (uint64_t)n);
	CHECK_EQ_STR(got, want);
}

static void test_digits(void)
{
	int64_t n;

	check_number(0);
	check_number(INT64_MIN);
	check_number(INT64_MAX);
	for (n = 1; n < INT64_MAX / 10; n *= 10) {
		check_number(n - 1);
		check_number(n);
		check_number(-n);
		check_number(n * 9 + n / 2);
	}
}

/*
 * A name that is too long is cut between two characters. A track's name replaces the name of the
 * track whose id is TRACK_NAMES_MAX smaller.
 */
static void test_track_names(void)
{
	char name[TRACK_NAME_BYTES + 3];
	struct track_names p;
	uint32_t i;

	if (!CHECK(track_names_init(&p)))
		return;
	CHECK(!track_names_find(&p, 1));
	memset(name, 'x', sizeof(name));
	memcpy(name + TRACK_NAME_BYTES - 2, "\xe2\x82\xac", 3);
	track_names_set(&p, 1, name, sizeof(name));
	CHECK_EQ_UINT(track_names_find(&p, 1)->name_bytes, TRACK_NAME_BYTES - 2);
	track_names_find(&p, 1)->over = true;
	track_names_set(&p, 1, "again", 5);
	CHECK(track_names_find(&p, 1)->over && track_names_find(&p, 1)->name_bytes == 5);
	for (i = 2; i <= TRACK_NAMES_MAX; i++)
		track_names_set(&p, i, "a", 1);
	CHECK(track_names_find(&p, 1) && track_names_find(&p, TRACK_NAMES_MAX));
	track_names_set(&p, TRACK_NAMES_MAX + 1, "b", 1);
	CHECK(!track_names_find(&p, 1) && !track_names_find(&p, TRACK_NAMES_MAX + 1)->over);
	track_names_deinit(&p);
}

/* Events and gaps that passed the time filter, as text. */
struct heard {
	char text[256];
	size_t used;
	int refuse;
};

static int hear_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct heard *h = context;
	size_t i;

	for (i = 0; i < n; i++)
		h->used += (size_t)snprintf(h->text + h->used, sizeof(h->text) - h->used, "%u:%" PRIu64 " ", stream,
					    events[i].raw.timestamp);
	return h->refuse;
}

static int hear_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct heard *h = context;

	h->used += (size_t)snprintf(h->text + h->used, sizeof(h->text) - h->used, "%u-%" PRIu64 " ", stream, packets);
	return 0;
}

static int put_events(struct time_filter *g, unsigned int stream, uint64_t from, size_t n)
{
	struct mprof_event events[8] = {0};
	size_t i;

	for (i = 0; i < n; i++)
		events[i].raw.timestamp = from + i;
	return g->consumer.events(g->consumer.context, stream, events, n);
}

static void check_time_filter(const char *from, const char *to, const char *want)
{
	char *const names[] = {"a", "b"};
	struct heard h = {0};
	const struct consumer consumer = {.events = hear_events, .gap = hear_gap, .context = &h};
	struct wall_zone zone = {.utc = true};
	struct period period;
	struct time_filter g;

	CHECK_EQ_INT(period_parse(&period, from, to, &zone, 0, "test"), CTL_OK);
	time_filter_init(&g, &consumer, &period);
	CHECK_EQ_INT(g.consumer.streams(g.consumer.context, names, 2), 0);
	CHECK_EQ_INT(put_events(&g, 0, 10, 3), 0);
	CHECK_EQ_INT(g.consumer.gap(g.consumer.context, 0, 2), 0);
	CHECK_EQ_INT(g.consumer.gap(g.consumer.context, 0, 1), 0);
	CHECK_EQ_INT(put_events(&g, 1, 12, 2), 0);
	CHECK_EQ_INT(put_events(&g, 0, 14, 3), 0);
	CHECK_EQ_INT(g.consumer.gap(g.consumer.context, 1, 5), 0);
	CHECK_EQ_INT(time_filter_end(&g), 0);
	CHECK_EQ_STR(h.text, want);
	time_filter_deinit(&g);
}

static void test_time_filter(void)
{
	struct heard h = {.refuse = -EIO};
	const struct consumer consumer = {.events = hear_events, .context = &h};
	struct period period = {0};
	struct time_filter g;

	check_time_filter(NULL, NULL, "0:10 0:11 0:12 1:12 1:13 0-3 0:14 0:15 0:16 1-5 ");
	check_time_filter("+2ns", NULL, "0:12 1:12 1:13 0-3 0:14 0:15 0:16 1-5 ");
	check_time_filter("15ns", NULL, "0:15 0:16 1-5 "); /* the gap ends before 15 ns */
	check_time_filter("11ns", "14ns", "0:11 0:12 1:12 1:13 0-3 0:14 ");
	check_time_filter("1s", "2s", "");
	/* One stream without a name. The consumer ignores gaps and returns an error. */
	time_filter_init(&g, &consumer, &period);
	CHECK_EQ_INT(g.consumer.gap(g.consumer.context, 0, 2), 0);
	CHECK_EQ_INT(put_events(&g, 0, 10, 1), -EIO);
	time_filter_deinit(&g);
}

/* Decode the file at PATH, and check its numbers of events, packets and lost packets. */
static void check_stream(const char *path, uint64_t events, uint64_t packets, uint64_t lost)
{
	struct mprof_decoder *d = mprof_decoder_new();
	static uint8_t bytes[4 << 20];
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	struct mprof_event event;
	uint64_t seen = 0, last = 0;

	if (!CHECK(d && n >= 0))
		return;
	mprof_decoder_feed(d, bytes, (size_t)n);
	mprof_decoder_finish(d);
	while (mprof_decoder_next(d, &event) == MPROF_OK) {
		CHECK(event.raw.timestamp >= last && event.raw.timestamp <= INT64_MAX);
		last = event.raw.timestamp;
		seen++;
	}
	CHECK_EQ_UINT(seen, events);
	CHECK_EQ_UINT(mprof_decoder_totals(d)->damages, 0);
	CHECK_EQ_UINT(mprof_decoder_totals(d)->packets, packets);
	CHECK_EQ_UINT(mprof_decoder_totals(d)->lost_packets, lost);
	mprof_decoder_free(d);
}

static void stream_begin(struct ctf_stream *s, const char *path)
{
	CHECK_EQ_INT(ctf_stream_init(s, open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)), 0);
}

static void stream_end(struct ctf_stream *s)
{
	CHECK_EQ_INT(ctf_stream_end(s), 0);
	ctf_stream_deinit(s);
}

static void stream_put(struct ctf_stream *s, uint64_t ns, const char *text, size_t len)
{
	struct mprof_raw_event e = {
		.timestamp = ns, .id = MPROF_EVENT_label, .context = 1, .text = text, .text_bytes = len};

	CHECK_EQ_INT(ctf_stream_event(s, &e), 0);
}

static void test_ctf_stream(void)
{
	char path[] = "stream.XXXXXX";
	struct ctf_stream s;
	int fd = mkstemp(path);

	close(fd);
	/* A stream without events is one empty packet, because CTF has no empty streams. */
	stream_begin(&s, path);
	stream_end(&s);
	check_stream(path, 0, 1, 0);
	/* Times that go back. */
	stream_begin(&s, path);
	stream_put(&s, 10, "a", 1);
	stream_put(&s, 9, "a", 1);
	stream_put(&s, (uint64_t)INT64_MAX + 1, "a", 1);
	stream_put(&s, 11, "a", 1);
	CHECK_EQ_UINT(s.moved, 2);
	stream_end(&s);
	check_stream(path, 4, 1, 0);
	/*
	 * Packets are missing at the beginning, in the middle and at the end. In the middle more
	 * are missing than a count can express.
	 */
	stream_begin(&s, path);
	CHECK_EQ_INT(ctf_stream_gap(&s, 3), 0);
	stream_put(&s, 1, "a", 1);
	CHECK_EQ_INT(ctf_stream_gap(&s, 1000000), 0);
	stream_put(&s, 2, "a", 1);
	CHECK_EQ_INT(ctf_stream_gap(&s, 5), 0);
	CHECK_EQ_INT(ctf_stream_gap(&s, 6), 0);
	CHECK_EQ_UINT(s.sequence, 1 + 3 + 1 + 1000000 + 30 + 1 + 5 + 1 + 6);
	stream_end(&s);
	check_stream(path, 2, 1 + 1 + 30 + 1 + 1 + 1, 1000014);
	unlink(path);
}

static void test_ctf_stream_of_long_texts(void)
{
	char path[] = "stream.XXXXXX";
	static char text[600000];
	struct ctf_stream s;
	int fd = mkstemp(path);
	size_t i;

	close(fd);
	memset(text, 'y', sizeof(text));
	stream_begin(&s, path);
	stream_put(&s, 1, "a", 1);
	stream_put(&s, 2, text, sizeof(text)); /* needs a packet of its own */
	stream_put(&s, 3, "a", 1);
	for (i = 0; i < 4; i++) /* the longest text that fits has 262,144 - 30 - 17 - 1 bytes */
		stream_put(&s, 4, text, 262144 - 30 - 19 + i);
	stream_end(&s);
	check_stream(path, 7, 7, 0);
	unlink(path);
}

static void put_part(struct output_directory *d, const char *name, const char *text)
{
	int fd = output_directory_file(d, name);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void test_output_directory(void)
{
	char top[] = "directory.XXXXXX", path[64];
	struct output_directory d;
	struct stat st;

	if (!CHECK(mkdtemp(top)))
		return;
	snprintf(path, sizeof(path), "%s/out///", top);
	CHECK_EQ_INT(output_directory_open(&d, path, "test"), CTL_OK);
	put_part(&d, "file", "bytes");
	CHECK_EQ_INT(output_directory_file(&d, "file"), -EEXIST);
	CHECK_EQ_INT(rmdir(top), 0); /* the directory is made only when it is complete */
	output_directory_close(&d);
	CHECK(mkdtemp(memcpy(top, "directory.XXXXXX", sizeof(top))));
	snprintf(path, sizeof(path), "%s/out", top);
	CHECK_EQ_INT(output_directory_open(&d, path, "test"), CTL_OK);
	put_part(&d, "file", "bytes");
	put_part(&d, "other", "");
	/* Another process makes the directory first. */
	CHECK_EQ_INT(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/out/theirs", top);
	CHECK_EQ_INT(mkdir(path, 0700), 0);
	CHECK_EQ_INT(output_directory_commit(&d), CTL_FAILED);
	rmdir(path);
	CHECK_EQ_INT(output_directory_commit(&d), CTL_OK);
	output_directory_close(&d);
	snprintf(path, sizeof(path), "%s/out/file", top);
	CHECK(stat(path, &st) == 0 && st.st_size == 5);
	CHECK_EQ_INT(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/out/other", top);
	CHECK_EQ_INT(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/out", top);
	CHECK_EQ_INT(rmdir(path), 0);
	CHECK_EQ_INT(rmdir(top), 0);
}

/*
 * Each format either draws or writes events (open, finish, close), and is found only by its exact
 * name.
 */
static void test_table(void)
{
	const struct exporter *e;
	size_t i;

	for (i = 0; (e = exporter_at(i)); i++) {
		CHECK(exporter_find(e->name, "test") == e);
		CHECK(e->what && e->suffix && strlen(e->name) < 10);
		CHECK((e->draw != NULL) != (e->open && e->finish && e->close));
	}
	CHECK(i > 5);
	CHECK(!exporter_find("", "test"));
	CHECK(!exporter_find("jso", "test"));
}

int main(void)
{
	CHECK_RUN(test_digits);
	CHECK_RUN(test_track_names);
	CHECK_RUN(test_time_filter);
	CHECK_RUN(test_ctf_stream);
	CHECK_RUN(test_ctf_stream_of_long_texts);
	CHECK_RUN(test_output_directory);
	CHECK_RUN(test_table);
	return check_done();
}
