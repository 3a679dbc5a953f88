/*
 * This file reads the limits on a server's answers from the environment, and checks answers against
 * the limits. A variable with an invalid value is an error, because the user relies on the limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "http-limits.h"
#include "http.h"

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
		return say_usage(NULL, "%s is not a number from %llu to %llu: \"%s\"", name, (unsigned long long)least,
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

/*
 * Measure the rate in consecutive windows, each as long as the limit SECONDS. The first window
 * begins with the first byte. A short pause of a slow connection is allowed, because the whole
 * window counts. A server cannot satisfy the limit with a few single bytes.
 */

void rate_add(struct rate *r, size_t n)
{
	if (!r->began)
		r->waited_ms = 0;
	r->began = true;
	r->bytes += n;
}

enum rate_verdict rate_wait(struct rate *r, uint64_t ms)
{
	uint64_t bytes = r->bytes;

	if (r->unending && (r->in_body || !r->began))
		return RATE_OK;
	r->waited_ms += ms;
	if (r->waited_ms < r->limits->seconds * 1000)
		return RATE_OK;
	r->waited_ms = r->bytes = 0;
	if (!bytes)
		return RATE_SILENT;
	return r->unending || bytes < r->limits->rate * r->limits->seconds ? RATE_SLOW : RATE_OK;
}

/*
 * Only the server knows the meaning of a cursor. The client recognises an endless list by a cursor
 * that the server sends a second time.
 */

void pages_deinit(struct pages *p)
{
	free(p->cursor);
	json_decref(p->seen);
	*p = (struct pages){0};
}

/*
 * Make CURSOR the cursor of the next page, and remember that the server sent it. Return false
 * without memory.
 */
static bool note_cursor(struct pages *p, const char *cursor)
{
	if (!p->seen)
		p->seen = json_object();
	free(p->cursor);
	p->cursor = strdup(cursor);
	return p->cursor && p->seen && json_object_set_new(p->seen, cursor, json_true()) == 0;
}

int pages_turn(struct pages *p, const struct http *h, const json_t *page)
{
	const char *next = json_string_value(json_object_get(page, "next"));

	if (!next) {
		free(p->cursor);
		p->cursor = NULL;
		return CTL_OK;
	}
	if (json_object_get(p->seen, next)) {
		say("%s gives the same page of %s again and again", h->host, p->what);
		return CTL_FAILED;
	}
	if (++p->n >= h->limits.pages) {
		say("%s has given %" PRIu64 " pages of %s and has more; MPROFCTL_MAX_PAGES allows them", h->host, p->n,
		    p->what);
		return CTL_FAILED;
	}
	return note_cursor(p, next) ? CTL_OK : say_memory();
}
