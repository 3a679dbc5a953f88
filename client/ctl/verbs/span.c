/* Spans of time for people; what is exact stands in JSON. */
#include <stdio.h>

#include "span.h"

const char *span_text(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	snprintf(buf, size, i == 3 ? "%.0f %s" : "%.3f %s", (double)ns / units[i].ns, units[i].name);
	return buf;
}
