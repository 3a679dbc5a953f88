/* /readyz and /metrics of a hub. */
#include <errno.h>
#include <stdio.h>

#include "copies.h"
#include "fleet-feed.h"
#include "fleet.h"
#include "hub-routes.h"
#include "memory-stream.h"
#include "metrics.h"
#include "question.h"

static int make_ready(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	(void)rows;
	(void)p;
	q->json = json_pack("{s:s}", "status", "ok");
	return q->json ? 0 : -ENOMEM;
}

enum outcome hub_get_ready(struct exchange *x)
{
	struct question *q;

	if (x->work)
		return question_answer(x);
	q = question_new(x, sizeof(*q), make_ready);
	if (!q)
		return OUTCOME_DONE;
	question_sql(
		q,
		"SELECT (SELECT count(*) FROM (SELECT FROM fleet.captures LIMIT 1) c), (SELECT count(*) FROM (SELECT "
		"FROM fleet.changes LIMIT 1) h), fleet.epoch()");
	return question_ask(x, q);
}

enum outcome hub_get_metrics(struct exchange *x)
{
	CLEANUP(freep) char *text = NULL;
	struct fleet *fleet = exchange_services(x)->fleet;
	struct http_counts counts = http_counts(x->http);
	struct workers_counts workers = workers_counts(fleet->workers);
	struct copies_counts copies = copies_counts(fleet->copies);
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return exchange_reader_problem(x, -ENOMEM, "");
	metrics_put_http(out, &counts, exchange_services(x));
	metrics_put(out, "mprofd_hub_connected", "gauge",
		    "Whether the fleet's database answered when it was asked last.",
		    workers.connected && feed_ready(fleet->feed));
	metrics_put(out, "mprofd_hub_questions", "counter", "Questions to the fleet's database.", workers.jobs);
	metrics_put(out, "mprofd_hub_questions_failed", "counter",
		    "Questions that the database did not answer, or refused.", workers.failures);
	metrics_put(out, "mprofd_hub_questions_waiting", "gauge", "Questions that wait for a connection.",
		    workers.waiting);
	metrics_put(out, "mprofd_hub_copies", "gauge", "Copies of captures that are kept.", copies.copies);
	metrics_put(out, "mprofd_hub_copies_bytes", "gauge", "Bytes of these copies.", copies.bytes);
	metrics_put(out, "mprofd_hub_copies_made", "counter", "Copies of captures that were made.", copies.made);
	metrics_put(out, "mprofd_hub_copies_failed", "counter", "Copies of captures that could not be made.",
		    copies.failed);
	metrics_put(out, "mprofd_hub_events", "counter", "Changes of captures that were read from the database.",
		    feed_newest(fleet->feed));
	fputs("# EOF\n", out);
	if (!memory_stream_close(out, &text))
		return exchange_reader_problem(x, -ENOMEM, "");
	return metrics_respond(x, text);
}
