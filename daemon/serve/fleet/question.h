/*
 * A question: one statement that a worker sends to the fleet's database, and the answer's JSON that it makes of
 * the rows. A handler makes the question at its first call, and answers with it at the second.
 */
#ifndef SERVE_QUESTION_H
#define SERVE_QUESTION_H

#include <jansson.h>

#include "exchange.h"
#include "fleet-names.h"
#include "workers.h"

#define QUESTION_SQL 6144u

/* A time of the database as the API writes it. */
#define SQL_TIME(column) "to_char((" column ") AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"000Z\"')"

struct question {
	struct job job;
	char sql[QUESTION_SQL];
	size_t length;	   /* of SQL; more than its room: it did not fit */
	bool lacks_memory; /* for a parameter */
	int n;
	char *params[POSTGRES_PARAMS_MAX]; /* owned; NULL: SQL's NULL */
	struct scopes *scopes;		   /* the guests that the client may read; a reference; NULL: all */
	/*
	 * Called in a worker: make JSON of ROWS, or set STATUS and DETAIL. Return 0, a postgres_condition or
	 * -errno. P: for further statements.
	 */
	int (*make)(struct question *q, const struct postgres_rows *rows, struct postgres *p);
	void (*release)(struct question *q); /* release what MAKE's own members have; NULL: nothing */
	uint64_t limit;			     /* rows of a page */
	json_t *json;			     /* the answer */
	unsigned status;		     /* 0: 200 with JSON; else a problem with DETAIL */
	char detail[256];
	char etag[64]; /* "": none */
};

/*
 * Create a question for X, of SIZE bytes, which begin with a struct question and are 0 behind it. NULL: the
 * request was answered with an error.
 */
struct question *question_new(struct exchange *x, size_t size,
			      int (*make)(struct question *q, const struct postgres_rows *rows, struct postgres *p));
/* Append to the statement. FORMAT is the program's own: a value of a client is a parameter. */
__attribute__((format(printf, 2, 3))) void question_sql(struct question *q, const char *format, ...);
/* Add a parameter, which is copied. Return its number. */
int question_param(struct question *q, const char *text);
int question_number(struct question *q, int64_t number);
/* Append " AND …", so that only rows of guests come that the client may read; they have columns host and guest. */
void question_hide(struct question *q);
/* Append " AND COLUMN = …" if the request has the query parameter KEY. */
void question_filter(struct question *q, struct exchange *x, const char *key, const char *column);
/*
 * Take the query's limit and append nothing. Return false if it is no number from 1 to 1,000; the request is
 * answered then, and Q freed.
 */
bool question_limit(struct exchange *x, struct question *q);
/* Check the query's host. Return false if it is no name of a host; the request is answered then. */
bool fleet_query_host(struct exchange *x);

/* Ask Q, whose owner X becomes. Return what the handler returns. */
enum outcome question_ask(struct exchange *x, struct question *q);
/* Free Q, which was not asked. */
void question_free(struct question *q);
/*
 * Return whether the question of X has an answer, which is X->work. If not, or if it is a problem, the request is
 * answered.
 */
bool question_answered(struct exchange *x);
/* Answer X with its question's answer. */
enum outcome question_answer(struct exchange *x);
/* Answer that JOB failed. */
enum outcome fleet_problem(struct exchange *x, const struct job *job);
/* Release the job or question of X, so that the handler may use X->work for something else. */
void fleet_drop_work(struct exchange *x);

/* Return a JSON text of a column, null for NULL. */
json_t *row_text(const struct postgres_rows *rows, int row, int column);
json_t *row_number(const struct postgres_rows *rows, int row, int column);
json_t *row_bool(const struct postgres_rows *rows, int row, int column);

/* Wait at most so long for an answer, or for a copy, in ns. */
#define FLEET_ANSWER_NS 40000000000ull
#define FLEET_COPY_NS	300000000000ull

#endif
