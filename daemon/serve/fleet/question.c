/* Ask the fleet's database for an exchange, which is suspended meanwhile. */
#include "question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fleet.h"
#include "row-json.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MOST    1000u
#define PATTERNS      8192u

static void free_question(struct job *job)
{
	struct question *q = (struct question *)job;

	if (q->release)
		q->release(q);
	for (int i = 0; i < q->n; i++)
		free(q->params[i]);
	scopes_unref(q->scopes);
	json_decref(q->json);
	free(q);
}

void question_free(struct question *q)
{
	free_question(&q->job);
}

/* In a worker. */
static int run_question(struct job *job, struct postgres *p)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct question *q = (struct question *)job;
	struct postgres_params params = {0};
	int rc;

	json_decref(q->json);
	q->json = NULL;
	q->status = 0;
	if (q->lacks_memory || q->length >= sizeof(q->sql))
		return q->lacks_memory ? -ENOMEM : -E2BIG;
	for (int i = 0; i < q->n; i++)
		postgres_add_text(&params, q->params[i]);
	rc = postgres_call(p, q->sql, &params, &rows);
	return rc == 0 ? q->make(q, rows, p) : rc;
}

struct question *question_new(struct exchange *x, size_t size,
			      int (*make)(struct question *q, const struct postgres_rows *rows, struct postgres *p))
{
	struct question *q = calloc(1, size);

	if (!q) {
		exchange_reader_problem(x, -ENOMEM, "");
		return NULL;
	}
	q->job = (struct job){.run = run_question, .free = free_question};
	q->make = make;
	q->scopes = x->sees ? scopes_ref(x->who.scopes) : NULL;
	return q;
}

void question_sql(struct question *q, const char *format, ...)
{
	va_list args;
	int n;

	if (q->length >= sizeof(q->sql))
		return;
	va_start(args, format);
	n = vsnprintf(q->sql + q->length, sizeof(q->sql) - q->length, format, args);
	va_end(args);
	q->length += (size_t)n;
}

int question_param(struct question *q, const char *text)
{
	if (q->n == POSTGRES_PARAMS_MAX) {
		q->length = sizeof(q->sql);
		return 1;
	}
	q->params[q->n] = text ? strdup(text) : NULL;
	q->lacks_memory |= text && !q->params[q->n]; /* not asked without it */
	return ++q->n;
}

int question_number(struct question *q, int64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, number);
	return question_param(q, digits);
}

void question_hide(struct question *q)
{
	char patterns[PATTERNS];
	bool bytes;

	if (!q->scopes)
		return;
	if (!fleet_patterns(q->scopes, patterns, sizeof(patterns), &bytes))
		strcpy(patterns, "{}");
	question_sql(q, " AND %s ~ ANY ($%d::text[])",
		     bytes ? "convert_from(convert_to(host || '/' || guest, 'UTF8'), 'LATIN1')"
			   : "(host || '/' || guest)",
		     question_param(q, patterns));
}

void question_filter(struct question *q, struct exchange *x, const char *key, const char *column)
{
	const char *value = request_query(&x->request, key);

	if (value)
		question_sql(q, " AND %s = $%d", column, question_param(q, value));
}

bool question_limit(struct exchange *x, struct question *q)
{
	if (exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &q->limit))
		return true;
	question_free(q);
	return false;
}

bool fleet_query_host(struct exchange *x)
{
	const char *host = request_query(&x->request, "host");

	if (!host || fleet_is_host(host))
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "host must be the name of a host; see /v1/hosts.");
	return false;
}

static void free_work(void *work)
{
	struct job *job = work;

	workers_abandon(exchange_services(job->exchange)->fleet->workers, job);
}

void fleet_drop_work(struct exchange *x)
{
	if (x->work)
		x->work_free(x->work);
	x->work = NULL;
	x->work_free = NULL;
}

enum outcome question_ask(struct exchange *x, struct question *q)
{
	q->job.exchange = x;
	if (!workers_run(exchange_services(x)->fleet->workers, &q->job)) {
		question_free(q);
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"Too many requests wait for the fleet's database; try again.");
	}
	x->work = q;
	x->work_free = free_work;
	x->answer.deadline = clock_mono() + FLEET_ANSWER_NS;
	return OUTCOME_ANSWER;
}

enum outcome fleet_problem(struct exchange *x, const struct job *job)
{
	if (!job->is_done || job->rc == POSTGRES_E_LOST)
		return exchange_problem(
			x, MHD_HTTP_SERVICE_UNAVAILABLE,
			"The fleet's database does not answer; the server tries again by itself, so try "
			"later.");
	if (job->rc == POSTGRES_E_REFUSED && strcmp(job->state, "42501") == 0)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The fleet's database does not allow this to the server; grant its role what "
					"docs/fleet.md says.");
	if (job->rc == POSTGRES_E_REFUSED &&
	    (strcmp(job->state, "42P01") == 0 || strcmp(job->state, "42883") == 0 || strcmp(job->state, "3F000") == 0))
		return exchange_problem(
			x, MHD_HTTP_SERVICE_UNAVAILABLE,
			"The fleet's database lacks the schema of this version; run schema/fleet/migrate.");
	if (job->rc == POSTGRES_E_REFUSED)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The fleet's database cannot answer now (%s); the log has the reason.",
					job->state);
	if (job->rc == -ENOMEM)
		return exchange_reader_problem(x, -ENOMEM, "");
	return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "The request cannot be answered: %s.",
				strerror(-job->rc));
}

bool question_answered(struct exchange *x)
{
	const struct question *q = x->work;

	if (!q->job.is_done || q->job.rc != 0)
		fleet_problem(x, &q->job);
	else if (q->status)
		exchange_problem(x, q->status, "%s", q->detail);
	else
		return true;
	return false;
}

enum outcome question_answer(struct exchange *x)
{
	struct question *q = x->work;
	json_t *json;

	if (!question_answered(x))
		return OUTCOME_DONE;
	json = q->json;
	q->json = NULL;
	return exchange_json_with(x, MHD_HTTP_OK, json, q->etag[0] ? MHD_HTTP_HEADER_ETAG : NULL, q->etag);
}

/* ---- rows ---- */

json_t *row_text(const struct postgres_rows *rows, int row, int column)
{
	return postgres_is_null(rows, row, column) ? json_null() : json_text(postgres_text(rows, row, column));
}

json_t *row_number(const struct postgres_rows *rows, int row, int column)
{
	return postgres_is_null(rows, row, column) ? json_null() : json_integer(postgres_number(rows, row, column));
}

json_t *row_bool(const struct postgres_rows *rows, int row, int column)
{
	return json_boolean(postgres_number(rows, row, column));
}
