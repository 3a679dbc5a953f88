/* If there is no room, a quarter of the rows is written, so that the database gets many at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "thread-rows.h"

#define ROWS	 65536u
#define TEXT_MAX (16u << 20)

int thread_rows_init(struct thread_rows *r, struct trace_tables *tables)
{
	*r = (struct thread_rows){.tables = tables, .list = calloc(ROWS, sizeof(*r->list)), .first = 1, .next = 1};
	return r->list ? 0 : -ENOMEM;
}

static struct thread_row *place(const struct thread_rows *r, uint32_t thread)
{
	return &r->list[thread % ROWS];
}

static struct thread_row *find(const struct thread_rows *r, uint32_t thread)
{
	struct thread_row *row = place(r, thread);

	return row->thread == thread ? row : NULL;
}

static void drop(struct thread_rows *r, struct thread_row *row)
{
	r->text_bytes -= row->label_bytes + row->failure_bytes;
	free(row->label);
	free(row->failure);
	*row = (struct thread_row){0};
}

void thread_rows_deinit(struct thread_rows *r)
{
	for (uint32_t i = 0; r->list && i < ROWS; i++)
		drop(r, &r->list[i]);
	free(r->list);
	r->list = NULL;
}

static int write_row(struct thread_rows *r, const struct thread_row *row)
{
	const struct table_cell null = {.kind = CELL_NULL};
	const struct table_cell cells[] = {
		cell_number(row->thread),
		cell_number(row->stream),
		strcmp(row->origin, "shared") == 0 ? null : cell_number(row->id),
		cell_constant(row->type),
		cell_constant(row->origin),
		cell_thread(row->creator),
		row->lives ? cell_number(row->created) : null,
		row->lives ? cell_number(row->ended) : null,
		cell_constant(row->ending),
		cell_thread(row->resolver),
		cell_thread(row->became),
		cell_text(row->failure, row->failure_bytes),
		cell_text(row->label, row->label_bytes),
		cell_number(row->expected),
	};

	return trace_tables_put(r->tables, ROW_THREAD, cells);
}

/* Write all rows of threads before END. */
static int write_until(struct thread_rows *r, uint32_t end)
{
	int error = 0;

	for (; r->first < end && !error; r->first++) {
		struct thread_row *row = find(r, r->first);

		if (!row)
			continue;
		error = write_row(r, row);
		drop(r, row);
	}
	return error;
}

int thread_rows_flush(struct thread_rows *r)
{
	return write_until(r, r->next);
}

int thread_rows_add(struct thread_rows *r, const struct thread_row *row)
{
	int error = 0;

	if (row->thread - r->first >= ROWS)
		error = write_until(r, row->thread < ROWS ? row->thread : row->thread - ROWS + ROWS / 4);
	if (error)
		return error;
	r->first = r->first < r->next ? r->first : row->thread;
	r->next = row->thread + 1;
	*place(r, row->thread) = *row;
	return 0;
}

/* Replace *TO by a copy of the BYTES bytes at TEXT. If there are too many texts, write all rows first. */
static int copy_text(struct thread_rows *r, char **to, size_t *to_bytes, const char *text, size_t bytes)
{
	char *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, bytes);
	free(*to);
	r->text_bytes += bytes - *to_bytes;
	*to = copy;
	*to_bytes = bytes;
	return r->text_bytes > TEXT_MAX ? thread_rows_flush(r) : 0;
}

int thread_rows_end(struct thread_rows *r, const struct thread_row *end, const char *failure, size_t bytes)
{
	struct thread_row *row = find(r, end->thread);
	const struct table_cell cells[] = {
		cell_number(end->thread),   cell_number(end->ended),  cell_constant(end->ending),
		cell_thread(end->resolver), cell_thread(end->became), cell_text(failure, bytes),
		cell_number(end->expected),
	};

	if (!row)
		return trace_tables_put(r->tables, ROW_THREAD_END, cells);
	row->ended = end->ended;
	row->ending = end->ending;
	row->resolver = end->resolver;
	row->became = end->became;
	row->expected = end->expected;
	return failure ? copy_text(r, &row->failure, &row->failure_bytes, failure, bytes) : 0;
}

int thread_rows_label(struct thread_rows *r, uint32_t thread, const char *text, size_t bytes)
{
	struct thread_row *row = find(r, thread);
	const struct table_cell cells[] = {cell_number(thread), cell_text(text, bytes)};

	return row ? copy_text(r, &row->label, &row->label_bytes, text, bytes)
		   : trace_tables_put(r->tables, ROW_THREAD_LABEL, cells);
}

int thread_rows_expect(struct thread_rows *r, uint32_t thread)
{
	struct thread_row *row = find(r, thread);
	const struct table_cell cells[] = {cell_number(thread)};

	if (row)
		row->expected = true;
	return row ? 0 : trace_tables_put(r->tables, ROW_THREAD_EXPECTED, cells);
}
