/*
 * The functions of schema/fleet, over daemon/postgres, and their conditions by SQLSTATE.
 */
#include "hub.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "postgres.h"

#define CONTRACT  "1" /* version of schema/fleet that this program speaks */
#define ANSWER_MS (120u * 1000u)
#define SUM_BYTES 32
#define INVENTORY "10000" /* rows of an inventory at a time */

struct hub {
	struct postgres *postgres;
	char archive[HUB_UUID_BYTES];
	char sentence[512];	      /* of a condition that postgres does not know; "" = its own */
	struct postgres_rows *pieces; /* pieces of an open capture; NULL = none */
	int piece;		      /* the next one of them */
	uint64_t added;		      /* pieces of packets that are new in the open transaction */
	uint64_t packet_pieces;	      /* those that were committed */
};

/* ---- the connection --------------------------------------------------------------------------- */

int hub_new(struct hub **hp, const char *connection)
{
	CLEANUP(hub_freep) struct hub *h = calloc(1, sizeof(*h));
	int r = h ? postgres_new(&h->postgres, connection, "mprofd-forward", ANSWER_MS) : -ENOMEM;

	if (r == 0)
		*hp = TAKE_PTR(h);
	return r;
}

struct hub *hub_free(struct hub *h)
{
	if (!h)
		return NULL;
	postgres_rows_free(h->pieces);
	postgres_free(h->postgres);
	free(h);
	return NULL;
}

void hub_close(struct hub *h)
{
	h->pieces = postgres_rows_free(h->pieces);
	postgres_close(h->postgres);
}

const char *hub_sentence(const struct hub *h)
{
	return h->sentence[0] ? h->sentence : postgres_sentence(h->postgres);
}

const char *hub_state(const struct hub *h)
{
	return postgres_state(h->postgres);
}

bool hub_connected(const struct hub *h)
{
	return postgres_connected(h->postgres);
}

/* The hub's notices say nothing to a host. */
static void ignore(void *context, const char *channel, const char *payload)
{
	(void)context;
	(void)channel;
	(void)payload;
}

bool hub_alive(struct hub *h)
{
	if (!postgres_connected(h->postgres) || postgres_notified(h->postgres, ignore, NULL) == 0)
		return postgres_connected(h->postgres);
	hub_close(h);
	return false;
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
		{"MP010", HUB_E_LATER},	   {"42883", HUB_E_EARLIER},
	};

	for (size_t i = 0; state && i < ARRAY_SIZE(conditions); i++)
		if (strcmp(conditions[i].state, state) == 0)
			return conditions[i].condition;
	return HUB_E_LOST;
}

/* Return the condition of R, which a call of the library postgres has returned. */
static int outcome(struct hub *h, int r)
{
	h->sentence[0] = '\0';
	if (r == 0 || r == -ENOMEM)
		return r;
	r = r == POSTGRES_E_LOST ? HUB_E_LOST : (int)condition_of(postgres_state(h->postgres));
	if (r == HUB_E_LOST)
		hub_close(h);
	else
		postgres_rollback(h->postgres);
	return r;
}

/* Call SQL with PARAMS. *ROWS: the result, which the caller frees; NULL = not wanted. */
static int call(struct hub *h, const char *sql, const struct postgres_params *params, struct postgres_rows **rows)
{
	return outcome(h, postgres_call(h->postgres, sql, params, rows));
}

/* Call SQL, whose row has one text, and copy that to WORD (SIZE bytes). */
static int call_word(struct hub *h, const char *sql, const struct postgres_params *p, char *word, size_t size)
{
	struct postgres_rows *result = NULL;
	int r = call(h, sql, p, &result);

	if (r == 0)
		snprintf(word, size, "%s", postgres_count(result) == 1 ? postgres_text(result, 0, 0) : "");
	postgres_rows_free(result);
	return r;
}

int hub_hello(struct hub *h, const char *archive, const char *clock, struct hub_hello *hello)
{
	struct postgres_params c = {0};
	struct postgres_rows *result = NULL;
	int r = outcome(h, postgres_connect(h->postgres));

	if (r != 0)
		return r;
	snprintf(h->archive, sizeof(h->archive), "%.8s-%.4s-%.4s-%.4s-%.12s", archive, archive + 8, archive + 12,
		 archive + 16, archive + 20);
	postgres_add_text(&c, CONTRACT);
	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, *clock ? clock : NULL);
	r = call(h,
		 "SELECT epoch, version, to_char(keeps_since, 'YYYY-MM-DD') "
		 "FROM fleet.hello($1::integer, $2::uuid, $3::jsonb)",
		 &c, &result);
	if (r == 0 && postgres_count(result) != 1) {
		snprintf(h->sentence, sizeof(h->sentence), "the hub does not say hello as schema/fleet has it");
		r = HUB_E_LOST;
		hub_close(h);
	}
	if (r == 0) {
		snprintf(hello->epoch, sizeof(hello->epoch), "%s", postgres_text(result, 0, 0));
		snprintf(hello->keeps_since, sizeof(hello->keeps_since), "%s", postgres_text(result, 0, 2));
	}
	postgres_rows_free(result);
	return r;
}

int hub_put_clock(struct hub *h, int64_t age, const char *periods, int64_t *now)
{
	struct postgres_params c = {0};
	struct postgres_rows *result = NULL;
	int r;

	postgres_add_text(&c, h->archive);
	postgres_add_number(&c, age);
	postgres_add_text(&c, periods);
	r = call(h, "SELECT fleet.put_clock($1::uuid, $2::bigint, $3::jsonb)", &c, &result);
	*now = r == 0 && postgres_count(result) == 1 ? postgres_number(result, 0, 0) : 0;
	postgres_rows_free(result);
	return r;
}

int hub_begin(struct hub *h)
{
	h->added = 0;
	return outcome(h, postgres_begin(h->postgres));
}

int hub_commit(struct hub *h)
{
	int r = outcome(h, postgres_commit(h->postgres));

	h->packet_pieces += r == 0 ? h->added : 0;
	h->added = 0;
	return r;
}

void hub_rollback(struct hub *h)
{
	postgres_rollback(h->postgres);
}

/* ---- captures --------------------------------------------------------------------------------- */

int hub_begin_capture(struct hub *h, const char *month, int64_t capture, uint64_t pieces, uint64_t bytes,
		      const char *head, bool *done, bool *open)
{
	struct postgres_params c = {0};
	char word[16];
	int r;

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, capture);
	postgres_add_number(&c, (int64_t)pieces);
	postgres_add_number(&c, (int64_t)bytes);
	postgres_add_text(&c, head);
	r = call_word(h,
		      "SELECT fleet.begin_capture($1::uuid, $2::date, $3::bigint, $4::integer, $5::bigint, $6::jsonb)",
		      &c, word, sizeof(word));
	*done = r == 0 && strcmp(word, "done") == 0;
	*open = r == 0 && strcmp(word, "open") == 0;
	return r;
}

/* Add the numbers, the chunk ends and the data of PIECE, and the checksum of the data, in SUM. */
static void add_piece(struct postgres_params *p, const struct piece *piece, uint8_t sum[SUM_BYTES])
{
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, piece->data, piece->bytes, sum) < 0)
		memset(sum, 0, SUM_BYTES); /* the hub refuses it */
	postgres_add_number(p, piece->offset);
	postgres_add_number(p, piece->length);
	postgres_add_number(p, piece->flags);
	postgres_add_number(p, (int64_t)piece->first_timestamp);
	postgres_add_number(p, piece->packet_bytes);
	postgres_add_number(p, piece->codec);
	postgres_add_bytes(p, piece->ends, piece->ends_bytes);
	postgres_add_bytes(p, piece->data, piece->bytes);
	postgres_add_bytes(p, sum, SUM_BYTES);
}

int hub_put_capture_piece(struct hub *h, const char *month, int64_t capture, const struct piece *piece)
{
	struct postgres_params c = {0};
	uint8_t sum[SUM_BYTES];

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, capture);
	postgres_add_text(&c, piece->part);
	postgres_add_number(&c, piece->stream);
	postgres_add_number(&c, piece->number);
	postgres_add_number(&c, (int64_t)piece->sequence);
	add_piece(&c, piece, sum);
	return call(h,
		    "SELECT fleet.put_capture_piece($1::uuid, $2::date, $3::bigint, $4::text, $5::integer, $6::integer,"
		    " $7::bigint, $8::integer, $9::integer, $10::integer, $11::bigint, $12::integer, $13::integer,"
		    " $14::bytea, $15::bytea, $16::bytea)",
		    &c, NULL);
}

int hub_finish_capture(struct hub *h, const char *month, int64_t capture)
{
	struct postgres_params c = {0};

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, capture);
	return call(h, "SELECT fleet.finish_capture($1::uuid, $2::date, $3::bigint)", &c, NULL);
}

int hub_list_capture(struct hub *h, const char *month, int64_t capture)
{
	struct postgres_params c = {0};

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, capture);
	postgres_rows_free(h->pieces);
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
	int parts = strcmp(postgres_text(h->pieces, i, 0), piece->part);
	int64_t stream = postgres_number(h->pieces, i, 1);
	int64_t number = postgres_number(h->pieces, i, 2);

	if (parts)
		return parts;
	if (stream != piece->stream)
		return stream < piece->stream ? -1 : 1;
	return number < piece->number ? -1 : number > piece->number;
}

bool hub_capture_has(struct hub *h, const struct piece *piece)
{
	while (h->pieces && h->piece < postgres_count(h->pieces)) {
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
	struct postgres_params c = {0};

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, run);
	postgres_add_text(&c, head);
	return call(h, "SELECT fleet.put_run($1::uuid, $2::date, $3::bigint, $4::jsonb)", &c, NULL);
}

int hub_put_packet_piece(struct hub *h, const char *month, int64_t run, uint32_t pieces, const struct piece *piece)
{
	struct postgres_params c = {0};
	uint8_t sum[SUM_BYTES];
	char word[16];
	int r;

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_number(&c, run);
	postgres_add_number(&c, piece->stream);
	postgres_add_number(&c, (int64_t)piece->sequence);
	postgres_add_number(&c, piece->number);
	postgres_add_number(&c, pieces);
	add_piece(&c, piece, sum);
	r = call_word(
		h,
		"SELECT fleet.put_packet_piece($1::uuid, $2::date, $3::bigint, $4::integer, $5::bigint, $6::integer,"
		" $7::integer, $8::integer, $9::integer, $10::integer, $11::bigint, $12::integer, $13::integer,"
		" $14::bytea, $15::bytea, $16::bytea)",
		&c, word, sizeof(word));
	h->added += r == 0 && strcmp(word, "new") == 0;
	return r;
}

int hub_declare_lost(struct hub *h, const char *month, int64_t capture, int64_t stream, uint64_t first, uint64_t last,
		     uint64_t bytes, const char *reason)
{
	struct postgres_params c = {0};

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, month);
	postgres_add_text(&c, capture ? "capture" : "packets");
	postgres_add_number(&c, capture);
	postgres_add_number(&c, stream);
	postgres_add_number(&c, (int64_t)first);
	postgres_add_number(&c, (int64_t)last);
	postgres_add_number(&c, (int64_t)bytes);
	postgres_add_text(&c, reason);
	return call(h,
		    "SELECT fleet.declare_lost($1::uuid, $2::date, $3::text, $4::bigint, $5::integer, $6::bigint,"
		    " $7::bigint, $8::bigint, $9::text)",
		    &c, NULL);
}

#define SUM_MASK ((UINT64_C(1) << 56) - 1)

void hub_sum_add(struct hub_sum *sum, int64_t capture)
{
	uint8_t number[8], digest[SUM_BYTES] = {0};
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(number); i++)
		number[i] = (uint8_t)((uint64_t)capture >> (56 - 8 * i));
	/* A sum that is wrong costs an inventory. */
	(void)gnutls_hash_fast(GNUTLS_DIG_SHA256, number, sizeof(number), digest);
	for (size_t i = 0; i < 7; i++)
		bits = bits << 8 | digest[i];
	sum->captures++;
	sum->sum = (sum->sum + bits) & SUM_MASK;
}

uint64_t hub_packet_pieces(const struct hub *h)
{
	return h->packet_pieces;
}

int hub_sums(struct hub *h, const char *since, hub_sum_call *call_each, void *context)
{
	struct postgres_params c = {0};
	struct postgres_rows *result = NULL;
	int r;

	postgres_add_text(&c, h->archive);
	postgres_add_text(&c, since);
	r = call(h,
		 "SELECT to_char(month, 'YYYY-MM-DD'), captures, sum, packet_pieces"
		 " FROM fleet.inventory_sums($1::uuid, $2::date)",
		 &c, &result);
	for (int i = 0; r == 0 && i < postgres_count(result); i++) {
		struct hub_sum sum = {
			.captures = (uint64_t)postgres_number(result, i, 1),
			.sum = (uint64_t)postgres_number(result, i, 2),
			.packet_pieces = (uint64_t)postgres_number(result, i, 3),
		};

		snprintf(sum.month, sizeof(sum.month), "%s", postgres_text(result, i, 0));
		r = call_each(context, &sum);
	}
	postgres_rows_free(result);
	return r;
}

/* An inventory, which the hub gives page by page. */
struct listing {
	const char *sql;	   /* its parameters are the month, and PLACE of the page before, or NULL */
	int n_place, place[3];	   /* columns of a page's last row that say where the next page begins */
	hub_capture_call *capture; /* for each row of this archive, one of both */
	hub_range_call *range;
	void *context;
};

static int pass_row(const struct listing *l, const struct postgres_rows *result, int i)
{
	int64_t id = postgres_number(result, i, 1);

	return l->capture ? l->capture(l->context, id)
			  : l->range(l->context, id, (uint64_t)postgres_number(result, i, 2),
				     (uint64_t)postgres_number(result, i, 3));
}

/* Pass the rows of MONTH that are of this archive to L. */
static int list_month(struct hub *h, const char *month, const struct listing *l)
{
	char place[ARRAY_SIZE(l->place)][HUB_UUID_BYTES] = {""};
	int n, r;

	do {
		struct postgres_params c = {0};
		struct postgres_rows *result = NULL;

		postgres_add_text(&c, month);
		for (int k = 0; k < l->n_place; k++)
			postgres_add_text(&c, *place[0] ? place[k] : NULL);
		r = call(h, l->sql, &c, &result);
		n = r == 0 ? postgres_count(result) : 0;
		for (int i = 0; i < n && r == 0; i++)
			if (strcmp(postgres_text(result, i, 0), h->archive) == 0)
				r = pass_row(l, result, i);
		for (int k = 0; k < l->n_place && n; k++)
			snprintf(place[k], sizeof(place[k]), "%s", postgres_text(result, n - 1, l->place[k]));
		postgres_rows_free(result);
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
	struct postgres_rows *months = NULL;
	int r = call(h, "SELECT month FROM fleet.inventory_months() WHERE packet_pieces > 0", NULL, &months);

	for (int i = 0; r == 0 && i < postgres_count(months); i++)
		r = list_month(h, postgres_text(months, i, 0), &packets);
	postgres_rows_free(months);
	return r;
}
