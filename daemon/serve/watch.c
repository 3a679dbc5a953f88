/*
 * A look goes through runs, then captures, then the streams of the runs that live; a step of it is one short transaction, and between two steps the
 * loop turns. What a step finds waits in FOUND until the steps after it have made the events, so that a thousand guests that come at once do not hold
 * up the loop. A step that could not read is tried again later where it stood: what was told is never told twice.
 */
#include <errno.h>
#include <string.h>

#include "census.h"
#include "clock.h"
#include "growth.h"
#include "guest.h"
#include "json.h"
#include "log.h"
#include "watch.h"

#define PAGE	     256u	       /* rows of a step */
#define STEP_NS	     (5 * NS_PER_MS)   /* a step that makes events, or reads streams */
#define LOOK_NS	     (500 * NS_PER_MS) /* between two looks, at least */
#define GROWTH_NS    (2 * NS_PER_S)    /* between two looks at streams, at least */
#define AGAIN_NS     NS_PER_S	       /* after a step that could not read */
#define FORGOTTEN_NS (90 * NS_PER_S)   /* nobody wanted to know for so long */

enum phase { PHASE_REST, PHASE_RUNS, PHASE_CAPTURES, PHASE_STREAMS, PHASE_OVER };

/* A run or a capture that is not what it was. */
enum news { NEWS_BEGAN, NEWS_ENDED, NEWS_CHANGED, NEWS_MADE };

struct found {
	int64_t id;
	enum news news;
};

struct watch {
	struct reader *reader;
	struct journal *journal;
	watch_news *news;
	void *context;
	sd_event_source *timer;
	enum phase phase;
	bool wanted;  /* somebody did not long ago */
	bool ready;   /* the first look is over */
	bool changed; /* since this look began */
	uint64_t wanted_at, looked_at, grown_at;
	struct reader_version version;
	int64_t cursor; /* of the phase */
	struct census runs, captures;
	struct growth growth;
	struct found found[PAGE];
	size_t n_found, told;
	uint64_t newest; /* event that was announced */
	struct log_limit limit;
};

/* Whether it lives is one bit of a run's print. */
#define PRINT_LIVES 1u

static uint64_t print_add(uint64_t print, const void *data, size_t bytes)
{
	for (const unsigned char *p = data; bytes; p++, bytes--)
		print = (print ^ *p) * 0x100000001b3u;
	return print;
}

static uint64_t print_text(uint64_t print, const char *text)
{
	return text ? print_add(print, text, strlen(text) + 1) : print_add(print, "\xff", 1);
}

static uint64_t run_print(const struct archive_run *run)
{
	uint64_t print = print_text(0xcbf29ce484222325u, run->state);

	print = print_text(print, run->name);
	print = print_text(print, run->reason);
	print = print_add(print, &run->domid, sizeof(run->domid));
	print = print_add(print, &run->ended_real, sizeof(run->ended_real));
	return (print & ~(uint64_t)PRINT_LIVES) | (strcmp(run->state, "ended") != 0);
}

static uint64_t capture_print(const struct archive_capture *c)
{
	return print_text(print_text(0xcbf29ce484222325u + c->pinned, c->note), c->kind);
}

/* Turning. */

static void turn_after(struct watch *w, uint64_t ns)
{
	sd_event_source_set_time_relative(w->timer, ns / NS_PER_US);
	sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static void look_begin(struct watch *w)
{
	uint64_t now = clock_mono();
	uint64_t since = now - w->looked_at;

	if (since < LOOK_NS) {
		turn_after(w, LOOK_NS - since);
		return;
	}
	if (!w->ready && reader_ready(w->reader) == 0)
		(void)reader_version(w->reader, &w->version); /* else the tick sees that there is an archive now */
	w->looked_at = now;
	w->changed = false;
	w->phase = PHASE_RUNS;
	w->cursor = 0;
	census_begin(&w->runs);
	census_begin(&w->captures);
	growth_reset(&w->growth);
	turn_after(w, 0);
}

static void forget(struct watch *w)
{
	census_deinit(&w->runs);
	census_deinit(&w->captures);
	growth_deinit(&w->growth);
	journal_restart(w->journal);
	w->n_found = w->told = 0;
	w->newest = 0;
	w->ready = false;
	w->phase = PHASE_REST;
	w->looked_at = w->grown_at = 0;
}

static void announce(struct watch *w)
{
	if (journal_newest(w->journal) == w->newest)
		return;
	w->newest = journal_newest(w->journal);
	w->news(w->context);
}

/* GROWN: it went through the streams, too; else they are looked at when their turn comes, whether or not anything is committed until then. */
static void look_end(struct watch *w, bool grown)
{
	w->phase = PHASE_REST;
	if (!w->ready) {
		w->ready = true;
		w->news(w->context);
	}
	if (w->changed || w->growth.rates || !grown)
		turn_after(w, w->changed ? LOOK_NS : GROWTH_NS);
}

/* Finding. */

static int find(struct watch *w, int64_t id, enum news news)
{
	if (w->ready)
		w->found[w->n_found++] = (struct found){.id = id, .news = news};
	return 0;
}

static void put(struct watch *w, const char *name, json_t *data)
{
	if (journal_put(w->journal, name, data) < 0)
		log_write_limited(&w->limit, LOG_LEVEL_WARNING, NULL, "an event was lost: there is no memory");
}

static void on_run_gone(void *context, const struct census_entry *entry)
{
	struct watch *w = context;

	put(w, "forgotten", json_pack("{s:I}", "run", (json_int_t)entry->id));
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
		return find(w, run->id, NEWS_CHANGED);
	return find(w, run->id, lives ? NEWS_BEGAN : NEWS_ENDED);
}

static void on_capture_gone(void *context, const struct census_entry *entry)
{
	struct watch *w = context;

	put(w, "capture-deleted", json_pack("{s:I}", "id", (json_int_t)-entry->id));
}

/* Captures are listed from the newest on: their ids are counted with the sign turned. */
static int see_capture(void *context, const struct reader_capture *c)
{
	struct watch *w = context;
	uint64_t before;
	int what = census_count(&w->captures, -c->capture.id, capture_print(&c->capture), &before, on_capture_gone, w);

	if (what >= 0)
		w->cursor = c->capture.id;
	return what <= CENSUS_SAME ? what : find(w, c->capture.id, what == CENSUS_NEW ? NEWS_MADE : NEWS_CHANGED);
}

static int runs_step(struct watch *w)
{
	int64_t before = w->cursor;
	int rc = reader_all_runs(w->reader, before, PAGE, see_run, w);

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

static int captures_step(struct watch *w)
{
	int64_t before = w->cursor;
	int rc = reader_captures(w->reader, 0, before, PAGE, see_capture, w);

	if (rc == 0 && w->cursor == before) {
		census_end(&w->captures, on_capture_gone, w);
		w->phase = streams_due(w) ? PHASE_STREAMS : PHASE_OVER;
	}
	return rc;
}

/* Telling. */

struct latest {
	struct reader *reader;
	int64_t run;
};

static int see_latest(void *context, const struct archive_run *run)
{
	struct latest *l = context;

	return guest_latest_run(l->reader, run, &l->run);
}

static int tell_run(struct watch *w, const struct found *found)
{
	static const char *const words[] = {[NEWS_BEGAN] = "began", [NEWS_ENDED] = "ended", [NEWS_CHANGED] = "changed"};
	struct latest latest = {.reader = w->reader};
	json_t *guest = NULL;
	int rc = reader_run(w->reader, found->id, see_latest, &latest);

	if (rc == 0)
		rc = guest_of_run(w->reader, latest.run, &guest);
	if (rc == 0)
		put(w, "domain",
		    json_pack("{s:s, s:I, s:o}", "change", words[found->news], "run", (json_int_t)found->id, "domain",
			      guest));
	return rc;
}

static int tell_capture(struct watch *w, const struct found *found)
{
	json_t *capture = NULL;
	int rc = json_capture(w->reader, found->id, &capture);

	if (rc == 0)
		put(w, "capture",
		    json_pack("{s:s, s:o}", "change", found->news == NEWS_MADE ? "made" : "changed", "capture",
			      capture));
	return rc;
}

/* What was deleted since it was found is told as that, at the next look. */
static int tell_step(struct watch *w)
{
	uint64_t until = clock_mono() + STEP_NS;
	int rc = 0;

	while (w->told < w->n_found && rc == 0 && clock_mono() < until) {
		const struct found *found = &w->found[w->told];

		rc = w->phase == PHASE_CAPTURES ? tell_capture(w, found) : tell_run(w, found);
		rc = rc == ARCHIVE_E_ABSENT ? 0 : rc;
		w->told += rc <= 0; /* what is damaged does not hold up the rest */
	}
	if (w->told == w->n_found)
		w->told = w->n_found = 0;
	return rc;
}

static int take_gap(void *context, const struct archive_gap *gap)
{
	json_t **json = context;

	*json = json_gap(gap);
	return *json ? 0 : -ENOMEM;
}

static int tell_gap(struct watch *w, json_t *stream)
{
	int64_t run = json_integer_value(json_object_get(stream, "run"));
	uint32_t number = (uint32_t)json_integer_value(json_object_get(stream, "stream"));
	json_t *gap = NULL;
	int rc = reader_last_gap(w->reader, run, number, take_gap, &gap);

	if (rc == 0)
		put(w, "gap", json_pack("{s:O, s:o}", "stream", stream, "gap", gap));
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

static int streams_step(struct watch *w)
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
			gap = tell_gap(w, stream);
	}
	if (w->ready && json_array_size(grown))
		put(w, "rates", json_pack("{s:O}", "streams", grown));
	if (rc == GROWTH_DONE)
		look_end(w, true);
	return gap;
}

static int step(struct watch *w)
{
	if (w->n_found)
		return tell_step(w);
	if (w->phase == PHASE_RUNS)
		return runs_step(w);
	if (w->phase == PHASE_CAPTURES)
		return captures_step(w);
	if (w->phase == PHASE_STREAMS)
		return streams_step(w);
	look_end(w, false);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *context)
{
	struct watch *w = context;
	int rc;

	(void)source;
	(void)usec;
	if (w->phase == PHASE_REST) {
		look_begin(w);
		return 0;
	}
	rc = step(w);
	if (rc < 0)
		log_write_limited(&w->limit, LOG_LEVEL_WARNING, NULL, "the archive cannot be watched: %s",
				  strerror(-rc));
	if (rc != 0)
		turn_after(w, AGAIN_NS);
	else if (w->phase != PHASE_REST)
		turn_after(w, 0);
	announce(w);
	return 0;
}

/* Its life. */

int watch_new(struct watch **wp, sd_event *event, struct reader *reader, watch_news *news, void *context)
{
	CLEANUP(watch_freep) struct watch *w = calloc(1, sizeof(*w));
	int rc = w ? journal_new(&w->journal) : -ENOMEM;

	if (rc == 0)
		rc = sd_event_add_time_relative(event, &w->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, w);
	if (rc >= 0)
		rc = sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	if (rc < 0)
		return rc;
	w->reader = reader;
	w->news = news;
	w->context = context;
	*wp = TAKE_PTR(w);
	return 0;
}

struct watch *watch_free(struct watch *w)
{
	if (!w)
		return NULL;
	sd_event_source_disable_unref(w->timer);
	census_deinit(&w->runs);
	census_deinit(&w->captures);
	growth_deinit(&w->growth);
	journal_free(w->journal);
	free(w);
	return NULL;
}

void watch_want(struct watch *w)
{
	w->wanted_at = clock_mono();
	if (w->wanted)
		return;
	w->wanted = true;
	turn_after(w, 0);
}

bool watch_ready(const struct watch *w)
{
	return w->ready;
}

struct journal *watch_journal(struct watch *w)
{
	return w->journal;
}

void watch_commit(struct watch *w)
{
	w->changed = true;
	if (w->wanted && w->phase == PHASE_REST)
		turn_after(w, 0);
}

void watch_tick(struct watch *w)
{
	struct reader_version version;

	if (!w->wanted)
		return;
	if (clock_mono() - w->wanted_at > FORGOTTEN_NS) {
		forget(w);
		w->wanted = false;
		sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
		return;
	}
	if (reader_ready(w->reader) != 0 || reader_version(w->reader, &version) != 0)
		return;
	if (version.archives != w->version.archives) {
		forget(w);
		turn_after(w, 0);
		w->news(w->context);
	} else if (version.commits != w->version.commits) {
		watch_commit(w);
	}
	w->version = version;
}
