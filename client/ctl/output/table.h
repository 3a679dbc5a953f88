/* Tables for people. Columns are as wide as their contents; all cells are escaped. */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define TABLE_COLUMNS_MAX 12

struct table {
	size_t columns;
	size_t cells;
	size_t room;
	bool failed; /* out of memory */
	char **text; /* cells, row by row; owned */
	bool right[TABLE_COLUMNS_MAX];
};

/*
 * Begin a table with the COLUMNS headings HEADS. A heading that begins with '>' makes a
 * right-aligned column.
 */
void table_init(struct table *t, const char *const *heads, size_t columns);
void table_deinit(struct table *t);

/* Add the next cell. NULL and "" appear as "-". */
void table_add(struct table *t, const char *text);
void table_add_number(struct table *t, uint64_t number);
/* Add a size in powers of 1024: "512 B", "1.5 MB". */
void table_add_bytes(struct table *t, uint64_t bytes);
/* Add a string, an integer, a boolean or null of an answer. */
void table_add_json(struct table *t, const json_t *value);

/* Add an RFC 3339 time without its fraction. */
void table_add_time(struct table *t, const json_t *time);

/* Print to standard output. Return an exit code. */
int table_print(const struct table *t);

/* Write a size to BUF as table_add_bytes() does. */
void bytes_text(uint64_t bytes, char *buf, size_t size);

/* Write TIME to BUF as table_add_time() does; cut a text that is no time to SIZE. */
void time_text(const char *time, char *buf, size_t size);

/* Flush standard output. Return the exit code for all that was printed so far. */
int stdout_verdict(void);
/* Print an answer as JSON on standard output. Return an exit code. */
int json_print(const json_t *json);
/*
 * As json_print(), but in one line without a newline and without flushing. NULL means out of
 * memory.
 */
int json_print_item(const json_t *json);

#define SPAN_TEXT_MAX 32

/*
 * Write NS nanoseconds with a fitting unit, such as "1.234 ms", to BUF of SIZE bytes
 * (SPAN_TEXT_MAX). Return BUF.
 */
const char *span_text(uint64_t ns, char *buf, size_t size);

#endif
