/* Ask mprofctl's verbs, in this process. */
#ifndef JUDGE_ANSWERS_H
#define JUDGE_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/*
 * Run VERB of `mprofctl --json` with the operands A and B. B may be NULL. Return what it printed, which
 * the caller decrefs, or NULL if that is no JSON. *CODE is the exit code.
 */
json_t *answers_ask(const char *verb, const char *a, const char *b, int *code);

/* Run `mprofctl export` of PATH to FORMAT, into FILE. Return whether it worked. */
bool answers_export(const char *path, const char *format, const char *file);

/* Members of JSON, with 0, -1 or NULL where there is none. */
int64_t answers_number(const json_t *json, const char *key);
uint64_t answers_time(const json_t *json, const char *key);
const char *answers_text(const json_t *json, const char *key);

#endif
