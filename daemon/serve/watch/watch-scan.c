/* Scan the trace archive for changes of runs, captures, and streams of running guests. */
#include <errno.h>
#include <string.h>

#include "json.h"
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

static uint64_t capture_fingerprint(const struct archive_capture *c)
{
	return fingerprint_text(fingerprint_text(FINGERPRINT_BEGIN + c->pinned, c->note), c->kind);
}

int watch_add_change(struct watch *w, int64_t id, enum change_kind kind)
{
	if (w->ready)
		w->changes[w->n_changes++] = (struct change){.id = id, .kind = kind};
	return 0;
}

static void on_run_gone(void *context, const struct difference_entry *entry)
{
	struct watch *w = context;

	watch_append(w, "forgotten", json_pack("{s:I}", "run", (json_int_t)entry->id));
}

static int see_run(void *context, const struct archive_run *run)
{
	struct watch *w = context;
	uint64_t fingerprint = run_fingerprint(run), before = 0;
	int what = difference_add(&w->runs, run->id, fingerprint, &before, on_run_gone, w);
	bool lives = fingerprint & FINGERPRINT_LIVES;

	if (what < 0)
		return what;
	w->cursor = run->id;
	if (!lives && (before & FINGERPRINT_LIVES))
		/*
		 * The run has ended since the last scan: compare its streams in this scan, because
		 * later scans read only runs that have not ended.
		 */
		w->grown_at = 0;
	if ((lives || (before & FINGERPRINT_LIVES)) && growth_add_run(&w->growth, run->id) < 0)
		return -ENOMEM;
	if (what == DIFFERENCE_NONE)
		return 0;
	if (what == DIFFERENCE_CHANGED && lives == ((before & FINGERPRINT_LIVES) != 0))
		return watch_add_change(w, run->id, CHANGE_CHANGED);
	return watch_add_change(w, run->id, lives ? CHANGE_BEGAN : CHANGE_ENDED);
}

static void on_capture_gone(void *context, const struct difference_entry *entry)
{
	struct watch *w = context;

	watch_append(w, "capture-deleted", json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

/*
 * Called for each capture, newest first. Ids are negated, because a struct difference needs
 * ascending ids.
 */
static int see_capture(void *context, const struct reader_capture *c)
{
	struct watch *w = context;
	uint64_t before;
	int what = difference_add(&w->captures, -c->capture.id, capture_fingerprint(&c->capture), &before,
				  on_capture_gone, w);

	if (what >= 0)
		w->cursor = c->capture.id;
	return what <= DIFFERENCE_NONE
		       ? what
		       : watch_add_change(w, c->capture.id, what == DIFFERENCE_ADDED ? CHANGE_MADE : CHANGE_CHANGED);
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

int watch_streams_step(struct watch *w)
{
	CLEANUP(json_unrefp) json_t *grown = json_array(), *lost = json_array();
	json_t *stream;
	size_t i;
	int rc = grown && lost ? growth_step(&w->growth, w->reader, STEP_NS, grown, lost) : -ENOMEM;
	int gap = 0;

	if (rc != 0 && rc != GROWTH_DONE)
		return rc;
	json_array_foreach(lost, i, stream)
	{
		if (gap == 0 && w->ready)
			gap = watch_emit_gap(w, stream);
	}
	if (w->ready && json_array_size(grown))
		watch_append(w, "rates", json_pack("{s:O}", "streams", grown));
	if (rc == GROWTH_DONE)
		watch_scan_end(w, true);
	return gap;
}
