/* How the guest of a trace ended. */
#ifndef CTL_END_REASON_H
#define CTL_END_REASON_H

#include <stdbool.h>

#include "ctl.h"
#include "trace-source.h"

/*
 * Return true if the guest of the trace OPERAND, selected by S, crashed. It is true for a capture
 * of a crash and for a run that ended in a crash. It is also true if the reason of the end is
 * unknown: for a file, and for a guest that was destroyed or went away. It is false for a run that
 * goes on or shut down.
 */
bool end_reason_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s);

#endif
