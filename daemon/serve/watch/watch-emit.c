/*
 * Make events from the changes that a scan has found. Each row is read again, so an event has the
 * row as it is when the event is made.
 */
#include <errno.h>

#include "json.h"
#include "watch-state.h"

void watch_append(struct watch *w, const char *name, json_t *data)
{
	if (journal_append(w->journal, name, data) < 0)
		log_write_limited(&w->limit, LOG_LEVEL_WARNING, NULL, "an event was lost: out of memory");
}

struct latest {
	struct reader *reader;
	int64_t run;
};

static int see_latest(void *context, const struct archive_run *run)
{
	struct latest *l = context;

	return run->uuid ? reader_run_by_uuid(l->reader, run->uuid, &l->run)
			 : reader_run_by_name(l->reader, run->name, &l->run);
}

static int emit_run(struct watch *w, const struct change *change)
{
	static const char *const words[] = {
		[CHANGE_BEGAN] = "began", [CHANGE_ENDED] = "ended", [CHANGE_CHANGED] = "changed"};
	struct latest latest = {.reader = w->reader};
	json_t *guest = NULL;
	int rc = reader_run(w->reader, change->id, see_latest, &latest);

	if (rc == 0)
		rc = json_guest_of_run(w->reader, latest.run, &guest);
	if (rc == 0)
		watch_append(w, "domain",
			     json_pack("{s:s, s:I, s:o}", "change", words[change->kind], "run", (json_int_t)change->id,
				       "domain", guest));
	return rc;
}

static int emit_capture(struct watch *w, const struct change *change)
{
	json_t *capture = NULL;
	int rc = json_capture(w->reader, change->id, &capture);

	if (rc == 0)
		watch_append(w, "capture",
			     json_pack("{s:s, s:o}", "change", change->kind == CHANGE_MADE ? "made" : "changed",
				       "capture", capture));
	return rc;
}

static int take_gap(void *context, const struct archive_gap *gap)
{
	json_t **json = context;

	*json = json_gap(gap);
	return *json ? 0 : -ENOMEM;
}

int watch_emit_gap(struct watch *w, json_t *stream)
{
	int64_t run = json_integer_value(json_object_get(stream, "run"));
	uint32_t number = (uint32_t)json_integer_value(json_object_get(stream, "stream"));
	json_t *gap = NULL;
	int rc = reader_last_gap(w->reader, run, number, take_gap, &gap);

	if (rc == 0)
		watch_append(w, "gap", json_pack("{s:O, s:o}", "stream", stream, "gap", gap));
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

static int emit(struct watch *w, const struct change *change)
{
	if (w->phase == PHASE_MEMTRACES)
		return watch_emit_profile(w, change);
	return w->phase == PHASE_CAPTURES ? emit_capture(w, change) : emit_run(w, change);
}

/* If a row was deleted since the scan, the next scan finds that and makes an event of it. */
int watch_emit_step(struct watch *w)
{
	uint64_t until = clock_mono() + STEP_NS;
	int rc = 0;

	while (w->n_emitted < w->n_changes && rc == 0 && clock_mono() < until) {
		const struct change *change = &w->changes[w->n_emitted];

		rc = emit(w, change);
		rc = rc == ARCHIVE_E_ABSENT ? 0 : rc;
		w->n_emitted += rc <= 0; /* skip a damaged row, so that the other changes get their events */
	}
	if (w->n_emitted == w->n_changes)
		w->n_emitted = w->n_changes = 0;
	return rc;
}
