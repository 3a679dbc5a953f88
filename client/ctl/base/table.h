/*
 * Tables for people. Each column is as wide as its longest cell, and all cells are escaped as by
 * printable().
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "wall-time.h"

#define TABLE_COLUMNS_MAX 12
#define TABLE_CELL_MAX	  200

struct table {
	size_t columns;
	size_t cells;
	size_t room;
	bool failed; /* out of memory */
	int most;    /* most characters of a cell, which is else cut and ends in dots; 0 = any number */
	char **text; /* the cells' texts, row by row; owned */
	bool right[TABLE_COLUMNS_MAX];
};

/*
 * Begin a table of COLUMNS columns with the headings HEADS. If a heading begins with '>', its
 * column is right-aligned.
 */
void table_init(struct table *t, const char *const *heads, size_t columns);
void table_deinit(struct table *t);
/*
 * Cut cells, because a program or a guest chose their texts: to the width of the terminal if standard output is one, else
 * to TABLE_CELL_MAX characters. Call it before the first cell is added.
 */
void table_cut(struct table *t);

/* Add the next cell of the present row. TEXT of NULL or "" appears as "-". */
void table_add(struct table *t, const char *text);
/* Add a cell with the N bytes at TEXT, which may be of any kind. */
void table_add_text(struct table *t, const char *text, size_t n);
void table_add_number(struct table *t, uint64_t number);
/* Add a cell with a size in powers of 1024: "512 B", "1.5 MB". */
void table_add_bytes(struct table *t, uint64_t bytes);
/* Add a cell with VALUE: a string, an integer, a boolean or null. */
void table_add_json(struct table *t, const json_t *value);

/* Add a cell with TIME, an RFC 3339 time, in ZONE and without its fraction of a second. */
void table_add_time(struct table *t, const json_t *time, struct wall_zone *zone);

/* Print the table to standard output. Return an exit code. */
int table_print(const struct table *t);

/* Write the size BYTES to BUF of SIZE bytes, in the form of table_add_bytes(). */
void bytes_text(uint64_t bytes, char *buf, size_t size);

/*
 * Write TIME to BUF of SIZE bytes, in the form of table_add_time(): 2026-11-23T03:12:44+01:00. A
 * text that is no time is copied and cut to SIZE.
 */
void time_text(const char *time, struct wall_zone *zone, char *buf, size_t size);

/* Return the number of characters in TEXT, valid UTF-8. */
int text_width(const char *text);

/* Flush standard output. Return an exit code: CTL_OK if all that was printed so far was written. */
int stdout_verdict(void);
/* Print an answer as JSON on standard output. Return an exit code. */
int json_print(const json_t *json);

#define SPAN_TEXT_MAX 32

/*
 * Write NS nanoseconds with a fitting unit, such as "1.234 ms", to BUF of SIZE bytes (SPAN_TEXT_MAX
 * is enough). Return BUF.
 */
const char *span_text(uint64_t ns, char *buf, size_t size);

#endif
