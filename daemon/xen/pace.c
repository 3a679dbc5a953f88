/* Two windows, each begun anew when it is over. */
#include "pace.h"

bool pace_change(struct pace *pace, uint64_t now)
{
	if (now - pace->second >= NS_PER_S) {
		pace->second = now;
		pace->in_second = 0;
	}
	if (now - pace->minute >= 60 * NS_PER_S) {
		pace->minute = now;
		pace->in_minute = 0;
	}
	return ++pace->in_second <= PACE_SECOND && ++pace->in_minute <= PACE_MINUTE;
}
