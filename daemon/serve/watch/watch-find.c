/* What of the archive is not as it was at the last look: runs, captures, and the streams of runs that live. */
#include <errno.h>
#include <string.h>

#include "json.h"
#include "watch-state.h"

/* Whether it lives is one bit of a run's print. */
#define PRINT_LIVES 1u

uint64_t print_add(uint64_t print, const void *data, size_t bytes)
{
	for (const unsigned char *p = data; bytes; p++, bytes--)
		print = (print ^ *p) * 0x100000001b3u;
	return print;
}

uint64_t print_text(uint64_t print, const char *text)
{
	return text ? print_add(print, text, strlen(text) + 1) : print_add(print, "\xff", 1);
}

static uint64_t run_print(const struct archive_run *run)
{
	uint64_t print = print_text(PRINT_BEGIN, run->state);

	print = print_text(print, run->name);
	print = print_text(print, run->reason);
	print = print_add(print, &run->domid, sizeof(run->domid));
	print = print_add(print, &run->ended_real, sizeof(run->ended_real));
	return (print & ~(uint64_t)PRINT_LIVES) | (strcmp(run->state, "ended") != 0);
}

static uint64_t capture_print(const struct archive_capture *c)
{
	return print_text(print_text(PRINT_BEGIN + c->pinned, c->note), c->kind);
}

int watch_find(struct watch *w, int64_t id, enum news news)
{
	if (w->ready)
		w->found[w->n_found++] = (struct found){.id = id, .news = news};
	return 0;
}

static void on_run_gone(void *context, const struct census_entry *entry)
{
	struct watch *w = context;

	watch_put(w, "forgotten", json_pack("{s:I}", "run", (json_int_t)entry->id));
}

static int see_run(void *context, const struct archive_run *run)
{
	struct watch *w = context;
	uint64_t print = run_print(run), before = 0;
	int what = census_count(&w->runs, run->id, print, &before, on_run_gone, w);
	bool lives = print & PRINT_LIVES;

	if (what < 0)
		return what;
	w->cursor = run->id;
	if (!lives && (before & PRINT_LIVES))
		w->grown_at = 0; /* how far it came is looked at now: it lives no more when its turn comes */
	if ((lives || (before & PRINT_LIVES)) && growth_expect(&w->growth, run->id) < 0)
		return -ENOMEM;
	if (what == CENSUS_SAME)
		return 0;
	if (what == CENSUS_CHANGED && lives == ((before & PRINT_LIVES) != 0))
		return watch_find(w, run->id, NEWS_CHANGED);
	return watch_find(w, run->id, lives ? NEWS_BEGAN : NEWS_ENDED);
}

static void on_capture_gone(void *context, const struct census_entry *entry)
{
	struct watch *w = context;

	watch_put(w, "capture-deleted", json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

/* Captures are listed from the newest on: their ids are counted with the sign turned. */
static int see_capture(void *context, const struct reader_capture *c)
{
	struct watch *w = context;
	uint64_t before;
	int what = census_count(&w->captures, -c->capture.id, capture_print(&c->capture), &before, on_capture_gone, w);

	if (what >= 0)
		w->cursor = c->capture.id;
	return what <= CENSUS_SAME ? what : watch_find(w, c->capture.id, what == CENSUS_NEW ? NEWS_MADE : NEWS_CHANGED);
}

int watch_runs_step(struct watch *w)
{
	int64_t before = w->cursor;
	int rc = reader_all_runs(w->reader, before, WATCH_PAGE, see_run, w);

	if (rc == 0 && w->cursor == before) {
		census_end(&w->runs, on_run_gone, w);
		w->phase = PHASE_CAPTURES;
		w->cursor = INT64_MAX;
	}
	return rc;
}

/* Streams are looked at less often than the rest. */
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
		census_end(&w->captures, on_capture_gone, w);
		w->growing = streams_due(w);
		w->phase = PHASE_MEMTRACES;
		w->cursor = INT64_MAX;
	}
	return rc;
}

void watch_profiles_over(struct watch *w)
{
	w->phase = w->growing ? PHASE_STREAMS : PHASE_OVER;
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
			gap = watch_tell_gap(w, stream);
	}
	if (w->ready && json_array_size(grown))
		watch_put(w, "rates", json_pack("{s:O}", "streams", grown));
	if (rc == GROWTH_DONE)
		watch_look_end(w, true);
	return gap;
}
