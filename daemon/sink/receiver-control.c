/* Answer the requests on the control socket. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "receiver.h"

#define NOTE_MAX 4096u

/*
 * Return the stream of the recording that M names, or NULL. *ID is the recording's identifier, 0 if
 * M names none.
 */
static struct stream *find(const struct receiver *receiver, const struct message *m, uint64_t *id)
{
	struct stream *stream = receiver->streams;

	if (!message_number(m, "recording", id))
		*id = 0;
	while (stream && (stream->state < STREAM_RECORDING || (uint64_t)stream->about.id != *id))
		stream = stream->next;
	return stream;
}

static void on_stop(struct receiver *receiver, struct control_asker asker, const struct message *m)
{
	uint64_t id;
	struct stream *stream = find(receiver, m, &id);

	if (!stream) {
		control_error(receiver->control, asker, 409, "that memory profile is not being recorded");
		return;
	}
	if (stream->state != STREAM_RECORDING) {
		control_error(receiver->control, asker, 409, "that memory profile is being stopped already");
		return;
	}
	if (stream->guest)
		stream->guest->over = true;
	stream_stop(stream, "stopped", asker);
}

static void on_change(struct receiver *receiver, struct control_asker asker, const struct message *m,
		      enum item_kind kind)
{
	const char *note = message_value(m, "note");
	struct item *item;
	uint64_t id, pinned;

	if (find(receiver, m, &id) && kind == ITEM_DELETE) {
		control_error(receiver->control, asker, 409, "it is being recorded; stop it first");
		return;
	}
	if (id == 0 || (note && strlen(note) > NOTE_MAX)) {
		control_error(receiver->control, asker, 400,
			      "it needs recording=NUMBER, and a note of at most 4,096 bytes");
		return;
	}
	item = batch_add(&receiver->batch, kind, (int64_t)id);
	if (!item) {
		control_error(receiver->control, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->asker = asker;
	item->pinned = message_number(m, "pinned", &pinned) ? pinned != 0 : -1;
	item->note = note ? strdup(note) : NULL;
	receiver_dirty(receiver);
}

/*
 * Handle a reader's report of damage: add an item, by which the commit thread checks the recording.
 */
static void on_damaged(struct receiver *receiver, struct control_asker asker, const struct message *m)
{
	struct item *item;
	uint64_t id;

	if (!message_number(m, "recording", &id) || id == 0 || id > INT64_MAX) {
		control_error(receiver->control, asker, 400, "damaged needs recording=NUMBER");
		return;
	}
	item = batch_add(&receiver->batch, ITEM_DAMAGE, (int64_t)id);
	if (!item) {
		control_error(receiver->control, asker, 503, "there is no memory for it now; ask again");
		return;
	}
	item->asker = asker;
	receiver_dirty(receiver);
}

struct line {
	const char *name, *type, *help;
	uint64_t value;
};

/* Append the deleted recordings by reason to TEXT at AT. Return the new end of the text. */
static size_t deletions_text(const struct receiver *receiver, char *text, size_t size, size_t at)
{
	at += (size_t)snprintf(text + at, size - at,
			       "# TYPE mprofd_sink_deleted_recordings counter\n# HELP mprofd_sink_deleted_recordings "
			       "Recordings deleted from the archive.\n");
	for (int i = 0; i < DELETION_REASONS && at < size; i++)
		at += (size_t)snprintf(
			text + at, size - at, "mprofd_sink_deleted_recordings_total{reason=\"%s\"} %" PRIu64 "\n",
			deletion_reason_name((enum deletion_reason)i), receiver->state.deletions.captures[i]);
	return at;
}

static void metrics_text(const struct receiver *receiver, char *text, size_t size)
{
	const struct receiver_counts *c = &receiver->counts;
	const struct line lines[] = {
		{"streams", "gauge", "Memtrace streams that are received.", receiver->n_streams},
		{"held_bytes", "gauge", "Bytes received that are not committed yet.", receiver->held},
		{"archiving", "gauge", "Whether the archive of memory profiles takes bytes.",
		 !receiver->state.full && !receiver->state.failed},
		{"accepted", "counter", "Guests that connected.", c->accepted},
		{"connected", "counter", "Guests that were connected to.", c->connected},
		{"recordings", "counter", "Recordings begun.", c->recordings},
		{"received_bytes", "counter", "Bytes of whole packets received.", c->bytes},
		{"received_packets", "counter", "Whole packets received.", c->packets},
		{"committed_bytes", "counter", "Bytes committed to the archive.", receiver->state.bytes},
		{"dropped_bytes", "counter", "Bytes behind the last whole packet of streams that broke off.",
		 c->dropped},
		{"refused", "counter", "Guests refused, for they or all had as many streams as they may.", c->refused},
		{"evicted", "counter",
		 "Connections that had sent no profile, or nothing for long, closed to make room for others.",
		 c->evicted},
		{"garbage", "counter", "Streams ended because what came was no memtrace packet.", c->garbage},
		{"reset", "counter", "Streams that broke.", c->reset},
		{"cut", "counter", "Streams that ended within a packet.", c->cut},
		{"overrun", "counter", "Streams cut off because memory for what is not committed was full.",
		 c->overrun},
		{"over_rate", "counter", "Streams cut off because too much came in a time.", c->rate},
		{"over_quota", "counter", "Streams cut off because their recordings were too large.", c->quota},
		{"damaged_pieces", "counter", "Pieces of recordings that do not agree with their checksums.",
		 receiver->state.damaged_pieces},
		{"lost_commits", "counter", "Commits that a damaged log had lost when the archive was opened.",
		 receiver->state.lost_commits},
		{"deleted", "counter", "Recordings deleted by quotas.", receiver->state.deleted},
		{"clock_steps", "counter", "Times that the system clock was set.", receiver->state.clock_steps},
		{"age_clock_damaged", "counter",
		 "Times that the archive's age clock began anew, as its rows were damaged.",
		 receiver->state.clock_damaged},
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(lines) && at < size; i++)
		at += (size_t)snprintf(text + at, size - at,
				       "# TYPE mprofd_sink_%s %s\n# HELP mprofd_sink_%s %s\nmprofd_sink_%s%s %" PRIu64
				       "\n",
				       lines[i].name, lines[i].type, lines[i].name, lines[i].help, lines[i].name,
				       lines[i].type[0] == 'c' ? "_total" : "", lines[i].value);
	if (at < size)
		(void)deletions_text(receiver, text, size, at);
}

static void on_metrics(struct receiver *receiver, struct control_asker asker)
{
	struct message_writer w = control_answer(receiver->control, asker);
	char text[8192];

	metrics_text(receiver, text, sizeof(text));
	message_add(&w, "text", text);
	control_send(receiver->control, asker, &w);
}

static void on_status(struct receiver *receiver, struct control_asker asker)
{
	struct message_writer w = control_answer(receiver->control, asker);

	message_add_number(&w, "streams", receiver->n_streams);
	message_add_number(&w, "archiving", !receiver->state.full && !receiver->state.failed);
	message_add(&w, "sentence", receiver->state.sentence);
	control_send(receiver->control, asker, &w);
}

void receiver_request(void *context, struct control_asker asker, const struct message *m)
{
	struct receiver *receiver = context;

	if (strcmp(m->verb, "start") == 0)
		guest_start(receiver, asker, m);
	else if (strcmp(m->verb, "stop") == 0)
		on_stop(receiver, asker, m);
	else if (strcmp(m->verb, "patch") == 0)
		on_change(receiver, asker, m, ITEM_PATCH);
	else if (strcmp(m->verb, "delete") == 0)
		on_change(receiver, asker, m, ITEM_DELETE);
	else if (strcmp(m->verb, "damaged") == 0)
		on_damaged(receiver, asker, m);
	else if (strcmp(m->verb, "metrics") == 0)
		on_metrics(receiver, asker);
	else if (strcmp(m->verb, "status") == 0)
		on_status(receiver, asker);
	else
		control_error(receiver->control, asker, 400, "unknown verb");
}

void receiver_answers(struct receiver *receiver, struct batch *done)
{
	struct message_writer w;

	for (struct item *item = done->first; item; item = item->next) {
		if (!item->asker.client)
			continue;
		if (item->kind == ITEM_DAMAGE && !item->result && !item->pieces) {
			control_error(receiver->control, item->asker, 404, "nothing is damaged there");
			continue;
		}
		if (item->kind == ITEM_DAMAGE && item->result && item->result != ARCHIVE_E_ABSENT) {
			control_error(receiver->control, item->asker, 503, "it cannot be repaired now; see the log");
			continue;
		}
		if (item->result) {
			control_error(receiver->control, item->asker, 404, "there is no such memory profile");
			continue;
		}
		w = control_answer(receiver->control, item->asker);
		message_add_number(&w, "recording", (uint64_t)item->recording);
		control_send(receiver->control, item->asker, &w);
	}
}
