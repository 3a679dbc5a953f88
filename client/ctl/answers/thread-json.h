/* A thread of a trace as JSON, and in sentences. */
#ifndef CTL_THREAD_JSON_H
#define CTL_THREAD_JSON_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/why.h>

#include "modeller.h"

/*
 * Return thread THREAD of the model M as a JSON object: id, type, its label at TIME, and its stream
 * if the trace has several. Return JSON null for MPROF_NONE and for the root thread of a program.
 * The caller decrefs the result.
 */
json_t *thread_json(const struct modeller *m, const struct mprof_why *w, uint32_t thread, uint64_t time);

/*
 * Print a thread that thread_json() returned: `4453 (Condition, "Wait for ARP response")`. If WHO
 * is no thread, print that it is the program itself.
 */
void print_thread(const json_t *who);

#endif
