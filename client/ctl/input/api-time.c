#include "api-time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool api_ns(const json_t *value, uint64_t *ns)
{
	const char *text = json_string_value(value);
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ns = strtoull(text, &end, 10);
	return !*end && !errno;
}

bool api_real(const json_t *value, uint64_t *ns)
{
	const char *text = json_string_value(value), *rest;
	struct tm tm = {0};
	uint64_t fraction = 0, unit = 100000000;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest)
		return false;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			fraction += (uint64_t)(*rest - '0') * unit;
	*ns = (uint64_t)timegm(&tm) * 1000000000u + fraction;
	return strcmp(rest, "Z") == 0 && timegm(&tm) >= 0;
}
