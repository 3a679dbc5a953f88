/*
 * The watch scans runs, then captures, then memory profiles, then the streams of running guests.
 *
 * A step of a scan is one short transaction, and the event loop handles other events between two
 * steps. The changes that a step has found wait in CHANGES until later steps have made events of
 * them, so a thousand new guests do not block the loop. A step that could not read is repeated from
 * its cursor, so no change gets two events.
 */
#include <errno.h>
#include <string.h>

#include "watch-state.h"

#define SCAN_NS	    (500 * NS_PER_MS) /* least time between two scans */
#define RETRY_NS    NS_PER_S	      /* pause after a step that could not read */
#define UNWANTED_NS (90 * NS_PER_S)   /* without a reader of events for this time the watch stops */

/* ---- scans ---- */

static void turn_after(struct watch *w, uint64_t ns)
{
	timer_set_in(&w->timer, ns);
}

static void scan_begin(struct watch *w)
{
	uint64_t now = clock_mono();
	uint64_t since = now - w->scanned_at;

	if (since < SCAN_NS) {
		turn_after(w, SCAN_NS - since);
		return;
	}
	if (!w->ready && reader_ready(w->reader) == 0)
		/* If this fails, watch_tick() notices the archive later. */
		(void)reader_version(w->reader, &w->version);
	w->scanned_at = now;
	w->changed = false;
	w->phase = PHASE_RUNS;
	w->cursor = 0;
	difference_begin(&w->runs);
	difference_begin(&w->captures);
	growth_reset(&w->growth);
	turn_after(w, 0);
}

static void reset(struct watch *w)
{
	difference_deinit(&w->runs);
	difference_deinit(&w->captures);
	difference_deinit(&w->profiles);
	difference_deinit(&w->sizes);
	growth_deinit(&w->growth);
	journal_restart(w->journal);
	watch_drop_changes(w);
	w->newest = 0;
	w->ready = false;
	w->phase = PHASE_IDLE;
	w->scanned_at = w->grown_at = w->profiles_next = 0;
}

static void announce(struct watch *w)
{
	if (journal_newest(w->journal) == w->newest)
		return;
	w->newest = journal_newest(w->journal);
	w->notify(w->context);
}

/*
 * If this scan did not include the streams, schedule another scan for when the streams are due,
 * even if nothing is committed until then.
 */
void watch_scan_end(struct watch *w, bool grown)
{
	w->phase = PHASE_IDLE;
	if (!w->ready) {
		w->ready = true;
		w->notify(w->context);
	}
	if (w->changed || w->growth.rates || w->profiles_put_off || !grown)
		turn_after(w, w->changed ? SCAN_NS : GROWTH_NS);
}

static int step(struct watch *w)
{
	if (w->n_changes)
		return watch_emit_step(w);
	if (w->phase == PHASE_RUNS)
		return watch_runs_step(w);
	if (w->phase == PHASE_CAPTURES)
		return watch_captures_step(w);
	if (w->phase == PHASE_MEMTRACES)
		return watch_profiles_step(w);
	if (w->phase == PHASE_STREAMS)
		return watch_streams_step(w);
	watch_scan_end(w, false);
	return 0;
}

static void on_timer(void *context)
{
	struct watch *w = context;
	int rc;

	if (w->phase == PHASE_IDLE) {
		scan_begin(w);
		return;
	}
	rc = step(w);
	if (rc < 0)
		log_write_limited(&w->limit, LOG_LEVEL_WARNING, NULL, "the archive cannot be watched: %s",
				  strerror(-rc));
	if (rc != 0)
		turn_after(w, RETRY_NS);
	else if (w->phase != PHASE_IDLE)
		turn_after(w, 0);
	announce(w);
}

/* ---- interface ---- */

int watch_new(struct watch **wp, sd_event *event, struct reader *reader, struct memtraces_reader *memtraces,
	      watch_notify *notify, void *context)
{
	CLEANUP(watch_freep) struct watch *w = calloc(1, sizeof(*w));
	int rc = w ? journal_new(&w->journal) : -ENOMEM;

	if (rc == 0)
		rc = (w->names = guest_names_new()) ? 0 : -ENOMEM;
	if (rc == 0)
		rc = timer_open(&w->timer, event, NS_PER_MS, on_timer, w);
	if (rc < 0)
		return rc;
	w->reader = reader;
	w->memtraces = memtraces;
	w->notify = notify;
	w->context = context;
	*wp = TAKE_PTR(w);
	return 0;
}

struct watch *watch_free(struct watch *w)
{
	if (!w)
		return NULL;
	timer_close(&w->timer);
	difference_deinit(&w->runs);
	difference_deinit(&w->captures);
	difference_deinit(&w->profiles);
	difference_deinit(&w->sizes);
	growth_deinit(&w->growth);
	watch_drop_changes(w);
	journal_free(w->journal);
	guest_names_free(w->names);
	free(w);
	return NULL;
}

void watch_describe_with(struct watch *w, watch_describe *describe, void *context)
{
	w->describe = describe;
	w->describe_context = context;
}

void watch_described(struct watch *w, int64_t capture)
{
	/* Before the first scan is complete, nobody reads events, and a reader begins with the lists. */
	if (!w->ready)
		return;
	(void)watch_emit_capture(w, &(struct change){.id = capture, .kind = CHANGE_CHANGED});
	announce(w);
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
	if (w->wanted && w->phase == PHASE_IDLE)
		turn_after(w, 0);
}

/* Return whether there were commits of which no notice came. */
static bool has_commits(struct watch *w, const struct reader_version *version)
{
	struct memtraces_version profiles = w->profiles_version;
	bool some = version->commits != w->version.commits;

	if (memtraces_version(w->memtraces, &profiles) == 0)
		some = some || profiles.commits != w->profiles_version.commits ||
		       profiles.archives != w->profiles_version.archives;
	w->profiles_version = profiles;
	return some;
}

void watch_tick(struct watch *w)
{
	struct reader_version version;

	if (!w->wanted)
		return;
	if (clock_mono() - w->wanted_at > UNWANTED_NS) {
		reset(w);
		w->wanted = false;
		timer_stop(&w->timer);
		return;
	}
	if (reader_ready(w->reader) != 0 || reader_version(w->reader, &version) != 0)
		return;
	if (version.archives != w->version.archives) {
		reset(w);
		turn_after(w, 0);
		w->notify(w->context);
	} else if (has_commits(w, &version)) {
		watch_commit(w);
	}
	w->version = version;
}
