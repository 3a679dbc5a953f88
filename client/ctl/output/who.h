/* Who a thread is, as JSON; words.h says it in words. */
#ifndef CTL_WHO_H
#define CTL_WHO_H

#include <jansson.h>

#include <mprof/why.h>

#include "modeller.h"

/*
 * THREAD of M's view by id, type, the label that it had at TIME, and its stream where there are several; null for MPROF_NONE and for a
 * root.  To be decref'd.
 */
json_t *who_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time);

#endif
