/*
 * Each reading unpacks compressed input again. Only input that cannot be set back to its start,
 * such as a pipe, is copied to an unnamed file.
 *
 * The decoder owns the names of functions. So the decoder of a reading is kept until the next
 * reading begins or the input is closed.
 */
#include "mem-input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "file-hole.h"
#include "file-kind.h"
#include "mem-recordings.h"
#include "output-writer.h"
#include "output.h"
#include "seed.h"

/* Most places of damage that are reported for an input. */
#define REPORTED_MAX 10u

static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Copy all of IN->fd to an unnamed file, and read that file from now on. Return 0 or -errno. */
static int spool(struct mem_input *in)
{
	char buf[1 << 16];
	ssize_t n;
	int fd = spool_file(), r = 0;

	if (fd < 0)
		return fd;
	while (r == 0 && (n = read_some(in->fd, buf, sizeof(buf))) > 0)
		r = write_all(fd, buf, (size_t)n);
	if (r) {
		close(fd);
		return r;
	}
	if (in->owned)
		close(in->fd);
	in->fd = fd;
	in->owned = true;
	return (int)n;
}

static int recording_open(struct mem_input *in, const char *id)
{
	int r = mem_recording_fetch(&in->hosts, id, &in->fd);

	in->owned = in->fd >= 0;
	if (!r)
		lseek(in->fd, 0, SEEK_SET);
	return r;
}

static int file_open(struct mem_input *in, const char *path)
{
	int error;

	if (!path[0])
		return say_usage("mem", "the name is empty");
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	in->owned = in->fd >= 0;
	if (in->owned)
		return CTL_OK;
	error = errno;
	say("cannot open %s: %s", path, strerror(error));
	return error == ENOENT ? CTL_NOT_FOUND : CTL_FAILED;
}

int mem_input_open(struct mem_input *in, const char *operand, bool twice)
{
	const char *id;
	struct stat st;
	int r = CTL_OK;

	*in = (struct mem_input){.hosts = in->hosts, .name = operand, .fd = -1};
	if (strcmp(operand, "-") == 0) {
		in->fd = STDIN_FILENO;
		in->name = "standard input";
	} else if (mem_recording_is(&in->hosts, operand, &id)) {
		r = recording_open(in, id);
	} else {
		in->name = strncmp(operand, "file:", 5) == 0 ? operand + 5 : operand;
		r = file_open(in, in->name);
	}
	r = r ? r : file_hole_check(in->fd, in->name);
	if (r)
		return r;
	in->again = lseek(in->fd, 0, SEEK_CUR) == 0;
	if (twice && !in->again)
		r = spool(in);
	in->again = in->again || twice;
	if (!r && fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode))
		in->file_bytes = (uint64_t)st.st_size;
	if (r)
		say("cannot read %s: %s", in->name, strerror(-r));
	return r ? CTL_FAILED : CTL_OK;
}

void mem_input_close(struct mem_input *in)
{
	in->decoder = mprof_mem_free(in->decoder);
	if (in->owned)
		close(in->fd);
	in->owned = false;
}

int mem_input_recording(const char *text, uint64_t *recording)
{
	char *end;

	*recording = 0;
	if (!text)
		return CTL_OK;
	errno = 0;
	*recording = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || !*recording || errno)
		return say_usage("mem", "--recording is not a number from 1 on: \"%s\"", text);
	return CTL_OK;
}

static void report_damage_once(struct mem_input *in)
{
	char text[200];

	if (in->reported || in->damages > REPORTED_MAX)
		return;
	mprof_mem_damage_text(mprof_mem_damage(in->decoder), text, sizeof(text));
	say("%s: %s%s", in->name, text, in->damages == REPORTED_MAX ? "; further damage is not listed" : "");
}

static int drain(struct mem_input *in, enum mprof_status stop)
{
	struct mprof_profile *profile = in->consumer->profile;
	struct mprof_mem_event event;
	enum mprof_status status;

	for (;;) {
		status = profile ? mprof_profile_read(profile, in->decoder) : mprof_mem_next(in->decoder, &event);
		if (status == stop)
			return 0;
		if (status == MPROF_NOMEM)
			return -ENOMEM;
		if (status == MPROF_CORRUPT) {
			in->damages++;
			report_damage_once(in);
			continue;
		}
		in->refused = in->consumer->event(in->consumer->context, in->decoder, &event);
		if (in->refused)
			return in->refused;
	}
}

/* Refuse the input if its first LEN unpacked bytes are those of another kind of file. Return whether it is refused. */
static bool check_kind(struct mem_input *in, const void *head, size_t len)
{
	const char *what;
	enum file_kind kind = file_kind(head, len, &what);

	in->foreign = kind == FILE_KIND_TRACE || kind == FILE_KIND_FOREIGN;
	if (in->foreign)
		say("%s is %s", in->name, what);
	return in->foreign;
}

static int take(void *context, const void *bytes, size_t len)
{
	struct mem_input *in = context;

	if (!in->bytes && check_kind(in, bytes, len))
		return -ECANCELED;
	in->bytes += len;
	if (in->consumer->bytes)
		in->refused = in->consumer->bytes(in->consumer->context, bytes, len);
	if (in->refused)
		return in->refused;
	mprof_mem_feed(in->decoder, bytes, len);
	return drain(in, MPROF_MORE);
}

static int no_member(void *context, const char *path)
{
	(void)context;
	(void)path;
	return -EISDIR;
}

static int read_all(struct mem_input *in)
{
	const struct unpack_ops ops = {.bytes = take, .member = no_member, .context = in};
	uint8_t buf[1 << 16];
	size_t used = 0;
	ssize_t n = 1;
	int r;

	if (in->again && lseek(in->fd, 0, SEEK_SET) < 0)
		return -errno;
	while (n > 0 && used < UNPACK_HEAD && unpack_undecided(buf, used)) {
		n = read_some(in->fd, buf + used, UNPACK_HEAD - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return (int)n;
	if (unpack_wanted(buf, used)) {
		r = unpack_run(in->fd, buf, used, in->name, &ops);
		in->damages += r == 1;
		return r == 1 ? 0 : r;
	}
	for (r = take(in, buf, used); !r && n > 0; r = n > 0 ? take(in, buf, (size_t)n) : (int)n)
		n = read_some(in->fd, buf, sizeof(buf));
	return r;
}

/*
 * If several recordings are joined in the input and none was selected, report which of them are
 * used. Report it in the first reading only.
 */
static void report_recordings(const struct mem_input *in)
{
	uint64_t n = mprof_mem_totals(in->decoder)->recordings;

	if (n > 1 && !in->recording && !in->reported)
		say("%s: %llu recordings are joined here; this uses %s; --recording N selects one", in->name,
		    (unsigned long long)n, in->each ? "each of them" : "the last");
}

/* Report that the clock went back, in the first reading only. */
static void report_clock(const struct mem_input *in)
{
	uint64_t n = mprof_mem_totals(in->decoder)->clock_steps;

	if (n && !in->reported)
		say("note: %s: the clock went back before %llu event%s, which here have the latest time before; rates "
		    "and ages are too high or "
		    "too low",
		    in->name, (unsigned long long)n, n == 1 ? "" : "s");
}

/* Report why a reading ended. R is its result, 0 or -errno. Return an exit code. */
static int judge(const struct mem_input *in, int r)
{
	uint64_t recordings = mprof_mem_totals(in->decoder)->recordings;

	if (r == -ENOMEM)
		return say_memory();
	if (r == -EISDIR) {
		say("%s is an archive or a directory: name a file in it", in->name);
	} else if (r) {
		say("cannot read %s: %s", in->name, strerror(-r));
	} else if (in->recording && recordings && recordings < in->recording) {
		say("%s: there is no recording %llu, only %llu", in->name, (unsigned long long)in->recording,
		    (unsigned long long)recordings);
		return CTL_NOT_FOUND;
	} else if (!mprof_mem_info(in->decoder)) {
		say("%s is not a memory profile: it does not begin like a memtrace stream", in->name);
		return CTL_FOREIGN;
	} else {
		report_recordings(in);
		report_clock(in);
		return in->damages ? CTL_DAMAGED : CTL_OK;
	}
	return CTL_FAILED;
}

int mem_input_run(struct mem_input *in, const struct mem_consumer *consumer, bool stacks)
{
	struct mprof_mem_options options = {.stacks = stacks, .seed = seed_new(in), .recording = in->recording};
	int r;

	mprof_mem_free(in->decoder);
	in->decoder = mprof_mem_new(&options);
	if (!in->decoder)
		return say_memory();
	in->consumer = consumer;
	in->bytes = in->damages = 0;
	r = read_all(in);
	if (!r) {
		mprof_mem_finish(in->decoder);
		r = drain(in, MPROF_END);
	}
	r = in->foreign ? CTL_FOREIGN : in->refused ? CTL_FAILED : judge(in, r);
	in->reported = true;
	return r;
}
