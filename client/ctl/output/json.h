/*
 * JSON in mprofctl: strings and threads of a trace as JSON, JSON as text, and sentences made of
 * JSON answers. All JSON that programs print or store goes through json_put(), json_text() or
 * write_json_*().
 */
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

/*
 * Return a JSON string of LEN bytes at TEXT, with the replacement character for bytes that are not
 * UTF-8. The caller decrefs it. Return NULL without memory.
 */
json_t *text_json(const char *text, size_t len);

/*
 * Write JSON to F with jansson's FLAGS, escaped as mprof_text_json() does. Return false if F
 * refuses it (then ferror() is set), without memory, or if JSON is NULL.
 */
bool json_put(const json_t *json, FILE *f, size_t flags);
/*
 * As json_put(), but return a string. The caller frees it. Return NULL without memory or if JSON is
 * NULL.
 */
char *json_text(const json_t *json, size_t flags);

/*
 * Write LEN bytes at TEXT, of any length, as the inside of a JSON string. Bytes that are not UTF-8
 * become the replacement character.
 */
void write_json_text(struct writer *w, const char *text, size_t len);

/*
 * Write an event as the object that `dump --json` prints, without a newline. STREAM, if not NULL,
 * adds the stream's name. A string that is not UTF-8 is also given in hexadecimal.
 */
void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream);

/*
 * Return thread THREAD of M's view as JSON: id, type, its label at TIME, and its stream if the
 * trace has several. Return null for MPROF_NONE and for a root. The caller decrefs it.
 */
json_t *thread_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time);

/*
 * Return the value of KEY in an answer: lent, or NULL; a number, or 0; a text, or ""; the time of a
 * decimal string, or 0.
 */
const json_t *answer_get(const json_t *json, const char *key);
json_int_t answer_count(const json_t *json, const char *key);
const char *answer_string(const json_t *json, const char *key);
uint64_t answer_time(const json_t *json, const char *key);

/* Print a time as dump does, or the span between two times, 0 if TO is before FROM. */
void print_time(uint64_t ns);
void print_span(uint64_t from, uint64_t to);
/* Print TEXT escaped; use it for all text from outside. */
void print_safe(const char *text);
/*
 * Print a thread of thread_json(): `4453 (Condition, "Wait for ARP response")`. A value without a
 * thread is the program itself.
 */
void print_thread(const json_t *who);

#endif
