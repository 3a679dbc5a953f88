/* How far a test has moved this process's clocks forward. Only builds with the option test-clock have this file. */
#include "clock.h"

/* The one state in file scope: every thread reads the clocks, and no call passes a clock. */
_Atomic uint64_t clock_ahead;
