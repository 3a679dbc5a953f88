/* How a trace came to its end. */
#ifndef CTL_ENDING_H
#define CTL_ENDING_H

#include <stdbool.h>

#include "target.h"

/*
 * Did the guest die of it?  True of a capture of a crash, of a run that ended in one, and where the end is not known: of files, and of guests
 * that were destroyed or went away.  False of what goes on, and of what ended as it should.  OPERAND was read with S before.
 */
bool ending_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s);

#endif
