/*
 * Fuzz the copy of a capture of the hub: its head and its pieces, as hostile hosts sent them. The
 * database is an array in this file, in place of postgres.c. A copy that succeeds is an archive that
 * opens and has the capture's run; one that fails says why. No row makes the copy larger than allowed.
 *
 * The input: the head and a byte 0, and then pieces as take_row() reads them.
 */
#include <errno.h>
#include <ftw.h>
#include <gnutls/crypto.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "checksum.h"
#include "copy.h"
#include "fuzz-input.h"
#include "reader.h"

#define ROWS_MOST	64
#define PAGE		8 /* rows of an answer, as the statement of copy.c says */
#define COLUMN_SEQUENCE 2
#define COLUMNS		12
#define BYTES_MOST	65536u /* of the bodies, decoded */

/* ---- the database ---- */

struct row {
	const char *part;
	int64_t numbers[COLUMNS]; /* in the order of the statement; those of bytea are not used */
	uint8_t sum[PIECE_SUM_BYTES];
	uint8_t ends[255 * ARCHIVE_END_BYTES], data[255];
	size_t n_ends, n_data; /* bytes */
};

static struct row table[ROWS_MOST];
static int table_rows;
static const char *table_head;

struct postgres_rows {
	int n;
	const struct row *rows[PAGE];
	bool is_head;
};

void postgres_add_text(struct postgres_params *params, const char *text)
{
	params->values[params->n++] = text;
}

void postgres_add_number(struct postgres_params *params, int64_t number)
{
	snprintf(params->digits[params->n], sizeof(params->digits[0]), "%lld", (long long)number);
	params->values[params->n] = params->digits[params->n];
	params->n++;
}

const char *postgres_sentence(const struct postgres *p)
{
	(void)p;
	return "the database was lost";
}

int postgres_call(struct postgres *p, const char *sql, const struct postgres_params *params,
		  struct postgres_rows **rows)
{
	(void)p;
	(void)sql;
	*rows = calloc(1, sizeof(**rows));
	require(*rows != NULL);
	if (params->n == 2) {
		/* The periods of the host's clocks have any numbers, too. */
		while ((*rows)->n < table_rows && (*rows)->n < PAGE) {
			(*rows)->rows[(*rows)->n] = &table[(*rows)->n];
			(*rows)->n++;
		}
		return 0;
	}
	require(params->n == 4);
	(*rows)->is_head = true;
	(*rows)->n = 1;
	return 0;
}

bool postgres_is_null(const struct postgres_rows *rows, int row, int column)
{
	return postgres_number(rows, row, column) % 2 == 0;
}

/* Answer with the next pieces of a part, in order. The table is sorted by stream and number. */
int postgres_call_binary(struct postgres *p, const char *sql, const struct postgres_params *params,
			 struct postgres_rows **rows)
{
	int64_t stream = strtoll(params->values[5], NULL, 10), number = strtoll(params->values[6], NULL, 10);

	(void)p;
	(void)sql;
	require(params->n == 7);
	*rows = calloc(1, sizeof(**rows));
	require(*rows != NULL);
	for (int i = 0; i < table_rows && (*rows)->n < PAGE; i++) {
		const int64_t *n = table[i].numbers;

		if (strcmp(table[i].part, params->values[4]) == 0 &&
		    (n[0] > stream || (n[0] == stream && n[1] > number)))
			(*rows)->rows[(*rows)->n++] = &table[i];
	}
	return 0;
}

int postgres_count(const struct postgres_rows *rows)
{
	return rows ? rows->n : 0;
}

const char *postgres_text(const struct postgres_rows *rows, int row, int column)
{
	require(rows->is_head && row == 0 && column == 0);
	return table_head;
}

int64_t postgres_number(const struct postgres_rows *rows, int row, int column)
{
	require(row < rows->n && column < COLUMNS);
	return rows->is_head ? table_rows : rows->rows[row]->numbers[column];
}

const uint8_t *postgres_bytes(const struct postgres_rows *rows, int row, int column, size_t *n)
{
	const struct row *r = rows->rows[row];

	require(!rows->is_head && row < rows->n && column >= COLUMNS - 3 && column < COLUMNS);
	*n = column == COLUMNS - 3 ? sizeof(r->sum) : column == COLUMNS - 2 ? r->n_ends : r->n_data;
	return column == COLUMNS - 3 ? r->sum : column == COLUMNS - 2 ? r->ends : r->data;
}

struct postgres_rows *postgres_rows_free(struct postgres_rows *rows)
{
	free(rows);
	return NULL;
}

/* ---- the input ---- */

static uint64_t take_number(struct input *in, int bytes)
{
	uint64_t number = 0;

	for (int i = 0; i < bytes; i++)
		number |= (uint64_t)take(in) << 8 * i;
	return number;
}

static void take_bytes(struct input *in, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = take(in);
}

/* Take a piece: its part (modulo 3; 128: a wrong checksum), its columns, its chunk ends and its data. */
static void take_row(struct input *in, struct row *r)
{
	static const char *const parts[] = {"trace", "tail", "context"};
	static const uint8_t sizes[] = {4, 4, 8, 4, 4, 2, 8, 4, 2};
	uint8_t part = take(in);

	*r = (struct row){.part = parts[(part & 127) % 3]};
	for (size_t i = 0; i < sizeof(sizes); i++) {
		uint64_t number = take_number(in, sizes[i]);

		r->numbers[i] = sizes[i] == 8 ? (int64_t)number : sizes[i] == 4 ? (int32_t)number : (int16_t)number;
	}
	r->n_ends = (size_t)take(in) % 64 * ARCHIVE_END_BYTES + (part == 127);
	r->n_data = take(in);
	take_bytes(in, r->ends, r->n_ends);
	take_bytes(in, r->data, r->n_data);
	require(gnutls_hash_fast(GNUTLS_DIG_SHA256, r->data, r->n_data, r->sum) >= 0);
	r->sum[0] ^= part >> 7;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = ((const struct row *)a)->numbers, *y = ((const struct row *)b)->numbers;

	return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* ---- the copy ---- */

static int remove_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int on_run(void *context, const struct archive_run *run)
{
	*(bool *)context = run->name != NULL;
	return 0;
}

/* The copy opens, and each of its runs can be read. */
static void check_copy(const char *state)
{
	struct reader *r = NULL;
	bool found = false;

	require(reader_new(&r, state) == 0);
	require(reader_ready(r) == 0);
	require(reader_all_runs(r, 0, 10, on_run, &found) >= 0 && found);
	reader_free(r);
}

static bool is_json(const char *text)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	bool is = json != NULL;

	json_decref(json);
	return is;
}

static void copy(void)
{
	static const struct capture_key key = {"host", "2026-01-01", "00000000-0000-4000-8000-000000000000", 3};
	char state[64], sentence[512] = "";
	int r;

	snprintf(state, sizeof(state), "%s/fuzz-hub-copy-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(state) != NULL);
	r = capture_copy(NULL, &key, state, BYTES_MOST, sentence, sizeof(sentence));
	/* A text that is no JSON, which the database does not have, counts as a lack of memory. */
	require(r == 0 || r == COPY_E_REFUSED || (r == -ENOMEM && !is_json(table_head)));
	for (int i = 0; i < table_rows; i++)
		require(r != 0 || table[i].numbers[COLUMN_SEQUENCE] >= 0);
	if (r == 0)
		check_copy(state);
	else
		require(sentence[0] != '\0');
	nftw(state, remove_file, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	struct input in = {0};

	if (!end)
		return 0;
	table_head = (const char *)data;
	in = (struct input){.p = end + 1, .left = size - (size_t)(end + 1 - data)};
	for (table_rows = 0; table_rows < ROWS_MOST && in.left; table_rows++)
		take_row(&in, &table[table_rows]);
	qsort(table, (size_t)table_rows, sizeof(table[0]), compare);
	copy();
	return 0;
}
