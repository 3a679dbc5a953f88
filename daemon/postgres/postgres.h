/*
 * A connection to a PostgreSQL server. Only postgres.c includes libpq.
 *
 * Calls block: a connect for at most 10 s for each host of the connection string, a statement for at
 * most the time that postgres_new() got. They return 0, a postgres_condition, or -ENOMEM. After a
 * postgres_condition, postgres_sentence() says why. Not thread-safe: a connection belongs to one
 * thread at a time.
 */
#ifndef POSTGRES_POSTGRES_H
#define POSTGRES_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

enum postgres_condition {
	POSTGRES_E_LOST = 1, /* the server cannot be reached or did not answer: the connection is closed */
	POSTGRES_E_REFUSED,  /* the server answered with an error, whose SQLSTATE is postgres_state() */
};

struct postgres;

/*
 * Create a connection for CONNECTION, libpq's connection string, which is copied. PROGRAM (borrowed,
 * a constant) is the application name that the server shows. A statement that takes longer than
 * ANSWER_MS counts as a lost connection. Nothing is connected yet.
 */
int postgres_new(struct postgres **pp, const char *connection, const char *program, unsigned answer_ms);
struct postgres *postgres_free(struct postgres *p);
CLEANUP_DEFINE(struct postgres, postgres_free)

/* Return whether CONNECTION parses; else put a sentence into SENTENCE (SIZE bytes). */
bool postgres_connection_ok(const char *connection, char *sentence, size_t size);

/* Connect, unless connected: to the first host of the connection string that answers. */
int postgres_connect(struct postgres *p);
bool postgres_connected(const struct postgres *p);
void postgres_close(struct postgres *p);

/* Return why the last call failed: one line, valid until the next call. */
const char *postgres_sentence(const struct postgres *p);
/* Return the SQLSTATE of the last POSTGRES_E_REFUSED, or "" if the last failure had none. */
const char *postgres_state(const struct postgres *p);

#define POSTGRES_PARAMS_MAX 24
/* The parameters $1, $2, … of a statement. Start with {0}. Texts and bytes are borrowed until the call returns. */
struct postgres_params {
	int n;
	const char *values[POSTGRES_PARAMS_MAX];
	int lengths[POSTGRES_PARAMS_MAX], formats[POSTGRES_PARAMS_MAX];
	char digits[POSTGRES_PARAMS_MAX][24];
};
/* Add a parameter. At most POSTGRES_PARAMS_MAX; further ones fail an assertion. TEXT NULL is SQL's NULL. */
void postgres_add_text(struct postgres_params *params, const char *text);
void postgres_add_number(struct postgres_params *params, int64_t number);
/* Add at most INT_MAX bytes as a bytea. */
void postgres_add_bytes(struct postgres_params *params, const void *bytes, size_t n);

/* The rows of an answer, which the caller frees. */
struct postgres_rows;
struct postgres_rows *postgres_rows_free(struct postgres_rows *rows);
CLEANUP_DEFINE(struct postgres_rows, postgres_rows_free)

/*
 * Run the statement SQL with PARAMS (NULL = none). *ROWS gets its rows; ROWS NULL: they are not
 * wanted. An error leaves an open transaction failed: roll it back by postgres_rollback().
 */
int postgres_call(struct postgres *p, const char *sql, const struct postgres_params *params,
		  struct postgres_rows **rows);
/*
 * The same, with rows in PostgreSQL's binary form: bytea comes without being written in hexadecimal.
 * A column must be text, bytea, boolean, smallint, integer or bigint: SQL casts others to text.
 */
int postgres_call_binary(struct postgres *p, const char *sql, const struct postgres_params *params,
			 struct postgres_rows **rows);

/* Begin and commit a transaction, and roll back the open one, if there is one. */
int postgres_begin(struct postgres *p);
int postgres_commit(struct postgres *p);
void postgres_rollback(struct postgres *p);

/* Return the number of rows; 0 if ROWS is NULL. */
int postgres_count(const struct postgres_rows *rows);
/* Read column COLUMN of row ROW, both from 0; a place that is not there is as NULL. Values are valid until ROWS is freed. */
bool postgres_is_null(const struct postgres_rows *rows, int row, int column);
/* Return a text; "" for NULL. */
const char *postgres_text(const struct postgres_rows *rows, int row, int column);
/* Return an integer or a boolean (0 or 1); 0 for NULL. */
int64_t postgres_number(const struct postgres_rows *rows, int row, int column);
/* Return the *N bytes of a bytea of postgres_call_binary(). *N is 0 for NULL. */
const uint8_t *postgres_bytes(const struct postgres_rows *rows, int row, int column, size_t *n);

/*
 * Notifications (LISTEN is a statement of postgres_call()). Wait for input on postgres_fd(), which is
 * -1 without a connection, and then take what has come: CALL gets each channel and payload, borrowed.
 * POSTGRES_E_LOST: the connection is lost, and with it notifications may be.
 */
typedef void postgres_notify_call(void *context, const char *channel, const char *payload);
int postgres_fd(const struct postgres *p);
int postgres_notified(struct postgres *p, postgres_notify_call *call, void *context);

#endif
