/* Scan the trace archive for changes of runs, captures, and streams of running guests. */
#include <errno.h>
#include <string.h>

#include "row-json.h"
#include "watch-state.h"

/* Bit of a fingerprint: the run has not ended. */
#define FINGERPRINT_LIVES 1u

uint64_t fingerprint_add(uint64_t fingerprint, const void *data, size_t bytes)
{
	for (const unsigned char *p = data; bytes; p++, bytes--)
		fingerprint = (fingerprint ^ *p) * 0x100000001b3u;
	return fingerprint;
}

uint64_t fingerprint_text(uint64_t fingerprint, const char *text)
{
	return text ? fingerprint_add(fingerprint, text, strlen(text) + 1) : fingerprint_add(fingerprint, "\xff", 1);
}

static uint64_t run_fingerprint(const struct archive_run *run)
{
	uint64_t fingerprint = fingerprint_text(FINGERPRINT_BEGIN, run->state);

	fingerprint = fingerprint_text(fingerprint, run->name);
	fingerprint = fingerprint_text(fingerprint, run->reason);
	fingerprint = fingerprint_add(fingerprint, &run->domid, sizeof(run->domid));
	fingerprint = fingerprint_add(fingerprint, &run->ended_real, sizeof(run->ended_real));
	return (fingerprint & ~(uint64_t)FINGERPRINT_LIVES) | (strcmp(run->state, "ended") != 0);
}

static uint64_t capture_fingerprint(const struct reader_capture *c)
{
	uint64_t fingerprint = fingerprint_text(FINGERPRINT_BEGIN + c->capture.pinned, c->capture.note);

	return fingerprint_text(fingerprint_text(fingerprint, c->capture.kind), c->name);
}

void watch_add_change(struct watch *w, int64_t id, enum change_kind kind, const struct difference_entry *entry,
		      const struct difference_entry *before)
{
	struct change *change = &w->changes[w->n_changes];

	if (!w->ready)
		return;
	*change = (struct change){.id = id, .kind = kind};
	if (before && before->guest != entry->guest) {
		change->was = guest_name_ref(before->guest);
		change->is = guest_name_ref(entry->guest);
	}
	w->n_changes++;
}

void watch_drop_changes(struct watch *w)
{
	for (size_t i = 0; i < w->n_changes; i++) {
		guest_name_unref(w->changes[i].was);
		guest_name_unref(w->changes[i].is);
	}
	w->n_changes = w->n_emitted = 0;
}

static void on_run_gone(void *context, const struct difference_entry *entry)
{
	struct watch *w = context;

	watch_append(w, "forgotten", entry->guest, json_pack("{s:I}", "run", (json_int_t)entry->id));
}

static int see_run(void *context, const struct archive_run *run)
{
	struct watch *w = context;
	CLEANUP(guest_name_unrefp) struct guest_name *guest = NULL;
	struct difference_entry entry = {.id = run->id, .fingerprint = run_fingerprint(run)}, before = {0};
	bool lives = entry.fingerprint & FINGERPRINT_LIVES, lived;
	int what = guest_name_get(w->names, run->name, &guest);

	entry.guest = guest;
	if (what == 0)
		what = difference_add(&w->runs, &entry, &before, on_run_gone, w);
	if (what < 0)
		return what;
	w->cursor = run->id;
	lived = before.fingerprint & FINGERPRINT_LIVES;
	if (!lives && lived)
		/*
		 * The run has ended since the last scan: compare its streams in this scan, because
		 * later scans read only runs that have not ended.
		 */
		w->grown_at = 0;
	if ((lives || lived) && growth_add_run(&w->growth, run->id) < 0)
		return -ENOMEM;
	if (what == DIFFERENCE_CHANGED && lives == lived)
		watch_add_change(w, run->id, CHANGE_CHANGED, &entry, &before);
	else if (what != DIFFERENCE_NONE)
		watch_add_change(w, run->id, lives ? CHANGE_BEGAN : CHANGE_ENDED, &entry,
				 what == DIFFERENCE_CHANGED ? &before : NULL);
	return 0;
}

static void on_capture_gone(void *context, const struct difference_entry *entry)
{
	struct watch *w = context;

	watch_append(w, "capture-deleted", entry->guest, json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

/*
 * Called for each capture, newest first. Ids are negated, because a struct difference needs
 * ascending ids.
 */
static int see_capture(void *context, const struct reader_capture *c)
{
	struct watch *w = context;
	CLEANUP(guest_name_unrefp) struct guest_name *guest = NULL;
	struct difference_entry entry = {.id = -c->capture.id, .fingerprint = capture_fingerprint(c)}, before = {0};
	int what = guest_name_get(w->names, c->name, &guest);

	entry.guest = guest;
	if (what == 0)
		what = difference_add(&w->captures, &entry, &before, on_capture_gone, w);
	if (what < 0)
		return what;
	w->cursor = c->capture.id;
	if (what != DIFFERENCE_NONE)
		watch_add_change(w, c->capture.id, what == DIFFERENCE_ADDED ? CHANGE_MADE : CHANGE_CHANGED, &entry,
				 what == DIFFERENCE_CHANGED ? &before : NULL);
	return 0;
}

int watch_runs_step(struct watch *w)
{
	int64_t before = w->cursor;
	int rc = reader_all_runs(w->reader, before, WATCH_PAGE, see_run, w);

	if (rc == 0 && w->cursor == before) {
		difference_end(&w->runs, on_run_gone, w);
		w->phase = PHASE_CAPTURES;
		w->cursor = INT64_MAX;
	}
	return rc;
}

/*
 * Return whether to scan streams now, and begin that if so. Streams are scanned at most once in
 * GROWTH_NS.
 */
static bool streams_due(struct watch *w)
{
	uint64_t now = clock_mono();

	if (w->ready && now - w->grown_at < GROWTH_NS)
		return false;
	w->grown_at = now;
	growth_begin(&w->growth);
	return true;
}

int watch_captures_step(struct watch *w)
{
	int64_t before = w->cursor;
	int rc = reader_captures(w->reader, 0, before, WATCH_PAGE, see_capture, w);

	if (rc == 0 && w->cursor == before) {
		difference_end(&w->captures, on_capture_gone, w);
		w->growing = streams_due(w);
		w->phase = PHASE_MEMTRACES;
		w->cursor = INT64_MAX;
	}
	return rc;
}

void watch_profiles_end(struct watch *w)
{
	w->phase = w->growing ? PHASE_STREAMS : PHASE_END;
}

struct streams_scan {
	struct watch *w;
	struct event_draft rates;
	int gap; /* result of the first gap that could not be read; 0 = none */
};

static int see_growth(void *context, const char *name, json_t *stream, bool lost)
{
	struct streams_scan *scan = context;
	CLEANUP(guest_name_unrefp) struct guest_name *guest = NULL;

	if (!scan->w->ready)
		return 0;
	if (guest_name_get(scan->w->names, name, &guest) < 0)
		return -ENOMEM;
	if (lost && scan->gap == 0)
		scan->gap = watch_emit_gap(scan->w, guest, stream);
	return event_draft_add(&scan->rates, json_incref(stream), guest);
}

int watch_streams_step(struct watch *w)
{
	struct streams_scan scan = {.w = w, .rates = {.name = "rates", .open = "{\"streams\":[", .close = "]}"}};
	int rc = growth_step(&w->growth, w->reader, STEP_NS, see_growth, &scan);

	if (scan.rates.n_values)
		watch_append_draft(w, &scan.rates);
	if (rc == GROWTH_DONE)
		watch_scan_end(w, true);
	return rc == GROWTH_DONE || rc == 0 ? scan.gap : rc;
}
