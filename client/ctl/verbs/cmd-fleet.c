/* The verbs `mprofctl hosts` and `mprofctl fleet`: what a hub knows of its hosts. */
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "hosts.h"
#include "http.h"
#include "json.h"
#include "options.h"
#include "suggestion.h"
#include "table.h"
#include "verbs.h"

#define COLUMNS_MAX 8

/* A column of a list: a key of the API and its head. */
struct column {
	const char *head; /* '>' in front: to the right, see table.h; NULL ends the list */
	const char *key;
	enum { AS_IT_IS, BYTES, TIME, FIRST_LINE } as;
};

/* A question about the fleet: a route that answers with rows. */
struct question {
	const char *name; /* the last part of its path */
	struct column columns[COLUMNS_MAX];
};

static const struct question questions[] = {
	{"crashes-by-image",
	 {{"IMAGE", "image", AS_IT_IS},
	  {">CRASHES", "crashes", AS_IT_IS},
	  {">HOSTS", "hosts", AS_IT_IS},
	  {"FIRST", "first", TIME},
	  {"LAST", "last", TIME}}},
	{"crashes-by-cause",
	 {{">CRASHES", "crashes", AS_IT_IS},
	  {">HOSTS", "hosts", AS_IT_IS},
	  {">IMAGES", "images", AS_IT_IS},
	  {"FIRST", "first", TIME},
	  {"LAST", "last", TIME},
	  {"CAUSE", "cause", AS_IT_IS},
	  {"IN WORDS", "sentence", FIRST_LINE}}},
	{"crashes-by-host-week",
	 {{"HOST", "host", AS_IT_IS},
	  {"WEEK", "week", AS_IT_IS},
	  {">CRASHES", "crashes", AS_IT_IS},
	  {">GUESTS", "guests", AS_IT_IS}}},
	{"causes-returned",
	 {{"QUIET SINCE", "quiet_since", AS_IT_IS},
	  {"BACK SINCE", "back_since", AS_IT_IS},
	  {">QUIET WEEKS", "quiet_weeks", AS_IT_IS},
	  {"CAUSE", "cause", AS_IT_IS}}},
	{"loss-by-host",
	 {{"HOST", "host", AS_IT_IS},
	  {">CAPTURES", "captures", AS_IT_IS},
	  {">LOST PACKETS", "lost_packets", AS_IT_IS},
	  {">UNSENT CAPTURES", "unsent_captures", AS_IT_IS},
	  {">UNSENT RANGES", "unsent_ranges", AS_IT_IS},
	  {">UNSENT BYTES", "unsent_bytes", BYTES}}},
	{"newest",
	 {{"HOST", "host", AS_IT_IS},
	  {"LAST CALL", "last_hello", TIME},
	  {"LAST CAPTURE", "last_capture", TIME},
	  {"LAST CRASH", "last_crash", TIME},
	  {"LAST ARRIVAL", "last_arrival", TIME},
	  {"LAST LOSS", "last_loss", TIME},
	  {"REVOKED", "revoked", AS_IT_IS}}},
};

/* Add the first line of TEXT: a sentence of mprof-annotate has more lines, with the whole explanation. */
static void add_line(struct table *t, const json_t *text)
{
	const char *line = json_string_value(text);
	CLEANUP(json_decrefp) json_t *first = line ? json_stringn(line, strcspn(line, "\n")) : NULL;

	table_add_json(t, first ? first : text);
}

static void add_cell(struct table *t, const json_t *row, const struct column *column, struct wall_zone *zone)
{
	const json_t *value = json_object_get(row, column->key);

	if (column->as == TIME)
		table_add_time(t, value, zone);
	else if (column->as == FIRST_LINE)
		add_line(t, value);
	else if (column->as == BYTES)
		table_add_bytes(t, (uint64_t)json_integer_value(value));
	else
		table_add_json(t, value);
}

static int print_rows(const struct column *columns, const json_t *rows, struct wall_zone *zone)
{
	const char *heads[COLUMNS_MAX];
	CLEANUP(table_deinit) struct table t = {0};
	const json_t *row;
	size_t n, i;

	for (n = 0; n < COLUMNS_MAX && columns[n].head; n++)
		heads[n] = columns[n].head;
	table_init(&t, heads, n);
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; k < n; k++)
			add_cell(&t, row, &columns[k], zone);
	}
	return table_print(&t);
}

/* Read the list at PATH, whose key in the answer is KEY, and print its COLUMNS. Return an exit code. */
static int list(const struct ctl *ctl, const char *path, const char *key, const struct column *columns,
		struct wall_zone *zone)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	CLEANUP(json_decrefp) json_t *json = NULL;
	int r = hosts_check_single(&ctl->hosts);

	r = r ? r : http_open(&h, &ctl->hosts);
	r = r ? r : http_list(&h, path, key, &json);
	if (r)
		return r;
	return ctl->json ? json_print(json) : print_rows(columns, json_object_get(json, key), zone);
}

int cmd_hosts(const struct ctl *ctl, int argc, char **argv)
{
	static const struct column columns[COLUMNS_MAX] = {{"HOST", "host", AS_IT_IS},
							   {"LAST CALL", "last_hello", TIME},
							   {"REGISTERED", "registered", TIME},
							   {"REVOKED", "revoked", AS_IT_IS},
							   {"ARCHIVE", "archive", AS_IT_IS}};
	struct wall_zone zone;
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left);

	zone = (struct wall_zone){.utc = o.utc};
	return r ? r : list(ctl, "/v1/hosts", "hosts", columns, &zone);
}

int cmd_fleet(const struct ctl *ctl, int argc, char **argv)
{
	struct wall_zone zone;
	struct options o;
	struct suggestion suggestion = {0};
	struct operands left;
	char path[64];
	int r = options_parse(ctl, argc, argv, &o, &left);

	zone = (struct wall_zone){.utc = o.utc};
	if (r)
		return r;
	suggestion.word = left.at[0];
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		suggestion_consider(&suggestion, questions[i].name);
		if (strcmp(left.at[0], questions[i].name) != 0)
			continue;
		snprintf(path, sizeof(path), "/v1/fleet/%s", questions[i].name);
		return list(ctl, path, "rows", questions[i].columns, &zone);
	}
	if (suggestion.best)
		return say_usage(argv[0], "there is no question \"%s\"; did you mean %s?", left.at[0], suggestion.best);
	return say_usage(argv[0], "there is no question \"%s\"; `mprofctl fleet --help` lists them", left.at[0]);
}
