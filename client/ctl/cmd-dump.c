/*
 * `mprofctl dump`: a trace as text.
 *
 * A file, and what comes by a pipe, may be the image of a ring that has wrapped, so it is held until its end is known and then decoded in
 * logical order.  No ring is larger than MPROF_RING_BYTES_MAX: what is larger is a stream, and is decoded as it comes.  So
 * is what begins with a packet as the daemon serves them, so that `follow | dump -` prints at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/trace.h>

#include "download.h"
#include "dumper.h"
#include "options.h"
#include "scope.h"
#include "target.h"

#define PIECE (1u << 20)

static void dumper_deinitp(struct dumper *d)
{
	dumper_deinit(d);
}

/* What is held back of an input until it is known whether it is a ring. */
struct held {
	uint8_t *bytes;
	size_t used, room;
};

static void held_deinit(struct held *held)
{
	free(held->bytes);
}

/* Room for a piece more; it grows by what came, not by what the input says. */
static int held_reserve(struct held *held, size_t room)
{
	uint8_t *grown;

	if (held->room >= room)
		return 0;
	grown = realloc(held->bytes, room);
	if (!grown)
		return -ENOMEM;
	held->bytes = grown;
	held->room = room;
	return 0;
}

/* The next bytes of FD behind those that are held: their number, 0 at the end, or -errno. */
static ssize_t held_read(struct held *held, int fd)
{
	ssize_t n;

	do
		n = read(fd, held->bytes + held->used, held->room - held->used);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		held->used += (size_t)n;
	return n < 0 ? -errno : n;
}

/* The rest of a stream, behind what is held. */
static int dump_stream(struct dumper *d, struct held *held, int fd)
{
	ssize_t n = 1;
	int r;

	while (n > 0) {
		r = dumper_feed(d, held->bytes, held->used);
		/* Someone may be watching: nothing waits in the buffer while the input is quiet. */
		if (!r && (size_t)n < held->room / 4)
			r = writer_flush(&d->out);
		if (r)
			return r;
		held->used = 0;
		n = held_read(held, fd);
		if (n < 0)
			return (int)n;
	}
	return dumper_finish(d);
}

/* All of a descriptor.  REGULAR: a file, which is not judged by its beginning.  0 or -errno. */
static int dump_descriptor(struct dumper *d, int fd, bool regular)
{
	SCOPED(held_deinit) struct held held = {0};
	ssize_t n;
	int r;

	do {
		size_t room = held.room;

		if (held.used == room)
			room = room ? room * 2 : PIECE;
		if (room > MPROF_RING_BYTES_MAX + PIECE)
			room = MPROF_RING_BYTES_MAX + PIECE;
		r = held_reserve(&held, room);
		if (r)
			return r;
		n = held_read(&held, fd);
		if (n < 0)
			return (int)n;
		if (held.used > MPROF_RING_BYTES_MAX || (!regular && mprof_order_served(held.bytes, held.used)))
			return dump_stream(d, &held, fd);
	} while (n > 0);
	return dumper_whole(d, held.bytes, held.used);
}

/* The exit code behind R of the dumper; FAULT is what could not be read, or NULL. */
static int dump_verdict(const struct dumper *d, int r, const char *fault)
{
	if (r == -ENOMEM)
		return say_memory();
	if (d->out.error == EPIPE)
		return CTL_OK;
	if (d->out.error) {
		say("cannot write standard output: %s", strerror(d->out.error));
		return CTL_FAILED;
	}
	if (r) {
		say("cannot read %s: %s", fault ? fault : d->name, strerror(-r));
		return CTL_FAILED;
	}
	return d->damages ? CTL_DAMAGED : CTL_OK;
}

static int dump_file(struct dumper *d, const struct target *t)
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
	return dump_verdict(d, dump_descriptor(d, fd, S_ISREG(st.st_mode)), NULL);
}

static int dump_write(void *data, const uint8_t *bytes, size_t len)
{
	return dumper_feed(data, bytes, len);
}

static int dump_remote(struct dumper *d, struct http *h, const struct target *t, const struct selection *s)
{
	SCOPED(freep) char *path = target_path(t, h, "trace", s);
	SCOPED(download_deinit) struct download download = {.write = dump_write, .data = d};
	int r;

	if (!path)
		return say_memory();
	r = download_run(&download, h, path);
	if (r && !download.refused) {
		writer_flush(&d->out);
		return r;
	}
	if (!r)
		download.refused = dumper_finish(d);
	return dump_verdict(d, download.refused, NULL);
}

int cmd_dump(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(http_close) struct http h = {.signals = -1};
	SCOPED(dumper_deinitp) struct dumper d = {0};
	struct selection s = {0};
	const struct option_def defs[] = {
		{"--last", NULL, &s.last}, {"--run", NULL, &s.run}, {"--stream", NULL, &s.stream}};
	struct operands left;
	struct target t;
	bool settled;
	int r = options_parse(argc, argv, defs, 3, &left, 1, 1);

	r = r ? r : selection_check(&s, argv[0]);
	if (r)
		return r;
	settled = target_parse(&t, left.at[0], true);
	r = target_check(&t, &s, argv[0]);
	if (r)
		return r;
	if (!dumper_init(&d, t.kind == TARGET_STDIN ? "standard input" : t.name, STDOUT_FILENO, ctl->json))
		return say_memory();
	if (t.kind == TARGET_FILE || t.kind == TARGET_STDIN)
		return dump_file(&d, &t);
	r = http_open(&h, ctl->host);
	if (!r && !settled)
		r = target_ask(&t, &h);
	r = r ? r : dump_remote(&d, &h, &t, &s);
	if ((r == CTL_UNREACHABLE || r == CTL_NOT_FOUND) && t.name == left.at[0])
		say("there is no file %s either", t.name);
	return r;
}
