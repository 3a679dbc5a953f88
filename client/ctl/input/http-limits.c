/* A variable that is wrong is refused, not ignored: who sets one relies on it. */
#include <errno.h>
#include <stdlib.h>

#include "ctl.h"
#include "http-limits.h"

static int read_one(const char *name, uint64_t least, uint64_t most, uint64_t *value)
{
	const char *text = getenv(name);
	unsigned long long n;
	char *end;

	if (!text || !*text)
		return CTL_OK;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		return say_usage(NULL, "%s is no number from %llu to %llu: \"%s\"", name, (unsigned long long)least,
				 (unsigned long long)most, text);
	*value = n;
	return CTL_OK;
}

int limits_read(struct limits *l)
{
	int r;

	*l = (struct limits){.rate = 1024, .seconds = 60, .pages = 10000};
	r = read_one("MPROFCTL_MIN_RATE", 0, UINT32_MAX, &l->rate);
	r = r ? r : read_one("MPROFCTL_TIMEOUT", 1, 86400, &l->seconds);
	return r ? r : read_one("MPROFCTL_MAX_PAGES", 1, UINT32_MAX, &l->pages);
}
