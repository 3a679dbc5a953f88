/* JSON of mprofctl: strings of a trace into it, and all of it into text.  Programs print or store JSON through here or write-json.h alone. */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <mprof/trace.h>
#include <mprof/why.h>

#include "modeller.h"
#include "writer.h"

/* What is no UTF-8 of it becomes the replacement character.  To be decref'd; NULL without memory. */
json_t *text_json(const char *text, size_t len);

/*
 * Write JSON into F with jansson's FLAGS; what mprof_text_json() escapes is escaped.  Return false if F refuses it (ferror() is set then), if
 * there is no memory, or if JSON is NULL.
 */
bool json_put(const json_t *json, FILE *f, size_t flags);
/* Return the same as a string, to be freed; NULL without memory or if JSON is NULL. */
char *json_text(const json_t *json, size_t flags);

/* JSON straight into a writer: strings of a trace and its events. */

/* What stands between the quotes of a string, LEN bytes at TEXT, of any length: what is no UTF-8 becomes the replacement character. */
void write_json_text(struct writer *w, const char *text, size_t len);

/*
 * An event as the object that `dump --json` prints, without a newline.  STREAM, if not NULL, is the name that stands in it.  A string that
 * is no UTF-8 stands there in hexadecimal besides.
 */
void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream);

/* Who a thread is, as JSON; print_thread() says it in words. */

/*
 * THREAD of M's view by id, type, the label that it had at TIME, and its stream where there are several; null for MPROF_NONE and for a
 * root.  To be decref'd.
 */
json_t *thread_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time);

/* Words about threads and times, made of JSON, on standard output. */

/* What stands in JSON under KEY: lent, or NULL; a number, or 0; a text, or ""; a time of a decimal string, or 0. */
const json_t *answer_get(const json_t *json, const char *key);
json_int_t answer_count(const json_t *json, const char *key);
const char *answer_string(const json_t *json, const char *key);
uint64_t answer_time(const json_t *json, const char *key);

/* A time as dump prints it, and the span between two, 0 where it goes back. */
void print_time(uint64_t ns);
void print_span(uint64_t from, uint64_t to);
/* What comes from outside, escaped. */
void print_safe(const char *text);
/* Who a thread is: `4453 (Condition, "Wait for ARP response")`.  What is no thread has no id. */
void print_thread(const json_t *who);
/* The same, and when it did what is told: its `time_ns`. */
void print_action(const json_t *deed);

#endif
