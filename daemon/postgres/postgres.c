/*
 * libpq: connect, run a statement, and tell conditions apart.
 *
 * A connection that is dead is noticed by the kernel (keepalives and tcp_user_timeout), and an answer
 * that does not come within the connection's limit counts as a lost connection.
 */
#include "postgres.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum { FORMAT_TEXT = 0, FORMAT_BINARY = 1 };

struct postgres {
	char *connection;
	const char *program;
	unsigned answer_ms;
	PGconn *conn;
	char sentence[512];
	char state[6]; /* SQLSTATE of the last failure; "" = there is none */
	bool in_transaction;
};

struct postgres_rows {
	PGresult *result;
};

/* ---- parameters ------------------------------------------------------------------------------- */

void postgres_add_text(struct postgres_params *params, const char *text)
{
	assert(params->n < POSTGRES_PARAMS_MAX);
	params->values[params->n++] = text;
}

void postgres_add_number(struct postgres_params *params, int64_t number)
{
	assert(params->n < POSTGRES_PARAMS_MAX);
	snprintf(params->digits[params->n], sizeof(params->digits[0]), "%" PRId64, number);
	params->values[params->n] = params->digits[params->n];
	params->n++;
}

void postgres_add_bytes(struct postgres_params *params, const void *bytes, size_t n)
{
	assert(params->n < POSTGRES_PARAMS_MAX);
	params->values[params->n] = n ? bytes : "";
	params->lengths[params->n] = (int)n;
	params->formats[params->n++] = FORMAT_BINARY;
}

/* ---- the connection --------------------------------------------------------------------------- */

int postgres_new(struct postgres **pp, const char *connection, const char *program, unsigned answer_ms)
{
	CLEANUP(postgres_freep) struct postgres *p = calloc(1, sizeof(*p));

	if (!p || !(p->connection = strdup(connection)))
		return -ENOMEM;
	p->program = program;
	p->answer_ms = answer_ms;
	*pp = TAKE_PTR(p);
	return 0;
}

struct postgres *postgres_free(struct postgres *p)
{
	if (!p)
		return NULL;
	postgres_close(p);
	free(p->connection);
	free(p);
	return NULL;
}

void postgres_close(struct postgres *p)
{
	PQfinish(p->conn);
	p->conn = NULL;
	p->in_transaction = false;
}

const char *postgres_sentence(const struct postgres *p)
{
	return p->sentence;
}

const char *postgres_state(const struct postgres *p)
{
	return p->state;
}

bool postgres_connected(const struct postgres *p)
{
	return p->conn != NULL;
}

/* Copy TEXT, whose lines libpq ends, as one line to OUT (SIZE bytes). */
static void one_line(const char *text, char *out, size_t size)
{
	size_t n = 0;

	for (; *text && n + 2 < size; text++) {
		if (*text != '\n' && *text != '\t')
			out[n++] = *text;
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

bool postgres_connection_ok(const char *connection, char *sentence, size_t size)
{
	char *error = NULL;
	PQconninfoOption *options = PQconninfoParse(connection, &error);

	if (!options)
		one_line(error ? error : "out of memory", sentence, size);
	PQfreemem(error);
	PQconninfoFree(options);
	return options != NULL;
}

static int fail_connection(struct postgres *p)
{
	one_line(p->conn ? PQerrorMessage(p->conn) : "out of memory", p->sentence, sizeof(p->sentence));
	p->state[0] = '\0';
	postgres_close(p);
	return POSTGRES_E_LOST;
}

/* Leave out what the server wants to say beside its answers: libpq would print it. */
static void ignore_notice(void *context, const char *message)
{
	(void)context;
	(void)message;
}

int postgres_connect(struct postgres *p)
{
	/* The connection string overrides those before it, as it is expanded behind them. */
	static const char *const names[] = {"connect_timeout",
					    "keepalives_idle",
					    "keepalives_interval",
					    "keepalives_count",
					    "tcp_user_timeout",
					    "application_name",
					    "options",
					    "dbname",
					    "client_encoding",
					    NULL};
	/*
	 * Compiling a plan over the partitions of all hosts takes many times as long as running it. A server looks
	 * each second whether we are still there, and ends the statement of a program that is not.
	 */
	static const char options[] = "-c jit=off -c client_connection_check_interval=1000";
	const char *const values[] = {"10", "30", "10", "3", "60000", p->program, options, p->connection, "UTF8", NULL};

	if (p->conn)
		return 0;
	p->conn = PQconnectdbParams(names, values, 1);
	if (!p->conn || PQstatus(p->conn) != CONNECTION_OK)
		return fail_connection(p);
	PQsetNoticeProcessor(p->conn, ignore_notice, NULL);
	return 0;
}

/* ---- statements ------------------------------------------------------------------------------- */

/* Wait for the answer to the statement that was sent. Return it, or NULL if the connection is lost. */
static PGresult *answer(struct postgres *p)
{
	const uint64_t until = clock_mono() + p->answer_ms * NS_PER_MS;
	PGresult *result = NULL, *next;

	for (;;) {
		struct pollfd fd = {.fd = PQsocket(p->conn), .events = POLLIN};
		uint64_t now = clock_mono();
		int n = 0;

		while (!PQisBusy(p->conn)) {
			next = PQgetResult(p->conn);
			if (!next)
				return result;
			PQclear(result);
			result = next;
		}
		if (now < until)
			n = poll(&fd, 1, (int)((until - now) / NS_PER_MS) + 1);
		if (now >= until || (n < 0 && errno != EINTR) || (n > 0 && !PQconsumeInput(p->conn))) {
			PQclear(result);
			return NULL;
		}
	}
}

/* Turn the failed RESULT, or NULL, into a condition. */
static int fail_call(struct postgres *p, PGresult *result)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	char line[448];

	if (!message && PQstatus(p->conn) == CONNECTION_OK) {
		p->state[0] = '\0';
		snprintf(p->sentence, sizeof(p->sentence), "the server did not answer within %u s",
			 p->answer_ms / 1000u);
		postgres_close(p);
	} else if (!message) {
		fail_connection(p);
	} else {
		snprintf(p->state, sizeof(p->state), "%s", state ? state : "");
		one_line(message, line, sizeof(line));
		snprintf(p->sentence, sizeof(p->sentence), "%s (%s)", line, state ? state : "no SQLSTATE");
		if (PQstatus(p->conn) != CONNECTION_OK)
			postgres_close(p);
	}
	PQclear(result);
	return p->conn ? POSTGRES_E_REFUSED : POSTGRES_E_LOST;
}

static int run(struct postgres *p, const char *sql, const struct postgres_params *params, int format,
	       struct postgres_rows **rows)
{
	static const struct postgres_params none = {0};
	PGresult *result = NULL;
	ExecStatusType status;

	if (!params)
		params = &none;
	if (!p->conn) {
		p->state[0] = '\0';
		snprintf(p->sentence, sizeof(p->sentence), "there is no connection");
		return POSTGRES_E_LOST;
	}
	if (!PQsendQueryParams(p->conn, sql, params->n, NULL, params->values, params->lengths, params->formats, format))
		return fail_connection(p);
	result = answer(p);
	status = PQresultStatus(result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		return fail_call(p, result);
	if (rows) {
		*rows = malloc(sizeof(**rows));
		if (*rows)
			(*rows)->result = result;
		else
			PQclear(result);
		return *rows ? 0 : -ENOMEM;
	}
	PQclear(result);
	return 0;
}

int postgres_call(struct postgres *p, const char *sql, const struct postgres_params *params,
		  struct postgres_rows **rows)
{
	return run(p, sql, params, FORMAT_TEXT, rows);
}

int postgres_call_binary(struct postgres *p, const char *sql, const struct postgres_params *params,
			 struct postgres_rows **rows)
{
	return run(p, sql, params, FORMAT_BINARY, rows);
}

int postgres_begin(struct postgres *p)
{
	int r = postgres_call(p, "BEGIN", NULL, NULL);

	p->in_transaction = r == 0;
	return r;
}

int postgres_commit(struct postgres *p)
{
	int r = postgres_call(p, "COMMIT", NULL, NULL);

	p->in_transaction = false;
	return r;
}

void postgres_rollback(struct postgres *p)
{
	if (p->in_transaction && p->conn) {
		p->in_transaction = false;
		PQclear(PQexec(p->conn, "ROLLBACK"));
	}
}

/* ---- rows ------------------------------------------------------------------------------------- */

struct postgres_rows *postgres_rows_free(struct postgres_rows *rows)
{
	if (rows)
		PQclear(rows->result);
	free(rows);
	return NULL;
}

int postgres_count(const struct postgres_rows *rows)
{
	return rows ? PQntuples(rows->result) : 0;
}

bool postgres_is_null(const struct postgres_rows *rows, int row, int column)
{
	return row < 0 || row >= postgres_count(rows) || column < 0 || column >= PQnfields(rows->result) ||
	       PQgetisnull(rows->result, row, column);
}

const char *postgres_text(const struct postgres_rows *rows, int row, int column)
{
	return postgres_is_null(rows, row, column) ? "" : PQgetvalue(rows->result, row, column);
}

int64_t postgres_number(const struct postgres_rows *rows, int row, int column)
{
	const uint8_t *bytes;
	uint64_t number;
	int n;

	if (postgres_is_null(rows, row, column))
		return 0;
	bytes = (const uint8_t *)PQgetvalue(rows->result, row, column);
	if (PQfformat(rows->result, column) == FORMAT_TEXT)
		return bytes[0] == 't' ? 1 : strtoll((const char *)bytes, NULL, 10);
	/* big-endian, with a sign if it is an integer of any size */
	n = PQgetlength(rows->result, row, column);
	number = n > 1 && bytes[0] & 0x80 ? UINT64_MAX : 0;
	for (int i = 0; i < n && i < 8; i++)
		number = number << 8 | bytes[i];
	return (int64_t)number;
}

const uint8_t *postgres_bytes(const struct postgres_rows *rows, int row, int column, size_t *n)
{
	static const uint8_t nothing[1];

	*n = 0;
	if (postgres_is_null(rows, row, column))
		return nothing;
	*n = (size_t)PQgetlength(rows->result, row, column);
	return (const uint8_t *)PQgetvalue(rows->result, row, column);
}

/* ---- notifications ---------------------------------------------------------------------------- */

int postgres_fd(const struct postgres *p)
{
	return p->conn ? PQsocket(p->conn) : -1;
}

int postgres_notified(struct postgres *p, postgres_notify_call *call, void *context)
{
	PGnotify *notify;

	if (!p->conn || !PQconsumeInput(p->conn))
		return fail_connection(p);
	while ((notify = PQnotifies(p->conn)) != NULL) {
		call(context, notify->relname, notify->extra);
		PQfreemem(notify);
	}
	return 0;
}
