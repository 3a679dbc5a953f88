/*
 * What is read, and how, is told by what it is and how it begins, never by its name.
 *
 * One stream goes through a funnel as its bytes come.  Several are merged, and each must be a file for that: the members of an archive
 * are spooled to files without a name first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "download.h"
#include "follow.h"
#include "funnel.h"
#include "input.h"
#include "lanes.h"
#include "output.h"
#include "remote-streams.h"
#include "scope.h"
#include "unpack.h"

/* What an archive may unpack to: a small one can say that it holds any number of zeros. */
#define SPOOL_MAX (16ull << 30)

/* Where unpacked bytes go: the one stream, or the archive's members. */
struct unpacking {
	struct input *in;
	struct funnel *funnel;
	struct lanes lanes;
	int fd; /* the member being spooled, or -1 */
	char *member;
	uint64_t spooled;
	bool archive;
};

static void unpacking_deinit(struct unpacking *u)
{
	lanes_deinit(&u->lanes);
	closep(&u->fd);
	free(u->member);
}

static int input_streams(void *data, char *const *names, unsigned int count)
{
	struct input *in = data;

	in->refused = in->to->streams ? in->to->streams(in->to->data, names, count) : 0;
	return in->refused;
}

static int input_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct input *in = data;

	in->refused = in->to->events(in->to->data, stream, events, n);
	return in->refused;
}

static int input_gap(void *data, unsigned int stream, uint64_t packets)
{
	struct input *in = data;

	in->refused = in->to->gap ? in->to->gap(in->to->data, stream, packets) : 0;
	return in->refused;
}

static int input_damage(void *data, unsigned int stream, const struct mprof_damage *damage)
{
	struct input *in = data;

	in->refused = in->to->damage ? in->to->damage(in->to->data, stream, damage) : 0;
	return in->refused;
}

static int input_tail(void *data, unsigned int stream, uint64_t from_ns)
{
	struct input *in = data;

	in->refused = in->to->tail(in->to->data, stream, from_ns);
	return in->refused;
}

static int input_pause(void *data)
{
	struct input *in = data;

	in->refused = in->to->pause ? in->to->pause(in->to->data) : 0;
	return in->refused;
}

void input_deinit(struct input *in)
{
	free(in->stream);
	in->stream = NULL;
}

static int note_funnel(struct input *in, const struct funnel *f)
{
	in->damages += f->damages;
	in->stream = calloc(1, sizeof(*in->stream));
	if (!in->stream)
		return -ENOMEM;
	in->stream[0] = (struct input_stream){.totals = *funnel_totals(f), .bytes = f->bytes};
	if (f->sexp) /* a log has no packets, and its damage is its lines' */
		in->stream[0].totals = (struct mprof_totals){.damages = f->damages};
	in->streams = 1;
	return 0;
}

static int run_lanes(struct input *in, struct lanes *l)
{
	int r = lanes_run(l);

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

static int unpacked_bytes(void *data, const void *bytes, size_t len)
{
	struct unpacking *u = data;
	const char *p = bytes;
	ssize_t n;

	if (!u->archive)
		return funnel_put(u->funnel, bytes, len);
	u->spooled += len;
	if (u->spooled > SPOOL_MAX)
		return -EFBIG;
	for (; len; len -= (size_t)n, p += n) {
		n = write(u->fd, p, len);
		if (n < 0 && errno != EINTR)
			return -errno;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

/* The member before is complete. */
static int end_member(struct unpacking *u)
{
	int fd = u->fd;

	u->fd = -1;
	return fd < 0 ? 0 : directory_add_file(&u->lanes, u->member, fd);
}

static int unpacked_member(void *data, const char *path)
{
	struct unpacking *u = data;
	const char *slash = strrchr(path, '/');
	int r = end_member(u);

	u->archive = true;
	if (r || !directory_wants(path))
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

/* A compressed file, or an archive.  0, -errno, or an exit code, having said why. */
static int read_packed(struct input *in, struct funnel *f, int fd, const uint8_t *head, size_t len)
{
	SCOPED(unpacking_deinit) struct unpacking u = {.in = in, .funnel = f, .fd = -1, .lanes = {.sink = &in->sink}};
	const struct unpack_ops ops = {.bytes = unpacked_bytes, .member = unpacked_member, .data = &u};
	int r = unpack_run(fd, head, len, in->name, &ops);

	/* What came before the damage is whole, and given out. */
	in->damages += r == 1;
	r = r == 1 ? 0 : r;
	if (r)
		return r;
	if (!u.archive) {
		r = funnel_end(f);
		return r ? r : note_funnel(in, f);
	}
	r = end_member(&u);
	if (!r && !u.lanes.n)
		return no_stream(in);
	return r ? r : run_lanes(in, &u.lanes);
}

static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* All that comes from FD, behind the LEN bytes at HEAD. */
static int read_plain(struct funnel *f, int fd, const uint8_t *head, size_t len)
{
	int r = funnel_put(f, head, len);
	ssize_t n = (ssize_t)len;

	while (!r && n) {
		size_t room;
		uint8_t *at = funnel_room(f, &room);

		if (!at)
			return -ENOMEM;
		n = read_some(fd, at, room);
		r = n < 0 ? (int)n : n ? funnel_advance(f, (size_t)n) : 0;
	}
	return r ? r : funnel_end(f);
}

/* The first bytes of FD: enough to see what it is, and no more than that of a pipe that is slow. */
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

static int read_descriptor(struct input *in, int fd, bool regular)
{
	SCOPED(funnel_deinit) struct funnel f = {0};
	uint8_t head[UNPACK_HEAD];
	ssize_t n = read_head(fd, head);
	bool packed;
	int r;

	if (n < 0)
		return (int)n;
	packed = unpack_wanted(head, (size_t)n);
	if (!funnel_init(&f, &in->sink, in->name, regular || packed ? FUNNEL_FILE : FUNNEL_PIPE))
		return -ENOMEM;
	if (packed)
		return read_packed(in, &f, fd, head, (size_t)n);
	r = read_plain(&f, fd, head, (size_t)n);
	return r ? r : note_funnel(in, &f);
}

static void lanes_deinitp(struct lanes *l)
{
	lanes_deinit(l);
}

static int read_directory(struct input *in)
{
	SCOPED(lanes_deinitp) struct lanes l = {.sink = &in->sink};
	int r = directory_add(&l, in->name);

	if (!r && !l.n)
		return no_stream(in);
	return r ? r : run_lanes(in, &l);
}

static int read_file(struct input *in, const struct target *t)
{
	SCOPED(closep) int owned = -1;
	int fd = STDIN_FILENO;
	struct stat st = {0};

	if (t->kind == TARGET_FILE) {
		fd = owned = open(t->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0) {
			int error = errno;

			say("cannot open %s: %s", t->name, strerror(error));
			return error == ENOENT ? CTL_NOT_FOUND : CTL_FAILED;
		}
	}
	fstat(fd, &st);
	return S_ISDIR(st.st_mode) && t->kind == TARGET_FILE ? read_directory(in)
							     : read_descriptor(in, fd, S_ISREG(st.st_mode));
}

static int remote_write(void *data, const uint8_t *bytes, size_t len)
{
	return funnel_put(data, bytes, len);
}

/* A capture, or what there is of a domain.  As read_packed(). */
static int read_remote(struct input *in, struct http *h, const struct target *t, const struct selection *s)
{
	SCOPED(freep) char *path = target_path(t, h, "trace", s);
	SCOPED(funnel_deinit) struct funnel f = {0};
	SCOPED(download_deinit) struct download download = {.write = remote_write, .data = &f};
	int r;

	if (!path || !funnel_init(&f, &in->sink, in->name, FUNNEL_STREAM))
		return -ENOMEM;
	r = download_run(&download, h, path);
	if (r && !download.refused) {
		input_pause(in);
		return r;
	}
	r = download.refused ? download.refused : funnel_end(&f);
	return r ? r : note_funnel(in, &f);
}

/* All streams of a capture or domain.  As read_packed(). */
static int read_streams(struct input *in, struct http *h, const struct remote *x, const struct selection *s)
{
	SCOPED(lanes_deinitp) struct lanes l = {.sink = &in->sink};
	int r = remote_streams(&l, h, x, s);

	return r ? r : run_lanes(in, &l);
}

/* What must be known before it is read, and is told behind it.  As read_packed(). */
static int read_told(struct input *in, struct http *h, const struct target *t, const struct selection *s)
{
	SCOPED(remote_deinit) struct remote x = {0};
	struct selection one = *s;
	char run[24];
	int r = remote_ask(&x, h, t, s);

	if (r)
		return r;
	/* Another run may begin meanwhile. */
	snprintf(run, sizeof(run), "%" PRId64, x.run);
	one.run = t->kind == TARGET_DOMAIN && x.run > 0 ? run : s->run;
	if (s->all && !s->stream && json_array_size(x.streams) > 1)
		r = read_streams(in, h, &x, s);
	else
		r = read_remote(in, h, t, &one);
	return r ? r : tails_tell(&x, h, s, &in->sink);
}

/* A domain's trace as it grows. */
static int read_live(struct input *in, struct http *h, const struct target *t, const struct selection *s)
{
	SCOPED(funnel_deinit) struct funnel f = {0};
	struct follow_ops ops = {.write = remote_write, .data = &f};
	int r;

	if (!funnel_init(&f, &in->sink, in->name, FUNNEL_STREAM) || !http_catch_signals(h))
		return -ENOMEM;
	r = follow_run(h, t, s, &ops);
	if (r == CTL_OK)
		r = funnel_end(&f);
	else if (ops.refused)
		return ops.refused;
	return r ? r : note_funnel(in, &f);
}

/* The exit code behind R: 0, -errno, or an exit code that was explained already. */
static int verdict(const struct input *in, int r)
{
	if (in->refused)
		return INPUT_REFUSED;
	if (r > 0)
		return r;
	if (r == -ENOMEM)
		return say_memory();
	if (r == -E2BIG)
		say("%s has more than %d streams", in->name, LANES_MAX);
	else if (r == -EFBIG)
		say("%s unpacks to more than %llu GiB: unpack it and name its directory", in->name, SPOOL_MAX >> 30);
	else if (r)
		say("cannot read %s: %s", in->name, strerror(-r));
	return r ? CTL_FAILED : in->damages ? CTL_DAMAGED : CTL_OK;
}

static int run_remote(struct input *in, struct target *t, const struct selection *s, bool settled, bool follow)
{
	SCOPED(http_close) struct http h = {.signals = -1};
	int r = http_open(&h, in->ctl->host);

	if (!r && !settled)
		r = target_ask(t, &h);
	if (r)
		return r;
	if (follow && t->kind == TARGET_CAPTURE) {
		say("a capture does not grow: leave out --follow");
		return CTL_USAGE;
	}
	if (follow)
		return read_live(in, &h, t, s);
	return in->sink.tail || (s->all && !s->stream) ? read_told(in, &h, t, s) : read_remote(in, &h, t, s);
}

int input_run(struct input *in, const struct ctl *ctl, const struct sink *sink, const char *operand,
	      const struct selection *s, bool follow, const char *verb)
{
	struct target t;
	bool settled;
	int r = selection_check(s, verb);

	*in = (struct input){.ctl = ctl, .to = sink};
	in->sink = (struct sink){
		.streams = input_streams,
		.events = input_events,
		.gap = input_gap,
		.damage = input_damage,
		.tail = sink->tail ? input_tail : NULL,
		.pause = input_pause,
		.data = in,
	};
	if (r)
		return r;
	settled = target_parse(&t, operand, true);
	r = target_check(&t, s, verb);
	if (r)
		return r;
	in->name = t.kind == TARGET_STDIN ? "standard input" : t.name;
	if (t.kind == TARGET_FILE || t.kind == TARGET_STDIN) {
		if (follow)
			return say_usage(verb, "--follow is for domains: a file does not say when it has grown");
		return verdict(in, read_file(in, &t));
	}
	r = verdict(in, run_remote(in, &t, s, settled, follow));
	if ((r == CTL_UNREACHABLE || r == CTL_NOT_FOUND) && t.name == operand)
		say("there is no file %s either", t.name);
	return r;
}

int reading_parse(struct reading *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		  size_t n_own, size_t max)
{
	const char *from = NULL, *to = NULL;
	const struct option_def shared[] = {
		SELECTION_OPTIONS(x->selection),
		PERIOD_OPTIONS(from, to),
	};
	const size_t n_shared = sizeof(shared) / sizeof(shared[0]);
	struct option_def defs[sizeof(shared) / sizeof(shared[0]) + READING_OWN_MAX];
	int r;

	*x = (struct reading){.ctl = ctl, .verb = argv[0]};
	memcpy(defs, shared, sizeof(shared));
	if (n_own)
		memcpy(defs + n_shared, own, n_own * sizeof(*own));
	r = options_parse(argc, argv, defs, n_shared + n_own, &x->left, 1, max);
	return r ? r : period_parse(&x->period, from, to, x->verb);
}

int reading_run(struct reading *x, const struct sink *sink)
{
	int r = input_run(&x->in, x->ctl, sink, x->left.at[0], &x->selection, false, x->verb);

	return r == INPUT_REFUSED ? say_memory() : r;
}

bool reading_came(int code)
{
	return code == CTL_OK || code == CTL_DAMAGED;
}

void reading_deinit(struct reading *x)
{
	input_deinit(&x->in);
}
