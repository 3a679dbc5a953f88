/*
 * libpq: connect, call a function, and tell conditions by their SQLSTATE.
 *
 * A connection that is dead is noticed by the kernel (keepalives and tcp_user_timeout), and an answer
 * that does not come within ANSWER_MS counts as a lost connection.
 */
#include "hub.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"

#define CONTRACT   "1" /* version of schema/fleet that this program speaks */
#define ANSWER_MS  (120u * 1000u)
#define PARAMS_MAX 16
#define SUM_BYTES  32
#define INVENTORY  "10000" /* rows of an inventory at a time */

struct hub {
	char *connection;
	PGconn *conn;
	char archive[HUB_UUID_BYTES];
	char sentence[512];
	char state[6]; /* SQLSTATE of the last failure; "" = there is none */
	bool in_transaction;
	PGresult *pieces; /* pieces of an open capture; NULL = none */
	int piece;	  /* the next one of them */
};

/* Parameters of a call. Texts are borrowed; numbers have their digits here. */
struct call {
	int n;
	const char *values[PARAMS_MAX];
	int lengths[PARAMS_MAX], formats[PARAMS_MAX];
	char digits[PARAMS_MAX][24];
};

static void add_text(struct call *c, const char *text)
{
	c->values[c->n++] = text;
}

static void add_number(struct call *c, int64_t number)
{
	snprintf(c->digits[c->n], sizeof(c->digits[0]), "%" PRId64, number);
	c->values[c->n] = c->digits[c->n];
	c->n++;
}

static void add_bytes(struct call *c, const void *bytes, size_t n)
{
	c->values[c->n] = n ? bytes : "";
	c->lengths[c->n] = (int)n;
	c->formats[c->n++] = 1;
}

/* ---- the connection --------------------------------------------------------------------------- */

int hub_new(struct hub **hp, const char *connection)
{
	CLEANUP(hub_freep) struct hub *h = calloc(1, sizeof(*h));

	if (!h || !(h->connection = strdup(connection)))
		return -ENOMEM;
	*hp = TAKE_PTR(h);
	return 0;
}

struct hub *hub_free(struct hub *h)
{
	if (!h)
		return NULL;
	hub_close(h);
	free(h->connection);
	free(h);
	return NULL;
}

void hub_close(struct hub *h)
{
	PQclear(h->pieces);
	h->pieces = NULL;
	PQfinish(h->conn);
	h->conn = NULL;
	h->in_transaction = false;
}

const char *hub_sentence(const struct hub *h)
{
	return h->sentence;
}

const char *hub_state(const struct hub *h)
{
	return h->state;
}

bool hub_connected(const struct hub *h)
{
	return h->conn != NULL;
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

bool hub_connection_ok(const char *connection, char *sentence, size_t size)
{
	char *error = NULL;
	PQconninfoOption *options = PQconninfoParse(connection, &error);

	if (!options)
		one_line(error ? error : "out of memory", sentence, size);
	PQfreemem(error);
	PQconninfoFree(options);
	return options != NULL;
}

static int fail_connection(struct hub *h)
{
	char line[448];

	one_line(h->conn ? PQerrorMessage(h->conn) : "out of memory", line, sizeof(line));
	h->state[0] = '\0';
	snprintf(h->sentence, sizeof(h->sentence), "%s", line);
	hub_close(h);
	return HUB_E_LOST;
}

/* Leave out what the hub wants to say beside its answers: libpq would print it. */
static void ignore_notice(void *context, const char *message)
{
	(void)context;
	(void)message;
}

/* Connect to the first of the hosts in the connection string that answers. */
static int connect_hub(struct hub *h)
{
	/* The connection string overrides those before it, as it is expanded behind them. */
	static const char *const names[] = {"connect_timeout",	"keepalives_idle",  "keepalives_interval",
					    "keepalives_count", "tcp_user_timeout", "application_name",
					    "dbname",		"client_encoding",  NULL};
	const char *const values[] = {"10", "30", "10", "3", "60000", "mprofd-forward", h->connection, "UTF8", NULL};

	h->conn = PQconnectdbParams(names, values, 1);
	if (!h->conn || PQstatus(h->conn) != CONNECTION_OK)
		return fail_connection(h);
	PQsetNoticeProcessor(h->conn, ignore_notice, NULL);
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Return the condition of an error's SQLSTATE. */
static enum hub_condition condition_of(const char *state)
{
	static const struct {
		const char *state;
		enum hub_condition condition;
	} conditions[] = {
		{"MP001", HUB_E_STRANGER}, {"MP002", HUB_E_STRANGER}, {"MP003", HUB_E_STRANGER},
		{"MP004", HUB_E_LATER},	   {"MP005", HUB_E_PAST},     {"MP006", HUB_E_REFUSED},
		{"MP007", HUB_E_AGAIN},	   {"MP008", HUB_E_REFUSED},  {"MP009", HUB_E_AGAIN},
		{"MP010", HUB_E_LATER},
	};

	for (size_t i = 0; state && i < ARRAY_SIZE(conditions); i++)
		if (strcmp(conditions[i].state, state) == 0)
			return conditions[i].condition;
	return HUB_E_LOST;
}

/* Wait for the answer to the query that was sent. Return it, or NULL if the connection is lost. */
static PGresult *answer(struct hub *h)
{
	const uint64_t until = clock_mono() + ANSWER_MS * NS_PER_MS;
	PGresult *result = NULL, *next;

	for (;;) {
		struct pollfd p = {.fd = PQsocket(h->conn), .events = POLLIN};
		uint64_t now = clock_mono();

		while (!PQisBusy(h->conn)) {
			next = PQgetResult(h->conn);
			if (!next)
				return result;
			PQclear(result);
			result = next;
		}
		if (now >= until || poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) < 0 || !PQconsumeInput(h->conn)) {
			PQclear(result);
			return NULL;
		}
	}
}

/* Turn the failed RESULT, or NULL, into a condition. */
static int fail_call(struct hub *h, PGresult *result)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	enum hub_condition condition = condition_of(state);
	char line[448];

	snprintf(h->state, sizeof(h->state), "%s", state ? state : "");
	if (!message) {
		PQclear(result);
		if (PQstatus(h->conn) == CONNECTION_OK) {
			snprintf(h->sentence, sizeof(h->sentence), "the hub did not answer within %u s",
				 ANSWER_MS / 1000u);
			hub_close(h);
			return HUB_E_LOST;
		}
		return fail_connection(h);
	}
	one_line(message, line, sizeof(line));
	snprintf(h->sentence, sizeof(h->sentence), "%s (%s)", line, state ? state : "no SQLSTATE");
	PQclear(result);
	if (condition == HUB_E_LOST)
		hub_close(h);
	else
		hub_rollback(h);
	return (int)condition;
}

/* Call SQL with C. *OUT: the result, which the caller clears; NULL = not wanted. */
static int call(struct hub *h, const char *sql, const struct call *c, PGresult **out)
{
	PGresult *result = NULL;
	ExecStatusType status;

	if (!h->conn) {
		snprintf(h->sentence, sizeof(h->sentence), "there is no connection");
		return HUB_E_LOST;
	}
	if (!PQsendQueryParams(h->conn, sql, c->n, NULL, c->values, c->lengths, c->formats, 0))
		return fail_connection(h);
	result = answer(h);
	status = PQresultStatus(result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		return fail_call(h, result);
	if (out)
		*out = result;
	else
		PQclear(result);
	return 0;
}

/* Call SQL, whose row has one text, and copy that to WORD (SIZE bytes). */
static int call_word(struct hub *h, const char *sql, const struct call *c, char *word, size_t size)
{
	PGresult *result = NULL;
	int r = call(h, sql, c, &result);

	if (r == 0)
		snprintf(word, size, "%s", PQntuples(result) == 1 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return r;
}

int hub_hello(struct hub *h, const char *archive, struct hub_hello *hello)
{
	struct call c = {0};
	PGresult *result = NULL;
	int r = h->conn ? 0 : connect_hub(h);

	if (r != 0)
		return r;
	snprintf(h->archive, sizeof(h->archive), "%.8s-%.4s-%.4s-%.4s-%.12s", archive, archive + 8, archive + 12,
		 archive + 16, archive + 20);
	add_text(&c, CONTRACT);
	add_text(&c, h->archive);
	r = call(h, "SELECT epoch, version, to_char(keeps_since, 'YYYY-MM-DD') FROM fleet.hello($1::integer, $2::uuid)",
		 &c, &result);
	if (r == 0 && PQntuples(result) != 1) {
		snprintf(h->sentence, sizeof(h->sentence), "the hub does not say hello as schema/fleet has it");
		r = HUB_E_LOST;
		hub_close(h);
	}
	if (r == 0) {
		snprintf(hello->epoch, sizeof(hello->epoch), "%s", PQgetvalue(result, 0, 0));
		snprintf(hello->keeps_since, sizeof(hello->keeps_since), "%s", PQgetvalue(result, 0, 2));
	}
	PQclear(result);
	return r;
}

int hub_begin(struct hub *h)
{
	int r = call(h, "BEGIN", &(struct call){0}, NULL);

	h->in_transaction = r == 0;
	return r;
}

int hub_commit(struct hub *h)
{
	int r = call(h, "COMMIT", &(struct call){0}, NULL);

	h->in_transaction = false;
	return r;
}

void hub_rollback(struct hub *h)
{
	if (h->in_transaction && h->conn) {
		h->in_transaction = false;
		PQclear(PQexec(h->conn, "ROLLBACK"));
	}
}

/* ---- captures --------------------------------------------------------------------------------- */

int hub_begin_capture(struct hub *h, const char *month, int64_t capture, uint64_t pieces, uint64_t bytes,
		      const char *head, bool *done, bool *open)
{
	struct call c = {0};
	char word[16];
	int r;

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, capture);
	add_number(&c, (int64_t)pieces);
	add_number(&c, (int64_t)bytes);
	add_text(&c, head);
	r = call_word(h,
		      "SELECT fleet.begin_capture($1::uuid, $2::date, $3::bigint, $4::integer, $5::bigint, $6::jsonb)",
		      &c, word, sizeof(word));
	*done = r == 0 && strcmp(word, "done") == 0;
	*open = r == 0 && strcmp(word, "open") == 0;
	return r;
}

/* Add the numbers, the chunk ends and the data of PIECE, and the checksum of the data, in SUM. */
static void add_piece(struct call *c, const struct piece *piece, uint8_t sum[SUM_BYTES])
{
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, piece->data, piece->bytes, sum) < 0)
		memset(sum, 0, SUM_BYTES); /* the hub refuses it */
	add_number(c, piece->offset);
	add_number(c, piece->length);
	add_number(c, piece->flags);
	add_number(c, (int64_t)piece->first_timestamp);
	add_number(c, piece->packet_bytes);
	add_number(c, piece->codec);
	add_bytes(c, piece->ends, piece->ends_bytes);
	add_bytes(c, piece->data, piece->bytes);
	add_bytes(c, sum, SUM_BYTES);
}

int hub_put_capture_piece(struct hub *h, const char *month, int64_t capture, const struct piece *piece)
{
	struct call c = {0};
	uint8_t sum[SUM_BYTES];

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, capture);
	add_text(&c, piece->part);
	add_number(&c, piece->stream);
	add_number(&c, piece->number);
	add_number(&c, (int64_t)piece->sequence);
	add_piece(&c, piece, sum);
	return call(h,
		    "SELECT fleet.put_capture_piece($1::uuid, $2::date, $3::bigint, $4::text, $5::integer, $6::integer,"
		    " $7::bigint, $8::integer, $9::integer, $10::integer, $11::bigint, $12::integer, $13::integer,"
		    " $14::bytea, $15::bytea, $16::bytea)",
		    &c, NULL);
}

int hub_finish_capture(struct hub *h, const char *month, int64_t capture)
{
	struct call c = {0};

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, capture);
	return call(h, "SELECT fleet.finish_capture($1::uuid, $2::date, $3::bigint)", &c, NULL);
}

int hub_list_capture(struct hub *h, const char *month, int64_t capture)
{
	struct call c = {0};

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, capture);
	PQclear(h->pieces);
	h->pieces = NULL;
	h->piece = 0;
	return call(h,
		    "SELECT part, stream, number FROM fleet.capture_pieces($1::uuid, $2::date, $3::bigint)"
		    " ORDER BY part COLLATE \"C\", stream, number",
		    &c, &h->pieces);
}

/* Compare row I of the list of pieces with PIECE, as strcmp(). */
static int compare(const struct hub *h, int i, const struct piece *piece)
{
	int parts = strcmp(PQgetvalue(h->pieces, i, 0), piece->part);
	int64_t stream = strtoll(PQgetvalue(h->pieces, i, 1), NULL, 10);
	int64_t number = strtoll(PQgetvalue(h->pieces, i, 2), NULL, 10);

	if (parts)
		return parts;
	if (stream != piece->stream)
		return stream < piece->stream ? -1 : 1;
	return number < piece->number ? -1 : number > piece->number;
}

bool hub_capture_has(struct hub *h, const struct piece *piece)
{
	while (h->pieces && h->piece < PQntuples(h->pieces)) {
		int order = compare(h, h->piece, piece);

		if (order > 0)
			return false;
		h->piece++;
		if (order == 0)
			return true;
	}
	return false;
}

/* ---- packets, losses, inventories -------------------------------------------------------------- */

int hub_put_run(struct hub *h, const char *month, int64_t run, const char *head)
{
	struct call c = {0};

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, run);
	add_text(&c, head);
	return call(h, "SELECT fleet.put_run($1::uuid, $2::date, $3::bigint, $4::jsonb)", &c, NULL);
}

int hub_put_packet_piece(struct hub *h, const char *month, int64_t run, uint32_t pieces, const struct piece *piece)
{
	struct call c = {0};
	uint8_t sum[SUM_BYTES];

	add_text(&c, h->archive);
	add_text(&c, month);
	add_number(&c, run);
	add_number(&c, piece->stream);
	add_number(&c, (int64_t)piece->sequence);
	add_number(&c, piece->number);
	add_number(&c, pieces);
	add_piece(&c, piece, sum);
	return call(
		h,
		"SELECT fleet.put_packet_piece($1::uuid, $2::date, $3::bigint, $4::integer, $5::bigint, $6::integer,"
		" $7::integer, $8::integer, $9::integer, $10::integer, $11::bigint, $12::integer, $13::integer,"
		" $14::bytea, $15::bytea, $16::bytea)",
		&c, NULL);
}

int hub_declare_lost(struct hub *h, const char *month, int64_t capture, int64_t stream, uint64_t first, uint64_t last,
		     uint64_t bytes, const char *reason)
{
	struct call c = {0};

	add_text(&c, h->archive);
	add_text(&c, month);
	add_text(&c, capture ? "capture" : "packets");
	add_number(&c, capture);
	add_number(&c, stream);
	add_number(&c, (int64_t)first);
	add_number(&c, (int64_t)last);
	add_number(&c, (int64_t)bytes);
	add_text(&c, reason);
	return call(h,
		    "SELECT fleet.declare_lost($1::uuid, $2::date, $3::text, $4::bigint, $5::integer, $6::bigint,"
		    " $7::bigint, $8::bigint, $9::text)",
		    &c, NULL);
}

/* An inventory, which the hub gives page by page. */
struct listing {
	const char *sql;	   /* its parameters are the month, and PLACE of the page before, or NULL */
	int n_place, place[3];	   /* columns of a page's last row that say where the next page begins */
	hub_capture_call *capture; /* for each row of this archive, one of both */
	hub_range_call *range;
	void *context;
};

static int pass_row(const struct listing *l, const PGresult *result, int i)
{
	int64_t id = strtoll(PQgetvalue(result, i, 1), NULL, 10);

	return l->capture ? l->capture(l->context, id)
			  : l->range(l->context, id, strtoull(PQgetvalue(result, i, 2), NULL, 10),
				     strtoull(PQgetvalue(result, i, 3), NULL, 10));
}

/* Pass the rows of MONTH that are of this archive to L. */
static int list_month(struct hub *h, const char *month, const struct listing *l)
{
	char place[ARRAY_SIZE(l->place)][HUB_UUID_BYTES] = {""};
	int n, r;

	do {
		struct call c = {0};
		PGresult *result = NULL;

		add_text(&c, month);
		for (int k = 0; k < l->n_place; k++)
			add_text(&c, *place[0] ? place[k] : NULL);
		r = call(h, l->sql, &c, &result);
		n = r == 0 ? PQntuples(result) : 0;
		for (int i = 0; i < n && r == 0; i++)
			if (strcmp(PQgetvalue(result, i, 0), h->archive) == 0)
				r = pass_row(l, result, i);
		for (int k = 0; k < l->n_place && n; k++)
			snprintf(place[k], sizeof(place[k]), "%s", PQgetvalue(result, n - 1, l->place[k]));
		PQclear(result);
	} while (r == 0 && n);
	return r;
}

int hub_inventory(struct hub *h, const char *month, hub_capture_call *call_each, void *context)
{
	const struct listing captures = {
		.sql = "SELECT archive, capture FROM fleet.inventory($1::date, $2::uuid, $3::bigint, " INVENTORY ")",
		.n_place = 2,
		.place = {0, 1},
		.capture = call_each,
		.context = context,
	};

	return list_month(h, month, &captures);
}

int hub_inventory_packets(struct hub *h, hub_range_call *call_each, void *context)
{
	const struct listing packets = {
		.sql = "SELECT archive, stream, first_sequence, last_sequence"
		       " FROM fleet.inventory_packets($1::date, $2::uuid, $3::integer, $4::bigint, " INVENTORY ")",
		.n_place = 3,
		.place = {0, 1, 3},
		.range = call_each,
		.context = context,
	};
	PGresult *months = NULL;
	int r = call(h, "SELECT month FROM fleet.inventory_months() WHERE packet_pieces > 0", &(struct call){0},
		     &months);

	for (int i = 0; r == 0 && i < PQntuples(months); i++)
		r = list_month(h, PQgetvalue(months, i, 0), &packets);
	PQclear(months);
	return r;
}
