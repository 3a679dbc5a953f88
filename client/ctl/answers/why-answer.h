/* The answer of `mprofctl why`: why threads wait, as JSON and as text. */
#ifndef CTL_WHY_ANSWER_H
#define CTL_WHY_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/explanation.h>
#include <mprof/why.h>

#include "modeller.h"

/* Links of a chain in an answer. */
#define WHY_LINKS_MAX 64u

/*
 * Return why THREAD waits, as an object that the caller decrefs, or NULL without memory.
 * docs/man/mprofctl.1 lists the keys.
 */
json_t *why_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread);
/* Return what ran last, as an array with an object for each stream. */
json_t *why_last_json(const struct modeller *m, const struct mprof_why *w);

/*
 * Print the answer JSON of cmd-why.c: the explanation of each of the N THREADS, and what ran last
 * in each of the STREAMS. Return an exit code.
 */
int why_show(const json_t *json, struct mprof_explanation *tale, const uint32_t *threads, uint32_t n, uint32_t streams);

#endif
