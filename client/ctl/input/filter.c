/*
 * This file implements the event filters. A filter stores one entry for each thread that has the
 * label.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "filter.h"
#include "seed.h"

/*
 * Do not use fnmatch(), which can take exponential time on a guest's label. This code goes back
 * only to the last star, so it takes at most quadratic time.
 */

/*
 * Match the byte C of the text with the element of the pattern at *P, which is not a star. Move *P
 * behind the element.
 */
static bool one_matches(const char **p, char c)
{
	const char *at = *p;

	if (*at == '\\' && at[1])
		at++;
	else if (*at == '?') {
		*p = at + 1;
		return true;
	}
	*p = at + 1;
	return *at && *at == c;
}

bool glob_match(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL, *p = pattern;
	size_t star_at = 0, i = 0;

	while (i < len) {
		const char *next = p;

		if (*p == '*') {
			star = ++p;
			star_at = i;
		} else if (*p && one_matches(&next, text[i])) {
			p = next;
			i++;
		} else if (star) {
			p = star;
			i = ++star_at;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return *p == 0;
}

/*
 * Take the next word of *LIST, which has commas between words. Return false behind the last word.
 */
static bool next_word(const char **list, const char **word, size_t *len)
{
	if (!*list)
		return false;
	*word = *list;
	*len = strcspn(*list, ",");
	*list = (*list)[*len] ? *list + *len + 1 : NULL;
	return true;
}

static bool is_name(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && memcmp(name, word, len) == 0;
}

static int parse_events(struct filter *f, const char *list, const char *verb)
{
	const char *word;
	size_t len;
	unsigned int id;

	f->by_event = list != NULL;
	while (next_word(&list, &word, &len)) {
		bool recorder = is_name("recorder", word, len), state = is_name("state", word, len);

		f->recorders |= recorder;
		f->states |= state;
		if (recorder || state)
			continue;
		for (id = 0; id < MPROF_EVENT_IDS && !is_name(mprof_event_name((uint8_t)id), word, len); id++)
			;
		if (id == MPROF_EVENT_IDS)
			return say_usage(
				verb,
				"there is no event \"%.*s\"; these are: creates read fulfills fails becomes label "
				"increase switch gc signal try_read counter read_later signal_noswitch duration "
				"recorder state",
				(int)len, word);
		f->events[id] = true;
	}
	return CTL_OK;
}

static int parse_threads(struct filter *f, const char *list, const char *verb)
{
	const char *word;
	char *end;
	size_t len;

	f->by_thread = list != NULL;
	while (next_word(&list, &word, &len)) {
		errno = 0;
		if (f->thread_count == FILTER_THREADS_MAX)
			return say_usage(verb, "--thread takes at most %d ids", FILTER_THREADS_MAX);
		f->threads[f->thread_count++] = strtoll(word, &end, 10);
		if (!len || errno || end != word + len)
			return say_usage(verb, "\"%.*s\" is not a thread's id, which is a number", (int)len, word);
	}
	return CTL_OK;
}

int filter_parse(struct filter *f, const char *events, const char *threads, const char *label, const char *verb)
{
	int r = parse_events(f, events, verb);

	f->label = label;
	f->factor = seed_new(f) | 1;
	return r ? r : parse_threads(f, threads, verb);
}

void filter_deinit(struct filter *f)
{
	free(f->found);
	f->found = NULL;
}

/* Return the thread's place in the table, or the free place for it. */
static struct labelled *slot(struct labelled *table, size_t room, uint64_t factor, unsigned int stream, int64_t id)
{
	uint64_t hash = ((uint64_t)id + stream * 0x632be59bd9b4e019u) * factor;
	size_t i = (size_t)(hash >> (64 - __builtin_ctzll(room)));

	while (table[i].used && (table[i].id != id || table[i].stream != stream))
		i = (i + 1) & (room - 1);
	return &table[i];
}

static bool grow(struct filter *f)
{
	size_t room = f->found_room ? f->found_room * 2 : 64;
	struct labelled *table = calloc(room, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < f->found_room; i++)
		if (f->found[i].used)
			*slot(table, room, f->factor, f->found[i].stream, f->found[i].id) = f->found[i];
	free(f->found);
	f->found = table;
	f->found_room = room;
	return true;
}

static void remember(struct filter *f, unsigned int stream, int64_t id)
{
	struct labelled *at;

	if (f->found_count * 4 >= f->found_room * 3 && !grow(f)) {
		f->failed = true;
		return;
	}
	at = slot(f->found, f->found_room, f->factor, stream, id);
	f->found_count += !at->used;
	*at = (struct labelled){.id = id, .stream = stream, .used = true};
}

static bool is_labelled(const struct filter *f, unsigned int stream, int64_t id)
{
	return f->found_room && slot(f->found, f->found_room, f->factor, stream, id)->used;
}

static bool is_listed(const struct filter *f, int64_t id)
{
	for (size_t i = 0; i < f->thread_count; i++)
		if (f->threads[i] == id)
			return true;
	return false;
}

/* Return true if the number in the event's payload is a thread. */
static bool names_other(uint8_t id)
{
	enum mprof_shape shape = mprof_event_shape(id);

	return shape == MPROF_SHAPE_THREAD || shape == MPROF_SHAPE_THREAD_TYPE || shape == MPROF_SHAPE_THREAD_TEXT;
}

bool filter_takes(struct filter *f, unsigned int stream, const struct mprof_raw_event *e)
{
	bool context = mprof_event_has_thread(e->id), other = names_other(e->id);
	bool inside = period_holds(f->period, e->timestamp);

	if (mprof_event_is_recorder(e))
		return inside && f->recorders;
	if (mprof_event_is_state(e))
		return inside && f->states && (!f->by_thread || is_listed(f, e->context)) &&
		       (!f->label || is_labelled(f, stream, e->context));
	if (f->label && e->id == MPROF_EVENT_label && glob_match(f->label, e->text, e->text_bytes))
		remember(f, stream, e->context);
	if (!inside || (f->by_event && !f->events[e->id]))
		return false;
	if (f->by_thread && !(context && is_listed(f, e->context)) && !(other && is_listed(f, e->number)))
		return false;
	return !f->label || (context && is_labelled(f, stream, e->context)) ||
	       (other && is_labelled(f, stream, e->number));
}
