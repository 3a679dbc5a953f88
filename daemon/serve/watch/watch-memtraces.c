/*
 * Scan memory profiles for changes.
 *
 * A guest that connects again and again makes many profiles, and a scan reads all of them. So after
 * each scan there is a pause, longer than the scan took. Memory profiles have an archive of their
 * own. If it cannot be read, the scan of traces goes on, and the next scan tries again.
 */
#include <errno.h>
#include <string.h>

#include "row-json.h"
#include "watch-state.h"

#define PAUSE 4u /* pause after a scan, in multiples of the scan's duration */

/* Bit of a fingerprint: the profile is being recorded. */
#define FINGERPRINT_RECORDING 1u

static uint64_t profile_fingerprint(const struct memtrace *m)
{
	uint64_t fingerprint = fingerprint_text(FINGERPRINT_BEGIN + m->pinned, m->note);

	fingerprint = fingerprint_text(fingerprint, m->name);
	fingerprint = fingerprint_text(fingerprint, m->uuid);
	fingerprint = fingerprint_text(fingerprint, m->reason);
	fingerprint = fingerprint_add(fingerprint, &m->run, sizeof(m->run));
	fingerprint = fingerprint_add(fingerprint, &m->began_real, sizeof(m->began_real));
	return (fingerprint & ~(uint64_t)FINGERPRINT_RECORDING) | (strcmp(m->state, "recording") == 0);
}

static void on_gone(void *context, const struct difference_entry *entry)
{
	struct watch *w = context;

	if (w->ready)
		watch_append(w, "memtrace-deleted", entry->guest, json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

static void on_ended(void *context, const struct difference_entry *entry)
{
	(void)context;
	(void)entry;
}

struct profile_scan {
	struct watch *w;
	struct event_draft growth;
};

/*
 * Compare the size of a profile of GUEST that is being recorded with the last scan. A new profile is
 * compared, too: it may have grown since its first event, and not grow again for a long time.
 * Return 0 or -ENOMEM.
 */
static int see_size(struct profile_scan *scan, const struct memtrace *m, struct guest_name *guest)
{
	struct difference_entry entry = {.id = -m->id, .fingerprint = m->bytes}, before;
	int what = difference_add(&scan->w->sizes, &entry, &before, on_ended, NULL);

	if (what < 0 || what == DIFFERENCE_NONE || !scan->w->ready)
		return what < 0 ? what : 0;
	return event_draft_add(&scan->growth,
			       json_pack("{s:I, s:o, s:o}", "id", (json_int_t)m->id, "bytes", json_count(m->bytes),
					 "packets", json_count(m->packets)),
			       guest);
}

/*
 * Called for each profile, newest first. Ids are negated, because a struct difference needs
 * ascending ids.
 */
static int see_profile(void *context, const struct memtrace *m)
{
	struct profile_scan *scan = context;
	struct watch *w = scan->w;
	CLEANUP(guest_name_unrefp) struct guest_name *guest = NULL;
	struct difference_entry entry = {.id = -m->id, .fingerprint = profile_fingerprint(m)}, before = {0};
	bool records = entry.fingerprint & FINGERPRINT_RECORDING;
	int what = guest_name_get(w->names, m->name, &guest), rc;

	entry.guest = guest;
	if (what == 0)
		what = difference_add(&w->profiles, &entry, &before, on_gone, w);
	rc = what >= 0 && records && w->growing ? see_size(scan, m, guest) : 0;
	if (what < 0 || rc < 0)
		return what < 0 ? what : rc;
	w->cursor = m->id;
	if (what == DIFFERENCE_CHANGED && records == ((before.fingerprint & FINGERPRINT_RECORDING) != 0))
		watch_add_change(w, m->id, CHANGE_CHANGED, &entry, &before);
	else if (what != DIFFERENCE_NONE)
		watch_add_change(w, m->id, records ? CHANGE_BEGAN : CHANGE_ENDED, &entry,
				 what == DIFFERENCE_CHANGED ? &before : NULL);
	return 0;
}

/* Return whether the pause after the last scan of profiles is not over. */
static bool too_early(struct watch *w)
{
	w->profiles_put_off = clock_mono() < w->profiles_next;
	return w->profiles_put_off;
}

static void profiles_begin(struct watch *w)
{
	difference_begin(&w->profiles);
	difference_begin(&w->sizes);
	w->profiles_began = clock_mono();
}

static void profiles_end(struct watch *w)
{
	uint64_t now = clock_mono();

	difference_end(&w->profiles, on_gone, w);
	if (w->growing)
		difference_end(&w->sizes, on_ended, NULL);
	w->profiles_next = now + PAUSE * (now - w->profiles_began);
	watch_profiles_end(w);
}

int watch_profiles_step(struct watch *w)
{
	struct profile_scan scan = {.w = w,
				    .growth = {.name = "memtrace-growth", .open = "{\"memtraces\":[", .close = "]}"}};
	int64_t before = w->cursor;
	int rc;

	if (before == INT64_MAX && too_early(w)) {
		watch_profiles_end(w);
		return 0;
	}
	if (before == INT64_MAX)
		profiles_begin(w);
	rc = memtraces_list(w->memtraces, 0, before, WATCH_PAGE, see_profile, &scan);
	if (rc != 0) {
		event_draft_deinit(&scan.growth);
		watch_drop_changes(w); /* the next scan finds the changes again */
		w->profiles_put_off = true;
		watch_profiles_end(w);
		return rc < 0 ? rc : 0;
	}
	if (scan.growth.n_values)
		watch_append_draft(w, &scan.growth);
	if (w->cursor == before)
		profiles_end(w);
	return 0;
}

struct profile_taken {
	struct watch *w;
	struct guest_name *guest; /* a reference */
	json_t *json;
};

static int take(void *context, const struct memtrace *m)
{
	struct profile_taken *taken = context;

	taken->json = json_memtrace(m);
	return taken->json ? guest_name_get(taken->w->names, m->name, &taken->guest) : -ENOMEM;
}

int watch_emit_profile(struct watch *w, const struct change *change)
{
	static const char *const words[] = {
		[CHANGE_BEGAN] = "began", [CHANGE_ENDED] = "ended", [CHANGE_CHANGED] = "changed"};
	struct profile_taken taken = {.w = w};
	int rc = memtraces_get(w->memtraces, change->id, take, &taken);

	if (rc == 0)
		watch_append(w, "memtrace", taken.guest,
			     json_pack("{s:s, s:O}", "change", words[change->kind], "memtrace", taken.json));
	json_decref(taken.json);
	guest_name_unref(taken.guest);
	return rc;
}
