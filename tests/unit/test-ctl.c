/*
 * Parts of mprofctl that need neither a daemon nor a terminal: names, options, output files,
 * tables, escaping.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "ctl.h"
#include "dumper.h"
#include "http-limits.h"
#include "options.h"
#include "output.h"
#include "stream-decoder.h"
#include "table.h"
#include "time-filter.h"
#include "trace-make.h"
#include "trace-source.h"

static void check_target(const char *name, bool files, enum trace_source_kind kind, const char *rest, bool settled)
{
	struct trace_source t;

	CHECK_EQ_INT(trace_source_parse(&t, NULL, name, files), settled);
	CHECK_EQ_INT(t.kind, kind);
	CHECK_EQ_STR(t.name, rest);
}

static void test_target(void)
{
	check_target("-", true, SOURCE_STDIN, "-", true);
	check_target("/dev/null", true, SOURCE_FILE, "/dev/null", true);
	check_target("/dev/null", false, SOURCE_DOMAIN, "/dev/null", false); /* a guest of a hub */
	check_target("file:gone", true, SOURCE_FILE, "gone", true);
	check_target("capture:7", true, SOURCE_CAPTURE, "7", true);
	check_target("domain:7", true, SOURCE_DOMAIN, "7", true);
	check_target("7", true, SOURCE_DOMAIN, "7", false);
	check_target("web", true, SOURCE_DOMAIN, "web", true);
	check_target("dom0-a/web", true, SOURCE_DOMAIN, "dom0-a/web", false);
	check_target("domain:dom0-a/web", true, SOURCE_DOMAIN, "dom0-a/web", false);
	check_target("a.b.1234abcd.7", true, SOURCE_DOMAIN, "a.b.1234abcd.7", false);
	check_target("a.1234abcd-0000-4000-8000-000000000000.7", true, SOURCE_DOMAIN,
		     "a.1234abcd-0000-4000-8000-000000000000.7", false);
	check_target("a.1234abc.7", true, SOURCE_DOMAIN, "a.1234abc.7", true);
	check_target("a.1234abcg.7", true, SOURCE_DOMAIN, "a.1234abcg.7", true);
	check_target(".1234abcd.7", true, SOURCE_DOMAIN, ".1234abcd.7", true);
	check_target("a.1234abcd.", true, SOURCE_DOMAIN, "a.1234abcd.", true);
	check_target("domid:7", true, SOURCE_DOMAIN, "domid:7", true);
}

static void check_file_name(const char *name, const char *want)
{
	struct trace_source t = {.kind = SOURCE_DOMAIN, .name = name};
	CLEANUP(freep) char *got = trace_source_file_name(&t, ".ctf");

	CHECK_EQ_STR(got, want);
}

static void test_file_name(void)
{
	check_file_name("web", "web.ctf");
	check_file_name("../../etc/passwd", "_._.._etc_passwd.ctf");
	check_file_name(".hidden", "_hidden.ctf");
	check_file_name("-rf", "_rf.ctf");
	check_file_name("a\nb", "a_b.ctf");
}

static int check_last(const char *last)
{
	struct selection s = {.last = last};

	return selection_check(&s, "fetch");
}

static void test_selection(void)
{
	static const char *const good[] = {"10s", "5MB", "300K", "4096", "1h", "250ms", "7d", "9ns", "3B"};
	static const char *const bad[] = {"",	   "s",	  "-1s", "1.5h",    "5 MB",
					  "10sec", "1e9", "5mb", "10s&x=1", "9999999999999999999"};
	struct selection s = {.stream = "x"};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_EQ_INT(check_last(good[i]), CTL_OK);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ_INT(check_last(bad[i]), CTL_USAGE);
	CHECK_EQ_INT(selection_check(&s, "fetch"), CTL_USAGE);
	s = (struct selection){.run = "1", .stream = "0"};
	CHECK_EQ_INT(selection_check(&s, "fetch"), CTL_OK);
}

static void test_path(void)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	struct trace_source t = {.kind = SOURCE_DOMAIN, .name = "a b/ü?"};
	struct selection s = {.last = "10s", .stream = "2"};
	CLEANUP(freep) char *path = NULL;

	CHECK_EQ_INT(http_open(&h, &(struct hosts){.list = "http://host:1/"}), CTL_OK);
	CHECK_EQ_STR(h.at.base, "http://host:1");
	path = trace_source_path(&t, &h, "trace", &s);
	CHECK_EQ_STR(path, "/v1/domains/a%20b%2F%C3%BC%3F/trace?stream=2&last=10s");
	http_close(&h);
	CHECK_EQ_INT(http_open(&h, &(struct hosts){.list = "unix:/x/y"}), CTL_OK);
	CHECK_EQ_STR(h.at.socket, "/x/y");
	http_close(&h);
	CHECK_EQ_INT(http_open(&h, &(struct hosts){.list = "ftp://x"}), CTL_USAGE);
}

static int parse(struct operands *left, const char **out, const char *a, const char *b, const char *c)
{
	char *argv[] = {(char *)"follow", (char *)a, (char *)b, (char *)c};
	const struct ctl ctl = {.verb = VERB_FOLLOW};
	struct options o;
	int argc = 1, r;

	while (argc < 4 && argv[argc])
		argc++;
	r = options_parse(&ctl, argc, argv, &o, left);
	*out = o.output;
	return r;
}

static void test_options(void)
{
	struct operands left;
	const char *out;

	CHECK_EQ_INT(parse(&left, &out, "x", "-o", "f"), CTL_OK);
	CHECK_EQ_STR(out, "f");
	CHECK_EQ_INT(parse(&left, &out, "--output=f", "-", NULL), CTL_OK);
	CHECK_EQ_STR(left.at[0], "-");
	CHECK_EQ_INT(parse(&left, &out, "-of", "x", NULL), CTL_OK);
	CHECK_EQ_STR(out, "f");
	CHECK_EQ_INT(parse(&left, &out, "--", "-o", NULL), CTL_OK);
	CHECK_EQ_STR(left.at[0], "-o");
	CHECK_EQ_INT(parse(&left, &out, "x", "-o", NULL), CTL_USAGE);
	CHECK_EQ_INT(parse(&left, &out, "x", "y", NULL), CTL_USAGE);
	CHECK_EQ_INT(parse(&left, &out, "--last", "y", NULL), CTL_USAGE);
	CHECK_EQ_INT(parse(&left, &out, NULL, NULL, NULL), CTL_USAGE);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void test_output(void)
{
	char dir[] = "/tmp/test-ctl.XXXXXX";
	struct output o;

	if (!CHECK(mkdtemp(dir) && chdir(dir) == 0))
		return;
	CHECK_EQ_INT(output_open(&o, "a.ctf", OUTPUT_NEW, "fetch"), CTL_OK);
	CHECK_EQ_INT(output_write(&o, "12345", 5), 0);
	CHECK_EQ_INT(size_of("a.ctf"), -1);
	output_close(&o); /* without a commit no file is left */
	CHECK_EQ_INT(rmdir(dir), 0);
	CHECK(mkdir(dir, 0700) == 0 && chdir(dir) == 0);
	CHECK_EQ_INT(output_open(&o, "a.ctf", OUTPUT_NEW, "fetch"), CTL_OK);
	CHECK_EQ_INT(output_write(&o, "12345", 5), 0);
	CHECK_EQ_INT(output_start_over(&o), 0);
	CHECK_EQ_INT(output_write(&o, "123", 3), 0);
	CHECK_EQ_INT(output_commit(&o), CTL_OK);
	output_close(&o);
	CHECK_EQ_INT(size_of("a.ctf"), 3);
	CHECK_EQ_INT(output_open(&o, "a.ctf", OUTPUT_NEW, "fetch"), CTL_FAILED);
	output_close(&o);
	CHECK_EQ_INT(output_open(&o, "b.ctf", OUTPUT_NEW, "fetch"), CTL_OK);
	CHECK_EQ_INT(link("a.ctf", "b.ctf"), 0); /* another process creates the file first */
	CHECK_EQ_INT(output_commit(&o), CTL_FAILED);
	output_close(&o);
	CHECK_EQ_INT(size_of("b.ctf"), 3);
	CHECK_EQ_INT(output_open(&o, "b.ctf", OUTPUT_REPLACE, "fetch"), CTL_OK);
	CHECK_EQ_INT(output_commit(&o), CTL_OK);
	output_close(&o);
	CHECK_EQ_INT(size_of("b.ctf"), 0);
	CHECK_EQ_INT(output_open(&o, "/dev/null", OUTPUT_REPLACE, "fetch"), CTL_OK);
	CHECK(o.temp == NULL && !o.can_start_over);
	output_close(&o);
	CHECK(unlink("a.ctf") == 0 && unlink("b.ctf") == 0 && rmdir(dir) == 0);
	/*
	 * A closed standard output is no error, because `| head` closes it. A closed named pipe is
	 * an error.
	 */
	CHECK_EQ_INT(output_complain(&(struct output){0}, EPIPE), CTL_OK);
	CHECK_EQ_INT(output_complain(&(struct output){.path = (char[]){"pipe"}}, EPIPE), CTL_FAILED);
	CHECK_EQ_INT(output_complain(&(struct output){0}, ENOSPC), CTL_FAILED);
}

static void test_printable(void)
{
	CLEANUP(freep) char *text = printable("a\x1b[2J \"q\" \\ λ", 14);

	CHECK_EQ_STR(text, "a\\x1b[2J \"q\" \\ λ");
}

/*
 * A server counts as silent after `seconds` seconds without a byte, and as slow if a window has
 * fewer bytes than `rate`.
 */
static void test_rate(void)
{
	const struct limits limits = {.rate = 10, .seconds = 2};
	struct rate r = {.limits = &limits};

	CHECK_EQ_INT(rate_wait(&r, 1999), RATE_OK);
	CHECK_EQ_INT(rate_wait(&r, 1), RATE_SILENT);
	rate_add(&r, 19);
	CHECK_EQ_INT(rate_wait(&r, 2000), RATE_SLOW);
	rate_add(&r, 20);
	CHECK_EQ_INT(rate_wait(&r, 2000), RATE_OK);
}

/*
 * A period may be one moment. A period that ends before it begins is refused if both times are
 * known.
 */
static void test_period(void)
{
	struct wall_zone zone = {.utc = true};
	struct period p;

	CHECK_EQ_INT(period_parse(&p, "1.5", "1.5", &zone, 0, "dump"), CTL_OK);
	CHECK(period_holds(&p, 1500000000) && !period_holds(&p, 1499999999) && !period_holds(&p, 1500000001));
	CHECK_EQ_INT(period_parse(&p, "+5ns", "+5ns", &zone, 0, "dump"), CTL_OK);
	CHECK(!period_holds(&p, 100) && period_holds(&p, 105) && !period_holds(&p, 106) && !period_holds(&p, 104));
	CHECK_EQ_INT(period_parse(&p, "+6ns", "+5ns", &zone, 0, "dump"), CTL_USAGE);
	CHECK_EQ_INT(period_parse(&p, "0.000000002", "0.000000001", &zone, 0, "dump"), CTL_USAGE);
	CHECK_EQ_INT(period_parse(&p, "7.0", "+5ns", &zone, 0, "dump"), CTL_OK);
	CHECK_EQ_INT(period_parse(&p, "+7s", "5.0", &zone, 0, "dump"), CTL_OK);
}

/* Tables show times without the fraction of a second. */
static void test_time(void)
{
	struct wall_zone utc = {.utc = true}, local = {0};
	char text[32];

	time_text("2026-11-22T10:00:00.123456789Z", &utc, text, sizeof(text));
	CHECK_EQ_STR(text, "2026-11-22T10:00:00Z");
	time_text("2026-11-22T10:00:00Z", &utc, text, sizeof(text));
	CHECK_EQ_STR(text, "2026-11-22T10:00:00Z");
	setenv("TZ", "NST+3:30", 1);
	tzset();
	time_text("2026-11-22T01:00:00.9Z", &local, text, sizeof(text));
	CHECK_EQ_STR(text, "2026-11-21T21:30:00-03:30");
	/* Texts that are no moment stay as they are. */
	time_text(".5", &utc, text, sizeof(text));
	CHECK_EQ_STR(text, ".5");
	time_text("10:00:00", &utc, text, sizeof(text));
	CHECK_EQ_STR(text, "10:00:00");
	time_text("a server of another version wrote this", &utc, text, 10);
	CHECK_EQ_STR(text, "a server ");
}

static void test_bytes(void)
{
	char text[24];

	bytes_text(1023, text, sizeof(text));
	CHECK_EQ_STR(text, "1023 B");
	bytes_text(1536, text, sizeof(text));
	CHECK_EQ_STR(text, "1.5 KB");
	bytes_text(1048575, text, sizeof(text));
	CHECK_EQ_STR(text, "1.0 MB");
	bytes_text(UINT64_MAX, text, sizeof(text));
	CHECK_EQ_STR(text, "16.0 EB");
}

/* Decode M, let the dumper print it as text or JSON, and read the result into TEXT (SIZE bytes). */
static void dump(const struct make *m, bool json, char *text, size_t size)
{
	FILE *file = tmpfile();
	struct dumper d;
	struct stream_decoder f;
	ssize_t n;

	CHECK(dumper_init(&d, fileno(file), json) && stream_decoder_init(&f, &d.consumer, "test", STREAM_DECODER_FILE));
	CHECK_EQ_INT(stream_decoder_put(&f, m->bytes, m->used), 0);
	CHECK_EQ_INT(stream_decoder_end(&f), 0);
	stream_decoder_deinit(&f);
	dumper_deinit(&d);
	n = pread(fileno(file), text, size - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	fclose(file);
}

static void test_dumper(void)
{
	static struct make m;
	static char long_text[20001], text[200000];
	size_t i;

	m.used = 0;
	make_packet(&m);
	make_event(&m, 1, MPROF_EVENT_label, 1, 0, 0, "a\n\"λ\xff");
	make_close(&m, 0, 0);
	dump(&m, false, text, sizeof(text));
	CHECK_EQ_STR(text, "0.000000001 label thread=1 label=\"a\\x0a\\\"λ\\xff\"\n");
	dump(&m, true, text, sizeof(text));
	CHECK_EQ_STR(text,
		     "{\"time_ns\":\"1\",\"event\":\"label\",\"thread\":1,\"label\":\"a\\u000a\\\"λ\xef\xbf\xbd\","
		     "\"label_hex\":\"610a22cebbff\"}\n");
	/*
	 * A text that is longer than the pieces of the writer: 20,000 bytes, each of which needs
	 * four characters.
	 */
	memset(long_text, 1, sizeof(long_text) - 1);
	m.used = 0;
	make_packet(&m);
	make_event(&m, 1, MPROF_EVENT_label, 1, 0, 0, long_text);
	make_close(&m, 0, 0);
	dump(&m, false, text, sizeof(text));
	CHECK_EQ_UINT(strlen(text), 34 + 80000 + 2);
	for (i = 0; i < 80000 && memcmp(text + 34 + i, "\\x01", 4) == 0; i += 4)
		;
	CHECK_EQ_UINT(i, 80000);
}

int main(void)
{
	CHECK_RUN(test_target);
	CHECK_RUN(test_file_name);
	CHECK_RUN(test_selection);
	CHECK_RUN(test_path);
	CHECK_RUN(test_options);
	CHECK_RUN(test_output);
	CHECK_RUN(test_printable);
	CHECK_RUN(test_rate);
	CHECK_RUN(test_period);
	CHECK_RUN(test_time);
	CHECK_RUN(test_bytes);
	CHECK_RUN(test_dumper);
	return check_done();
}
