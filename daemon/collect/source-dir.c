/*
 * A directory of ring files: what a Unix program that traces into a mapped file leaves us.
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

#include "source-dir-state.h"

#define FILES_MAX    4096u
#define ORPHANS_MAX  64u
#define RESCAN_NS    (5 * NS_PER_MS)
#define RESCAN_LEAST (50 * NS_PER_MS) /* between two scans */
#define SETTLE_NS    NS_PER_S	      /* after the start: a run that has not been taken up again by then is over */

static void file_orphan(struct ring_file *file, uint64_t now)
{
	struct ring_file *oldest = NULL;

	if (file->orphan)
		return;
	file->orphan = true;
	file->dir->n_orphans++;
	ring_file_at(file, now);
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
	ring_file_free(oldest);
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
	file->task.run = ring_file_run;
	file->dir = dir;
	file->fd = fd;
	file->dev = opened.st_dev;
	file->ino = opened.st_ino;
	file->retry = RING_FILE_RETRY_MIN;
	file->seen = true;
	file->next = dir->files;
	dir->files = file;
	dir->n_files++;
	ring_file_at(file, now);
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
			ring_file_closed(file, clock_mono());
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
	ring_file_closed(file, clock_mono());
	file->retry = RING_FILE_RETRY_MIN;
	if (file->state == FILE_LIVE || file->state == FILE_PENDING)
		ring_file_at(file, clock_mono());
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
		ring_file_at(file, clock_mono());
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
		ring_file_free(dir->files);
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
