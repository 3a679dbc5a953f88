/* Why threads wait, as JSON. */
#ifndef CTL_WHY_JSON_H
#define CTL_WHY_JSON_H

#include <jansson.h>
#include <stdint.h>

#include <mprof/why.h>

#include "modeller.h"

/* So many links of a chain are told. */
#define WHY_LINKS_MAX 64u

/* Why THREAD waits; an object, to be decref'd; NULL without memory.  docs/man/mprofctl.1 lists its keys. */
json_t *why_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread);
/* What ran last, of each stream: an array. */
json_t *why_last_json(const struct modeller *m, const struct mprof_why *w);

#endif
