/*
 * This file reads a trace: from a daemon itself, and by input-file.c from a file, a pipe or a directory.
 *
 * The events of a single stream are decoded while its bytes come. The events of several streams are
 * merged by time. A merge reads each stream from a file of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "decoder-thread.h"
#include "download.h"
#include "follow.h"
#include "input-state.h"
#include "merge.h"
#include "remote-streams.h"
#include "stamp-clocks.h"
#include "stream-decoder.h"
#include "table.h"

static int input_guests(void *context, const uint32_t *guests, unsigned int count)
{
	struct input *in = context;

	in->refused = in->to->guests ? in->to->guests(in->to->context, guests, count) : 0;
	return in->refused;
}

static int input_streams(void *context, char *const *names, unsigned int count)
{
	struct input *in = context;

	in->refused = in->to->streams ? in->to->streams(in->to->context, names, count) : 0;
	return in->refused;
}

static int input_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct input *in = context;

	in->refused = in->to->events(in->to->context, stream, events, n);
	return in->refused;
}

static int input_packet(void *context, unsigned int stream, const struct mprof_packet *packet)
{
	struct input *in = context;

	in->refused = in->to->packet ? in->to->packet(in->to->context, stream, packet) : 0;
	return in->refused;
}

static int input_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct input *in = context;

	in->refused = in->to->gap ? in->to->gap(in->to->context, stream, packets) : 0;
	return in->refused;
}

static int input_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct input *in = context;

	in->refused = in->to->damage ? in->to->damage(in->to->context, stream, damage) : 0;
	return in->refused;
}

static int input_tail(void *context, unsigned int stream, uint64_t from_ns)
{
	struct input *in = context;

	in->refused = in->to->tail(in->to->context, stream, from_ns);
	return in->refused;
}

static int input_pause(void *context)
{
	struct input *in = context;

	in->refused = in->to->pause ? in->to->pause(in->to->context) : 0;
	return in->refused;
}

void input_deinit(struct input *in)
{
	free(in->stream);
	in->stream = NULL;
}

/* Say once of the stream NAME that its clock went back. */
static void say_step(const char *name, const struct mprof_totals *t)
{
	char span[SPAN_TEXT_MAX], often[48] = "";

	if (!t->steps)
		return;
	if (t->steps > 1)
		snprintf(often, sizeof(often), "%" PRIu64 " times, at most ", t->steps);
	say("note: %s: the clock went back %s%s at %" PRIu64 ".%09" PRIu64
	    "; times before and behind %s are not comparable",
	    name, often, span_text(t->step_ns, span, sizeof(span)), t->step_at / 1000000000, t->step_at % 1000000000,
	    t->steps > 1 ? "these" : "it");
}

int input_note_totals(struct input *in, const struct stream_decoder *s)
{
	in->damages += s->damages;
	in->stream = calloc(1, sizeof(*in->stream));
	if (!in->stream)
		return -ENOMEM;
	in->stream[0] = (struct input_stream){.totals = *stream_decoder_totals(s), .bytes = s->bytes};
	say_step(s->name, stream_decoder_totals(s));
	if (s->sexp) /* a log has no packets; its damage is counted by lines */
		in->stream[0].totals = (struct mprof_totals){.damages = s->damages};
	in->streams = 1;
	return 0;
}

int input_run_merge(struct input *in, struct merge *m)
{
	int r = merge_run(m);

	in->damages += m->damages;
	if (r)
		return r;
	in->stream = calloc(m->n, sizeof(*in->stream));
	if (!in->stream)
		return -ENOMEM;
	for (in->streams = 0; in->streams < m->n; in->streams++)
		in->stream[in->streams] = (struct input_stream){.totals = m->totals[in->streams],
								.bytes = m->bytes[in->streams],
								.cut_bytes = m->cut_bytes[in->streams]};
	for (unsigned int i = 0; i < m->n; i++) {
		say_step(m->names[i], &m->totals[i]);
		in->cut_bytes += m->cut_bytes[i];
	}
	return 0;
}

/* ---- the offset of the trace's clock */

bool input_needs_clock(const struct input *in)
{
	return in->timing && timing_needs_clock(in->timing);
}

int input_settle(struct input *in)
{
	if (input_needs_clock(in))
		in->unread = timing_settle(in->timing, in->name);
	return in->unread ? -ECANCELED : 0;
}

static int remote_write(void *context, const uint8_t *bytes, size_t len)
{
	return stream_decoder_put(context, bytes, len);
}

/* A download of one stream. Without memory for THREAD the receiving thread decodes. */
struct receiver {
	struct stream_decoder decoder;
	struct decoder_thread *thread; /* owned; NULL = none */
};

static int receiver_write(void *context, const uint8_t *bytes, size_t len)
{
	struct receiver *receiver = context;

	return receiver->thread ? decoder_thread_put(receiver->thread, bytes, len)
				: stream_decoder_put(&receiver->decoder, bytes, len);
}

static void receiver_deinit(struct receiver *receiver)
{
	decoder_thread_stop(receiver->thread);
	receiver->thread = NULL;
	stream_decoder_deinit(&receiver->decoder);
}

/* Read one stream of a capture or domain. Return 0, -errno, or an exit code. */
static int read_remote(struct input *in, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(freep) char *path = trace_source_path(t, h, "trace", s);
	CLEANUP(receiver_deinit) struct receiver x = {0};
	CLEANUP(download_deinit) struct download download = {.write = receiver_write, .context = &x};
	int r, refused;

	if (!path || !stream_decoder_init(&x.decoder, &in->consumer, in->name, STREAM_DECODER_STREAM))
		return -ENOMEM;
	x.thread = decoder_thread_start(&x.decoder);
	r = download_run(&download, h, path);
	refused = decoder_thread_stop(x.thread);
	x.thread = NULL;
	refused = download.refused ? download.refused : refused;
	if (r && !refused) {
		input_pause(in);
		return r;
	}
	r = refused ? refused : stream_decoder_end(&x.decoder);
	r = r ? r : input_note_totals(in, &x.decoder);
	if (!r)
		in->stream[0].cut_bytes = in->cut_bytes = download_cut_bytes(download.cut);
	return r;
}

/* Read all streams of a capture or domain that S selects. Return 0, -errno, or an exit code. */
static int read_streams(struct input *in, struct http *h, const struct remote *remote, const struct selection *s)
{
	CLEANUP(merge_deinit) struct merge l = {.consumer = &in->consumer, .one_guest = true};
	int r = remote_streams(&l, h, remote, s);

	return r ? r : input_run_merge(in, &l);
}

/*
 * Request the description of the trace from the daemon, read the trace, and then report its
 * unproven tails to the consumer. Return 0, -errno, or an exit code.
 */
static int read_with_tails(struct input *in, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(remote_deinit) struct remote x = {0};
	struct selection one = *s;
	char run[24];
	int r = remote_ask(&x, h, t, s);

	if (r)
		return r;
	/* Read the run that the daemon described. A new run may begin between the requests. */
	snprintf(run, sizeof(run), "%" PRId64, x.run);
	one.run = t->kind == SOURCE_DOMAIN && x.run > 0 ? run : s->run;
	if (s->all && !s->stream && json_array_size(x.streams) > 1)
		r = read_streams(in, h, &x, s);
	else
		r = read_remote(in, h, t, &one);
	return r ? r : tails_report(&x, h, s, &in->consumer);
}

/* Read a domain's trace while it grows. Return 0, -errno, or an exit code. */
static int read_live(struct input *in, struct http *h, const struct trace_source *t, const struct selection *s)
{
	CLEANUP(stream_decoder_deinit) struct stream_decoder f = {0};
	struct follow_ops ops = {.write = remote_write, .context = &f};
	int r;

	if (!stream_decoder_init(&f, &in->consumer, in->name, STREAM_DECODER_STREAM) || !http_catch_signals(h))
		return -ENOMEM;
	r = follow_run(h, t, s, &ops);
	if (r == CTL_OK)
		r = stream_decoder_end(&f);
	else if (ops.refused)
		return ops.refused;
	r = r ? r : input_note_totals(in, &f);
	if (!r)
		in->stream[0].cut_bytes = in->cut_bytes = ops.cut_bytes;
	return r;
}

/* Return the exit code for R: 0, -errno, or an exit code. */
static int verdict(const struct input *in, int r)
{
	if (in->unread)
		return in->unread;
	if (in->refused)
		return INPUT_REFUSED;
	if (r > 0)
		return r;
	if (r == -ENOMEM)
		return say_memory();
	if (r == -E2BIG)
		say("%s has more than %d streams", in->name, MERGE_STREAMS_MAX);
	else if (r == -EFBIG)
		say("%s unpacks to more than %llu GiB: unpack it and name its directory", in->name,
		    INPUT_UNPACKED_MAX >> 30);
	else if (r)
		say("cannot read %s: %s", in->name, strerror(-r));
	return r ? CTL_FAILED : in->damages ? CTL_DAMAGED : CTL_OK;
}

/* Find the offset of the clock of T, and pin the run in S (RUN). Return an exit code, or as input_settle(). */
static int settle_remote(struct input *in, struct http *h, const struct trace_source *t, struct selection *s, char *run)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	int r;

	if (!input_needs_clock(in))
		return CTL_OK;
	r = clocks_offset(&in->timing->clock, h, t, s, run);
	if (!r && in->timing->clock.missing == CLOCK_MISSING_GUEST)
		r = trace_source_json(t, h, &json); /* reports what is missing */
	return r ? r : input_settle(in);
}

static int run_remote(struct input *in, struct trace_source *t, const struct selection *s, bool settled, bool follow)
{
	CLEANUP(http_close) struct http h = HTTP_CLOSED;
	int r = http_open(&h, &t->hosts);
	struct selection one = *s;
	char run[CLOCKS_RUN_MAX];

	if (!r && !settled)
		r = trace_source_ask(t, &h);
	if (r)
		return r;
	if (follow && t->kind == SOURCE_CAPTURE) {
		say("a capture does not grow: leave out --follow");
		return CTL_USAGE;
	}
	r = settle_remote(in, &h, t, &one, run);
	if (r)
		return r;
	if (follow)
		return read_live(in, &h, t, &one);
	r = in->consumer.tail || (s->all && !s->stream) ? read_with_tails(in, &h, t, &one)
							: read_remote(in, &h, t, &one);
	if (!r && in->cut_bytes)
		say("note: %s: %" PRIu64 " bytes of its unproven end were cut: no event can be read in them", t->name,
		    in->cut_bytes);
	return r;
}

/* Read the file T, or refuse to. Return an exit code or INPUT_REFUSED. */
static int run_file(struct input *in, const struct trace_source *t, bool follow, const char *verb)
{
	if (follow)
		return say_usage(verb, "--follow takes a domain; a file cannot be followed");
	return verdict(in, input_read_file(in, t));
}

int input_run(struct input *in, const struct ctl *ctl, const struct consumer *consumer, const char *operand,
	      const struct selection *s, bool follow, const char *verb)
{
	struct trace_source t;
	bool settled;
	int r = selection_check(s, verb);

	*in = (struct input){.ctl = ctl, .to = consumer, .timing = in->timing, .more = in->more, .n_more = in->n_more};
	in->consumer = (struct consumer){
		.guests = input_guests,
		.streams = input_streams,
		.events = input_events,
		.packet = input_packet,
		.gap = input_gap,
		.damage = input_damage,
		.tail = consumer->tail ? input_tail : NULL,
		.pause = input_pause,
		.recorders = consumer->recorders,
		.context = in,
	};
	if (r)
		return r;
	in->numbering = selection_numbering(s);
	settled = trace_source_parse(&t, &ctl->hosts, operand, true);
	r = trace_source_check(&t, s, verb);
	in->name = t.kind == SOURCE_STDIN ? "standard input" : t.name;
	if (t.kind == SOURCE_FILE || t.kind == SOURCE_STDIN) {
		r = r ? r : run_file(in, &t, follow, verb);
		if (r != CTL_OK && r != INPUT_REFUSED)
			trace_source_other(&t, operand);
		return r;
	}
	if (r)
		return r;
	r = verdict(in, run_remote(in, &t, s, settled, follow));
	if ((r == CTL_UNREACHABLE || r == CTL_NOT_FOUND) && t.name == operand)
		say("there is no file %s either", t.name);
	return r;
}

static bool is_file(const char *operand)
{
	struct trace_source t;

	return trace_source_parse(&t, NULL, operand, true) && t.kind == SOURCE_FILE;
}

int input_take_files(struct input *in, const struct operands *left, size_t n, const char *verb)
{
	for (size_t i = 0; i < n && n > 1; i++)
		if (!is_file(left->at[i]))
			return say_usage(verb,
					 "%s: \"%s\" is one argument too many: only files can be several, as rings of "
					 "programs",
					 verb, left->at[i ? i : 1]);
	in->more = left->at + 1;
	in->n_more = n - 1;
	return CTL_OK;
}

int trace_args_parse(struct trace_args *t, const struct ctl *ctl, int argc, char **argv, struct options *o)
{
	int r;

	*t = (struct trace_args){.ctl = ctl, .verb = argv[0]};
	r = options_parse(ctl, argc, argv, o, &t->left);
	t->selection = selection_of(o);
	if (!r && verb_rows[ctl->verb].n_operands > 1 && t->left.n > 1 && !is_file(t->left.at[t->left.n - 1]))
		t->rest = t->left.at[--t->left.n];
	t->in.timing = &t->timing;
	r = r ? r : input_take_files(&t->in, &t->left, t->left.n, t->verb);
	return r ? r : timing_parse(&t->timing, o, TIME_GUEST, t->verb);
}

int trace_args_read(struct trace_args *t, const struct consumer *consumer)
{
	int r = input_run(&t->in, t->ctl, consumer, t->left.at[0], &t->selection, false, t->verb);

	return r == INPUT_REFUSED ? say_memory() : r;
}

bool trace_was_read(int code)
{
	return code == CTL_OK || code == CTL_DAMAGED;
}

void trace_args_deinit(struct trace_args *t)
{
	input_deinit(&t->in);
}
