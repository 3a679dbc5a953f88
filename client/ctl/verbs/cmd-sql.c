/*
 * `mprofctl sql`: ask a trace in SQL.
 *
 * The trace goes into a private database, an unnamed file, as `export --to sqlite` writes it. The query reads that.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "exporter.h"
#include "input.h"
#include "output.h"
#include "query-rows.h"
#include "sqlite-tables.h"
#include "sqlite-views.h"
#include "table.h"
#include "time-filter.h"
#include "trace-query.h"
#include "verbs.h"

struct sql {
	struct trace_args args;
	struct export_job job;
	struct writer writer;
	struct time_filter filter;
	struct trace_query query;
	int fd; /* the database's file */
};

static void sql_deinit(struct sql *s)
{
	trace_query_deinit(&s->query);
	if (s->job.exporter)
		export_sqlite.close(&s->job);
	time_filter_deinit(&s->filter);
	writer_deinit(&s->writer);
	trace_args_deinit(&s->args);
	closep(&s->fd);
}

/* Report that the database could not be written because of ERROR, a -errno. Return an exit code. */
static int unwritten(int error)
{
	if (error == -ENOMEM)
		return say_memory();
	say("cannot write the trace's tables to a temporary file: %s; TMPDIR names another directory than /var/tmp",
	    strerror(-error));
	return CTL_FAILED;
}

/* Read the trace into the database. Return an exit code; CTL_DAMAGED if the tables have what is intact. */
static int tables_make(struct sql *s)
{
	struct consumer to = {0};
	int r, done;

	s->fd = spool_file();
	if (s->fd < 0)
		return unwritten(s->fd);
	if (!writer_init(&s->writer, s->fd))
		return say_memory();
	s->job = (struct export_job){
		.exporter = &export_sqlite,
		.trace = s->args.left.at[0],
		.period = &s->args.timing.period,
		.out = &s->writer,
	};
	r = export_sqlite.open(&s->job, &to);
	time_filter_init(&s->filter, &to, &s->args.timing.period);
	if (r)
		return unwritten(r);
	r = input_run(&s->args.in, s->args.ctl, &s->filter.consumer, s->args.left.at[0], &s->args.selection, false,
		      s->args.verb);
	if (r == INPUT_REFUSED)
		return unwritten(s->args.in.refused);
	if (!trace_was_read(r))
		return r;
	done = time_filter_end(&s->filter);
	s->job.events = s->filter.events;
	done = done ? done : export_sqlite.finish(&s->job);
	return done ? unwritten(done) : r;
}

/* Print the statements that make the tables and views. Return an exit code. */
static int schema_print(void)
{
	fwrite(sqlite_tables, 1, sizeof(sqlite_tables), stdout);
	putchar('\n');
	fwrite(sqlite_views, 1, sizeof(sqlite_views), stdout);
	return stdout_verdict();
}

/* Check what the command line O lacks. Return an exit code. */
static int check(const struct sql *s, const struct options *o)
{
	const char *verb = s->args.verb;

	if (o->schema && s->args.left.n)
		return say_usage(verb, "--schema prints the tables of every trace, and takes no trace");
	if (o->schema)
		return CTL_OK;
	if (!s->args.left.n)
		return say_usage(verb, "%s needs a trace and a query", verb);
	if (!s->args.rest)
		return say_usage(verb, "behind the trace a query is missing, such as 'SELECT * FROM streams'");
	if (o->csv && s->args.ctl->json)
		return say_usage(verb, "--csv and --json are two answers: give one");
	if (o->csv && isatty(STDOUT_FILENO))
		return say_usage(verb, "--csv writes texts of the guest as they are: send it to a file or a pipe");
	return CTL_OK;
}

static int query_answer(struct sql *s, const struct options *o)
{
	int r = trace_query_open(&s->query, s->fd);

	r = r ? r : trace_query_prepare(&s->query, s->args.rest, s->args.verb);
	if (r)
		return r;
	if (s->args.ctl->json)
		return query_rows_json(&s->query, &s->args.timing);
	return o->csv ? query_rows_csv(&s->query) : query_rows_table(&s->query);
}

int cmd_sql(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(sql_deinit) struct sql s = {.fd = -1};
	struct options o;
	int r = trace_args_parse(&s.args, ctl, argc, argv, &o), answered;

	r = r ? r : check(&s, &o);
	if (r || o.schema)
		return r ? r : schema_print();
	s.args.selection.all = true;
	r = tables_make(&s);
	if (!trace_was_read(r))
		return r;
	answered = query_answer(&s, &o);
	return answered ? answered : r;
}
