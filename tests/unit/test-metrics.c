/*
 * The collector's metrics: the text has only whole lines, whatever the source writes and however
 * small the buffer is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "collector.h"

static void write_lines(const struct source *source, char *text, size_t size)
{
	int n = 0;

	(void)source;
	for (unsigned i = 0; n >= 0 && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "mprofd_refused_total{reason=\"%u\"} 1\n", i);
}

static void write_one(const struct source *source, char *text, size_t size)
{
	(void)source;
	snprintf(text, size, "mprofd_one{reason=\"x\"} 1\n");
}

static void write_unended(const struct source *source, char *text, size_t size)
{
	(void)source;
	memset(text, 'x', size);
}

static void write_nothing(const struct source *source, char *text, size_t size)
{
	(void)source;
	(void)text;
	(void)size;
}

/* Return whether each line is a comment, or a name with a number. */
static bool lines_ok(const char *text)
{
	while (*text) {
		const char *end = strchr(text, '\n'), *space = end;

		if (!end)
			return false;
		while (space > text && space[-1] != ' ')
			space--;
		if (*text != '#' && (space == text || strspn(space, "0123456789.") != (size_t)(end - space)))
			return false;
		text = end + 1;
	}
	return true;
}

static void test_own(void)
{
	struct collector c = {.queue = queue_new(1000, 1000, 0)};
	char text[8192];

	c.archive.commit_ns = 1020000003;
	c.shared.counters.bad_sizes = 11;
	c.shared.counters.unsteady = 12;
	c.shared.counters.evicted_bytes = 13;
	c.shared.counters.recovered_packets = 14;
	collector_metrics(&c, text, sizeof(text)); /* there is no source yet */
	CHECK(lines_ok(text));
	CHECK(strstr(text, "\nmprofd_bad_sizes_total 11\n") && strstr(text, "\nmprofd_unsteady_headers_total 12\n"));
	CHECK(strstr(text, "\nmprofd_evicted_bytes_total 13\n") && strstr(text, "\nmprofd_archiving 0\n"));
	CHECK(strstr(text, "\nmprofd_recovered_packets_total 14\n"));
	CHECK(strstr(text, "\nmprofd_commit_seconds_total 1.020000003\n"));
	CHECK(strstr(text, "\nmprofd_queue_limit_bytes 1000\n") && strstr(text, "\nmprofd_disk_free_bytes 0\n"));
	c.source = &(struct source){0};
	collector_metrics(&c, text, sizeof(text));
	CHECK(lines_ok(text));
	c.queue = queue_free(c.queue);
}

static void test_source(void)
{
	static const struct source sources[] = {{.metrics = write_lines},
						{.metrics = write_one},
						{.metrics = write_unended},
						{.metrics = write_nothing}};
	struct collector c = {.queue = queue_new(1000, 1000, 0)};
	char room[8192 + 1];

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct source source = sources[i];

		c.source = &source;
		for (size_t size = 1; size < sizeof(room); size++) {
			memset(room, 'y', sizeof(room));
			collector_metrics(&c, room, size);
			if (!CHECK(memchr(room, '\0', size) && lines_ok(room) && room[size] == 'y'))
				break;
		}
		CHECK(strstr(room, "mprofd_looks_total") != NULL);
		CHECK_EQ_INT(strstr(room, "mprofd_refused_total{reason=\"9\"} 1\n") != NULL, i == 0);
		CHECK_EQ_INT(strstr(room, "mprofd_one{reason=\"x\"} 1\n") != NULL, i == 1);
	}
	c.queue = queue_free(c.queue);
}

int main(void)
{
	CHECK_RUN(test_own);
	CHECK_RUN(test_source);
	return check_done();
}
