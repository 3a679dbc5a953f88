/* /v1/fleet: the views of schema/fleet/0005-views.sql, a page of rows each. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "hub-routes.h"
#include "json-whole.h"
#include "question.h"

enum kind { END, TEXT, NUMBER, BOOL, TIME };

struct column {
	const char *name;
	enum kind kind; /* END behind the last column */
};

#define COLUMNS_MOST 8

struct fleet_view {
	const char *name;  /* in the schema fleet */
	const char *order; /* names a row: pages follow it */
	struct column columns[COLUMNS_MOST];
};

static const struct fleet_view crashes_by_image = {
	"crashes_by_image",
	"crashes DESC, image",
	{{"image", TEXT}, {"crashes", NUMBER}, {"hosts", NUMBER}, {"first", TIME}, {"last", TIME}}};
static const struct fleet_view crashes_by_cause = {"crashes_by_cause",
						   "crashes DESC, cause",
						   {{"cause", TEXT},
						    {"sentence", TEXT},
						    {"crashes", NUMBER},
						    {"hosts", NUMBER},
						    {"images", NUMBER},
						    {"first", TIME},
						    {"last", TIME}}};
static const struct fleet_view crashes_by_host_week = {
	"crashes_by_host_week",
	"week DESC, host",
	{{"host", TEXT}, {"week", TEXT}, {"crashes", NUMBER}, {"guests", NUMBER}}};
static const struct fleet_view causes_returned = {
	"causes_returned",
	"back_since DESC, cause",
	{{"cause", TEXT}, {"quiet_since", TEXT}, {"back_since", TEXT}, {"quiet_weeks", NUMBER}}};
static const struct fleet_view loss_by_host = {"loss_by_host",
					       "host",
					       {{"host", TEXT},
						{"captures", NUMBER},
						{"lost_packets", NUMBER},
						{"unsent_captures", NUMBER},
						{"unsent_ranges", NUMBER},
						{"unsent_bytes", NUMBER}}};
static const struct fleet_view newest = {"newest",
					 "host",
					 {{"host", TEXT},
					  {"last_hello", TIME},
					  {"last_capture", TIME},
					  {"last_crash", TIME},
					  {"last_arrival", TIME},
					  {"last_loss", TIME},
					  {"revoked", BOOL}}};

struct view_question {
	struct question question;
	const struct fleet_view *view;
	uint64_t cursor; /* rows that earlier pages had */
};

static json_t *column_json(enum kind kind, const struct postgres_rows *rows, int row, int column)
{
	switch (kind) {
	case NUMBER:
		return row_number(rows, row, column);
	case BOOL:
		return row_bool(rows, row, column);
	default:
		return row_text(rows, row, column);
	}
}

static int make_rows(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	const struct view_question *v = (struct view_question *)q;
	const struct column *columns = v->view->columns;
	json_t *list = json_array(), *object, *next = json_null();
	int n = postgres_count(rows);

	(void)p;
	for (int row = 0; row < n; row++) {
		object = json_object();
		for (int i = 0; i < COLUMNS_MOST && columns[i].kind != END; i++)
			json_add_member(&object, columns[i].name, column_json(columns[i].kind, rows, row, i));
		json_add_item(&list, object);
	}
	if ((uint64_t)n == q->limit)
		next = json_sprintf("%" PRIu64, v->cursor + q->limit);
	q->json = json_pack("{s:o, s:o}", "rows", list, "next", next);
	return q->json ? 0 : -ENOMEM;
}

static void add_columns(struct question *q, const struct fleet_view *view)
{
	for (size_t i = 0; i < COLUMNS_MOST && view->columns[i].kind != END; i++) {
		const char *name = view->columns[i].name;

		question_sql(q, "%s", i ? ", " : "SELECT ");
		if (view->columns[i].kind == TIME)
			question_sql(q, SQL_TIME("%s"), name);
		else if (view->columns[i].kind == TEXT)
			question_sql(q, "%s::text", name);
		else
			question_sql(q, "%s", name);
	}
}

static enum outcome get_view(struct exchange *x, const struct fleet_view *view)
{
	struct view_question *v;

	if (x->work)
		return question_answer(x);
	if (!fleet_query_host(x))
		return OUTCOME_DONE;
	v = (struct view_question *)question_new(x, sizeof(*v), make_rows);
	if (!v || !question_limit(x, &v->question))
		return OUTCOME_DONE;
	v->view = view;
	if (!exchange_number(x, "cursor", 1, INT32_MAX, 0, &v->cursor)) {
		question_free(&v->question);
		return OUTCOME_DONE;
	}
	add_columns(&v->question, view);
	question_sql(&v->question, " FROM fleet.%s WHERE true", view->name);
	question_filter(&v->question, x, "host", "host");
	question_sql(&v->question, " ORDER BY %s LIMIT %" PRIu64 " OFFSET %" PRIu64, view->order, v->question.limit,
		     v->cursor);
	return question_ask(x, &v->question);
}

enum outcome hub_get_crashes_by_image(struct exchange *x)
{
	return get_view(x, &crashes_by_image);
}

enum outcome hub_get_crashes_by_cause(struct exchange *x)
{
	return get_view(x, &crashes_by_cause);
}

enum outcome hub_get_crashes_by_host_week(struct exchange *x)
{
	return get_view(x, &crashes_by_host_week);
}

enum outcome hub_get_causes_returned(struct exchange *x)
{
	return get_view(x, &causes_returned);
}

enum outcome hub_get_loss_by_host(struct exchange *x)
{
	return get_view(x, &loss_by_host);
}

enum outcome hub_get_newest(struct exchange *x)
{
	return get_view(x, &newest);
}
