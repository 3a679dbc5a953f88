/* What two runs have and do, on standard output, made of what diff-json.c made. */
#ifndef CTL_DIFF_WORDS_H
#define CTL_DIFF_WORDS_H

#include <jansson.h>

/* The span under KEY of OBJECT. */
void put_ns(const json_t *object, const char *key);
/* When something happened, since the trace's first event. */
void put_since(const json_t *object);
/* How many there are, with an s where it is not one. */
void put_count(json_int_t n, const char *noun);
/* A thread and its counterpart, of which one may be null; once where they look the same. */
void put_both(const json_t *good, const json_t *bad);
/* Where two counterparts part: who, on the line that was begun, and a line for each step. */
void show_parting(const json_t *parting);

#endif
