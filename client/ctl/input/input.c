/*
 * This file reads a trace. The kind of the operand and the first bytes of the input decide how the
 * input is read. The file's name does not.
 *
 * The events of a single stream are decoded while its bytes come. The events of several streams are
 * merged by time. A merge reads each stream from a file of its own, so the members of an archive
 * are first written to unnamed temporary files.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "clock-file.h"
#include "clocks.h"
#include "ctf-clock.h"
#include "decoder-thread.h"
#include "download.h"
#include "file-order.h"
#include "follow.h"
#include "input.h"
#include "merge.h"
#include "output.h"
#include "remote-streams.h"
#include "stream-decoder.h"
#include "unpack.h"
#include "writer.h"

/* Most unpacked bytes of an archive. A small archive can contain any number of zeros. */
#define SPOOL_MAX (16ull << 30)

/*
 * State of unpacking an input: a compressed file goes to DECODER, and the members of an archive go
 * to MERGE.
 */
struct unpack_state {
	struct input *in;
	struct stream_decoder *decoder;
	struct merge merge;
	int fd; /* temporary file of the member that is being unpacked; owned; -1 = none */
	char *member;
	uint64_t spooled;
	bool archive;
	bool is_metadata; /* the member is the metadata of a CTF trace */
	bool named;	  /* the input is a file with a name, not a pipe */
	bool timed;	  /* the offset of the clock was looked for */
};

static void unpack_state_deinit(struct unpack_state *u)
{
	merge_deinit(&u->merge);
	closep(&u->fd);
	free(u->member);
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

static int note_totals(struct input *in, const struct stream_decoder *f)
{
	in->damages += f->damages;
	in->stream = calloc(1, sizeof(*in->stream));
	if (!in->stream)
		return -ENOMEM;
	in->stream[0] = (struct input_stream){.totals = *stream_decoder_totals(f), .bytes = f->bytes};
	if (f->sexp) /* a log has no packets; its damage is counted by lines */
		in->stream[0].totals = (struct mprof_totals){.damages = f->damages};
	in->streams = 1;
	return 0;
}

static int run_merge(struct input *in, struct merge *l)
{
	int r = merge_run(l);

	in->damages += l->damages;
	if (r)
		return r;
	in->stream = calloc(l->n, sizeof(*in->stream));
	if (!in->stream)
		return -ENOMEM;
	for (in->streams = 0; in->streams < l->n; in->streams++)
		in->stream[in->streams] =
			(struct input_stream){.totals = l->totals[in->streams], .bytes = l->bytes[in->streams]};
	return 0;
}

/* ---- the offset of the trace's clock */

static bool needs_clock(const struct input *in)
{
	return in->timing && timing_needs_clock(in->timing);
}

/*
 * The offset of the clock was looked for: use it. Return 0; or -ECANCELED, and the reason is in
 * UNTIMED.
 */
static int settle(struct input *in)
{
	if (needs_clock(in))
		in->untimed = timing_settle(in->timing, in->name);
	return in->untimed ? -ECANCELED : 0;
}

/*
 * Look for the offset in the file beside the trace. BYTES is the size of the trace, 0 = unknown.
 * Return as settle().
 */
static int settle_beside(struct input *in, bool named, uint64_t bytes)
{
	if (!needs_clock(in))
		return 0;
	in->timing->clock = (struct clock_offset){.missing = CLOCK_MISSING_PIPE};
	if (named)
		in->untimed = clock_file_read(&in->timing->clock, in->name, bytes);
	return in->untimed ? -ECANCELED : settle(in);
}

/* Read the metadata in FD, one of an archive. Return 0 or -errno. */
static int take_metadata(struct input *in, int fd)
{
	struct clock_offset c;
	int r = ctf_clock_read(&c, fd, in->name);

	if (r)
		return r;
	if (in->timing->clock.known && c.known && in->timing->clock.ns != c.ns) {
		say("%s has several traces with different clocks", in->name);
		c = (struct clock_offset){.missing = CLOCK_MISSING_REFUSED};
	}
	in->timing->clock = c;
	return 0;
}

static int unpacked_bytes(void *context, const void *bytes, size_t len)
{
	struct unpack_state *u = context;

	if (!u->archive) {
		int r = u->timed ? 0 : settle_beside(u->in, u->named, 0);

		u->timed = true;
		return r ? r : stream_decoder_put(u->decoder, bytes, len);
	}
	u->spooled += len;
	if (u->spooled > SPOOL_MAX)
		return -EFBIG;
	return write_all(u->fd, bytes, len);
}

/* Add the finished member to the merge, or take its clock. */
static int end_member(struct unpack_state *u)
{
	CLEANUP(closep) int fd = u->fd;
	int owned = fd;

	u->fd = -1;
	if (fd < 0)
		return 0;
	if (u->is_metadata)
		return take_metadata(u->in, fd);
	fd = -1; /* the merge owns it in any case */
	return merge_add_file(&u->merge, u->member, owned);
}

static int unpacked_member(void *context, const char *path)
{
	struct unpack_state *u = context;
	const char *slash = strrchr(path, '/');
	int r = end_member(u);

	if (!u->archive && u->in->timing)
		u->in->timing->clock = (struct clock_offset){.missing = CLOCK_MISSING_METADATA};
	u->archive = true;
	u->is_metadata = needs_clock(u->in) && strcmp(slash ? slash + 1 : path, "metadata") == 0;
	if (r || (!directory_wants(path) && !u->is_metadata))
		return r ? r : 1;
	free(u->member);
	u->member = strdup(slash ? slash + 1 : path);
	r = u->member ? spool_file() : -ENOMEM;
	u->fd = r < 0 ? -1 : r;
	return r < 0 ? r : 0;
}

static int no_stream(struct input *in)
{
	say("%s holds no stream of a trace", in->name);
	return CTL_FAILED;
}

/*
 * Read a compressed file or an archive. LEN bytes of the input are already at HEAD; the other bytes
 * come from FD. Return 0, -errno, or an exit code.
 */
static int read_packed(struct input *in, struct stream_decoder *f, int fd, bool named, const uint8_t *head, size_t len)
{
	CLEANUP(unpack_state_deinit)
	struct unpack_state u = {
		.in = in, .decoder = f, .fd = -1, .named = named, .merge = {.consumer = &in->consumer}};
	const struct unpack_ops ops = {.bytes = unpacked_bytes, .member = unpacked_member, .context = &u};
	int r = unpack_run(fd, head, len, in->name, &ops);

	/* The bytes before the damage are intact, and their events were passed on. */
	in->damages += r == 1;
	r = r == 1 ? 0 : r;
	if (r)
		return r;
	if (!u.archive) {
		r = stream_decoder_end(f);
		return r ? r : note_totals(in, f);
	}
	r = end_member(&u);
	if (!r && !u.merge.n)
		return no_stream(in);
	r = r ? r : settle(in);
	return r ? r : run_merge(in, &u.merge);
}

static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/*
 * Decode an input that is not packed: the LEN bytes at HEAD, then all bytes that can be read from
 * FD. Return 0 or -errno.
 */
static int read_plain(struct stream_decoder *f, int fd, const uint8_t *head, size_t len)
{
	int r = stream_decoder_put(f, head, len);
	ssize_t n = (ssize_t)len;

	while (!r && n) {
		size_t room;
		uint8_t *at = stream_decoder_room(f, &room);

		if (!at)
			return -ENOMEM;
		n = read_some(fd, at, room);
		r = n < 0 ? (int)n : n ? stream_decoder_advance(f, (size_t)n) : 0;
	}
	return r ? r : stream_decoder_end(f);
}

/*
 * Read the first bytes of FD to HEAD, which has UNPACK_HEAD bytes. Stop when the bytes show the
 * kind of the input, so that a slow pipe need not have more bytes. Return the number of bytes, or
 * the negative result of read_some().
 */
static ssize_t read_head(int fd, uint8_t *head)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && unpack_undecided(head, used)) {
		n = read_some(fd, head + used, UNPACK_HEAD - used);
		used += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? n : (ssize_t)used;
}

/*
 * Return how to decode the bytes of FD from START on. REGULAR: FD is a regular file. PACKED: the
 * bytes are compressed or an archive. Packets of a regular file that are in order need not be held
 * in memory.
 */
static enum stream_decoder_kind kind_of(int fd, bool regular, off_t start, bool packed)
{
	if (regular && !packed && start >= 0 && file_order_kept(fd, (uint64_t)start))
		return STREAM_DECODER_STREAM;
	return regular || packed ? STREAM_DECODER_FILE : STREAM_DECODER_PIPE;
}

/* Read FD, which is a file of BYTES bytes if REGULAR; NAMED: not standard input. */
static int read_descriptor(struct input *in, int fd, bool named, bool regular, uint64_t bytes)
{
	CLEANUP(stream_decoder_deinit) struct stream_decoder f = {0};
	uint8_t head[UNPACK_HEAD];
	off_t start = regular ? lseek(fd, 0, SEEK_CUR) : -1;
	ssize_t n = read_head(fd, head);
	bool packed;
	int r;

	if (n < 0)
		return (int)n;
	packed = unpack_wanted(head, (size_t)n);
	if (!stream_decoder_init(&f, &in->consumer, in->name, kind_of(fd, regular, start, packed)))
		return -ENOMEM;
	if (packed)
		return read_packed(in, &f, fd, named, head, (size_t)n);
	r = settle_beside(in, named, regular ? bytes : 0);
	r = r ? r : read_plain(&f, fd, head, (size_t)n);
	return r ? r : note_totals(in, &f);
}

static void merge_deinitp(struct merge *l)
{
	merge_deinit(l);
}

/* Read the clock of the CTF directory. Return 0, -errno, or as settle(). */
static int settle_directory(struct input *in)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(freep) char *path = NULL;
	struct stat st;
	int r;

	if (!needs_clock(in))
		return 0;
	if (asprintf(&path, "%s/metadata", in->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	/* Open a regular file only: opening a pipe would wait for its writer. */
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	r = ctf_clock_read(&in->timing->clock, fd, in->name);
	return r ? r : settle(in);
}

static int read_directory(struct input *in)
{
	CLEANUP(merge_deinitp) struct merge l = {.consumer = &in->consumer};
	int r = merge_add_directory(&l, in->name);

	if (!r && !l.n)
		return no_stream(in);
	r = r ? r : settle_directory(in);
	return r ? r : run_merge(in, &l);
}

static int read_file(struct input *in, const struct trace_source *t)
{
	CLEANUP(closep) int owned = -1;
	int fd = STDIN_FILENO;
	struct stat st = {0};

	if (t->kind == SOURCE_FILE) {
		fd = owned = open(t->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0) {
			int error = errno;

			say("cannot open %s: %s", t->name, strerror(error));
			return error == ENOENT ? CTL_NOT_FOUND : CTL_FAILED;
		}
	}
	fstat(fd, &st);
	if (S_ISDIR(st.st_mode) && t->kind == SOURCE_FILE)
		return read_directory(in);
	return read_descriptor(in, fd, t->kind == SOURCE_FILE, S_ISREG(st.st_mode), (uint64_t)st.st_size);
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
	struct receiver *x = context;

	return x->thread ? decoder_thread_put(x->thread, bytes, len) : stream_decoder_put(&x->decoder, bytes, len);
}

static void receiver_deinit(struct receiver *x)
{
	decoder_thread_stop(x->thread);
	x->thread = NULL;
	stream_decoder_deinit(&x->decoder);
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
	return r ? r : note_totals(in, &x.decoder);
}

/* Read all streams of a capture or domain that S selects. Return 0, -errno, or an exit code. */
static int read_streams(struct input *in, struct http *h, const struct remote *x, const struct selection *s)
{
	CLEANUP(merge_deinitp) struct merge l = {.consumer = &in->consumer};
	int r = remote_streams(&l, h, x, s);

	return r ? r : run_merge(in, &l);
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
	return r ? r : note_totals(in, &f);
}

/* Return the exit code for R: 0, -errno, or an exit code. */
static int verdict(const struct input *in, int r)
{
	if (in->untimed)
		return in->untimed;
	if (in->refused)
		return INPUT_REFUSED;
	if (r > 0)
		return r;
	if (r == -ENOMEM)
		return say_memory();
	if (r == -E2BIG)
		say("%s has more than %d streams", in->name, MERGE_STREAMS_MAX);
	else if (r == -EFBIG)
		say("%s unpacks to more than %llu GiB: unpack it and name its directory", in->name, SPOOL_MAX >> 30);
	else if (r)
		say("cannot read %s: %s", in->name, strerror(-r));
	return r ? CTL_FAILED : in->damages ? CTL_DAMAGED : CTL_OK;
}

/* Find the offset of the clock of T, and pin the run in S (RUN). Return an exit code, or as settle(). */
static int settle_remote(struct input *in, struct http *h, const struct trace_source *t, struct selection *s, char *run)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	int r;

	if (!needs_clock(in))
		return CTL_OK;
	r = clocks_offset(&in->timing->clock, h, t, s, run);
	if (!r && in->timing->clock.missing == CLOCK_MISSING_GUEST)
		r = trace_source_json(t, h, &json); /* reports what is missing */
	return r ? r : settle(in);
}

static int run_remote(struct input *in, struct trace_source *t, const struct selection *s, bool settled, bool follow)
{
	CLEANUP(http_close) struct http h = {.signals = -1};
	int r = http_open(&h, in->ctl->host);
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
	return in->consumer.tail || (s->all && !s->stream) ? read_with_tails(in, &h, t, &one)
							   : read_remote(in, &h, t, &one);
}

/* Read the file T, or refuse to. Return an exit code or INPUT_REFUSED. */
static int run_file(struct input *in, const struct trace_source *t, bool follow, const char *verb)
{
	if (follow)
		return say_usage(verb, "--follow takes a domain; a file cannot be followed");
	return verdict(in, read_file(in, t));
}

int input_run(struct input *in, const struct ctl *ctl, const struct consumer *consumer, const char *operand,
	      const struct selection *s, bool follow, const char *verb)
{
	struct trace_source t;
	bool settled;
	int r = selection_check(s, verb);

	*in = (struct input){.ctl = ctl, .to = consumer, .timing = in->timing};
	in->consumer = (struct consumer){
		.streams = input_streams,
		.events = input_events,
		.packet = input_packet,
		.gap = input_gap,
		.damage = input_damage,
		.tail = consumer->tail ? input_tail : NULL,
		.pause = input_pause,
		.context = in,
	};
	if (r)
		return r;
	settled = trace_source_parse(&t, operand, true);
	r = trace_source_check(&t, s, verb);
	in->name = t.kind == SOURCE_STDIN ? "standard input" : t.name;
	if (t.kind == SOURCE_FILE || t.kind == SOURCE_STDIN) {
		r = r ? r : run_file(in, &t, follow, verb);
		if (r != CTL_OK && r != INPUT_REFUSED)
			trace_source_other(&t, operand, ctl);
		return r;
	}
	if (r)
		return r;
	r = verdict(in, run_remote(in, &t, s, settled, follow));
	if ((r == CTL_UNREACHABLE || r == CTL_NOT_FOUND) && t.name == operand)
		say("there is no file %s either", t.name);
	return r;
}

int trace_args_parse(struct trace_args *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		     size_t n_own, size_t max)
{
	struct timing_options timing = {0};
	const struct option_def shared[] = {
		SELECTION_OPTIONS(x->selection),
		TIMING_OPTIONS(timing),
	};
	const size_t n_shared = ARRAY_SIZE(shared);
	struct option_def defs[ARRAY_SIZE(shared) + TRACE_ARGS_OWN_MAX];
	int r;

	*x = (struct trace_args){.ctl = ctl, .verb = argv[0]};
	memcpy(defs, shared, sizeof(shared));
	if (n_own)
		memcpy(defs + n_shared, own, n_own * sizeof(*own));
	r = options_parse(argc, argv, defs, n_shared + n_own, &x->left, 1, max);
	x->in.timing = &x->timing;
	return r ? r : timing_parse(&x->timing, &timing, TIME_GUEST, x->verb);
}

int trace_args_read(struct trace_args *x, const struct consumer *consumer)
{
	int r = input_run(&x->in, x->ctl, consumer, x->left.at[0], &x->selection, false, x->verb);

	return r == INPUT_REFUSED ? say_memory() : r;
}

bool trace_was_read(int code)
{
	return code == CTL_OK || code == CTL_DAMAGED;
}

void trace_args_deinit(struct trace_args *x)
{
	input_deinit(&x->in);
}
