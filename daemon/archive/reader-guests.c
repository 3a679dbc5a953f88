/* Read guests, their runs, and the runs' streams. */
#include "reader-state.h"

static void run_columns(sqlite3_stmt *s, struct archive_run *run)
{
	*run = (struct archive_run){
		.id = sqlite3_column_int64(s, 0),
		.source = column_string(s, 1),
		.key = column_string(s, 2),
		.name = column_string(s, 3),
		.uuid = column_text(s, 4),
		.domid = sqlite3_column_type(s, 5) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 5),
		.state = column_string(s, 6),
		.began_real = column_u64(s, 7),
		.ended_real = column_u64(s, 8),
		.reason = column_text(s, 9),
		.began_correction = sqlite3_column_int64(s, 10),
		.ended_correction = sqlite3_column_int64(s, 11),
	};
}

static int read_runs(struct reader *r, sqlite3_stmt *s, reader_run_call *call, void *context, bool *any)
{
	struct archive_run run;
	int rc;

	*any = false;
	while ((rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		*any = true;
		run_columns(s, &run);
		rc = call(context, &run);
		if (rc != 0)
			break;
	}
	return rc;
}

static int read_guests(struct reader *r, sqlite3_stmt *s, reader_guest_call *call, void *context, bool *any)
{
	struct reader_guest guest;
	int rc;

	*any = false;
	while ((rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		*any = true;
		run_columns(s, &guest.latest);
		guest.key = column_string(s, 12);
		guest.runs = column_u64(s, 13);
		guest.captures = column_u64(s, 14);
		rc = call(context, &guest);
		if (rc != 0)
			break;
	}
	return rc;
}

int reader_guests(struct reader *r, const char *after, unsigned limit, reader_guest_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_GUESTS, VALUES(0, (int64_t)limit), &s);

	if (rc != 0)
		return rc;
	/* Not a copy: without memory for it the list would be empty. S is reset before AFTER goes. */
	sqlite3_bind_text(s, 1, after, -1, SQLITE_STATIC);
	return read_guests(r, s, call, context, &any);
}

int reader_guest(struct reader *r, int64_t id, reader_guest_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_GUEST, VALUES(id), &s);

	if (rc == 0)
		rc = read_guests(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

int reader_run(struct reader *r, int64_t id, reader_run_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_RUN, VALUES(id), &s);

	if (rc == 0)
		rc = read_runs(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

static int run_by_text(struct reader *r, enum reader_statement which, const char *text, int64_t *id)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, which, NO_VALUES, &s);

	if (rc != 0)
		return rc;
	/* Not a copy: without memory for it the guest would be absent. */
	sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
	return reader_id(r, s, id);
}

int reader_run_by_uuid(struct reader *r, const char *uuid, int64_t *id)
{
	return run_by_text(r, S_BY_UUID, uuid, id);
}

int reader_run_by_name(struct reader *r, const char *name, int64_t *id)
{
	return run_by_text(r, S_BY_NAME, name, id);
}

int reader_run_by_domid(struct reader *r, int64_t domid, int64_t *id)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_BY_DOMID, VALUES(domid), &s);

	return rc == 0 ? reader_id(r, s, id) : rc;
}

int reader_runs(struct reader *r, int64_t id, int64_t before, unsigned limit, reader_run_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_RUNS, VALUES(id, before, (int64_t)limit), &s);

	return rc == 0 ? read_runs(r, s, call, context, &any) : rc;
}

int reader_all_runs(struct reader *r, int64_t after, unsigned limit, reader_run_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, S_ALL_RUNS, VALUES(after, (int64_t)limit), &s);

	return rc == 0 ? read_runs(r, s, call, context, &any) : rc;
}

int reader_streams(struct reader *r, int64_t run, reader_stream_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct reader_stream stream;
	int rc = reader_statement(r, S_STREAMS, VALUES(run), &s);

	while (rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		stream = (struct reader_stream){
			.stream = {.id = sqlite3_column_int64(s, 0),
				   .run = sqlite3_column_int64(s, 1),
				   .number = column_u32(s, 2),
				   .name = column_text(s, 3),
				   .ring_bytes = column_u64(s, 4),
				   .ring_packets = column_u32(s, 5),
				   .flags = column_u32(s, 6)},
			.packets = column_u64(s, 7),
			.bytes = column_u64(s, 8),
			.lost_packets = column_u64(s, 9),
			.skipped_packets = column_u64(s, 10),
			.deletions = column_u64(s, 11),
			.last_seen_real = column_u64(s, 12),
			.gaps = column_u64(s, 13),
		};
		rc = call(context, &stream);
	}
	return rc;
}
