/* The configuration: defaults, values, drop-ins, policies, and the error sentences. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "check.h"
#include "config.h"
#include "quantity.h"

#define S 1000000000ull

static char directory[64], file[128], error[512];

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static int load(struct config *c, const char *text)
{
	put("mprofd.conf", text);
	error[0] = '\0';
	return config_load(c, file, error, sizeof(error));
}

static void check_defaults(const struct config *c)
{
	struct policy p = config_policy(c, "anything");

	CHECK_EQ_UINT(c->queue_bytes, 64u << 20);
	CHECK_EQ_UINT(c->queue_per_guest_bytes, 32u << 20);
	CHECK_EQ_UINT(c->queue_reserve_bytes, 64u << 20);
	CHECK_EQ_UINT(c->flush_interval_ns, 30 * S);
	CHECK_EQ_UINT(c->burst_rate, 4u << 20);
	CHECK(c->cpu_budget > 0.00299 && c->cpu_budget < 0.00301);
	CHECK_EQ_UINT(c->xen_pages, 0);
	CHECK_EQ_STR(c->xen_console_logs, "/var/log/xen/console");
	CHECK_EQ_UINT(c->archive_bytes, 0);
	CHECK_EQ_UINT(c->archive_age_ns, 0);
	CHECK_EQ_UINT(c->free_space_bytes, 256u << 20);
	CHECK_EQ_UINT(c->wal_limit_bytes, 64u << 20);
	CHECK_EQ_UINT(c->reserve_bytes, 64u << 20);
	CHECK(c->listen == NULL);
	CHECK_EQ_UINT(c->connections, 256);
	CHECK_EQ_UINT(c->peer_connections, 192);
	CHECK_EQ_UINT(c->header_timeout_ns, 10 * S);
	CHECK_EQ_UINT(c->body_timeout_ns, 30 * S);
	CHECK_EQ_UINT(c->idle_timeout_ns, 120 * S);
	CHECK_EQ_INT(p.mode, POLICY_CONTINUOUS);
	CHECK_EQ_UINT(p.interval_ns, 60 * S);
	CHECK_EQ_UINT(p.bytes, 1u << 30);
	CHECK_EQ_UINT(p.age_ns, 30 * 86400 * S);
	CHECK_EQ_INT(p.memtrace, MEMTRACE_AUTOMATIC);
	CHECK_EQ_INT(p.send, SEND_NOTHING);
	CHECK(!config_sends(c));
	CHECK_EQ_STR(c->fleet_connection, "");
	CHECK_EQ_UINT(c->fleet_rate, 0);
}

static void test_defaults(void)
{
	struct config c;

	CHECK_EQ_INT(load(&c, ""), 0);
	check_defaults(&c);
	config_deinit(&c);
	config_deinit(&c); /* a configuration that is all zero may be freed */
	CHECK_EQ_INT(config_load(&c, "/nowhere/mprofd.conf", error, sizeof(error)), -ENOENT);
	CHECK_EQ_STR(error, "/nowhere/mprofd.conf: the configuration cannot be read: No such file or directory");
	CHECK_EQ_INT(config_load(&c, directory, error, sizeof(error)), -EIO);
}

static void test_values(void)
{
	struct config c;

	CHECK_EQ_INT(load(&c, "\xef\xbb\xbf[collector]\r\n"
			      "queue = 1.5G\r\n"
			      "   queue-per-guest=8MB ; a comment\n"
			      "queue-reserve: 2M\n"
			      "# a comment\n"
			      "flush-interval = 250ms\n"
			      "cpu-budget = 0.25\n"
			      "[xen]\npages = 70000\nconsole-logs = /srv/first\nconsole-logs = /srv/consoles of "
			      "xen\nvcpu-interval = 20ms\n"
			      "[ archive ] # so what\n"
			      "age = 0\n"
			      "bytes = 123B\n"
			      "[http]\n"
			      "listen = unix:/run/x\nlisten = 127.0.0.1:80\n"
			      "connections = 12\nconnections-per-peer = 5\n"
			      "header-timeout = 1s\nbody-timeout = 90s\nidle-timeout = 1d\n"
			      "[sink]\nreconnect = 7s\n[policy]\nmemtrace = asked"),
		     0);
	CHECK_EQ_STR(error, "");
	CHECK_EQ_UINT(c.queue_bytes, 3u << 29);
	CHECK_EQ_UINT(c.queue_per_guest_bytes, 8u << 20);
	CHECK_EQ_UINT(c.queue_reserve_bytes, 2u << 20);
	CHECK_EQ_UINT(c.flush_interval_ns, S / 4);
	CHECK(c.cpu_budget > 0.2499 && c.cpu_budget < 0.2501);
	CHECK_EQ_UINT(c.xen_pages, 70000);
	CHECK_EQ_STR(c.xen_console_logs, "/srv/consoles of xen");
	CHECK_EQ_UINT(c.vcpu_interval_ns, S / 50);
	CHECK(!config_any_vcpu(&c));
	CHECK_EQ_UINT(c.archive_age_ns, 0);
	CHECK_EQ_UINT(c.archive_bytes, 123);
	if (CHECK(c.listen && c.listen[0] && c.listen[1] && !c.listen[2])) {
		CHECK_EQ_STR(c.listen[0], "unix:/run/x");
		CHECK_EQ_STR(c.listen[1], "127.0.0.1:80");
	}
	CHECK_EQ_UINT(c.connections, 12);
	CHECK_EQ_UINT(c.peer_connections, 5);
	CHECK_EQ_UINT(c.header_timeout_ns, S);
	CHECK_EQ_UINT(c.body_timeout_ns, 90 * S);
	CHECK_EQ_UINT(c.idle_timeout_ns, 86400 * S);
	CHECK_EQ_UINT(c.sink_reconnect_ns, 7 * S);
	CHECK_EQ_INT(config_policy(&c, "web").memtrace, MEMTRACE_ASKED);
	CHECK_EQ_INT(config_policy(&c, "web").mode, POLICY_CONTINUOUS);
	config_deinit(&c);
}

/* The smallest and the largest allowed interval are accepted. */
static void test_limits(void)
{
	struct config c;

	CHECK_EQ_INT(load(&c, "[collector]\nflush-interval = 10ms\n"), 0);
	CHECK_EQ_UINT(c.flush_interval_ns, S / 100);
	config_deinit(&c);
	CHECK_EQ_INT(load(&c, "[collector]\nflush-interval = 60s\n"), 0);
	CHECK_EQ_UINT(c.flush_interval_ns, 60 * S);
	config_deinit(&c);
}

/* If the key is empty, no console log is read. */
static void test_no_consoles(void)
{
	struct config c;

	CHECK_EQ_INT(load(&c, "[xen]\nconsole-logs =\n"), 0);
	CHECK_EQ_STR(c.xen_console_logs, "");
	config_deinit(&c);
}

static void test_policies(void)
{
	struct config c;
	struct policy p;

	CHECK_EQ_INT(load(&c, "[policy]\nbytes = 5M\nage = 1d\n"
			      "[policy web-*]\nmode = periodic\ninterval = 5s\n"
			      "[policy web-[0-9]]\nmode = on-crash\nmemtrace = asked\nvcpu = yes\n"
			      "[policy a-guest-with-a-name-that-is-longer-than-fifty-bytes-of-text]\nbytes = 7M\n"
			      "[policy []x]-[!]y]]\nbytes = 8M\n[policy \\[z]\nbytes = 9M\n"
			      "[policy *]\nage = 2d\n"),
		     0);
	p = config_policy(&c, "db");
	CHECK(p.mode == POLICY_CONTINUOUS && p.bytes == 5u << 20 && p.age_ns == 2 * 86400 * S);
	p = config_policy(&c, "]-a");
	CHECK(p.bytes == 8u << 20);
	p = config_policy(&c, "[z");
	CHECK(p.bytes == 9u << 20);
	p = config_policy(&c, "web-x");
	CHECK(p.mode == POLICY_PERIODIC && p.interval_ns == 5 * S && p.bytes == 5u << 20 &&
	      p.memtrace == MEMTRACE_AUTOMATIC);
	CHECK(!p.vcpu && config_any_vcpu(&c));
	p = config_policy(&c, "web-1");
	CHECK(p.mode == POLICY_ON_CRASH && p.interval_ns == 5 * S && p.memtrace == MEMTRACE_ASKED && p.vcpu);
	p = config_policy(&c, "a-guest-with-a-name-that-is-longer-than-fifty-bytes-of-text");
	CHECK(p.bytes == 7u << 20);
	p = config_policy(&c, "a-guest-with-a-name-that-is-longer-than-fifty-bytes-of-texu");
	CHECK(p.bytes == 5u << 20);
	config_deinit(&c);
}

/* Captures wait for a reader if there is one, by the configuration. */
static void test_keep_unread(void)
{
	static const struct {
		const char *text;
		uint64_t keep;
		bool on_crash;
	} cases[] = {
		{"", 86400 * S, false},
		{"[policy web]\nmode = on-crash\n", 86400 * S, true},
		{"[archive]\nkeep-unread = 90s\n", 90 * S, false},
		{"[archive]\nkeep-unread = 0\n[policy]\nmode = periodic\n", 0, false},
		{"[http]\nreader = no\n", 0, false},
		{"[http]\nfleet = host=hub\n", 0, false},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config c;

		if (!CHECK_EQ_INT(load(&c, cases[i].text), 0))
			continue;
		CHECK_EQ_UINT(config_keep_unread(&c), cases[i].keep);
		CHECK_EQ_INT(config_any_on_crash(&c), cases[i].on_crash);
		config_deinit(&c);
	}
}

static void test_drop_ins(void)
{
	struct config c;
	char path[256];

	snprintf(path, sizeof(path), "%s/mprofd.conf.d", directory);
	CHECK_EQ_INT(mkdir(path, 0700), 0);
	put("mprofd.conf.d/20-b.conf", "[http]\nconnections = 20\nlisten =\nlisten = unix:/b\n");
	put("mprofd.conf.d/10-a.conf", "[http]\nconnections = 10\n[archive]\nbytes = 10G\n");
	put("mprofd.conf.d/30-c.conf~", "nonsense");
	put("mprofd.conf.d/.40.conf", "nonsense");
	CHECK_EQ_INT(load(&c, "[http]\nconnections = 1\nlisten = unix:/a\n"), 0);
	CHECK_EQ_UINT(c.connections, 20);
	CHECK_EQ_UINT(c.archive_bytes, 10ull << 30);
	CHECK(c.listen && c.listen[0] && strcmp(c.listen[0], "unix:/b") == 0 && !c.listen[1]);
	config_deinit(&c);
	put("mprofd.conf.d/50-d.conf", "\n\n[archive]\nbyte = 10G\n");
	CHECK_EQ_INT(load(&c, ""), -EINVAL);
	snprintf(path, sizeof(path),
		 "%s/mprofd.conf.d/50-d.conf:4: [archive] has no key byte: write one of bytes, age, free-space, "
		 "wal-limit, reserve, keep-unread",
		 directory);
	CHECK_EQ_STR(error, path);
	/* A section ends at the end of its file. */
	put("mprofd.conf.d/50-d.conf", "bytes = 10G\n");
	CHECK_EQ_INT(load(&c, "[archive]\n"), -EINVAL);
	for (const char *const *name =
		     (const char *const[]){"10-a.conf", "20-b.conf", "30-c.conf~", ".40.conf", "50-d.conf", "", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/mprofd.conf.d/%s", directory, *name);
		remove(path);
	}
}

/* Each error is one sentence that names the line and the accepted values. */
static void test_faults(void)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *word;
	} bad[] = {
		{"[collecter]\n", 1, "there is no section [collecter]"},
		{"[collector web]\n", 1, "there is no section [collector web]"},
		{"\n[collector\n", 2, "must end with ]"},
		{"[collector] queue = 1M\n", 1, "must end with ]"},
		{"queue = 1M\n", 1, "before any section"},
		{"[collector]\nnonsense\n", 2, "no KEY = VALUE"},
		{"[collector]\nqueue = lots\n", 2, "queue = lots does not do: write a number of bytes"},
		{"[collector]\nqueue = 1023K\n", 2, "from 1M"},
		{"[collector]\nqueue =\n", 2, "write a number of bytes"},
		{"[collector]\nqueue = -5M\n", 2, "write a number of bytes"},
		{"[collector]\nqueue = 99999999999999999999G\n", 2, "write a number of bytes"},
		{"[collector]\nflush-interval = 5\n", 2, "write a duration"},
		{"[collector]\nflush-interval = 9ms\n", 2, "from 10ms to 60s"},
		{"[collector]\nflush-interval = 61s\n", 2, "from 10ms to 60s"},
		{"[collector]\ncpu-budget = 1.5\n", 2, "from 0.001 to 1"},
		{"[xen]\npages = 1M\n", 2, "a whole number of pages"},
		{"[xen]\npages = 4294967296\n", 2, "up to 4294967295"},
		{"[xen]\nconsole-logs = console\n", 2, "a directory from / on"},
		{"[xen 5]\n", 1, "there is no section [xen 5]"},
		{"[http]\nconnections = 1.5\n", 2, "a whole number"},
		{"[http]\nconnections = 0\n", 2, "from 1"},
		{"[http]\nconnections-per-peer = 0\n", 2, "from 1"},
		{"[http]\nheader-timeout = 999ms\n", 2, "from 1s to 1d"},
		{"[http]\nbody-timeout = 0\n", 2, "from 1s to 1d"},
		{"[http]\nidle-timeout = 25h\n", 2, "from 1s to 1d"},
		{"[http]\nlisten = here\n", 2, "is no address"},
		{"[http]\nlisten = unix:\n", 2, "is no address"},
		{"[http]\nlisten = 127.0.0.1:65536\n", 2, "is no address"},
		{"[http]\nlisten = https:lab.example:443\n", 2, "is no address"},
		{"[http]\nlisten = ::1:80\n", 2, "is no address"},
		{"[sink]\nlisten = 127.0.0.1:-1\n", 2, "is no address"},
		{"[sink]\nlisten = localhost:1\n", 2, "is no address"},
		{"[sink]\nlisten = unix:/run/x\n", 2, "is no address"},
		{"[policy [a]\nage = 1d\n", 1, "[a has a [ without its ]"},
		{"[policy web-[]]\nage = 1d\n", 1, "has a [ without its ]"},
		{"[policy web-[!]]\n", 1, "has a [ without its ]"},
		{"[policy [a][]\n", 1, "has a [ without its ]"},
		{"[policy]\nmode = sometimes\n", 2, "continuous, periodic or on-crash"},
		{"[policy]\nmemtrace = yes\n", 2, "automatic or asked"},
		{"[policy]\nvcpu = on\n", 2, "yes or no"},
		{"[xen]\nvcpu-interval = 900us\n", 2, "from 1ms to 1s"},
		{"[xen]\nvcpu-interval = 2s\n", 2, "from 1ms to 1s"},
		{"[fleet]\nsend = some\n", 2, "nothing, captures or all"},
		{"[fleet web]\nsend = all\nrate = 5\n", 3, "below [fleet], not below [fleet GLOB]"},
		{"[fleet web]\nconnection = host=hub\n", 2, "below [fleet], not below [fleet GLOB]"},
		{"[policy]\nsend = all\n", 2, "has no key send"},
		{"[fleet we[b]\nsend = all\n", 1, "without its ]"},
		{"[policy]\nqueue = 1M\n", 2, "[policy] has no key queue"},
		{"[policy]\nage = 1d\n   bytes = x\n", 3, "bytes = x"},
		{"[policy]\nage = 1d\nage = 2w\n", 3, "age = 2w"},
	};
	struct config c;
	char want[256], lines[512];

	memset(&c, 0x5a, sizeof(c));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQ_INT(load(&c, bad[i].text), -EINVAL);
		snprintf(want, sizeof(want), "%s:%u: ", file, bad[i].line);
		if (!CHECK(strncmp(error, want, strlen(want)) == 0) || !CHECK(strstr(error, bad[i].word) != NULL))
			fprintf(stderr, "  case %zu: %s\n", i, error);
		CHECK(strchr(error, '\n') == NULL);
	}
	CHECK_EQ_INT(((unsigned char *)&c)[0], 0x5a); /* the failed call wrote nothing to C */
	snprintf(lines, sizeof(lines), "[http]\n# %0300d\n", 1);
	CHECK_EQ_INT(load(&c, lines), -EINVAL);
	CHECK(strstr(error, ":2: the line is longer than") != NULL);
}

static void test_numbers(void)
{
	uint64_t v;

	CHECK(quantity_duration("0", &v) && v == 0);
	CHECK(quantity_duration("10s", &v) && v == 10 * S);
	CHECK(quantity_duration("1.5ms", &v) && v == 1500000);
	CHECK(quantity_duration("7ns", &v) && v == 7);
	CHECK(quantity_duration("0.0000000019s", &v) && v == 1);
	CHECK(quantity_duration("3us", &v) && v == 3000);
	CHECK(quantity_duration("2m", &v) && v == 120 * S);
	CHECK(quantity_duration("2h", &v) && v == 7200 * S);
	CHECK(quantity_duration("213503d", &v) && v == 213503ull * 86400 * S);
	CHECK(!quantity_duration("213504d", &v));
	CHECK(!quantity_duration("", &v) && !quantity_duration("10", &v) && !quantity_duration("s", &v));
	CHECK(!quantity_duration("1.s", &v) && !quantity_duration(".5s", &v) && !quantity_duration("1.2.3s", &v));
	CHECK(!quantity_duration("-1s", &v) && !quantity_duration("1 s", &v) && !quantity_duration("1e3s", &v));
	CHECK(quantity_bytes("5MB", &v) && v == 5u << 20);
	CHECK(quantity_bytes("17", &v) && v == 17);
	CHECK(quantity_bytes("0.5K", &v) && v == 512);
	CHECK(quantity_bytes("18446744073709551615", &v) && v == UINT64_MAX);
	CHECK(!quantity_bytes("18446744073709551616", &v) && !quantity_bytes("17179869184G", &v));
	CHECK(!quantity_bytes("5m", &v) && !quantity_bytes("5MBB", &v) && !quantity_bytes("B", &v) &&
	      !quantity_bytes("1..5K", &v));
}

/* The parts of a guest that are sent: the last section whose glob matches, also between sections of [policy]. */
static void test_fleet(void)
{
	struct config c;

	CHECK_EQ_INT(load(&c,
			  "[fleet]\nsend = captures\nconnection = host=c\nconnection =\nconnection = "
			  "host=a,b\nconnection = dbname='x y'\nrate = 2M\n"
			  "[policy web*]\nbytes = 5M\n[fleet web*]\nsend = all\n[fleet web-test]\nsend = nothing\n"),
		     0);
	CHECK_EQ_STR(error, "");
	CHECK(config_sends(&c));
	CHECK_EQ_STR(c.fleet_connection, "host=a,b dbname='x y'");
	CHECK_EQ_UINT(c.fleet_rate, 2u << 20);
	CHECK_EQ_INT(config_policy(&c, "db").send, SEND_CAPTURES);
	CHECK_EQ_INT(config_policy(&c, "web1").send, SEND_ALL);
	CHECK_EQ_UINT(config_policy(&c, "web1").bytes, 5u << 20);
	CHECK_EQ_INT(config_policy(&c, "web-test").send, SEND_NOTHING);
	config_deinit(&c);
	/* A guest whose crashes alone are kept has all bytes in captures, whatever the order of the sections. */
	CHECK_EQ_INT(
		load(&c, "[fleet]\nsend = all\n[policy web*]\nmode = on-crash\n[fleet web-test]\nsend = nothing\n"), 0);
	CHECK_EQ_INT(config_policy(&c, "db").send, SEND_ALL);
	CHECK_EQ_INT(config_policy(&c, "web1").send, SEND_CAPTURES);
	CHECK_EQ_INT(config_policy(&c, "web-test").send, SEND_NOTHING);
	config_deinit(&c);
	CHECK_EQ_INT(load(&c, "[fleet]\nsend = nothing\n[fleet web]\nrate = 1\n") != 0, 1);
	CHECK_EQ_INT(load(&c, "[fleet]\nsend = nothing\n[fleet web]\nsend = nothing\n"), 0);
	CHECK(!config_sends(&c));
	config_deinit(&c);
}

/*
 * Each line of the shipped file that is commented out shows a default. Together the lines have
 * every key of the parser.
 */
static void test_shipped(void)
{
	char line[512], section[64] = "", text[16384] = "", known[64][2][32];
	FILE *f = fopen(SHIPPED, "r");
	const char *s, *k;
	size_t n = 0, at = 0, i = 0;
	struct config c;

	if (!CHECK(f != NULL))
		return;
	while (fgets(line, sizeof(line), f)) {
		const char *l = line[0] == '#' && line[1] != ' ' && line[1] != '\n' ? line + 1 : line;

		CHECK(line[0] == '#' || line[0] == '[' || line[0] == '\n');
		if (l[0] == '[')
			sscanf(l, "[%63[a-z]", section);
		else if (l != line && n < 64 && CHECK(sscanf(l, "%31[a-z-] =", known[n][1]) == 1))
			snprintf(known[n++][0], sizeof(known[0][0]), "%.31s", section);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", l);
	}
	fclose(f);
	CHECK_EQ_INT(load(&c, text), 0);
	CHECK_EQ_STR(error, "");
	check_defaults(&c);
	config_deinit(&c);
	for (; config_key(i, &s, &k); i++)
		if (!CHECK(i < n && strcmp(known[i][0], s) == 0 && strcmp(known[i][1], k) == 0))
			fprintf(stderr, "  [%s] %s is not described, or elsewhere\n", s, k);
	CHECK_EQ_UINT(n, i);
	/* As shipped, the file sets nothing. */
	CHECK_EQ_INT(config_load(&c, SHIPPED, error, sizeof(error)), 0);
	check_defaults(&c);
	config_deinit(&c);
}

int main(void)
{
	char path[256];

	strcpy(directory, "/tmp/mprof-test-config-XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	snprintf(file, sizeof(file), "%s/mprofd.conf", directory);
	CHECK_RUN(test_defaults);
	CHECK_RUN(test_values);
	CHECK_RUN(test_limits);
	CHECK_RUN(test_no_consoles);
	CHECK_RUN(test_policies);
	CHECK_RUN(test_keep_unread);
	CHECK_RUN(test_drop_ins);
	CHECK_RUN(test_faults);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_fleet);
	CHECK_RUN(test_shipped);
	remove(file);
	snprintf(path, sizeof(path), "%s.d", file);
	remove(path);
	remove(directory);
	return check_done();
}
