/*
 * The kernel counts the largest error up since the daemon's last correction, so `maxerror` bounds the
 * clock's distance from the right time. `offset` is the part of the last correction that is still to be made.
 */
#include "host-clock.h"

#include <stdio.h>

#include "clock.h"

bool host_clock_text(const struct timex *t, int result, char text[HOST_CLOCK_BYTES])
{
	long long offset = t->offset;

	text[0] = '\0';
	if (result < 0 || result == TIME_ERROR || t->status & STA_UNSYNC || t->maxerror < 0)
		return false;
	if (!(t->status & STA_NANO))
		offset *= (long long)NS_PER_US;
	snprintf(text, HOST_CLOCK_BYTES, "{\"offset_ns\": %lld, \"uncertainty_ns\": %llu, \"source\": \"%s\"}", offset,
		 (unsigned long long)t->maxerror * NS_PER_US,
		 t->status & (STA_PPSTIME | STA_PPSFREQ) ? "the kernel, by a PPS signal" : "the kernel, by NTP");
	return true;
}

bool host_clock_now(char text[HOST_CLOCK_BYTES])
{
	struct timex t = {0};
	int result = ntp_adjtime(&t);

	return host_clock_text(&t, result, text);
}
