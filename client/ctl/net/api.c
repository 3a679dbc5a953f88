#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "array.h"
#include "cleanup.h"

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

bool api_is_number(const char *text)
{
	return text[0] && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 18;
}

/*
 * Find the last part of the LEN bytes at TEXT, behind a dot: PART to the end. Return its length; 0 if there is no
 * dot.
 */
static size_t last_part(const char *text, size_t len, const char **part)
{
	const char *dot = memrchr(text, '.', len);

	*part = dot ? dot + 1 : text + len;
	return dot ? (size_t)(text + len - *part) : 0;
}

/* Return whether the last part of the *LEN bytes at TEXT has only BYTES. *LEN is then the rest before it. */
static bool cut_part(const char *text, size_t *len, const char *bytes, size_t *part_len)
{
	const char *part;

	*part_len = last_part(text, *len, &part);
	if (!*part_len || strspn(part, bytes) < *part_len)
		return false;
	*len -= *part_len + 1;
	return true;
}

bool api_is_id(const char *text, bool recording)
{
	size_t len = strlen(text), n;

	if (api_is_number(text))
		return true;
	/* A name of a host may have dots, too. */
	for (int numbers = recording ? 2 : 1; numbers; numbers--)
		if (!cut_part(text, &len, "0123456789", &n) || n > 18)
			return false;
	return cut_part(text, &len, "0123456789abcdef-", &n) && (n == 8 || n == 36) && len &&
	       strlen(text) < API_ID_MAX && !memchr(text, '/', len);
}

char *api_hub_guest(const json_t *json)
{
	const char *host = json_string_value(json_object_get(json, "host"));
	const json_t *of_domain = json_object_get(json, "name"), *of_capture = json_object_get(json, "domain");
	const char *name = json_string_value(of_capture ? of_capture : of_domain);
	char *guest = NULL;

	return host && name && asprintf(&guest, "%s/%s", host, name) >= 0 ? guest : NULL;
}

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
