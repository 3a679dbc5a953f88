/* The log: the format of a line, bytes that are escaped, and the rate limit. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "catch.h"
#include "check.h"
#include "clock.h"
#include "log.h"

static void test_lines(void)
{
	static struct catch c;

	log_init("mprofd");
	catch_begin(&c);
	errno = ENOENT;
	log_info("ready: guests=%d", 3);
	CHECK_EQ_INT(errno, ENOENT);
	log_warning("lost packets: n=7");
	log_error("no disk");
	log_write(LOG_LEVEL_WARNING, "web-1", "ring refused: pages=0");
	log_debug("not wanted");
	CHECK_EQ_STR(catch_end(&c), "mprofd: ready: guests=3\n"
				    "mprofd: warning: lost packets: n=7\n"
				    "mprofd: error: no disk\n"
				    "mprofd: warning: web-1: ring refused: pages=0\n");
}

static void test_hostile(void)
{
	static struct catch c;
	char many[9000];
	size_t lines = 0;

	catch_begin(&c);
	log_write(LOG_LEVEL_INFO, "a\n\x1b[2J\xc3\xa4", "name=%s", "x\r\ny\x7f");
	CHECK_EQ_STR(catch_end(&c), "mprofd: a\\x0a\\x1b[2J\\xc3\\xa4: name=x\\x0d\\x0ay\\x7f\n");
	memset(many, '\n', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	catch_begin(&c);
	log_write(LOG_LEVEL_INFO, many, "%s", many);
	catch_end(&c);
	for (const char *p = c.text; *p; p++)
		lines += *p == '\n';
	CHECK_EQ_UINT(lines, 1);
	CHECK(strlen(c.text) < 4096);
	CHECK(c.text[strlen(c.text) - 1] == '\n');
}

static void test_limit(void)
{
	static struct catch c;
	struct log_limit limit = {0};
	unsigned written = 0, lines = 0;

	catch_begin(&c);
	for (int i = 0; i < 1000; i++)
		written += log_write_limited(&limit, LOG_LEVEL_WARNING, "web", "refused: i=%d", i);
	catch_end(&c);
	for (const char *p = c.text; *p; p++)
		lines += *p == '\n';
	CHECK_EQ_UINT(written, LOG_LIMIT_BURST);
	CHECK_EQ_UINT(lines, LOG_LIMIT_BURST);
	limit.window_began -= LOG_LIMIT_INTERVAL_NS; /* the interval is over */
	catch_begin(&c);
	CHECK(log_write_limited(&limit, LOG_LEVEL_WARNING, "web", "again"));
	CHECK(log_write_limited(&limit, LOG_LEVEL_WARNING, "web", "and again"));
	CHECK_EQ_STR(catch_end(&c), "mprofd: warning: web: again (990 similar held back)\n"
				    "mprofd: warning: web: and again\n");
	limit = (struct log_limit){.burst = 3};
	catch_begin(&c);
	for (int i = 0; i < 5; i++)
		log_write_limited(&limit, LOG_LEVEL_INFO, NULL, "line %d", i);
	CHECK_EQ_STR(catch_end(&c), "mprofd: line 0\nmprofd: line 1\nmprofd: line 2\n");
}

static void test_debug(void)
{
	static struct catch c;

	setenv("MPROFD_DEBUG", "1", 1);
	setenv("JOURNAL_STREAM", "1:2", 1); /* the inode is not that of stderr, which was redirected */
	log_init("mprofd");
	catch_begin(&c);
	log_debug("wanted");
	CHECK_EQ_STR(catch_end(&c), "mprofd: debug: wanted\n");
}

/* The entries of the journal, one field per line. This test replaces libsystemd's function. */
static struct {
	char text[1024];
	int answer; /* result of the journal: 0 or -errno */
} journal;

int sd_journal_sendv(const struct iovec *fields, int n);

int sd_journal_sendv(const struct iovec *fields, int n)
{
	for (int i = 0; i < n; i++) {
		strncat(journal.text, fields[i].iov_base, fields[i].iov_len);
		strcat(journal.text, "\n");
	}
	return journal.answer;
}

static void journal_begin(struct catch *c, int answer)
{
	char stream[64];
	struct stat st;

	catch_begin(c);
	fstat(STDERR_FILENO, &st);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	journal.text[0] = '\0';
	journal.answer = answer;
	log_init("mprofd");
	log_write(LOG_LEVEL_WARNING, "web-1", "ring refused: pages=0");
	unsetenv("JOURNAL_STREAM");
}

/*
 * A line goes to the journal. If the journal refuses it, the line goes to stderr, with its
 * priority. A command's line goes to the journal alone.
 */
static void test_journal(void)
{
	static const char entry[] =
		"MESSAGE=web-1: ring refused: pages=0\nPRIORITY=4\nSYSLOG_IDENTIFIER=mprofd\nMPROF_GUEST=web-1\n";
	static struct catch c;

	journal_begin(&c, 0);
	CHECK_EQ_STR(catch_end(&c), "");
	CHECK_EQ_STR(journal.text, entry);
	journal_begin(&c, -ENOENT);
	CHECK_EQ_STR(catch_end(&c), "<4>mprofd: warning: web-1: ring refused: pages=0\n");
	CHECK_EQ_STR(journal.text, entry);
	log_init("mprofd");
	catch_begin(&c);
	journal.text[0] = '\0';
	log_journal_id("0123456789abcdef0123456789abcdef", "token %s\n was made", "x");
	CHECK_EQ_STR(catch_end(&c), "");
	CHECK_EQ_STR(journal.text, "MESSAGE=token x\\x0a was made\nPRIORITY=6\nSYSLOG_IDENTIFIER=mprofd\n"
				   "MESSAGE_ID=0123456789abcdef0123456789abcdef\n");
}

int main(void)
{
	unsetenv("MPROFD_DEBUG");
	unsetenv("JOURNAL_STREAM");
	CHECK_RUN(test_lines);
	CHECK_RUN(test_hostile);
	CHECK_RUN(test_limit);
	CHECK_RUN(test_debug);
	CHECK_RUN(test_journal);
	return check_done();
}
