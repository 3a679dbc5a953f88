/* Globs of guest names. */
#include <string.h>

#include "glob.h"

bool glob_closed(const char *glob)
{
	for (; *glob; glob++) {
		if (*glob == '\\' && glob[1]) {
			glob++;
		} else if (*glob == '[') {
			glob++;
			glob += *glob == '!' || *glob == '^';
			glob = *glob ? strchr(glob + 1, ']') : NULL;
			if (!glob)
				return false;
		}
	}
	return true;
}
