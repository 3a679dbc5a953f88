/* xen_is_dom0() is in a file of its own because it needs none of Xen's libraries. */
#include <stdio.h>
#include <string.h>

#include "xen.h"

bool xen_is_dom0(void)
{
	CLEANUP(fclosep) FILE *file = fopen("/proc/xen/capabilities", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "control_d"))
			return true;
	return false;
}
