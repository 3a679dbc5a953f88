#include "domain.h"

#include <stdio.h>
#include <string.h>

const char *domain_name(const char *domain)
{
	return strncmp(domain, "domain:", 7) == 0 ? domain + 7 : domain;
}

char *domain_path(struct http *h, const char *domain, const char *what)
{
	char *name = http_escape(h, domain_name(domain)), *path = NULL;
	int r = -1;

	if (name)
		r = asprintf(&path, "/v1/domains/%s/%s", name, what);
	curl_free(name);
	return r < 0 ? NULL : path;
}
