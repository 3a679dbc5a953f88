/* Tables for people: columns as wide as they need to be, everything escaped. */
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
	bool failed; /* no memory */
	char **text; /* COLUMNS a row, row by row; owned */
	bool right[TABLE_COLUMNS_MAX];
};

/* HEADS of COLUMNS columns; a head that begins with '>' makes its column of numbers, set to the right. */
void table_init(struct table *t, const char *const *heads, size_t columns);
void table_deinit(struct table *t);

/* The next cell; NULL and "" are shown as "-". */
void table_add(struct table *t, const char *text);
void table_add_number(struct table *t, uint64_t number);
/* In powers of 1024: "512 B", "1.5 MB". */
void table_add_bytes(struct table *t, uint64_t bytes);
/* A string, a number, true or null of an answer. */
void table_add_json(struct table *t, const json_t *value);

/* RFC 3339 without the fraction of a second, which nobody reads in a table. */
void table_add_time(struct table *t, const json_t *time);

/* Print to standard output; returns an exit code, having said why. */
int table_print(const struct table *t);

/* A number of bytes as above, into BUF. */
void bytes_text(uint64_t bytes, char *buf, size_t size);

/* TIME as in a table, into BUF; what is no time of the API is cut to it. */
void time_text(const char *time, char *buf, size_t size);

/* The exit code of what was printed on standard output so far, having said why. */
int stdout_verdict(void);
/* Print an answer as JSON on standard output; returns an exit code, having said why. */
int json_print(const json_t *json);
/* The same in one line without its end, one of many, which is not pushed out; takes NULL for "no memory". */
int json_print_item(const json_t *json);

/* Spans of time as text. */

#define SPAN_TEXT_MAX 32

/* "1.234 ms": of a span of NS nanoseconds the unit that fits it, into BUF of SIZE bytes (SPAN_TEXT_MAX); returns BUF. */
const char *span_text(uint64_t ns, char *buf, size_t size);

#endif
