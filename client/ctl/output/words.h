/* Words about threads and times, made of JSON, on standard output. */
#ifndef CTL_WORDS_H
#define CTL_WORDS_H

#include <jansson.h>
#include <stdint.h>

/* What stands in JSON under KEY: lent, or NULL; a number, or 0; a text, or ""; a time of a decimal string, or 0. */
const json_t *words_get(const json_t *json, const char *key);
json_int_t words_count(const json_t *json, const char *key);
const char *words_string(const json_t *json, const char *key);
uint64_t words_time(const json_t *json, const char *key);

/* A time as dump prints it, and the span between two, 0 where it goes back. */
void put_time(uint64_t ns);
void put_span(uint64_t from, uint64_t to);
/* What comes from outside, escaped. */
void put_safe(const char *text);
/* Who a thread is: `4453 (Condition, "Wait for ARP response")`.  What is no thread has no id. */
void put_who(const json_t *who);
/* The same, and when it did what is told: its `time_ns`. */
void put_deed(const json_t *deed);

#endif
