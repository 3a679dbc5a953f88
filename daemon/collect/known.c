/*
 * What the archive knew when the process began, so that runs go on.
 *
 * One entry for each stream of each run, and one for a run that has none; a run's lie together, oldest run first.  Entries stay where they
 * are until the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "log.h"

#define GROWTH 64u

static int text_copy(const char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static void texts_free(struct archive_resume *r)
{
	free((char *)r->source);
	free((char *)r->key);
	free((char *)r->name);
	free((char *)r->uuid);
	free((char *)r->state);
	free((char *)r->captured_as);
}

int collector_know(void *context, const struct archive_resume *resume)
{
	struct collector *c = context;
	struct archive_resume copy = *resume;
	struct known_stream *known;

	if (c->n_known % GROWTH == 0) {
		known = realloc(c->known, (c->n_known + GROWTH) * sizeof(*known));
		if (!known)
			return -ENOMEM;
		c->known = known;
	}
	copy.source = copy.key = copy.name = copy.uuid = copy.state = copy.captured_as = NULL;
	if (text_copy(&copy.source, resume->source) || text_copy(&copy.key, resume->key) ||
	    text_copy(&copy.name, resume->name) || text_copy(&copy.uuid, resume->uuid) ||
	    text_copy(&copy.state, resume->state) || text_copy(&copy.captured_as, resume->captured_as)) {
		texts_free(&copy);
		return -ENOMEM;
	}
	c->known[c->n_known++] = (struct known_stream){.resume = copy};
	return 0;
}

void collector_forget(struct collector *c)
{
	for (size_t i = 0; i < c->n_known; i++)
		texts_free(&c->known[i].resume);
	free(c->known);
	c->known = NULL;
	c->n_known = 0;
}

/* The first entry of RUN; *END is behind its last.  Both the same: there is none. */
static struct known_stream *entries(struct collector *c, int64_t run, struct known_stream **end)
{
	size_t low = 0, high = c->n_known, last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->known[middle].resume.run < run)
			low = middle + 1;
		else
			high = middle;
	}
	for (last = low; last < c->n_known && c->known[last].resume.run == run;)
		last++;
	*end = c->known + last;
	return c->known + low;
}

/* An entry of the newest run of SOURCE whose key is KEY, or with IS_PREFIX begins with it; or NULL. */
static struct known_stream *newest(struct collector *c, const char *source, const char *key, bool is_prefix)
{
	size_t n = strlen(key) + !is_prefix;

	for (size_t i = c->n_known; i-- > 0;) {
		const struct archive_resume *r = &c->known[i].resume;

		if (strncmp(r->key, key, n) == 0 && strcmp(r->source, source) == 0)
			return &c->known[i];
	}
	return NULL;
}

struct known_stream *collector_known(struct collector *c, const char *source, const char *key, uint32_t number)
{
	struct known_stream *known = newest(c, source, key, false), *end;

	/* What was before a run that was taken up is over, whatever it was. */
	if (!known || known->settled)
		return NULL;
	for (known = entries(c, known->resume.run, &end); known < end; known++)
		if (known->resume.number == number)
			return known;
	return NULL;
}

const struct archive_resume *collector_known_life(struct collector *c, const char *source, const char *prefix)
{
	const struct known_stream *known = newest(c, source, prefix, true);

	return known ? &known->resume : NULL;
}

struct known_stream *collector_known_stream(struct collector *c, int64_t run, uint32_t number)
{
	struct known_stream *end;

	for (struct known_stream *known = entries(c, run, &end); known < end; known++)
		if (known->resume.stream && known->resume.number == number)
			return known;
	return NULL;
}

void collector_taken_up(struct collector *c, int64_t run)
{
	struct known_stream *end;

	for (struct known_stream *known = entries(c, run, &end); known < end; known++)
		known->settled = true;
}

void collector_over(struct collector *c, struct known_stream *known)
{
	const struct archive_resume *last = &known->resume;
	struct known_stream *end;

	collector_taken_up(c, last->run);
	if (strcmp(last->state, "ended") == 0)
		return;
	/* It was heard of last when the last of its streams was. */
	for (known = entries(c, last->run, &end); known < end; known++)
		if (known->resume.any && (!last->any || known->resume.last_real > last->last_real))
			last = &known->resume;
	if (guest_was(&c->shared, last))
		log_warning("%s: out of memory", last->name);
	log_write(LOG_LEVEL_INFO, last->name, "gone while nobody looked, run=%lld ended", (long long)last->run);
}

void collector_settle(struct collector *c, const char *source)
{
	for (size_t i = 0; i < c->n_known; i++)
		if (!c->known[i].settled && strcmp(c->known[i].resume.source, source) == 0)
			collector_over(c, &c->known[i]);
}
