/*
 * A ring file, from the first attempt to attach it until it is forgotten. A task advances the file
 * through these states:
 *
 *  PENDING   it has no ring yet: attempts to attach, less and less often
 *  LIVE      attached, and a program may write to it
 *  DRAIN     its last writer has gone: the last proven bytes are copied
 *  ENDING    the capture of its end is being taken
 *  REST      its run has ended; polled once a second, because a program may write again
 *
 * A read lease tells whether a writer is left: the kernel refuses the lease while any process has
 * the file open for writing, or mapped for writing. mprofd gives the lease back at once. If mprofd
 * may not take a lease because the file is another user's, the last writer counts as gone when
 * inotify reports a close, or after a minute without new bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring-set.h"

#define REFUSE_TRIES 3u /* polls without a writer after which a file is reported as no ring */

#define ENDING ".ctf"

enum writers ring_file_writers(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return WRITERS_NONE;
	}
	return errno == EAGAIN ? WRITERS_SOME : WRITERS_UNKNOWN;
}

/*
 * The file is opened, if allowed (the file is mprofd's own), without updating its access time: the
 * update waits for the file system's journal, and a poll is no access that matters.
 */
int ring_file_open(int directory, const char *name)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
	int fd = openat(directory, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(directory, name, flags) : fd;
}

/*
 * inotify reports a close before the kernel counts the file as closed, and the closing process may
 * be delayed in between. So ask for the writers at each poll for ASK_NS.
 */
void ring_file_closed(struct ring_file *file, uint64_t now)
{
	file->check_until = now + ASK_NS;
}

void ring_file_at(struct ring_file *file, uint64_t due)
{
	collector_at(file->dir->collector, &file->task, due);
}

int ring_file_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void file_pending(struct ring_file *file, uint64_t now)
{
	guest_deinit(&file->guest);
	file->resume = NULL;
	file->state = FILE_PENDING;
	file->retry = RING_FILE_RETRY_MIN;
	file->tries = 0;
	ring_file_at(file, now + file->retry);
}

void ring_file_free(struct ring_file *file)
{
	struct source_dir *dir = file->dir;

	LIST_REMOVE(file, entry);
	if (file->orphan) {
		TAILQ_REMOVE(&dir->orphans, file, departed);
		dir->n_orphans--;
	} else {
		tdelete(&file->name, &dir->names, ring_file_compare);
		dir->n_files--;
	}
	schedule_remove(&dir->collector->schedule, &file->task);
	guest_deinit(&file->guest);
	close(file->fd);
	free(file->name);
	free(file);
}

/*
 * Return the length of FILE's name without its ending `.ctf`, or 0 if the name has no such ending.
 * The guest's name does not have the ending either, unless the directory also has a ring file whose
 * name lacks it: these are two guests with different names.
 */
static size_t name_stem(const struct ring_file *file)
{
	size_t len = strlen(file->name), ending = sizeof(ENDING) - 1;

	return len > ending && strcmp(file->name + len - ending, ENDING) == 0 ? len - ending : 0;
}

static char *file_guest_name(const struct ring_file *file)
{
	size_t stem = name_stem(file);
	CLEANUP(freep) char *name = stem ? strndup(file->name, stem) : strdup(file->name);
	const struct ring_file *other = stem && name ? dir_file(file->dir, name) : NULL;
	const struct ring_set *set = stem && name ? ring_set_find(file->dir, name) : NULL;

	return (other && other->stream.guest) || (set && set->guest.shared) ? strdup(file->name) : TAKE_PTR(name);
}

void ring_file_claim_name(const struct source_dir *dir, const char *name)
{
	CLEANUP(freep) char *full = NULL;
	struct ring_file *other;

	if (asprintf(&full, "%s" ENDING, name) < 0) {
		full = NULL;
		return;
	}
	other = dir_file(dir, full);
	if (other && other->stream.guest && guest_rename(&other->guest, full))
		log_warning("%s: out of memory", other->guest.name);
}

/*
 * FILE has become a ring: determine its guest's name again, because other ring files may have been
 * created since.
 */
static void file_name_again(struct ring_file *file)
{
	CLEANUP(freep) char *name = file_guest_name(file);

	if (!name || guest_rename(&file->guest, name))
		log_warning("%s: out of memory", file->guest.name);
}

/*
 * Report that the file is no ring, after REFUSE_TRIES attempts during which nobody had it open for
 * writing.
 */
static void file_refuse(struct ring_file *file, const char *fault)
{
	if (file->refused || ++file->tries < REFUSE_TRIES)
		return;
	file->refused = true;
	file->dir->collector->shared.counters.refused_rings++;
	/* A file without the ending `.ctf` may be no ring: refuse it without a log message. */
	if (!name_stem(file))
		return;
	log_write_limited(&file->dir->refusals, LOG_LEVEL_WARNING, file->guest.name,
			  "%s/%s is no trace ring and is left alone: %s", file->dir->path, file->name, fault);
}

/*
 * Times of files come from the kernel's coarse clock, so a write that follows the end within a tick
 * (10 ms at most) is not noticed.
 */
bool ring_file_rests(const struct archive_resume *resume, const struct stat *st)
{
	uint64_t changed = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;

	return resume && resume->captured_real && !resume->unfinished && changed <= resume->captured_real;
}

/* Enter the state REST without a capture, because the archive has one of this end. */
static void file_rest(struct ring_file *file, const struct archive_resume *resume, uint64_t now)
{
	if (strcmp(resume->state, "ended") != 0) {
		guest_set_state(&file->guest, "ended", "ended");
		log_write_limited(&file->dir->lives, LOG_LEVEL_INFO, file->guest.name,
				  "its end is archived, run=%lld ended", (long long)file->guest.run);
	}
	file->state = FILE_REST;
	file->unpolled = true;
	ring_file_at(file, now + REST_NS);
}

static void file_attached(struct ring_file *file, const struct stat *st, bool dead, uint64_t now)
{
	const struct archive_resume *resume = file->resume ? &file->resume->resume : NULL;

	file->refused = false;
	file_name_again(file);
	ring_file_claim_name(file->dir, file->name);
	file->written = file->stream.ring.writer.written;
	file->grew = now;
	if (resume) {
		collector_resume_taken_up(file->dir->collector, resume->run);
		collector_resume_attached(file->dir->collector, resume->run, resume->number);
	}
	if (dead && ring_file_rests(resume, st)) {
		file_rest(file, resume, now);
		return;
	}
	if (guest_set_state(&file->guest, "running", NULL))
		log_warning("%s: out of memory", file->guest.name);
	log_write_limited(&file->dir->lives, LOG_LEVEL_INFO, file->guest.name, "%s, bytes=%llu packets=%u run=%lld",
			  resume ? "run goes on" : "new run", (unsigned long long)file->stream.ring.bytes,
			  file->stream.ring.n, (long long)file->guest.run);
	file->unfinished = dead && resume ? resume->unfinished : 0;
	file->state = dead ? FILE_DRAIN : FILE_LIVE;
	ring_file_at(file, now);
}

int ring_file_key(int fd, const char *name, char *key, size_t size)
{
	struct statx stx;

	/*
	 * An inode number can be used again at once. Inode number and time of birth together are
	 * unique.
	 */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0)
		return -errno;
	snprintf(key, size, "%s %llu %lld.%09u", name, (unsigned long long)stx.stx_ino, (long long)stx.stx_btime.tv_sec,
		 stx.stx_btime.tv_nsec);
	return 0;
}

/*
 * Create the guest of the file's next run. If the archive has a run of this file that is not over,
 * continue it. Return 0 or -errno.
 */
static int file_identify(struct ring_file *file)
{
	struct collector *c = file->dir->collector;
	CLEANUP(freep) char *name = file_guest_name(file);
	struct guest_identity identity = {.source = "dir", .name = name, .domid = -1};
	char key[512];
	int r;

	if (!name)
		return -ENOMEM;
	r = ring_file_key(file->fd, file->name, key, sizeof(key));
	if (r)
		return r;
	identity.key = key;
	file->resume = collector_resume_find(c, "dir", key, 0);
	return guest_init(&file->guest, &c->shared, &identity, file->resume ? file->resume->resume.run : 0,
			  PATIENCE_NS);
}

static void step_pending(struct ring_file *file, uint64_t now)
{
	struct collector *c = file->dir->collector;
	enum writers writers;
	struct stat st;
	const char *fault = "";
	int r;

	if (fstat(file->fd, &st) < 0 || file->orphan) {
		ring_file_free(file);
		return;
	}
	/* Check for writers before reading: if none was left, the bytes that are read are final. */
	writers = ring_file_writers(file->fd);
	if (file->resume && file->resume->settled)
		guest_deinit(&file->guest);
	if (!file->guest.shared && file_identify(file)) {
		ring_file_at(file, now + RETRY_MAX);
		return;
	}
	memory_file_init(&file->memory, file->fd);
	r = stream_attach(&file->stream, &file->guest, 0, NULL, &file->memory.memory, (uint64_t)st.st_size,
			  file->resume ? &file->resume->resume : NULL, writers == WRITERS_NONE, &fault);
	file->lease_denied = writers == WRITERS_UNKNOWN;
	file->bytes = (uint64_t)st.st_size;
	file->measured = now;
	if (r == 0) {
		file_attached(file, &st, writers == WRITERS_NONE, now);
		return;
	}
	if (r == RING_E_RENEWED) {
		collector_resume_over(c, file->resume);
		ring_file_at(file, now);
		return;
	}
	if (writers != WRITERS_SOME)
		file_refuse(file, fault);
	ring_file_at(file, now + file->retry);
	file->retry = 2 * file->retry < RETRY_MAX ? 2 * file->retry : RETRY_MAX;
}

/*
 * End the file's run without a capture, because the file was truncated or has grown, or its ring
 * was initialised again: the old bytes are gone, which is declared. Then wait for a new ring.
 */
static void file_renewed(struct ring_file *file, uint64_t now)
{
	if (guest_is_running(&file->guest)) {
		stream_declare_unseen(&file->stream);
		guest_set_state(&file->guest, "ended", "ended");
		log_write_limited(&file->dir->lives, LOG_LEVEL_INFO, file->guest.name,
				  "the ring was begun anew, run=%lld ended", (long long)file->guest.run);
	}
	file_pending(file, now);
}

/*
 * Return whether the file's size has changed. While a file is being copied by another program, its
 * beginning can look like a whole ring with fewer packets. fstat() costs as much as a poll, so a
 * file in state LIVE is checked once in MEASURE_NS.
 */
static bool file_resized(struct ring_file *file, uint64_t now)
{
	struct stat st;

	if (file->state == FILE_ENDING || (file->state == FILE_LIVE && now - file->measured < MEASURE_NS))
		return false;
	file->measured = now;
	return fstat(file->fd, &st) < 0 || (uint64_t)st.st_size != file->bytes;
}

/*
 * Poll the ring. Set *R to the value that stream_poll() returned, and *NEXT to when to poll again.
 * Return false if the ring file has got another state instead; *NEXT is then not valid.
 */
static bool file_poll(struct ring_file *file, uint64_t now, int *r, uint64_t *next)
{
	if (file_resized(file, now)) {
		file_renewed(file, now);
		return false;
	}
	*r = stream_poll(&file->stream, now, next);
	if (*r == RING_E_GONE || *r == RING_E_RENEWED) {
		file_renewed(file, now);
		return false;
	}
	if (file->stream.ring.writer.written != file->written) {
		file->written = file->stream.ring.writer.written;
		file->grew = now;
	}
	return true;
}

bool ring_file_is_quiet(uint64_t grew, uint64_t asked, uint64_t now)
{
	uint64_t since = grew > asked ? grew : asked;

	return now >= since && now - since >= QUIET_NS;
}

/*
 * Ask for writers if one may have closed the file, or if the ring was quiet. Return whether none is left. Without a lease only a
 * close tells.
 */
static bool is_abandoned(struct ring_file *file, uint64_t now)
{
	bool may_be_closed = now < file->check_until;
	enum writers writers;

	if (!may_be_closed && (file->lease_denied || !ring_file_is_quiet(file->grew, file->asked, now)))
		return false;
	writers = ring_file_writers(file->fd);
	file->asked = now;
	if (writers == WRITERS_UNKNOWN)
		file->lease_denied = true;
	return writers == WRITERS_NONE || (writers == WRITERS_UNKNOWN && may_be_closed);
}

static void step_live(struct ring_file *file, uint64_t now)
{
	/* Ask before the poll: if no writer is left, the poll sees all bytes that will ever come. */
	bool is_over = is_abandoned(file, now);
	uint64_t next;
	int r;

	if (!file_poll(file, now, &r, &next))
		return;
	if (file->orphan || is_over || (file->lease_denied && now - file->grew > SILENCE_NS)) {
		file->state = FILE_DRAIN;
		next = now;
	}
	ring_file_at(file, next);
}

/*
 * Begin the capture of the file's end, or continue a capture that mprofd had begun when it was
 * killed. Return as guest_capture_begin().
 */
static int64_t file_capture(struct ring_file *file)
{
	if (file->unfinished)
		return guest_capture_again(&file->guest, file->unfinished, true);
	return guest_capture_begin(&file->guest, "ended", NULL, true, NULL);
}

static void step_drain(struct ring_file *file, uint64_t now)
{
	uint64_t next;
	int r;

	if (!file_poll(file, now, &r, &next))
		return;
	if (r == 0 && guest_capture_done(&file->guest) && file_capture(file) > 0) {
		file->unfinished = 0;
		file->state = FILE_ENDING;
		next = now;
	}
	ring_file_at(file, next);
}

static void step_ending(struct ring_file *file, uint64_t now)
{
	uint64_t next;
	int r;

	if (!file_poll(file, now, &r, &next))
		return;
	if (!guest_capture_done(&file->guest)) {
		ring_file_at(file, next);
		return;
	}
	guest_set_state(&file->guest, "ended", "ended");
	log_write_limited(&file->dir->lives, LOG_LEVEL_INFO, file->guest.name, "no writer is left, run=%lld ended",
			  (long long)file->guest.run);
	file->state = FILE_REST;
	if (file->orphan)
		ring_file_free(file);
	else
		ring_file_at(file, now + REST_NS);
}

static void step_rest(struct ring_file *file, uint64_t now)
{
	uint64_t before = file->stream.ring.writer.written, next;
	int r;

	if (file->orphan) {
		ring_file_free(file);
		return;
	}
	if (!file_poll(file, now, &r, &next))
		return;
	next = now + REST_NS;
	if (file->stream.ring.writer.written != before && !file->unpolled) {
		/* A program has opened the file again and writes on. */
		guest_set_state(&file->guest, "running", NULL);
		file->state = FILE_LIVE;
		ring_file_closed(file, now);
		next = now + CADENCE_MIN;
	}
	file->unpolled = false;
	ring_file_at(file, next);
}

void ring_file_run(struct task *task, uint64_t now)
{
	static void (*const steps[])(struct ring_file *, uint64_t) = {
		[FILE_PENDING] = step_pending, [FILE_LIVE] = step_live, [FILE_DRAIN] = step_drain,
		[FILE_ENDING] = step_ending,   [FILE_REST] = step_rest,
	};
	struct ring_file *file = (struct ring_file *)task;

	steps[file->state](file, now);
}
