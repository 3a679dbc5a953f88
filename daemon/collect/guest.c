/*
 * A run of a guest, and its captures.
 *
 * A capture covers several streams. Each stream contributes its part at its own polls (stream.c);
 * the capture ends when every stream has contributed.
 */
#include "guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "printable.h"

/* Time limit of a capture of a living guest; bytes that found no room by then are left out. */
#define CAPTURE_NS (10 * NS_PER_S)

/* ---- opening and closing --------------------------------------------------------------------- */

int guest_init(struct guest *guest, struct guest_shared *shared, const struct guest_identity *identity, int64_t run,
	       uint64_t patience)
{
	*guest = (struct guest){
		.shared = shared,
		.source = identity->source,
		.name = text_printable(identity->name),
		.key = strdup(identity->key),
		.uuid = identity->uuid ? strdup(identity->uuid) : NULL,
		.domid = identity->domid,
		.run = run,
		.patience = patience,
		.account = account_new(),
	};
	if (!guest->name || !guest->key || (identity->uuid && !guest->uuid) || !guest->account) {
		guest_deinit(guest);
		return -ENOMEM;
	}
	guest->policy = config_policy(shared->config, guest->name);
	return 0;
}

void guest_deinit(struct guest *guest)
{
	if (!guest->shared)
		return;
	while (guest->streams)
		stream_detach(guest->streams);
	free(guest->name);
	free(guest->key);
	free(guest->uuid);
	if (guest->account)
		account_release(guest->shared->queue, guest->account);
	*guest = (struct guest){0};
}

void guest_begin(struct guest *guest)
{
	if (!guest->run)
		guest->run = ++guest->shared->last_run;
	if (!guest->began_real)
		guest->began_real = clock_real();
}

void guest_add(struct guest *guest, struct stream *stream)
{
	guest_begin(guest);
	stream->guest = guest;
	stream->next = guest->streams;
	guest->streams = stream;
}

void guest_remove(struct guest *guest, struct stream *stream)
{
	struct stream **at = &guest->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
}

/* ---- reports to the archive ------------------------------------------------------------------ */

/*
 * Queue a copy of RUN with its own copies of the strings. To have it committed soon, call
 * queue_hurry() afterwards. Return 0 or -ENOMEM.
 */
static int run_queue(struct guest_shared *shared, struct account *account, const struct archive_run *run)
{
	struct item *item = queue_item(shared->queue, account, ITEM_RUN, 0, false);
	struct archive_run *to;

	if (!item)
		return -ENOMEM;
	item->run = *run;
	to = &item->run;
	item->texts =
		texts_copy((const char **[]){&to->source, &to->key, &to->name, &to->uuid, &to->state, &to->reason}, 6);
	if (!item->texts) {
		queue_item_free(shared->queue, item);
		return -ENOMEM;
	}
	queue_push(shared->queue, item);
	return 0;
}

int guest_report_end(struct guest_shared *shared, const struct archive_resume *resume)
{
	const bool is_known = resume->captured_as && strcmp(resume->captured_as, ARCHIVE_UNREAD) != 0;
	const char *reason = is_known ? resume->captured_as : "ended";
	const struct archive_run run = {
		.id = resume->run,
		.source = resume->source,
		.key = resume->key,
		.name = resume->name,
		.uuid = resume->uuid,
		.domid = resume->domid,
		.state = "ended",
		.reason = strcmp(resume->state, "suspended") == 0 ? "suspend" : reason,
		.ended_real = resume->any ? resume->last_real : clock_real(),
	};
	int r = run_queue(shared, NULL, &run);

	queue_hurry(shared->queue);
	return r;
}

int guest_report_loss(struct guest_shared *shared, const struct archive_resume *resume, const char *reason)
{
	struct item *item = queue_item(shared->queue, NULL, ITEM_GAP, 0, false);
	struct moment now = moment_now();

	if (!item)
		return -ENOMEM;
	item->stream = resume->stream;
	item->soon = true;
	item->gap = (struct archive_gap){
		.stream = resume->stream,
		.kind = "lost",
		.reason = reason,
		.after_sequence = resume->sequence,
		.after_offset = resume->offset,
		.next_sequence = resume->sequence + 1,
		.packets = 1,
		.at_least = true,
		.real = now.real,
		.mono = now.mono,
	};
	shared->counters.gaps++;
	shared->counters.lost_packets++;
	queue_push(shared->queue, item);
	return 0;
}

bool guest_is_archived(const struct guest *guest)
{
	return guest->state && strcmp(guest->state, "ended") != 0;
}

static int state_queue(struct guest *guest, const char *state, const char *reason)
{
	const struct archive_run run = {
		.id = guest->run,
		.source = guest->source,
		.key = guest->key,
		.name = guest->name,
		.uuid = guest->uuid,
		.domid = guest->domid,
		.state = state,
		.reason = reason,
		.began_real = guest->began_real ? guest->began_real : clock_real(),
		.ended_real = strcmp(state, "ended") == 0 ? clock_real() : 0,
	};

	return run_queue(guest->shared, guest->account, &run);
}

bool guest_is_running(const struct guest *guest)
{
	return guest->state && strcmp(guest->state, "running") == 0;
}

int guest_set_state(struct guest *guest, const char *state, const char *reason)
{
	int r;

	if (!guest->run)
		return 0;
	for (struct stream *s = guest->streams; s; s = s->next)
		stream_flush(s);
	r = state_queue(guest, state, reason);
	if (r)
		return r;
	guest->state = state;
	if (guest_is_running(guest))
		account_died(guest->shared->queue, guest->account, false);
	for (struct stream *s = guest->streams; s; s = s->next)
		if (guest_is_running(guest))
			ring_set_dead(&s->ring, false);
	for (struct stream *s = guest_is_archived(guest) ? guest->streams : NULL; s && r == 0; s = s->next)
		r = stream_announce(s);
	/* Commit only now, so that readers never see a run without its streams. */
	queue_hurry(guest->shared->queue);
	return r;
}

int guest_rename(struct guest *guest, const char *name)
{
	char *printable = text_printable(name), *before = guest->name;
	int r;

	if (!printable)
		return -ENOMEM;
	if (strcmp(printable, before) == 0) {
		free(printable);
		return 0;
	}
	guest->name = printable;
	r = guest_is_archived(guest) ? state_queue(guest, guest->state, NULL) : 0;
	if (r) {
		guest->name = before;
		free(printable);
		return r;
	}
	free(before);
	queue_hurry(guest->shared->queue);
	guest->policy = config_policy(guest->shared->config, guest->name);
	guest->next_period = 0;
	for (struct stream *s = guest->streams; s; s = s->next)
		if (guest->policy.mode != POLICY_CONTINUOUS && !s->capture.wanted)
			ring_skip(&s->ring);
	return 0;
}

/* ---- captures -------------------------------------------------------------------------------- */

/* Begin capture ID of all streams, or of ONLY: their next polls take part in it. */
static void capture_start(struct guest *guest, int64_t id, bool dead, struct stream *only)
{
	guest->capture = (struct guest_capture){
		.id = id,
		.dead = dead,
		.give_up = clock_mono() + (dead ? guest->patience : CAPTURE_NS),
	};
	/* If a living guest withdraws one ring, that ring's end takes no room from other guests. */
	if (dead && !only)
		account_died(guest->shared->queue, guest->account, true);
	for (struct stream *s = guest->streams; s; s = s->next) {
		if (only && s != only)
			continue;
		s->capture.wanted = true;
		if (dead)
			ring_set_dead(&s->ring, true);
		guest->capture.streams++;
	}
}

static int capture_queue(struct guest *guest, int64_t id, const char *kind, const char *note)
{
	struct item *item = queue_item(guest->shared->queue, guest->account, ITEM_CAPTURE, 0, false);
	struct moment now = moment_now();

	if (!item)
		return -ENOMEM;
	item->capture = (struct archive_capture){
		.id = id,
		.run = guest->run,
		.kind = kind,
		.real = now.real,
		.mono = now.mono,
		.note = note,
	};
	item->texts = texts_copy((const char **[]){&item->capture.note}, 1);
	if (!item->texts) {
		queue_item_free(guest->shared->queue, item);
		return -ENOMEM;
	}
	queue_push(guest->shared->queue, item);
	return 0;
}

int64_t guest_capture_begin(struct guest *guest, const char *kind, const char *note, bool dead, struct stream *only)
{
	int r;

	if (!guest->streams || guest->capture.id || (only && only->guest != guest))
		return 0;
	r = capture_queue(guest, guest->shared->last_capture + 1, kind, note);
	if (r)
		return r;
	guest->shared->counters.captures++;
	capture_start(guest, ++guest->shared->last_capture, dead, only);
	return guest->capture.id;
}

void guest_capture_join(struct guest *guest, struct stream *stream)
{
	if (stream->guest != guest || stream->capture.wanted)
		return;
	stream->capture.wanted = true;
	ring_set_dead(&stream->ring, true);
	guest->capture.streams++;
}

int64_t guest_capture_again(struct guest *guest, int64_t id, bool dead)
{
	if (!guest->streams || guest->capture.id)
		return 0;
	capture_start(guest, id, dead, NULL);
	return id;
}

bool guest_capture_done(const struct guest *guest)
{
	return guest->capture.id == 0;
}

void guest_capture_less(struct guest *guest)
{
	if (--guest->capture.streams)
		return;
	if (!guest->capture.has_context)
		guest_capture_finish(guest->shared, guest->capture.id);
	guest->capture = (struct guest_capture){0};
	queue_hurry(guest->shared->queue);
}

void guest_capture_abandon(struct guest *guest)
{
	for (struct stream *s = guest->streams; s; s = s->next)
		stream_capture_end(s);
}

int guest_capture_context(struct guest_shared *shared, int64_t capture, char *json)
{
	struct item *item = queue_item(shared->queue, NULL, ITEM_PATCH, 0, false);

	if (!item) {
		free(json);
		return -ENOMEM;
	}
	item->patch.capture = capture;
	item->patch.pinned = -1;
	item->patch.version = -1;
	item->patch.context = json;
	item->urgent = true;
	queue_push(shared->queue, item);
	return 0;
}

void guest_capture_finish(struct guest_shared *shared, int64_t capture)
{
	struct item *item;

	if (!shared->sends)
		return;
	/* If memory is short, the commit thread sends the capture later. */
	item = queue_item(shared->queue, NULL, ITEM_FINISH, 0, false);
	if (!item)
		return;
	item->patch.capture = capture;
	item->soon = true;
	queue_push(shared->queue, item);
}

void guest_follow(struct guest *guest, uint64_t until)
{
	account_follow(guest->shared->queue, guest->account, until);
}

void guest_period(struct guest *guest, uint64_t now)
{
	if (guest->policy.mode != POLICY_PERIODIC || guest->capture.id || now < guest->next_period)
		return;
	if (guest->next_period && guest_is_running(guest))
		guest_capture_begin(guest, "periodic", NULL, false, NULL);
	guest->next_period = now + guest->policy.interval_ns;
}
