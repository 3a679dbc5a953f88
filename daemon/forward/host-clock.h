/* The state of this host's clock, as the kernel knows it from its NTP daemon. */
#ifndef FORWARD_HOST_CLOCK_H
#define FORWARD_HOST_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/timex.h>

#define HOST_CLOCK_BYTES 160u

/*
 * Write the state as the JSON object of fleet.hello() (schema/fleet/README.md) to TEXT. T and RESULT are what
 * ntp_adjtime() gave. Return false, with an empty text, if no daemon keeps the clock: its error is not known.
 */
bool host_clock_text(const struct timex *t, int result, char text[HOST_CLOCK_BYTES]);
/* The same for this host now. */
bool host_clock_now(char text[HOST_CLOCK_BYTES]);

#endif
