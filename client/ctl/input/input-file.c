/*
 * This file reads a trace from a file, a pipe or a directory. The first bytes of the input decide how
 * it is read; the file's name does not.
 *
 * A merge reads each stream from a file of its own, so the members of an archive are first written to
 * unnamed temporary files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/runtime.h>

#include "cleanup.h"
#include "clock-file.h"
#include "ctf-clock.h"
#include "file-hole.h"
#include "file-kind.h"
#include "file-order.h"
#include "input-state.h"
#include "output-writer.h"
#include "output.h"
#include "runtime-file.h"
#include "unpack.h"

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
	int image;	  /* temporary file of a ring file of OCaml that is being unpacked; owned; -1 = none */
	bool timed;	  /* the offset of the clock was looked for */
};

static void unpack_state_deinit(struct unpack_state *u)
{
	merge_deinit(&u->merge);
	closep(&u->fd);
	closep(&u->image);
	free(u->member);
}

/*
 * Look for the offset in the file beside the trace. BYTES is the size of the trace, 0 = unknown.
 * Return as input_settle().
 */
static int settle_beside(struct input *in, bool named, uint64_t bytes)
{
	if (!input_needs_clock(in))
		return 0;
	in->timing->clock = (struct clock_offset){.missing = CLOCK_MISSING_PIPE};
	if (named)
		in->unread = clock_file_read(&in->timing->clock, in->name, bytes);
	return in->unread ? -ECANCELED : input_settle(in);
}

/*
 * Refuse the input if its first LEN unpacked bytes at HEAD are those of another kind of file. Return 0; or
 * -ECANCELED, and IN->unread is set.
 */
static int check_kind(struct input *in, const uint8_t *head, size_t len)
{
	const char *what;
	enum file_kind kind = file_kind(head, len, &what);

	if (kind != FILE_KIND_PROFILE && kind != FILE_KIND_FOREIGN)
		return 0;
	say("%s is %s", in->name, what);
	in->unread = CTL_FOREIGN;
	return -ECANCELED;
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

/* Write LEN bytes of an unpacked ring file of OCaml to its temporary file. */
static int spool_image(struct unpack_state *u, const void *bytes, size_t len)
{
	u->spooled += len;
	return u->spooled > INPUT_UNPACKED_MAX ? -EFBIG : write_all(u->image, bytes, len);
}

static int unpacked_bytes(void *context, const void *bytes, size_t len)
{
	struct unpack_state *u = context;

	if (!u->archive) {
		int r = u->timed ? 0 : check_kind(u->in, bytes, len);

		if (!r && !u->timed)
			r = settle_beside(u->in, u->named, 0);
		if (!r && !u->timed && mprof_runtime_begins(bytes, len))
			r = u->image = spool_file();
		u->timed = true;
		if (u->image >= 0)
			return spool_image(u, bytes, len);
		return r < 0 ? r : stream_decoder_put(u->decoder, bytes, len);
	}
	u->spooled += len;
	if (u->spooled > INPUT_UNPACKED_MAX)
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
	u->is_metadata = input_needs_clock(u->in) && strcmp(slash ? slash + 1 : path, "metadata") == 0;
	if (r || (!directory_wants(path) && !u->is_metadata))
		return r ? r : 1;
	free(u->member);
	u->member = strdup(slash ? slash + 1 : path);
	r = u->member ? spool_file() : -ENOMEM;
	u->fd = r < 0 ? -1 : r;
	return r < 0 ? r : 0;
}

static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int no_stream(struct input *in)
{
	say("%s holds no stream of a trace", in->name);
	return CTL_FAILED;
}

/* Read the ring file of OCaml in FD, a regular file. Return 0, -errno, or an exit code. */
static int read_runtime(struct input *in, int fd)
{
	CLEANUP(merge_deinit) struct merge l = {.consumer = &in->consumer, .numbering = in->numbering};
	bool is_runtime;
	int r = runtime_file_add(&l, in->name, fd, &is_runtime);

	if (!is_runtime) {
		say("%s is cut: a ring file of OCaml has a fixed size", in->name);
		return CTL_FAILED;
	}
	if (!r && !l.n)
		return no_stream(in);
	return r ? r : input_run_merge(in, &l);
}

/* Read a ring file of OCaml from a pipe: the LEN bytes at HEAD, then all bytes of FD. Return as above. */
static int read_piped_runtime(struct input *in, int fd, const uint8_t *head, size_t len)
{
	CLEANUP(closep) int image = spool_file();
	uint8_t piece[65536];
	uint64_t bytes = len;
	ssize_t n = 1;
	int r = image < 0 ? image : write_all(image, head, len);

	while (!r && n > 0) {
		n = read_some(fd, piece, sizeof(piece));
		bytes += n > 0 ? (uint64_t)n : 0;
		r = n < 0 ? (int)n : bytes > INPUT_UNPACKED_MAX ? -EFBIG : write_all(image, piece, (size_t)n);
	}
	return r ? r : read_runtime(in, image);
}

/*
 * Read a compressed file or an archive. LEN bytes of the input are already at HEAD; the other bytes
 * come from FD. Return 0, -errno, or an exit code.
 */
static int read_packed(struct input *in, struct stream_decoder *s, int fd, bool named, const uint8_t *head, size_t len)
{
	CLEANUP(unpack_state_deinit)
	struct unpack_state u = {.in = in,
				 .decoder = s,
				 .fd = -1,
				 .image = -1,
				 .named = named,
				 .merge = {.consumer = &in->consumer, .numbering = in->numbering}};
	const struct unpack_ops ops = {.bytes = unpacked_bytes, .member = unpacked_member, .context = &u};
	int r = unpack_run(fd, head, len, in->name, &ops);

	/* The bytes before the damage are intact, and their events were passed on. */
	in->damages += r == 1;
	r = r == 1 ? 0 : r;
	if (r)
		return r;
	if (u.image >= 0)
		return read_runtime(in, u.image);
	if (!u.archive) {
		r = stream_decoder_end(s);
		return r ? r : input_note_totals(in, s);
	}
	r = end_member(&u);
	if (!r && !u.merge.n)
		return no_stream(in);
	r = r ? r : input_settle(in);
	return r ? r : input_run_merge(in, &u.merge);
}

/*
 * Decode an input that is not packed: the LEN bytes at HEAD, then all bytes that can be read from
 * FD. Return 0 or -errno.
 */
static int read_plain(struct stream_decoder *s, int fd, const uint8_t *head, size_t len)
{
	int r = stream_decoder_put(s, head, len);
	ssize_t n = (ssize_t)len;

	while (!r && n) {
		size_t room;
		uint8_t *at = stream_decoder_room(s, &room);

		if (!at)
			return -ENOMEM;
		n = read_some(fd, at, room);
		r = n < 0 ? (int)n : n ? stream_decoder_advance(s, (size_t)n) : 0;
	}
	return r ? r : stream_decoder_end(s);
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
	int r = file_hole_check(fd, in->name);
	ssize_t n = r ? 0 : read_head(fd, head);
	bool packed;

	if (r)
		return r;
	if (n < 0)
		return (int)n;
	packed = unpack_wanted(head, (size_t)n);
	if (!stream_decoder_init(&f, &in->consumer, in->name, kind_of(fd, regular, start, packed)))
		return -ENOMEM;
	if (packed)
		return read_packed(in, &f, fd, named, head, (size_t)n);
	r = check_kind(in, head, (size_t)n);
	r = r ? r : settle_beside(in, named, regular ? bytes : 0);
	if (!r && mprof_runtime_begins(head, (size_t)n))
		return regular && start == 0 ? read_runtime(in, fd) : read_piped_runtime(in, fd, head, (size_t)n);
	r = r ? r : read_plain(&f, fd, head, (size_t)n);
	return r ? r : input_note_totals(in, &f);
}

/* Read the clock of the CTF directory. Return 0, -errno, or as input_settle(). */
static int settle_directory(struct input *in)
{
	CLEANUP(closep) int fd = -1;
	CLEANUP(freep) char *path = NULL;
	struct stat st;
	int r;

	if (!input_needs_clock(in))
		return 0;
	if (asprintf(&path, "%s/metadata", in->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	/* Open a regular file only: opening a pipe would wait for its writer. */
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	r = ctf_clock_read(&in->timing->clock, fd, in->name);
	return r ? r : input_settle(in);
}

static int read_directory(struct input *in)
{
	CLEANUP(merge_deinit) struct merge l = {.consumer = &in->consumer, .numbering = in->numbering};
	int r = merge_add_directory(&l, in->name);

	if (!r && !l.n)
		r = merge_add_tree(&l, in->name);
	if (!r && !l.n)
		return no_stream(in);
	r = r ? r : settle_directory(in);
	return r ? r : input_run_merge(in, &l);
}

/*
 * Return the directory of the program to which OPERAND belongs, by its real path: OPERAND itself if it is one, else the one in which it
 * lies. Return NULL without memory. The caller frees it.
 */
static char *program_of(const char *operand)
{
	struct trace_source t;
	struct stat st;
	char *dir, *slash, *real;

	trace_source_parse(&t, NULL, operand, true);
	dir = strdup(t.name);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (!dir || (stat(t.name, &st) == 0 && S_ISDIR(st.st_mode))) {
		/* The directory itself, or no memory. */
	} else if (!slash) {
		free(dir);
		dir = strdup(".");
	} else {
		slash[slash == dir] = '\0';
	}
	real = dir ? realpath(dir, NULL) : NULL;
	if (real)
		free(dir);
	return real ? real : dir;
}

/* Add OPERAND, a ring of a program, or a directory of its rings, to M. Return 0, -errno, or an exit code. */
static int add_operand(struct merge *m, const char *operand)
{
	struct trace_source t;
	const char *slash;
	struct stat st;
	unsigned int before = m->n;
	int fd, r;

	trace_source_parse(&t, NULL, operand, true);
	slash = strrchr(t.name, '/');
	/* Opening a pipe would wait for its writer. */
	if (stat(t.name, &st) == 0 && S_ISDIR(st.st_mode)) {
		r = merge_add_directory(m, t.name);
	} else if (stat(t.name, &st) == 0 && !S_ISREG(st.st_mode)) {
		say("%s is no file: several names are files and directories of rings", t.name);
		return CTL_FAILED;
	} else {
		fd = open(t.name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0) {
			say("cannot open %s: %s", t.name, strerror(errno));
			return CTL_FAILED;
		}
		r = merge_add_file(m, slash ? slash + 1 : t.name, fd);
	}
	if (!r && m->n == before) {
		say("%s is no stream of a trace; if it is compressed, unpack it first", t.name);
		return CTL_FAILED;
	}
	return r;
}

/* The operands that name one trace, and the directory of each one's program. */
struct named {
	const char **operands;
	char **programs;
	bool *added; /* the operand was added with an earlier one of its program */
	size_t n;
	bool several; /* programs */
};

static void named_deinit(struct named *named)
{
	for (size_t i = 0; named->programs && i < named->n; i++)
		free(named->programs[i]);
	free(named->programs);
	free(named->added);
	free(named->operands);
}

/* Find the programs of FIRST and the operands behind it. Return false without memory. */
static bool named_init(struct named *named, const struct input *in, const char *first)
{
	*named = (struct named){.n = in->n_more + 1};
	named->operands = calloc(named->n, sizeof(*named->operands));
	named->programs = calloc(named->n, sizeof(*named->programs));
	named->added = calloc(named->n, sizeof(*named->added));
	if (!named->operands || !named->programs || !named->added)
		return false;
	for (size_t i = 0; i < named->n; i++) {
		named->operands[i] = i ? in->more[i - 1] : first;
		named->programs[i] = program_of(named->operands[i]);
		if (!named->programs[i])
			return false;
		named->several = named->several || strcmp(named->programs[i], named->programs[0]) != 0;
	}
	return true;
}

static bool is_directory(const char *operand)
{
	struct trace_source t;
	struct stat st;

	trace_source_parse(&t, NULL, operand, true);
	return stat(t.name, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Refuse operands I and K of one program if one of them is its directory, which holds the other. Return 0 or an exit code.
 */
static int check_once(const struct named *named, size_t i, size_t k)
{
	bool first = is_directory(named->operands[i]);

	if (!first && !is_directory(named->operands[k]))
		return 0;
	say("%s holds %s: name one of them", named->operands[first ? i : k], named->operands[first ? k : i]);
	return CTL_FAILED;
}

/* Add all operands of the program of operand I to M. Return as add_operand(). */
static int add_program(struct merge *m, struct named *named, size_t i)
{
	const char *program = named->programs[i], *slash = strrchr(program, '/');
	int r = named->several ? merge_begin_program(m, slash ? slash + 1 : program) : 0;

	r = r ? r : add_operand(m, named->operands[i]);
	for (size_t k = i + 1; !r && k < named->n; k++) {
		if (named->added[k] || strcmp(named->programs[k], program) != 0)
			continue;
		named->added[k] = true;
		r = check_once(named, i, k);
		r = r ? r : add_operand(m, named->operands[k]);
	}
	return r;
}

/* Read several files and directories as one trace: those of one directory are rings of one program. Return as input_read_file(). */
static int read_files(struct input *in, const char *first)
{
	CLEANUP(named_deinit) struct named named;
	CLEANUP(merge_deinit)
	struct merge l = {.consumer = &in->consumer, .numbering = in->numbering, .one_guest = true};
	int r = named_init(&named, in, first) ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < named.n; i++)
		if (!named.added[i])
			r = add_program(&l, &named, i);
	r = r ? r : settle_beside(in, true, 0);
	return r ? r : input_run_merge(in, &l);
}

int input_read_file(struct input *in, const struct trace_source *t)
{
	CLEANUP(closep) int owned = -1;
	int fd = STDIN_FILENO;
	struct stat st = {0};

	if (in->n_more)
		return read_files(in, t->name);
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
