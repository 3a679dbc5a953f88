/*
 * Memory profiles that are not as they were.
 *
 * A guest that connects again and again makes many, and each count goes through all of them: so a count is followed by a rest that is longer than it
 * took.  Their archive is another one than that of traces: where it cannot be read, the rest of the look goes on, and the next look tries again.
 */
#include <errno.h>
#include <string.h>

#include "json.h"
#include "watch-state.h"

#define REST 4u /* times what the count took */

/* Whether it is being recorded is one bit of its print. */
#define PRINT_RECORDING 1u

static uint64_t profile_print(const struct memtrace *t)
{
	uint64_t print = print_text(PRINT_BEGIN + t->pinned, t->note);

	print = print_text(print, t->name);
	print = print_text(print, t->uuid);
	print = print_text(print, t->reason);
	print = print_add(print, &t->run, sizeof(t->run));
	print = print_add(print, &t->began_real, sizeof(t->began_real));
	return (print & ~(uint64_t)PRINT_RECORDING) | (strcmp(t->state, "recording") == 0);
}

static void on_gone(void *context, const struct census_entry *entry)
{
	struct watch *w = context;

	if (w->ready)
		watch_put(w, "memtrace-deleted", json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

static void on_ended(void *context, const struct census_entry *entry)
{
	(void)context;
	(void)entry;
}

struct look {
	struct watch *w;
	json_t *grown;
};

/* How far one that is being recorded has come: of a new one too, which may have grown since its beginning was told, and not grow again for long. */
static int see_size(struct look *look, const struct memtrace *t)
{
	uint64_t before;
	int what = census_count(&look->w->sizes, -t->id, t->bytes, &before, on_ended, NULL);
	json_t *size;

	if (what < 0 || what == CENSUS_SAME)
		return what < 0 ? what : 0;
	size = json_pack("{s:I, s:o, s:o}", "id", (json_int_t)t->id, "bytes", json_count(t->bytes), "packets",
			 json_count(t->packets));
	return size && json_array_append_new(look->grown, size) == 0 ? 0 : -ENOMEM;
}

/* They are listed from the newest on, as captures are. */
static int see_profile(void *context, const struct memtrace *t)
{
	struct look *look = context;
	struct watch *w = look->w;
	uint64_t print = profile_print(t), before = 0;
	int what = census_count(&w->profiles, -t->id, print, &before, on_gone, w);
	bool records = print & PRINT_RECORDING;
	int rc = what >= 0 && records && w->growing ? see_size(look, t) : 0;

	if (what < 0 || rc < 0)
		return what < 0 ? what : rc;
	w->cursor = t->id;
	if (what == CENSUS_SAME)
		return 0;
	if (what == CENSUS_CHANGED && records == ((before & PRINT_RECORDING) != 0))
		return watch_find(w, t->id, NEWS_CHANGED);
	return watch_find(w, t->id, records ? NEWS_BEGAN : NEWS_ENDED);
}

/* Is it too early for another count? */
static bool rests(struct watch *w)
{
	w->profiles_put_off = clock_mono() < w->profiles_next;
	return w->profiles_put_off;
}

static void count_begin(struct watch *w)
{
	census_begin(&w->profiles);
	census_begin(&w->sizes);
	w->profiles_began = clock_mono();
}

static void count_end(struct watch *w)
{
	uint64_t now = clock_mono();

	census_end(&w->profiles, on_gone, w);
	if (w->growing)
		census_end(&w->sizes, on_ended, NULL);
	w->profiles_next = now + REST * (now - w->profiles_began);
	watch_profiles_over(w);
}

int watch_profiles_step(struct watch *w)
{
	CLEANUP(json_unrefp) json_t *grown = json_array();
	struct look look = {.w = w, .grown = grown};
	int64_t before = w->cursor;
	int rc;

	if (before == INT64_MAX && rests(w)) {
		watch_profiles_over(w);
		return 0;
	}
	if (before == INT64_MAX)
		count_begin(w);
	rc = grown ? memtraces_list(w->memtraces, 0, before, WATCH_PAGE, see_profile, &look) : -ENOMEM;
	if (rc != 0) {
		w->n_found = 0; /* the next count begins anew, and finds them again */
		w->profiles_put_off = true;
		watch_profiles_over(w);
		return rc < 0 ? rc : 0;
	}
	if (w->ready && json_array_size(grown))
		watch_put(w, "memtrace-growth", json_pack("{s:O}", "memtraces", grown));
	if (w->cursor == before)
		count_end(w);
	return 0;
}

static int take(void *context, const struct memtrace *t)
{
	json_t **json = context;

	*json = json_memtrace(t);
	return *json ? 0 : -ENOMEM;
}

int watch_tell_profile(struct watch *w, const struct found *found)
{
	static const char *const words[] = {[NEWS_BEGAN] = "began", [NEWS_ENDED] = "ended", [NEWS_CHANGED] = "changed"};
	json_t *profile = NULL;
	int rc = memtraces_get(w->memtraces, found->id, take, &profile);

	if (rc == 0)
		watch_put(w, "memtrace", json_pack("{s:s, s:o}", "change", words[found->news], "memtrace", profile));
	return rc;
}
