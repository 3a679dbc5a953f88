/*
 * Make events from the changes that a scan has found. Each row is read again, so an event has the
 * row as it is when the event is made. The row and the name of its guest are read in one transaction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "row-json.h"
#include "watch-state.h"

void watch_append_draft(struct watch *w, struct event_draft *d)
{
	if (journal_append(w->journal, d) < 0)
		log_write_limited(&w->limit, LOG_LEVEL_WARNING, NULL, "an event was lost: out of memory");
}

void watch_append(struct watch *w, const char *name, struct guest_name *guest, json_t *data)
{
	struct event_draft draft = {.name = name, .open = "", .close = ""};

	/* Without memory the draft has no value, and the journal says so. */
	(void)event_draft_add(&draft, data, guest);
	watch_append_draft(w, &draft);
}

/* ---- guests ---- */

struct guest_of_run {
	struct watch *watch;
	int64_t latest;		  /* the guest's latest run */
	struct guest_name *guest; /* name of the run; a reference */
};

static int see_latest(void *context, const struct archive_run *run)
{
	struct guest_of_run *g = context;
	struct reader *r = g->watch->reader;

	if (guest_name_get(g->watch->names, run->name, &g->guest) < 0)
		return -ENOMEM;
	return run->uuid ? reader_run_by_uuid(r, run->uuid, &g->latest) : reader_run_by_name(r, run->name, &g->latest);
}

/*
 * Set *GUEST to the guest of RUN, as VIEW shows it, and *NAME to the name of RUN, with a reference.
 * Return what the reader returns.
 */
static int read_guest(struct watch *w, int64_t run, struct view view, struct guest_name **name, json_t **guest)
{
	struct guest_of_run g = {.watch = w};
	int rc;

	reader_look(w->reader, view);
	rc = reader_begin(w->reader);
	if (rc == 0)
		rc = reader_run(w->reader, run, see_latest, &g);
	if (rc == 0)
		rc = json_guest_of_run(w->reader, g.latest, guest);
	reader_end(w->reader);
	reader_look(w->reader, (struct view){0});
	*name = g.guest;
	return rc;
}

int watch_guest(struct watch *w, int64_t run, struct view view, json_t **guest)
{
	CLEANUP(guest_name_unrefp) struct guest_name *name = NULL;

	return read_guest(w, run, view, &name, guest);
}

/* A view of all guests that notes whether the rows which were read have several names. */
struct names_seen {
	struct guest_names *names;
	struct guest_name *first; /* a reference */
	bool several;
};

struct names_view {
	struct names_seen *seen;
};

static bool on_sees(const void *context, const char *name)
{
	struct names_seen *seen = ((const struct names_view *)context)->seen;

	if (seen->several || !name)
		return true;
	if (!seen->first && guest_name_get(seen->names, name, &seen->first) < 0)
		seen->several = true;
	else
		seen->several = strcmp(seen->first->text, name) != 0;
	return true;
}

static int emit_run(struct watch *w, const struct change *change)
{
	static const char *const words[] = {
		[CHANGE_BEGAN] = "began", [CHANGE_ENDED] = "ended", [CHANGE_CHANGED] = "changed"};
	CLEANUP(guest_name_unrefp) struct guest_name *name = NULL;
	struct names_seen seen = {.names = w->names};
	struct names_view view = {.seen = &seen};
	struct event_draft draft = {.name = "domain", .close = "}"};
	json_t *guest = NULL;
	char open[80];
	int rc;

	rc = read_guest(w, change->id, (struct view){.sees = on_sees, .context = &view}, &name, &guest);
	guest_name_unref(seen.first);
	if (rc != 0)
		return rc;
	snprintf(open, sizeof(open), "{\"change\":\"%s\",\"run\":%" PRId64 ",\"domain\":", words[change->kind],
		 change->id);
	draft.open = open;
	draft.run = seen.several ? change->id : 0;
	(void)event_draft_add(&draft, guest, name);
	watch_append_draft(w, &draft);
	return 0;
}

/* ---- captures and gaps ---- */

static int take_guest(void *context, const struct reader_capture *c)
{
	struct guest_of_run *g = context;

	return guest_name_get(g->watch->names, c->name, &g->guest);
}

int watch_emit_capture(struct watch *w, const struct change *change)
{
	struct guest_of_run g = {.watch = w};
	json_t *capture = NULL;
	int rc = reader_begin(w->reader);

	if (rc == 0)
		rc = reader_capture(w->reader, change->id, take_guest, &g);
	if (rc == 0)
		rc = json_capture(w->reader, change->id, &capture);
	reader_end(w->reader);
	if (rc == 0 && w->describe && w->describe(w->describe_context, change->id, capture) < 0) {
		json_decref(capture);
		capture = NULL;
	}
	if (rc == 0)
		watch_append(w, "capture", g.guest,
			     json_pack("{s:s, s:o}", "change", change->kind == CHANGE_MADE ? "made" : "changed",
				       "capture", capture));
	guest_name_unref(g.guest);
	return rc;
}

struct gap_taken {
	struct reader *reader;
	json_t *json;
};

static int take_gap(void *context, const struct archive_gap *gap)
{
	struct gap_taken *taken = context;

	taken->json = json_gap(taken->reader, gap);
	return taken->json ? 0 : -ENOMEM;
}

int watch_emit_gap(struct watch *w, struct guest_name *guest, json_t *stream)
{
	int64_t run = json_integer_value(json_object_get(stream, "run"));
	uint32_t number = (uint32_t)json_integer_value(json_object_get(stream, "stream"));
	struct gap_taken taken = {.reader = w->reader};
	int rc = reader_last_gap(w->reader, run, number, take_gap, &taken);

	if (rc == 0)
		watch_append(w, "gap", guest, json_pack("{s:O, s:o}", "stream", stream, "gap", taken.json));
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/* ---- changes ---- */

/*
 * If the row of CHANGE has got another name, make the event for those who see only the old one. (Only
 * those who see all guests see an unknown guest.)
 */
static void emit_hidden(struct watch *w, struct change *change)
{
	bool is_run = w->phase == PHASE_RUNS;
	struct event_draft draft = {
		.name = is_run			     ? "forgotten"
			: w->phase == PHASE_CAPTURES ? "capture-deleted"
						     : "memtrace-deleted",
		.open = "",
		.close = "",
		.hides = true,
		.hidden_as = change->is,
	};

	if (!change->was || change->was == change->is)
		return;
	(void)event_draft_add(&draft, json_pack("{s:I}", is_run ? "run" : "id", (json_int_t)change->id), change->was);
	watch_append_draft(w, &draft);
	change->is = NULL; /* the draft has released it; the event must not come again if the row is busy */
	change->was = guest_name_unref(change->was);
}

static int emit(struct watch *w, const struct change *change)
{
	if (w->phase == PHASE_MEMTRACES)
		return watch_emit_profile(w, change);
	return w->phase == PHASE_CAPTURES ? watch_emit_capture(w, change) : emit_run(w, change);
}

/* If a row was deleted since the scan, the next scan finds that and makes an event of it. */
int watch_emit_step(struct watch *w)
{
	uint64_t until = clock_mono() + STEP_NS;
	int rc = 0;

	while (w->n_emitted < w->n_changes && rc == 0 && clock_mono() < until) {
		struct change *change = &w->changes[w->n_emitted];

		emit_hidden(w, change);
		rc = emit(w, change);
		rc = rc == ARCHIVE_E_ABSENT ? 0 : rc;
		w->n_emitted += rc <= 0; /* skip a damaged row, so that the other changes get their events */
	}
	if (w->n_emitted == w->n_changes)
		watch_drop_changes(w);
	return rc;
}
