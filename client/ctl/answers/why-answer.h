/* The answer of `mprofctl why`: why threads wait, as JSON and as text. */
#ifndef CTL_WHY_ANSWER_H
#define CTL_WHY_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/explanation.h>
#include <mprof/waits.h>
#include <mprof/why.h>

#include "modeller.h"
#include "timing.h"

/* Greatest number of links of a chain that an answer lists. */
#define WHY_LINKS_MAX 64u

/*
 * Return the reason why THREAD waits, as a JSON object. GROUP is its group, or NULL if the user names
 * the thread. The caller decrefs the object. docs/man/mprofctl.1 lists its keys. Return NULL without memory.
 */
json_t *why_json(const struct modeller *m, const struct mprof_why *w, const struct mprof_waits_group *group,
		 uint32_t thread);
/*
 * Return how many groups of waiting threads WAITS has, and whether a thread can wait unseen, as JSON; null
 * if WAITS is NULL. The caller decrefs it.
 */
json_t *why_waits_json(const struct modeller *m, const struct mprof_waits *waits);
/*
 * Return the threads that ran last, as a JSON array with one object for each guest. The caller
 * decrefs the array. Return NULL without memory.
 */
json_t *why_last_json(const struct modeller *m, const struct mprof_why *w);

/*
 * Print as text the object JSON that `why --json` prints: the explanation of each of the N GROUPS,
 * what WAITS (NULL: the user names a thread) leaves open, and the threads that ran last in each guest of LAST, NULL = none. EXPLANATION is scratch space, and TIMING
 * shows times. Return an exit code.
 */
int why_show(const json_t *json, struct mprof_explanation *explanation, struct timing *timing,
	     const struct mprof_waits *waits, const struct mprof_waits_group *groups, uint32_t n,
	     const struct modeller *last);

#endif
