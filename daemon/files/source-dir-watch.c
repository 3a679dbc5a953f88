/*
 * The directory that a path names, and its inotify events. A directory can be renamed, removed, or
 * covered by a mount, and another directory can take its place. The watch of the parent directory
 * reports a rename at once. inotify does not report mounts, so the path's device and inode are
 * compared once a second with those of the open directory. If they differ, the files of the open
 * directory become orphans, and their ends are archived. Both watches use one inotify descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "ring-set.h"

#define COMPARE_NS    NS_PER_S
#define COMPARE_LEAST (50 * NS_PER_MS) /* least time between two comparisons */
/* Events of at most this many reads per wake-up, so that rings are polled in time. */
#define READS 16

void dir_trouble(struct source_dir *dir, const char *format, ...)
{
	char sentence[sizeof(dir->trouble)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (strcmp(sentence, dir->trouble) == 0)
		return;
	memcpy(dir->trouble, sentence, sizeof(sentence));
	if (sentence[0])
		log_write_limited(&dir->changes, LOG_LEVEL_WARNING, NULL, "%s", sentence);
	else
		log_write_limited(&dir->changes, LOG_LEVEL_INFO, NULL, "The ring directory %s is read again",
				  dir->shown);
}

/* ---- the directory of a path ----------------------------------------------------------------- */

/*
 * Return the last component of PATH. Return "" if it is `.` or `..`, because no inotify event of a
 * parent directory has such a name.
 */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "" : name;
}

/* Watch the parent directory of PATH. If that fails, the comparison once a second is enough. */
static void parent_watch(struct source_dir *dir)
{
	const uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR | IN_MASK_ADD;
	const char *name = last_name(dir->path);
	size_t len = (size_t)(name - dir->path);
	CLEANUP(freep) char *parent = len ? strndup(dir->path, len) : strdup(".");
	int watch = parent && *name ? inotify_add_watch(dir->inotify, parent, mask) : -1;

	if (dir->parent_watch >= 0 && watch != dir->parent_watch && dir->parent_watch != dir->watch)
		inotify_rm_watch(dir->inotify, dir->parent_watch);
	dir->parent_watch = watch;
}

int dir_enter(struct source_dir *dir)
{
	const uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB |
			      IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK | IN_MASK_ADD;
	struct stat st;
	CLEANUP(closep) int fd = -1;

	parent_watch(dir);
	fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	/* If PATH names another directory since the open(), the next comparison notices it. */
	dir->watch = inotify_add_watch(dir->inotify, dir->path, mask);
	if (dir->watch < 0)
		return -errno;
	dir->dev = st.st_dev;
	dir->ino = st.st_ino;
	dir->fd = TAKE_FD(fd);
	return 0;
}

static void dir_leave(struct source_dir *dir, uint64_t now)
{
	dir_orphan_all(dir, now);
	if (dir->watch >= 0 && dir->watch != dir->parent_watch)
		inotify_rm_watch(dir->inotify, dir->watch);
	dir->watch = -1;
	closep(&dir->fd);
}

/* Return whether PATH still names the open directory. */
static bool same(const struct source_dir *dir)
{
	struct stat st;

	return dir->fd >= 0 && dir->watch >= 0 && stat(dir->path, &st) == 0 && st.st_dev == dir->dev &&
	       st.st_ino == dir->ino;
}

static void dir_compare(struct source_dir *dir, uint64_t now)
{
	bool before = dir->fd >= 0;
	int r;

	if (same(dir)) {
		if (dir->parent_watch < 0)
			parent_watch(dir);
		return;
	}
	if (before)
		dir_leave(dir, now);
	dir->replacements += before;
	r = dir_enter(dir);
	if (r) {
		dir_trouble(
			dir,
			"The ring directory %s cannot be watched: error=%s; its guests have ended, and mprofd tries "
			"again each second",
			dir->shown, strerror(-r));
		return;
	}
	if (before)
		log_write_limited(&dir->changes, LOG_LEVEL_WARNING, NULL,
				  "The ring directory %s is another directory now; the guests of the old one end",
				  dir->shown);
	dir->scan_cost = 0;
	dir_scan(dir, true);
}

void dir_compare_run(struct task *task, uint64_t now)
{
	struct source_dir *dir = (struct source_dir *)((char *)task - offsetof(struct source_dir, compare));

	dir->compared = now;
	dir_compare(dir, now);
	collector_at(dir->collector, &dir->compare, now + COMPARE_NS);
}

static void compare_soon(struct source_dir *dir)
{
	uint64_t now = clock_mono(), due = dir->compared + COMPARE_LEAST;

	if (due < now)
		due = now;
	if (due < dir->compare.due)
		collector_at(dir->collector, &dir->compare, due);
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Handle an event that names a file: a writer has closed it, the name means another file now, or
 * its permissions have changed.
 */
static void on_name(struct source_dir *dir, const struct inotify_event *event)
{
	struct ring_file *file = event->mask & IN_CLOSE_WRITE ? dir_file(dir, event->name) : NULL;
	uint64_t now = clock_mono();

	if (!file) {
		dir_changed(dir, event->name);
		return;
	}
	ring_file_closed(file, now);
	file->retry = RING_FILE_RETRY_MIN;
	if (file->state == FILE_LIVE || file->state == FILE_PENDING)
		ring_file_at(file, now);
}

static void on_event(struct source_dir *dir, const struct inotify_event *event)
{
	struct ring_set *set;

	if (event->mask & IN_Q_OVERFLOW) {
		struct ring_file *file;

		/*
		 * Events were lost. A close may be among them, so check the writers of every file.
		 */
		for (file = LIST_FIRST(&dir->files); file; file = LIST_NEXT(file, entry))
			ring_file_closed(file, clock_mono());
		for (set = LIST_FIRST(&dir->sets); set; set = LIST_NEXT(set, entry))
			ring_set_recheck(set, clock_mono());
		dir_scan(dir, true);
		compare_soon(dir);
		return;
	}
	if (event->wd == dir->parent_watch) {
		if (event->mask & IN_IGNORED)
			dir->parent_watch = -1;
		if (event->mask & IN_IGNORED || (event->len && strcmp(event->name, last_name(dir->path)) == 0))
			compare_soon(dir);
	}
	if (event->wd != dir->watch) {
		set = ring_set_watched(dir, event->wd);
		if (set)
			ring_set_event(set, event);
		return;
	}
	if (event->mask & IN_IGNORED)
		dir->watch = -1;
	if (event->mask & (IN_IGNORED | IN_UNMOUNT | IN_MOVE_SELF | IN_DELETE_SELF))
		compare_soon(dir);
	else if (event->len == 0)
		dir_scan(dir, true); /* the permissions of the directory itself changed */
	else
		on_name(dir, event);
}

int dir_on_inotify(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct source_dir *dir = context;
	_Alignas(struct inotify_event) char buffer[16384];
	ssize_t n;

	(void)source;
	(void)events;
	for (int i = 0; i < READS; i++) {
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
