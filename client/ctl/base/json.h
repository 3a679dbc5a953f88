/*
 * JSON in mprofctl: strings and events of a trace as JSON, JSON as text, and parts of sentences
 * about traces. All JSON that mprofctl makes is written by json_put(), json_text(), write_json_*(), or
 * libmprof (<mprof/json-writer.h>).
 */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <mprof/trace.h>

#include "output-writer.h"

/*
 * Return a JSON string of LEN bytes at TEXT, with the replacement character for bytes that are not
 * UTF-8. The caller decrefs it. Return NULL without memory.
 */
json_t *text_json(const char *text, size_t len);

/*
 * Write JSON to F with jansson's FLAGS, escaped as mprof_text_json() does. Return false if writing
 * to F fails (then ferror() is set), without memory, or if JSON is NULL.
 */
bool json_put(const json_t *json, FILE *f, size_t flags);
/*
 * Return JSON as text with jansson's FLAGS, escaped as mprof_text_json() does. The caller frees the
 * text. Return NULL without memory or if JSON is NULL.
 */
char *json_text(const json_t *json, size_t flags);

/*
 * Write an event as the object that `dump --json` prints, without a newline. If STREAM is not NULL,
 * the object has the stream's name. A string that is not UTF-8 is written in hexadecimal, too.
 */
void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream);
/*
 * As write_json_event(), with the N bytes of JSON members MORE behind the event's time. N of 0: no
 * further members.
 */
void write_json_event_with(struct writer *w, const struct mprof_raw_event *e, const char *stream, const char *more,
			   size_t n);

/*
 * Print a time as `dump` does; and print the span between two times, which is 0 if TO is before
 * FROM.
 */
void print_time(uint64_t ns);
void print_span(uint64_t from, uint64_t to);
/* Print N and NOUN, with an s unless N is 1; and `1 packet is missing`, or how many are. */
void print_count(json_int_t n, const char *noun);
void print_missing(json_int_t packets);
/*
 * Print TEXT on standard output, escaped as by printable(): its LEN bytes, or all up to its end. Use these functions for all text from
 * a trace or a server.
 */
void print_text(const char *text, size_t len);
void print_safe(const char *text);

#endif
