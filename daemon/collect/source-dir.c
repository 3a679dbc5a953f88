/*
 * A directory of ring files: what a Unix program that traces into a mapped file leaves us.
 *
 * A file passes through these states, each step made when its task is due:
 *
 *   PENDING   no ring in it yet: asked again, ever more seldom
 *   LIVE      attached, and somebody may write
 *   DRAIN     its last writer is gone: what is left is taken
 *   ENDING    the capture of its end is on its way
 *   REST      ended; looked at once a second, since a program may begin to write again
 *
 * Whether a writer is left is asked with a read lease, which the kernel refuses while the file is open for writing or mapped so.
 * The lease is given back at once.  Where we may not ask (the file is another's) the close event decides, or a minute of silence.
 *
 * A file that was replaced or removed goes on as an orphan until its end is archived; a new file of that name is another run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector.h"
#include "log.h"

#define FILES_MAX    4096u
#define ORPHANS_MAX  64u
#define RESCAN_NS    (5 * NS_PER_MS)
#define RESCAN_LEAST (50 * NS_PER_MS) /* between two scans */
#define RETRY_MIN    (2 * NS_PER_MS)
#define RETRY_MAX    NS_PER_S
#define REST_NS	     NS_PER_S
#define SILENCE_NS   (60 * NS_PER_S)
#define MEASURE_NS   NS_PER_S
#define SETTLE_NS    NS_PER_S /* after the start: a run that has not been taken up again by then is over */
#define REFUSE_TRIES 3u	      /* a file without a writer is called no ring after so many looks */
#define PATIENCE_NS  (10 * NS_PER_S)

enum file_state { FILE_PENDING, FILE_LIVE, FILE_DRAIN, FILE_ENDING, FILE_REST };
enum writers { WRITERS_NONE, WRITERS_SOME, WRITERS_UNKNOWN };

struct ring_file {
	struct task task; /* first */
	struct source_dir *dir;
	struct ring_file *next;
	char *name; /* in the directory */
	int fd;
	dev_t dev;
	ino_t ino;
	struct memory_file memory;
	uint64_t bytes;	   /* its size at attach ... */
	uint64_t measured; /* ... and when it was last held against that */
	struct guest guest;
	struct stream stream;
	struct known_stream *known; /* what the archive has of it, until it is attached */
	enum file_state state;
	uint64_t retry;	    /* PENDING: the present interval */
	unsigned tries;	    /* PENDING: attaches that failed without a writer */
	uint64_t written;   /* ring.written when it last grew ... */
	uint64_t grew;	    /* ... and when that was */
	bool orphan;	    /* not in the directory any more */
	bool closed;	    /* a writer closed it: ask who is left */
	bool unasked;	    /* whether a writer is left cannot be asked */
	bool refused;	    /* said so already */
	int64_t unfinished; /* DRAIN: the capture of this end that a kill came into; 0 = none */
	bool unlooked;	    /* REST: what the first look finds is what the archive has, as a capture's tail */
	bool seen;	    /* by the scan that is under way */
};

struct source_dir {
	struct source source; /* first */
	struct collector *collector;
	char *path;
	int fd, inotify;
	sd_event_source *events;
	struct task scan; /* see scan_run */
	struct task settle;
	uint64_t scanned;
	struct ring_file *files;
	size_t n_files, n_orphans;
	struct log_limit refusals;
	bool crowded; /* said that there are too many files */
};

/* ---- writers ------------------------------------------------------------------------------------------------------- */

static enum writers writers_left(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return WRITERS_NONE;
	}
	return errno == EAGAIN ? WRITERS_SOME : WRITERS_UNKNOWN;
}

/* ---- one file ------------------------------------------------------------------------------------------------------ */

static void file_at(struct ring_file *file, uint64_t due)
{
	collector_at(file->dir->collector, &file->task, due);
}

static void file_pending(struct ring_file *file, uint64_t now)
{
	guest_deinit(&file->guest);
	file->known = NULL;
	file->state = FILE_PENDING;
	file->retry = RETRY_MIN;
	file->tries = 0;
	file_at(file, now + file->retry);
}

static void file_free(struct ring_file *file)
{
	struct ring_file **at = &file->dir->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	file->dir->n_files--;
	if (file->orphan)
		file->dir->n_orphans--;
	schedule_remove(&file->dir->collector->schedule, &file->task);
	guest_deinit(&file->guest);
	close(file->fd);
	free(file->name);
	free(file);
}

/* The file is no ring, and nobody is left who could make it one. */
static void file_refuse(struct ring_file *file, const char *fault)
{
	size_t len = strlen(file->name);

	if (file->refused || ++file->tries < REFUSE_TRIES)
		return;
	file->refused = true;
	file->dir->collector->shared.counters.refused_rings++;
	/* What does not even claim to be a ring may lie there too. */
	if (len < 4 || strcmp(file->name + len - 4, ".ctf") != 0)
		return;
	log_write_limited(&file->dir->refusals, LOG_LEVEL_WARNING, file->guest.name,
			  "%s/%s is no trace ring and is left alone: %s", file->dir->path, file->name, fault);
}

/* Does the archive have its end, and nobody has written since? */
static bool file_rests(const struct archive_resume *resume, const struct stat *st)
{
	uint64_t changed = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t since;

	if (!resume || !resume->captured_real || resume->unfinished)
		return false;
	/* A kill may have come between the capture and the end of the run. */
	since = strcmp(resume->state, "ended") == 0 ? resume->ended_real : resume->captured_real;
	return changed <= since;
}

/* An end that is in the archive is not archived again. */
static void file_rest(struct ring_file *file, const struct archive_resume *resume, uint64_t now)
{
	if (strcmp(resume->state, "ended") != 0) {
		guest_set_state(&file->guest, "ended", "ended");
		log_write(LOG_LEVEL_INFO, file->guest.name, "its end is archived, run=%lld ended",
			  (long long)file->guest.run);
	}
	file->state = FILE_REST;
	file->unlooked = true;
	file_at(file, now + REST_NS);
}

static void file_attached(struct ring_file *file, const struct stat *st, bool dead, uint64_t now)
{
	const struct archive_resume *resume = file->known ? &file->known->resume : NULL;

	file->refused = false;
	file->written = file->stream.ring.written;
	file->grew = now;
	if (resume)
		collector_taken_up(file->dir->collector, resume->run);
	if (dead && file_rests(resume, st)) {
		file_rest(file, resume, now);
		return;
	}
	if (guest_set_state(&file->guest, "running", NULL))
		log_warning("%s: out of memory", file->guest.name);
	log_write(LOG_LEVEL_INFO, file->guest.name, "%s, bytes=%llu packets=%u run=%lld",
		  resume ? "run goes on" : "new run", (unsigned long long)file->stream.ring.bytes, file->stream.ring.n,
		  (long long)file->guest.run);
	file->unfinished = dead && resume ? resume->unfinished : 0;
	file->state = dead ? FILE_DRAIN : FILE_LIVE;
	file_at(file, now);
}

static int file_key(const struct ring_file *file, char *key, size_t size)
{
	struct statx stx;

	/* An inode's number is used again at once; with its birth it is this file's alone. */
	if (statx(file->fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stx) < 0)
		return -errno;
	snprintf(key, size, "%s %llu %lld.%09u", file->name, (unsigned long long)stx.stx_ino,
		 (long long)stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec);
	return 0;
}

/* Begin the life that the file's next ring is of: one that the archive knows, where it is not over. */
static int file_identify(struct ring_file *file)
{
	struct collector *c = file->dir->collector;
	size_t len = strlen(file->name);
	CLEANUP(freep)
	char *name = strndup(file->name, len > 4 && strcmp(file->name + len - 4, ".ctf") == 0 ? len - 4 : len);
	struct guest_identity identity = {.source = "dir", .name = name, .domid = -1};
	char key[512];
	int r;

	if (!name)
		return -ENOMEM;
	r = file_key(file, key, sizeof(key));
	if (r)
		return r;
	identity.key = key;
	file->known = collector_known(c, "dir", key, 0);
	return guest_init(&file->guest, &c->shared, &identity, file->known ? file->known->resume.run : 0, PATIENCE_NS);
}

static void step_pending(struct ring_file *file, uint64_t now)
{
	struct collector *c = file->dir->collector;
	enum writers writers;
	struct stat st;
	const char *fault = "";
	int r;

	if (fstat(file->fd, &st) < 0 || file->orphan) {
		file_free(file);
		return;
	}
	/* Before anything is read: what is read after the last writer has gone is final. */
	writers = writers_left(file->fd);
	if (file->known && file->known->settled)
		guest_deinit(&file->guest);
	if (!file->guest.shared && file_identify(file)) {
		file_at(file, now + RETRY_MAX);
		return;
	}
	memory_file_init(&file->memory, file->fd);
	r = stream_attach(&file->stream, &file->guest, 0, NULL, &file->memory.memory, (uint64_t)st.st_size,
			  file->known ? &file->known->resume : NULL, writers == WRITERS_NONE, &fault);
	file->unasked = writers == WRITERS_UNKNOWN;
	file->bytes = (uint64_t)st.st_size;
	file->measured = now;
	if (r == 0) {
		file_attached(file, &st, writers == WRITERS_NONE, now);
		return;
	}
	if (r == RING_E_RENEWED) {
		collector_over(c, file->known);
		file_at(file, now);
		return;
	}
	if (writers != WRITERS_SOME)
		file_refuse(file, fault);
	file_at(file, now + file->retry);
	file->retry = 2 * file->retry < RETRY_MAX ? 2 * file->retry : RETRY_MAX;
}

/* The file was cut or has grown, or its ring begun anew: the run is over, and there is nothing left of it to take. */
static void file_renewed(struct ring_file *file, uint64_t now)
{
	if (guest_is_running(&file->guest)) {
		guest_set_state(&file->guest, "ended", "ended");
		log_write(LOG_LEVEL_INFO, file->guest.name, "the ring was begun anew, run=%lld ended",
			  (long long)file->guest.run);
	}
	file_pending(file, now);
}

/*
 * A file that is copied piece by piece can be a whole ring of fewer packets on the way.  Asked now and then, and always before the end,
 * since it costs as much as a look.
 */
static bool file_resized(struct ring_file *file, uint64_t now)
{
	struct stat st;

	if (file->state == FILE_ENDING || (file->state == FILE_LIVE && now - file->measured < MEASURE_NS))
		return false;
	file->measured = now;
	return fstat(file->fd, &st) < 0 || (uint64_t)st.st_size != file->bytes;
}

/* One look; true where the file is still in the state it was in. */
static bool file_look(struct ring_file *file, uint64_t now, int *r, uint64_t *next)
{
	if (file_resized(file, now)) {
		file_renewed(file, now);
		return false;
	}
	*r = stream_look(&file->stream, now, next);
	if (*r == RING_E_GONE || *r == RING_E_RENEWED) {
		file_renewed(file, now);
		return false;
	}
	if (file->stream.ring.written != file->written) {
		file->written = file->stream.ring.written;
		file->grew = now;
	}
	return true;
}

static void step_live(struct ring_file *file, uint64_t now)
{
	enum writers writers = WRITERS_SOME;
	uint64_t next;
	int r;

	/* Asked before the look, so that a look that finds nothing has seen all there will be. */
	if (file->closed)
		writers = writers_left(file->fd);
	if (!file_look(file, now, &r, &next))
		return;
	if (writers == WRITERS_UNKNOWN)
		file->unasked = true;
	if (file->orphan || (file->closed && writers != WRITERS_SOME) ||
	    (file->unasked && now - file->grew > SILENCE_NS)) {
		file->state = FILE_DRAIN;
		next = now;
	}
	file->closed = false;
	file_at(file, next);
}

/* The capture of its end, or where a kill came into it the rest of that. */
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

	if (!file_look(file, now, &r, &next))
		return;
	if (r == 0 && guest_capture_done(&file->guest) && file_capture(file) > 0) {
		file->unfinished = 0;
		file->state = FILE_ENDING;
		next = now;
	}
	file_at(file, next);
}

static void step_ending(struct ring_file *file, uint64_t now)
{
	uint64_t next;
	int r;

	if (!file_look(file, now, &r, &next))
		return;
	if (!guest_capture_done(&file->guest)) {
		file_at(file, next);
		return;
	}
	guest_set_state(&file->guest, "ended", "ended");
	log_write(LOG_LEVEL_INFO, file->guest.name, "no writer is left, run=%lld ended", (long long)file->guest.run);
	file->state = FILE_REST;
	if (file->orphan)
		file_free(file);
	else
		file_at(file, now + REST_NS);
}

static void step_rest(struct ring_file *file, uint64_t now)
{
	uint64_t before = file->stream.ring.written, next;
	int r;

	if (file->orphan) {
		file_free(file);
		return;
	}
	if (!file_look(file, now, &r, &next))
		return;
	next = now + REST_NS;
	if (file->stream.ring.written != before && !file->unlooked) {
		/* Somebody opened it again and writes on. */
		guest_set_state(&file->guest, "running", NULL);
		file->state = FILE_LIVE;
		file->closed = true;
		next = now + CADENCE_MIN;
	}
	file->unlooked = false;
	file_at(file, next);
}

static void file_run(struct task *task, uint64_t now)
{
	static void (*const steps[])(struct ring_file *, uint64_t) = {
		[FILE_PENDING] = step_pending, [FILE_LIVE] = step_live, [FILE_DRAIN] = step_drain,
		[FILE_ENDING] = step_ending,   [FILE_REST] = step_rest,
	};
	struct ring_file *file = (struct ring_file *)task;

	steps[file->state](file, now);
}

/* ---- the directory ----------------------------------------------------------------------------------------------------- */

static void file_orphan(struct ring_file *file, uint64_t now)
{
	struct ring_file *oldest = NULL;

	if (file->orphan)
		return;
	file->orphan = true;
	file->dir->n_orphans++;
	file_at(file, now);
	if (file->dir->n_orphans <= ORPHANS_MAX)
		return;
	/* Somebody replaces files faster than their ends are archived. */
	for (struct ring_file *f = file->dir->files; f; f = f->next)
		if (f->orphan)
			oldest = f;
	if (!oldest)
		return;
	if (guest_is_running(&oldest->guest))
		guest_set_state(&oldest->guest, "ended", "ended");
	file_free(oldest);
}

/*
 * Without access times where we may (the file is ours): their update waits for the file system's journal, and a look for nobody.
 */
static int file_open(const struct source_dir *dir, const char *name)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
	int fd = openat(dir->fd, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dir->fd, name, flags) : fd;
}

static void file_add(struct source_dir *dir, const char *name, const struct stat *st, uint64_t now)
{
	struct ring_file *file;
	struct stat opened;
	int fd;

	if (dir->n_files >= FILES_MAX) {
		if (!dir->crowded)
			log_warning("%s holds more than %u files; the rest is left alone", dir->path, FILES_MAX);
		dir->crowded = true;
		return;
	}
	fd = file_open(dir, name);
	if (fd < 0) {
		log_write_limited(&dir->refusals, LOG_LEVEL_WARNING, NULL, "%s/%s cannot be read: error=%s", dir->path,
				  name, strerror(errno));
		return;
	}
	file = calloc(1, sizeof(*file));
	if (file)
		file->name = strdup(name);
	if (!file || !file->name || fstat(fd, &opened) < 0 || !S_ISREG(opened.st_mode) || opened.st_ino != st->st_ino) {
		if (file)
			free(file->name);
		free(file);
		close(fd);
		return;
	}
	file->task.run = file_run;
	file->dir = dir;
	file->fd = fd;
	file->dev = opened.st_dev;
	file->ino = opened.st_ino;
	file->retry = RETRY_MIN;
	file->seen = true;
	file->next = dir->files;
	dir->files = file;
	dir->n_files++;
	file_at(file, now);
}

static struct ring_file *file_named(struct source_dir *dir, const char *name)
{
	for (struct ring_file *f = dir->files; f; f = f->next)
		if (!f->orphan && strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static void scan_entry(struct source_dir *dir, const char *name, uint64_t now)
{
	struct ring_file *file;
	struct stat st;

	/* `metadata` belongs beside the streams of a CTF directory; a hidden file is somebody's work in progress. */
	if (name[0] == '.' || strcmp(name, "metadata") == 0)
		return;
	if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	file = file_named(dir, name);
	if (file && file->dev == st.st_dev && file->ino == st.st_ino) {
		file->seen = true;
		return;
	}
	if (file)
		file_orphan(file, now);
	file_add(dir, name, &st, now);
}

/* Hold the directory against what we know. */
static void dir_scan(struct source_dir *dir, uint64_t now)
{
	struct ring_file *next;
	struct dirent *entry;
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	dir->scanned = now;
	if (!d) {
		if (fd >= 0)
			close(fd);
		log_write_limited(&dir->refusals, LOG_LEVEL_WARNING, NULL, "%s cannot be listed: error=%s", dir->path,
				  strerror(errno));
		return;
	}
	for (struct ring_file *f = dir->files; f; f = f->next)
		f->seen = false;
	while ((entry = readdir(d)))
		scan_entry(dir, entry->d_name, now);
	closedir(d);
	for (struct ring_file *f = dir->files; f; f = next) {
		next = f->next;
		if (!f->seen && !f->orphan) {
			file_orphan(f, now);
			next = dir->files; /* orphans may have gone */
		}
	}
}

static void scan_run(struct task *task, uint64_t now)
{
	dir_scan((struct source_dir *)((char *)task - offsetof(struct source_dir, scan)), now);
}

/* By now every file that was there has been attached, or it is no ring any more. */
static void settle_run(struct task *task, uint64_t now)
{
	struct source_dir *dir = (struct source_dir *)((char *)task - offsetof(struct source_dir, settle));

	(void)now;
	collector_settle(dir->collector, "dir");
}

static void scan_soon(struct source_dir *dir)
{
	uint64_t due = clock_mono() + RESCAN_NS;

	if (due < dir->scanned + RESCAN_LEAST)
		due = dir->scanned + RESCAN_LEAST;
	if (!dir->scan.place)
		collector_at(dir->collector, &dir->scan, due);
}

static void on_event(struct source_dir *dir, const struct inotify_event *event)
{
	struct ring_file *file;

	if (event->mask & IN_Q_OVERFLOW) {
		/* Closes may be among what was lost: ask for every file. */
		for (file = dir->files; file; file = file->next)
			file->closed = true;
		scan_soon(dir);
		return;
	}
	if (!(event->mask & IN_CLOSE_WRITE)) {
		scan_soon(dir);
		return;
	}
	file = event->len ? file_named(dir, event->name) : NULL;
	if (!file) {
		scan_soon(dir);
		return;
	}
	file->closed = true;
	file->retry = RETRY_MIN;
	if (file->state == FILE_LIVE || file->state == FILE_PENDING)
		file_at(file, clock_mono());
}

static int on_inotify(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct source_dir *dir = context;
	_Alignas(struct inotify_event) char buffer[16384];
	ssize_t n;

	(void)source;
	(void)events;
	/* Bounded, so that a flood of events leaves time for looks. */
	for (int i = 0; i < 16; i++) {
		n = read(fd, buffer, sizeof(buffer));
		if (n <= 0)
			break;
		for (char *at = buffer; at < buffer + n;) {
			struct inotify_event *event = (struct inotify_event *)at;

			on_event(dir, event);
			at += sizeof(*event) + event->len;
		}
	}
	return 0;
}

/* ---- the seam -------------------------------------------------------------------------------------------------------------- */

static struct ring_file *file_of_run(struct source *source, int64_t run)
{
	struct source_dir *dir = (struct source_dir *)source;

	for (struct ring_file *f = dir->files; f; f = f->next)
		if (f->stream.guest && f->guest.run == run)
			return f;
	return NULL;
}

static struct guest *dir_find(struct source *source, int64_t run)
{
	struct ring_file *file = file_of_run(source, run);

	return file ? &file->guest : NULL;
}

static void dir_nudge(struct source *source, int64_t run)
{
	struct ring_file *file = file_of_run(source, run);

	if (file)
		file_at(file, clock_mono());
}

static void dir_count(const struct source *source, size_t *guests, size_t *rings)
{
	const struct source_dir *dir = (const struct source_dir *)source;

	*guests = *rings = 0;
	for (const struct ring_file *f = dir->files; f; f = f->next) {
		*guests += guest_is_running(&f->guest);
		*rings += f->stream.guest != NULL;
	}
}

static void dir_close(struct source *source)
{
	struct source_dir *dir = (struct source_dir *)source;

	while (dir->files)
		file_free(dir->files);
	sd_event_source_unref(dir->events);
	schedule_remove(&dir->collector->schedule, &dir->scan);
	schedule_remove(&dir->collector->schedule, &dir->settle);
	if (dir->inotify >= 0)
		close(dir->inotify);
	if (dir->fd >= 0)
		close(dir->fd);
	free(dir->path);
	free(dir);
}

/* A file a guest, and a descriptor each. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int source_dir_open(struct source **sp, struct collector *collector, const char *path, char *sentence, size_t size)
{
	const uint32_t mask =
		IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK;
	struct source_dir *dir = calloc(1, sizeof(*dir));
	int r = -ENOMEM;

	if (!dir)
		return r;
	dir->source = (struct source){.find = dir_find, .nudge = dir_nudge, .count = dir_count, .close = dir_close};
	dir->collector = collector;
	dir->scan.run = scan_run;
	dir->settle.run = settle_run;
	dir->path = strdup(path);
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	allow_descriptors();
	signal(SIGIO, SIG_IGN); /* a lease that is broken in the moment that we hold it */
	if (dir->fd < 0 || !dir->path || dir->inotify < 0 || inotify_add_watch(dir->inotify, path, mask) < 0) {
		r = -errno;
		snprintf(sentence, size, "--source dir:%s cannot be watched: error=%s", path, strerror(errno));
	} else {
		r = sd_event_add_io(collector->event, &dir->events, dir->inotify, EPOLLIN, on_inotify, dir);
	}
	if (r < 0) {
		dir_close(&dir->source);
		return r;
	}
	dir_scan(dir, clock_mono());
	collector_at(collector, &dir->settle, clock_mono() + SETTLE_NS);
	*sp = &dir->source;
	return 0;
}
