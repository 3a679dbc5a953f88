/* Why threads wait, as JSON. */
#ifndef CTL_WHY_ANSWER_H
#define CTL_WHY_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/tale.h>
#include <mprof/why.h>

#include "modeller.h"

/* So many links of a chain are told. */
#define WHY_LINKS_MAX 64u

/* Why THREAD waits; an object, to be decref'd; NULL without memory.  docs/man/mprofctl.1 lists its keys. */
json_t *why_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread);
/* What ran last, of each stream: an array. */
json_t *why_last_json(const struct modeller *m, const struct mprof_why *w);

/* Why threads wait, in words. */

/* Print what cmd-why.c made, of the N THREADS that were asked for and of each of the STREAMS.  Returns an exit code, having said why. */
int why_show(const json_t *json, struct mprof_tale *tale, const uint32_t *threads, uint32_t n, uint32_t streams);

#endif
