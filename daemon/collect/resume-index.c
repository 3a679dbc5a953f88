/*
 * The resume index: what the archive has of each run and stream when the process begins, so that
 * runs continue.
 *
 * It has one entry for each stream of each run, and one for a run without streams. The entries are
 * sorted by run, oldest first, and keep their addresses until collector_resume_free(). An entry is
 * *settled* once its run was continued or is over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "log.h"
#include "printable.h"

#define GROWTH 64u

int collector_resume_add(void *context, const struct archive_resume *resume)
{
	struct collector *c = context;
	struct archive_resume copy = *resume;
	struct resume_entry *entry;
	char *texts;

	if (c->n_resume % GROWTH == 0) {
		entry = realloc(c->resume_index, (c->n_resume + GROWTH) * sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		c->resume_index = entry;
	}
	texts = texts_copy((const char **[]){&copy.source, &copy.key, &copy.name, &copy.uuid, &copy.state,
					     &copy.captured_as, &copy.label},
			   7);
	if (!texts)
		return -ENOMEM;
	c->resume_index[c->n_resume++] = (struct resume_entry){.resume = copy, .texts = texts};
	return 0;
}

void collector_resume_free(struct collector *c)
{
	for (size_t i = 0; i < c->n_resume; i++)
		free(c->resume_index[i].texts);
	free(c->resume_index);
	c->resume_index = NULL;
	c->n_resume = 0;
}

/*
 * Return the first entry of RUN, and in *END the address behind its last entry. If RUN has no
 * entries, both are equal.
 */
static struct resume_entry *entries(struct collector *c, int64_t run, struct resume_entry **end)
{
	size_t low = 0, high = c->n_resume, last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->resume_index[middle].resume.run < run)
			low = middle + 1;
		else
			high = middle;
	}
	for (last = low; last < c->n_resume && c->resume_index[last].resume.run == run;)
		last++;
	*end = c->resume_index + last;
	return c->resume_index + low;
}

/*
 * Return an entry of the newest run of SOURCE whose key is KEY, or with IS_PREFIX begins with KEY.
 * Return NULL if there is none.
 */
static struct resume_entry *newest(struct collector *c, const char *source, const char *key, bool is_prefix)
{
	size_t n = strlen(key) + !is_prefix;

	for (size_t i = c->n_resume; i-- > 0;) {
		const struct archive_resume *r = &c->resume_index[i].resume;

		if (strncmp(r->key, key, n) == 0 && strcmp(r->source, source) == 0)
			return &c->resume_index[i];
	}
	return NULL;
}

struct resume_entry *collector_resume_find(struct collector *c, const char *source, const char *key, uint32_t number)
{
	struct resume_entry *entry = newest(c, source, key, false), *end;

	/* If the newest run of this key is settled, older runs are over. */
	if (!entry || entry->settled)
		return NULL;
	for (entry = entries(c, entry->resume.run, &end); entry < end; entry++)
		if (entry->resume.number == number)
			return entry;
	return NULL;
}

struct resume_entry *collector_resume_run(struct collector *c, const char *source, const char *key)
{
	struct resume_entry *entry = newest(c, source, key, false);

	return entry && !entry->settled ? entry : NULL;
}

struct resume_entry *collector_resume_label(struct collector *c, int64_t run, const char *label)
{
	struct resume_entry *end, *found = NULL;

	for (struct resume_entry *entry = entries(c, run, &end); entry < end; entry++)
		if (entry->resume.stream && !entry->attached && entry->resume.label &&
		    strcmp(entry->resume.label, label) == 0)
			found = entry;
	return found;
}

uint32_t collector_resume_numbers(struct collector *c, int64_t run)
{
	struct resume_entry *end;
	uint32_t next = 0;

	for (struct resume_entry *entry = entries(c, run, &end); entry < end; entry++)
		if (entry->resume.stream && entry->resume.number >= next)
			next = entry->resume.number + 1;
	return next;
}

const struct resume_entry *collector_resume_life(struct collector *c, const char *source, const char *prefix)
{
	return newest(c, source, prefix, true);
}

struct resume_entry *collector_resume_stream(struct collector *c, int64_t run, uint32_t number)
{
	struct resume_entry *end;

	for (struct resume_entry *entry = entries(c, run, &end); entry < end; entry++)
		if (entry->resume.stream && entry->resume.number == number)
			return entry;
	return NULL;
}

void collector_resume_taken_up(struct collector *c, int64_t run)
{
	struct resume_entry *end;

	for (struct resume_entry *entry = entries(c, run, &end); entry < end; entry++)
		entry->settled = true;
}

void collector_resume_attached(struct collector *c, int64_t run, uint32_t number)
{
	struct resume_entry *entry = collector_resume_stream(c, run, number);

	if (entry)
		entry->attached = true;
}

void collector_resume_declare(struct collector *c, int64_t run)
{
	struct resume_entry *end;

	for (struct resume_entry *entry = entries(c, run, &end); entry < end; entry++) {
		const struct archive_resume *r = &entry->resume;

		/* A suspended guest writes nothing, and what it left was captured. */
		if (!r->stream || entry->attached || r->end_known || strcmp(r->state, "running") != 0)
			continue;
		if (guest_report_loss(&c->shared, r, "restart"))
			log_warning("%s: out of memory", r->name);
		entry->attached = true;
	}
}

void collector_resume_over(struct collector *c, struct resume_entry *entry)
{
	const struct archive_resume *last = &entry->resume;
	struct resume_entry *end;

	collector_resume_taken_up(c, last->run);
	if (strcmp(last->state, "ended") == 0)
		return;
	collector_resume_declare(c, last->run);
	/* The run ended when the last bytes of any of its streams were copied. */
	for (entry = entries(c, last->run, &end); entry < end; entry++)
		if (entry->resume.any && (!last->any || entry->resume.last_real > last->last_real))
			last = &entry->resume;
	if (guest_report_end(&c->shared, last))
		log_warning("%s: out of memory", last->name);
	log_write(LOG_LEVEL_INFO, last->name, "gone while mprofd was down, run=%lld ended", (long long)last->run);
}

void collector_resume_settle(struct collector *c, const char *source,
			     bool (*waits)(const void *context, const struct archive_resume *resume),
			     const void *context)
{
	for (size_t i = 0; i < c->n_resume; i++) {
		struct resume_entry *entry = &c->resume_index[i];

		if (!entry->settled && strcmp(entry->resume.source, source) == 0 &&
		    !(waits && waits(context, &entry->resume)))
			collector_resume_over(c, entry);
	}
}
