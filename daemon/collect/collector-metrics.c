/*
 * The collector's metrics as OpenMetrics text. mprofd-http asks for them over the control socket to
 * answer /metrics.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "array.h"
#include "collector.h"

#define SILENT_NS (60 * NS_PER_S) /* a forwarder that reports nothing for so long counts as gone */

struct metric {
	const char *name, *type, *help;
	uint64_t value;
};

/*
 * Append metric M to TEXT at AT. If NS, its value is in ns and is written in seconds. Return the new
 * end of the text, or AT if the metric does not fit.
 */
static size_t metric_put(char *text, size_t size, size_t at, const struct metric *m, bool ns)
{
	const char *suffix = strcmp(m->type, "counter") == 0 ? "_total" : "";
	char value[48];
	int n;

	if (ns)
		snprintf(value, sizeof(value), "%" PRIu64 ".%09" PRIu64, (uint64_t)(m->value / NS_PER_S),
			 (uint64_t)(m->value % NS_PER_S));
	else
		snprintf(value, sizeof(value), "%" PRIu64, m->value);
	n = snprintf(text + at, size - at, "# TYPE %s %s\n# HELP %s %s\n%s%s %s\n", m->name, m->type, m->name, m->help,
		     m->name, suffix, value);
	if (n < 0 || (size_t)n >= size - at) {
		text[at] = '\0';
		return at;
	}
	return at + (size_t)n;
}

/* Return the bytes that are free on the file system of the archive, or 0 if that is not known. */
static uint64_t disk_free(const struct collector *c)
{
	struct statvfs st;

	if (!c->file.path || statvfs(c->file.path, &st) < 0)
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

/* Truncate the text of a source behind its last whole line. */
static void lines_cut(char *text, size_t size)
{
	char *end = memchr(text, '\0', size);

	if (!end)
		end = text + size - 1;
	while (end > text && end[-1] != '\n')
		end--;
	*end = '\0';
}

/* Append the metrics of the outbox and of mprofd-forward to TEXT at AT. Return the new end of the text. */
static size_t fleet_put(const struct collector *c, char *text, size_t size, size_t at)
{
	const struct archive_outbox *outbox = &c->archive.outbox;
	const struct forwarding *f = &c->forwarding;
	const uint64_t real = clock_real();
	const bool alive = f->at && clock_mono() - f->at < SILENT_NS;
	const struct metric metrics[] = {
		{"mprofd_outbox_rows", "gauge", "Captures, streams and losses that wait to be sent to the hub.",
		 outbox->rows},
		{"mprofd_outbox_oldest_seconds", "gauge", "Age of the oldest row of the outbox.",
		 outbox->oldest_real && outbox->oldest_real < real ? (real - outbox->oldest_real) / NS_PER_S : 0},
		{"mprofd_outbox_lost_packets", "counter", "Packets deleted before they were sent to the hub.",
		 outbox->lost_packets},
		{"mprofd_outbox_lost_captures", "counter", "Captures deleted before they were sent to the hub.",
		 outbox->lost_captures},
		{"mprofd_outbox_untold", "counter", "Losses that the hub will not be told of: there were too many.",
		 outbox->untold},
		{"mprofd_outbox_damaged", "counter", "Rows of the outbox that were damaged or missing.",
		 outbox->damaged},
		{"mprofd_forward_connected", "gauge", "1 while mprofd-forward has a connection to the hub.",
		 alive && f->connected},
		{"mprofd_forward_captures", "counter", "Captures that the hub has acknowledged.", f->captures},
		{"mprofd_forward_packets", "counter", "Packets that the hub has acknowledged.", f->packets},
		{"mprofd_forward_bytes", "counter", "Bytes that the hub has acknowledged.", f->bytes},
		{"mprofd_forward_refused", "counter", "Rows of the outbox that the hub refused for good.", f->refused},
		{"mprofd_forward_compared", "counter", "Comparisons of what the host and the hub hold.", f->compared},
		{"mprofd_forward_again", "counter",
		 "Captures, and streams with packets, that the hub lacked and that are sent again.", f->again},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		at = metric_put(text, size, at, &metrics[i], false);
	return at;
}

/* Append the metric NAME_total, a counter, with VALUES by the reason of a deletion. Return the new end of the text. */
static size_t deletions_put(char *text, size_t size, size_t at, const char *name, const char *help,
			    const uint64_t values[DELETION_REASONS])
{
	size_t end = at;
	int n = snprintf(text + at, size - at, "# TYPE %s counter\n# HELP %s %s\n", name, name, help);

	for (int i = 0; i < DELETION_REASONS && n >= 0 && (size_t)n < size - end; i++) {
		end += (size_t)n;
		n = snprintf(text + end, size - end, "%s_total{reason=\"%s\"} %" PRIu64 "\n", name,
			     deletion_reason_name((enum deletion_reason)i), values[i]);
	}
	if (n < 0 || (size_t)n >= size - end) {
		text[at] = '\0';
		return at;
	}
	return end + (size_t)n;
}

/* Append the metrics that are one number. Return the new end of the text. */
static size_t numbers_put(const struct collector *c, char *text, size_t size)
{
	const struct queue_level level = queue_level(c->queue);
	const __typeof__(c->shared.counters) *n = &c->shared.counters;
	const struct metric metrics[] = {
		{"mprofd_looks", "counter", "Polls of rings.", n->polls},
		{"mprofd_copied_bytes", "counter", "Proven bytes copied out of rings.", n->bytes},
		{"mprofd_gaps", "counter", "Gaps declared.", n->gaps},
		{"mprofd_lost_packets", "counter", "Packets lost wholly or in part.", n->lost_packets},
		{"mprofd_recovered_packets", "counter", "Packets counted as lost and copied after all.",
		 n->recovered_packets},
		{"mprofd_skipped_packets", "counter", "Packets not wanted by policy.", n->skipped_packets},
		{"mprofd_queue_full", "counter", "Times that the queue had no room.", n->queue_full},
		{"mprofd_evicted_bytes", "counter", "Bytes taken back from the living for the dead.", n->evicted_bytes},
		{"mprofd_dropped_copies", "counter", "Copies dropped because the packet changed meanwhile.",
		 n->dropped_copies},
		{"mprofd_bad_sizes", "counter", "Impossible packet sizes, refused.", n->bad_sizes},
		{"mprofd_unsteady_headers", "counter", "Headers that changed while they were read.", n->unsteady},
		{"mprofd_captures", "counter", "Captures begun.", n->captures},
		{"mprofd_refused_rings", "counter", "Files that were found and are no ring.", n->refused_rings},
		{"mprofd_commits", "counter", "Transactions of the archive.", c->archive.serial},
		{"mprofd_committed_bytes", "counter", "Content bytes committed.", c->archive.bytes},
		{"mprofd_damaged_pieces", "counter", "Rows of the archive that do not agree with their checksums.",
		 c->archive.damaged_pieces},
		{"mprofd_damaged_packets", "counter", "Packets lost wholly or in part to damage on the disk.",
		 c->archive.damaged_packets},
		{"mprofd_lost_commits", "counter", "Commits that a damaged log had lost when the archive was opened.",
		 c->archive.lost_commits},
		{"mprofd_queue_bytes", "gauge", "Bytes that were copied and are not committed yet, with overhead.",
		 level.bytes},
		{"mprofd_queue_limit_bytes", "gauge", "Most bytes that may be queued.", level.limit},
		{"mprofd_uncommitted_seconds", "gauge", "Age of the oldest bytes that are not committed.",
		 level.oldest ? (clock_mono() - level.oldest) / NS_PER_S : 0},
		{"mprofd_archiving", "gauge", "1 while the archive takes bytes.", c->archive.archiving},
		{"mprofd_clock_steps", "counter", "Times that the system clock was set.", c->archive.clock.steps},
		{"mprofd_age_clock_damaged", "counter",
		 "Times that the archive's age clock began anew, as its rows were damaged.", c->archive.clock.damaged},
		{"mprofd_clock_synchronised", "gauge", "1 while the kernel says that the system clock is synchronised.",
		 c->archive.clock.is_synchronised},
		{"mprofd_disk_free_bytes", "gauge", "Bytes free on the file system of the archive.", disk_free(c)},
		{"mprofd_disk_kept_free_bytes", "gauge", "If fewer are free, the oldest packets are deleted.",
		 c->config ? config_free_space(c->config) : 0},
	};
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		at = metric_put(text, size, at, &metrics[i], false);
	return at;
}

void collector_metrics(const struct collector *c, char *text, size_t size)
{
	const struct metric seconds = {"mprofd_commit_seconds", "counter", "Time spent in transactions of the archive.",
				       c->archive.commit_ns};
	size_t at;

	text[0] = '\0';
	at = numbers_put(c, text, size);
	at = metric_put(text, size, at, &seconds, true);
	at = deletions_put(text, size, at, "mprofd_deleted_packets", "Packets deleted from the archive.",
			   c->archive.deleted.packets);
	at = deletions_put(text, size, at, "mprofd_deleted_captures", "Captures deleted from the archive.",
			   c->archive.deleted.captures);
	at = deletions_put(text, size, at, "mprofd_deleted_outbox_rows",
			   "Rows of the outbox that were deleted without being sent.", c->archive.deleted.outbox);
	if (c->shared.sends)
		at = fleet_put(c, text, size, at);
	if (!c->source || !c->source->metrics)
		return;
	c->source->metrics(c->source, text + at, size - at);
	lines_cut(text + at, size - at);
}
