/* Why threads wait, in words. */
#ifndef CTL_WHY_SHOW_H
#define CTL_WHY_SHOW_H

#include <jansson.h>
#include <stdint.h>

#include <mprof/explanation.h>

/* Print what cmd-why.c made, of the N THREADS that were asked for and of each of the STREAMS.  Returns an exit code, having said why. */
int why_show(const json_t *json, struct mprof_explanation *tale, const uint32_t *threads, uint32_t n, uint32_t streams);

#endif
