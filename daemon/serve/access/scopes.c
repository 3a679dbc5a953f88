/* Parse scopes, and match names of guests against their globs. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "glob.h"
#include "scopes.h"

#define BLANKS	  " \t"
#define GLOBS_MAX 64u /* globs of one scope */

const char *const scope_names[SCOPES] = {[SCOPE_READ] = "read", [SCOPE_CONTEXT] = "context", [SCOPE_WRITE] = "write"};

/* The globs of one scope: N strings, one behind the other in TEXT, each with its NUL. */
struct globs {
	char *shown; /* separated by single blanks, owned */
	char *list[GLOBS_MAX];
	size_t n;
	bool all; /* one of them is "*" */
};

struct scopes {
	unsigned references;
	bool metrics;
	struct globs globs[SCOPES];
	char text[SCOPES_TEXT_MAX];
};

static void globs_deinit(struct globs *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->list[i]);
	free(g->shown);
}

struct scopes *scopes_unref(struct scopes *s)
{
	if (!s || --s->references)
		return NULL;
	for (size_t i = 0; i < SCOPES; i++)
		globs_deinit(&s->globs[i]);
	free(s);
	return NULL;
}
CLEANUP_DEFINE(struct scopes, scopes_unref)

struct scopes *scopes_ref(struct scopes *s)
{
	s->references++;
	return s;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_control(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return true;
	return false;
}

/* Add the glob of N bytes at TEXT, unless it is there. Return 0 or -errno. */
static int globs_add(struct globs *g, const char *text, size_t n)
{
	char *glob;

	/* The token file has a line for each token. */
	if (has_control(text, n))
		return -EILSEQ;
	for (size_t i = 0; i < g->n; i++)
		if (strlen(g->list[i]) == n && memcmp(g->list[i], text, n) == 0)
			return 0;
	if (g->n == GLOBS_MAX)
		return -E2BIG;
	glob = strndup(text, n);
	if (!glob)
		return -ENOMEM;
	g->list[g->n++] = glob;
	g->all |= strcmp(glob, "*") == 0;
	return glob_closed(glob) ? 0 : -EINVAL;
}

/* Sort the globs, and join them in SHOWN. Return 0 or -ENOMEM. */
static int globs_finish(struct globs *g)
{
	size_t bytes = 1;
	char *at;

	qsort(g->list, g->n, sizeof(g->list[0]), compare);
	for (size_t i = 0; i < g->n; i++)
		bytes += strlen(g->list[i]) + 1;
	g->shown = at = malloc(bytes);
	if (!at)
		return -ENOMEM;
	*at = '\0';
	for (size_t i = 0; i < g->n; i++)
		at = stpcpy(stpcpy(at, i ? " " : ""), g->list[i]);
	return 0;
}

static int take_globs(struct globs *g, const char *text, size_t bytes)
{
	const char *end = text + bytes;
	int rc = 0;

	while (rc == 0) {
		size_t n;

		text += strspn(text, BLANKS);
		if (text >= end)
			break;
		n = strcspn(text, BLANKS);
		n = n < (size_t)(end - text) ? n : (size_t)(end - text);
		rc = globs_add(g, text, n);
		text += n;
	}
	return rc;
}

/* Take the item of BYTES bytes at TEXT, a KEY=VALUE. Return 0 or -errno; -ENOENT: the key is unknown. */
static int take_item(struct scopes *s, const char *text, size_t bytes)
{
	const char *equals = memchr(text, '=', bytes);
	size_t key = equals ? (size_t)(equals - text) : 0, value = equals ? bytes - key - 1 : 0;

	for (size_t i = 0; i < SCOPES && equals; i++)
		if (strlen(scope_names[i]) == key && memcmp(text, scope_names[i], key) == 0)
			return take_globs(&s->globs[i], equals + 1, value);
	if (equals && key == 7 && memcmp(text, "metrics", 7) == 0) {
		if (value == 3 && memcmp(equals + 1, "yes", 3) == 0)
			s->metrics = true;
		else if (value != 2 || memcmp(equals + 1, "no", 2) != 0)
			return -ENOENT;
		return 0;
	}
	return -ENOENT;
}

static int finish(struct scopes *s)
{
	int len;

	for (size_t i = 0; i < SCOPES; i++)
		if (globs_finish(&s->globs[i]) < 0)
			return -ENOMEM;
	len = snprintf(s->text, sizeof(s->text), "read=%s;context=%s;write=%s;metrics=%s", s->globs[SCOPE_READ].shown,
		       s->globs[SCOPE_CONTEXT].shown, s->globs[SCOPE_WRITE].shown, s->metrics ? "yes" : "no");
	return len < 0 || (size_t)len >= sizeof(s->text) ? -E2BIG : 0;
}

static void say(char *sentence, size_t size, int rc, const char *item, size_t bytes)
{
	if (rc == -ENOMEM)
		snprintf(sentence, size, "no memory left to read the scopes");
	else if (rc == -E2BIG)
		snprintf(sentence, size,
			 "the scopes are longer than %u bytes, or have more than %u globs: use wider globs",
			 SCOPES_TEXT_MAX - 1, GLOBS_MAX);
	else if (rc == -EINVAL)
		snprintf(sentence, size, "%.*s has a glob with a [ without its ]", (int)(bytes < 80 ? bytes : 80),
			 item);
	else if (rc == -EILSEQ)
		snprintf(sentence, size, "a glob has a control character");
	else
		snprintf(sentence, size,
			 "\"%.*s\" is no scope: write read=GLOBS, context=GLOBS, write=GLOBS or metrics=yes",
			 (int)(bytes < 80 ? bytes : 80), item);
}

struct scopes *scopes_parse(const char *text, char *sentence, size_t size)
{
	CLEANUP(scopes_unrefp) struct scopes *s = calloc(1, sizeof(*s));
	size_t n = 0;
	int rc = s ? 0 : -ENOMEM;

	if (s)
		s->references = 1;
	while (rc == 0) {
		text += n + strspn(text + n, BLANKS ";,");
		if (!*text)
			break;
		n = strcspn(text, ";,");
		rc = take_item(s, text, n);
	}
	if (rc == 0)
		rc = finish(s);
	if (rc < 0) {
		say(sentence, size, rc, text, n);
		return NULL;
	}
	return TAKE_PTR(s);
}

struct scopes *scopes_join(const struct scopes *a, const struct scopes *b, char *sentence, size_t size)
{
	char text[2 * SCOPES_TEXT_MAX];

	snprintf(text, sizeof(text), "%s;%s", a->text, b->text);
	return scopes_parse(text, sentence, size);
}

const char *scopes_text(const struct scopes *s)
{
	return s->text;
}

const char *scopes_globs(const struct scopes *s, enum scope scope)
{
	return s->globs[scope].shown;
}

bool scopes_metrics(const struct scopes *s)
{
	return s->metrics;
}

static bool globs_match(const struct globs *g, const char *name)
{
	if (g->all || !name)
		return g->all;
	for (size_t i = 0; i < g->n; i++)
		if (fnmatch(g->list[i], name, 0) == 0)
			return true;
	return false;
}

bool scopes_allow(const struct scopes *s, enum scope scope, const char *name)
{
	return globs_match(&s->globs[SCOPE_READ], name) && (scope == SCOPE_READ || globs_match(&s->globs[scope], name));
}

bool scopes_all(const struct scopes *s, enum scope scope)
{
	return s->globs[SCOPE_READ].all && s->globs[scope].all;
}

bool scopes_everything(const struct scopes *s)
{
	return s->metrics && scopes_all(s, SCOPE_READ) && scopes_all(s, SCOPE_CONTEXT) && scopes_all(s, SCOPE_WRITE);
}
