/*
 * The files of a ring directory.
 *
 * An inotify event names one file, and only that file is looked up, so a change costs the same
 * however many files there are. The whole directory is read at the start, after events were lost,
 * and when there is room again for files beyond the limit. Both are done in small steps with pauses
 * in proportion to their cost: a flood of changes takes a fifth of a core at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source-dir-state.h"

#define FILES_MAX    4096u
#define ORPHANS_MAX  4096u
#define CHANGED_MAX  1024u /* names that wait; past it the directory is read instead */
#define STEP_NAMES   64u
#define STEP_ENTRIES 256u
#define STEP_PAUSE   4u /* times the cost of the step */

#define SOON_NS		(5 * NS_PER_MS)	 /* a file that is being made is complete by then */
#define SCAN_PAUSE	20u		 /* times the cost of the last scan, between two scans */
#define SCAN_SOON_LEAST (50 * NS_PER_MS) /* the same, at least, in a hurry */
#define SCAN_LEAST	NS_PER_S	 /* the same, at least, otherwise */

/* ---- files ----------------------------------------------------------------------------------- */

struct ring_file *dir_file(const struct source_dir *dir, const char *name)
{
	char *const **found = tfind(&name, &dir->names, ring_file_compare);

	return found ? (struct ring_file *)((char *)*found - offsetof(struct ring_file, name)) : NULL;
}

static void file_orphan(struct ring_file *file, uint64_t now)
{
	struct source_dir *dir = file->dir;
	struct ring_file *oldest;

	tdelete(&file->name, &dir->names, ring_file_compare);
	dir->n_files--;
	file->orphan = true;
	TAILQ_INSERT_TAIL(&dir->orphans, file, departed);
	dir->n_orphans++;
	ring_file_at(file, now);
	if (dir->left)
		dir_scan(dir, false);
	if (dir->n_orphans <= ORPHANS_MAX)
		return;
	/* Somebody replaces files faster than their ends are archived. */
	oldest = TAILQ_FIRST(&dir->orphans);
	if (guest_is_running(&oldest->guest))
		guest_set_state(&oldest->guest, "ended", "ended");
	ring_file_free(oldest);
}

/*
 * Open a file, without updating its access time where allowed (the file is ours): the update waits
 * for the file system's journal, and a poll is no access to record.
 */
static int file_open(const struct source_dir *dir, const char *name)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
	int fd = openat(dir->fd, name, flags | O_NOATIME);

	return fd < 0 && errno == EPERM ? openat(dir->fd, name, flags) : fd;
}

/*
 * A file without permission is looked up again when its permissions change. Other failures end
 * without an event.
 */
static void file_unreadable(struct source_dir *dir, const char *name, int error)
{
	if (error == ENOENT)
		return;
	log_write_limited(&dir->refusals, LOG_LEVEL_WARNING, NULL, "%s/%s cannot be read: error=%s", dir->shown, name,
			  strerror(error));
	if (error != EACCES && error != EPERM && error != ELOOP)
		dir_scan(dir, false);
}

/*
 * Return a new file for FD, which it takes over; NULL if ST describes no ring file, or without
 * memory.
 */
static struct ring_file *file_new(struct source_dir *dir, const char *name, const struct stat *st, int fd)
{
	struct ring_file *file = calloc(1, sizeof(*file));
	struct stat opened;

	if (file)
		file->name = strdup(name);
	if (!file || !file->name || fstat(fd, &opened) < 0 || !S_ISREG(opened.st_mode) || opened.st_dev != st->st_dev ||
	    opened.st_ino != st->st_ino || !tsearch(&file->name, &dir->names, ring_file_compare)) {
		if (file)
			free(file->name);
		free(file);
		close(fd);
		return NULL;
	}
	file->dir = dir;
	file->fd = fd;
	file->dev = opened.st_dev;
	file->ino = opened.st_ino;
	return file;
}

/* Set how many files are ignored beyond the limit, and tell users when that begins or ends. */
static void limit_set(struct source_dir *dir, size_t left)
{
	char sentence[sizeof(dir->trouble)] = "";
	bool changed = !left != !dir->left;

	dir->left = left;
	if (!changed)
		return;
	if (left) {
		snprintf(sentence, sizeof(sentence),
			 "The ring directory %s holds more than %u files; mprofd leaves the rest alone until some go.",
			 dir->shown, FILES_MAX);
		log_write_limited(&dir->changes, LOG_LEVEL_WARNING, NULL, "%s", sentence);
	}
	collector_report_trouble(dir->collector, sentence);
}

/* Add a file. Return false if there are too many files already. */
static bool file_add(struct source_dir *dir, const char *name, const struct stat *st, uint64_t now)
{
	struct ring_file *file;
	int fd;

	if (dir->n_files >= FILES_MAX)
		return false;
	fd = file_open(dir, name);
	if (fd < 0) {
		file_unreadable(dir, name, errno);
		return true;
	}
	file = file_new(dir, name, st, fd);
	if (!file)
		return true;
	file->task.run = ring_file_run;
	file->retry = RING_FILE_RETRY_MIN;
	file->seen = dir->scans;
	LIST_INSERT_HEAD(&dir->files, file, entry);
	dir->n_files++;
	ring_file_at(file, now);
	return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Compare NAME with what is known of it. Return false if it is a file beyond the limit. */
static bool name_lookup(struct source_dir *dir, const char *name, uint64_t now)
{
	struct ring_file *file;
	struct stat st;
	int error;

	/*
	 * `metadata` belongs beside the streams of a CTF directory. A hidden file is work in
	 * progress.
	 */
	if (name[0] == '.' || strcmp(name, "metadata") == 0)
		return true;
	dir->lookups++;
	file = dir_file(dir, name);
	error = fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (error && error != ENOENT) {
		file_unreadable(dir, name, error);
		return true;
	}
	if (file && !error && file->dev == st.st_dev && file->ino == st.st_ino) {
		file->seen = dir->scans;
		return true;
	}
	if (file)
		file_orphan(file, now);
	else if (error && dir->left)
		dir_scan(dir, false); /* it may be one beyond the limit */
	return error || !S_ISREG(st.st_mode) || file_add(dir, name, &st, now);
}

static void names_clear(struct source_dir *dir)
{
	struct changed_name *name;

	while ((name = TAILQ_FIRST(&dir->changed))) {
		TAILQ_REMOVE(&dir->changed, name, entry);
		free(name);
	}
	dir->n_changed = 0;
}

void dir_changed(struct source_dir *dir, const char *name)
{
	struct changed_name *last = TAILQ_LAST(&dir->changed, changed_names);
	size_t len = strlen(name);

	if (last && strcmp(last->name, name) == 0)
		return;
	last = dir->n_changed < CHANGED_MAX ? malloc(sizeof(*last) + len + 1) : NULL;
	if (!last) {
		names_clear(dir);
		dir_scan(dir, true);
		return;
	}
	memcpy(last->name, name, len + 1);
	TAILQ_INSERT_TAIL(&dir->changed, last, entry);
	dir->n_changed++;
	if (!dir->lookup.place)
		collector_at(dir->collector, &dir->lookup, clock_mono() + SOON_NS);
}

void dir_lookup_run(struct task *task, uint64_t now)
{
	struct source_dir *dir = (struct source_dir *)((char *)task - offsetof(struct source_dir, lookup));
	struct changed_name *name;

	if (dir->fd < 0)
		names_clear(dir);
	for (unsigned i = 0; i < STEP_NAMES && (name = TAILQ_FIRST(&dir->changed)); i++) {
		TAILQ_REMOVE(&dir->changed, name, entry);
		dir->n_changed--;
		if (!name_lookup(dir, name->name, now)) {
			if (!dir->left)
				limit_set(dir, 1);
			dir_scan(dir, false); /* to count them */
		}
		free(name);
	}
	if (dir->n_changed) {
		uint64_t end = clock_mono();

		collector_at(dir->collector, &dir->lookup, end + STEP_PAUSE * (end - now));
	}
}

/* ---- the whole directory --------------------------------------------------------------------- */

void dir_scan(struct source_dir *dir, bool hasty)
{
	uint64_t least = hasty ? SCAN_SOON_LEAST : SCAN_LEAST, pause = SCAN_PAUSE * dir->scan_cost;
	uint64_t due = clock_mono() + SOON_NS;

	if (dir->listing) {
		dir->again = true;
		dir->hasty |= hasty;
		return;
	}
	if (due < dir->scanned + (pause > least ? pause : least))
		due = dir->scanned + (pause > least ? pause : least);
	if (!dir->scan.place || due < dir->scan.due)
		collector_at(dir->collector, &dir->scan, due);
}

static bool scan_begin(struct source_dir *dir, uint64_t now)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	dir->scanned = now;
	dir->scan_cost = 0;
	dir->scan_left = 0;
	dir->scans++;
	dir->listing = fd < 0 ? NULL : fdopendir(fd);
	if (dir->listing) {
		dir_trouble(dir, "%s", "");
		return true;
	}
	dir_trouble(dir, "The ring directory %s cannot be listed: error=%s", dir->shown, strerror(errno));
	if (fd >= 0)
		close(fd);
	/* A change of permissions brings an event. Other reasons end without one. */
	dir_scan(dir, false);
	return false;
}

static void scan_end(struct source_dir *dir, uint64_t now)
{
	struct ring_file *next;

	closedir(dir->listing);
	dir->listing = NULL;
	/*
	 * Look up each file that was not listed, because it may have come back. A lookup can free
	 * only orphans.
	 */
	for (struct ring_file *f = LIST_FIRST(&dir->files); f; f = next) {
		next = LIST_NEXT(f, entry);
		while (next && next->orphan)
			next = LIST_NEXT(next, entry);
		if (!f->orphan && f->seen != dir->scans)
			dir->scan_left += !name_lookup(dir, f->name, now);
	}
	limit_set(dir, dir->scan_left);
	if (dir->again)
		dir_scan(dir, dir->hasty);
	dir->again = dir->hasty = false;
}

/* Read at most N entries. Return false at the end of the scan. */
static bool scan_step(struct source_dir *dir, unsigned n, uint64_t now)
{
	struct dirent *entry;

	while (n--) {
		entry = readdir(dir->listing);
		if (!entry) {
			scan_end(dir, now);
			return false;
		}
		dir->scan_left += !name_lookup(dir, entry->d_name, now);
	}
	return true;
}

void dir_scan_run(struct task *task, uint64_t now)
{
	struct source_dir *dir = (struct source_dir *)((char *)task - offsetof(struct source_dir, scan));
	uint64_t end;
	bool more;

	if (dir->fd < 0 || (!dir->listing && !scan_begin(dir, now)))
		return;
	more = scan_step(dir, STEP_ENTRIES, now);
	end = clock_mono();
	dir->scan_cost += end - now;
	if (more)
		collector_at(dir->collector, &dir->scan, end + STEP_PAUSE * (end - now));
}

void dir_scan_now(struct source_dir *dir, uint64_t now)
{
	if (scan_begin(dir, now))
		while (scan_step(dir, STEP_ENTRIES, now))
			;
	/*
	 * The cost of this scan, which includes opening the files, does not predict the next one.
	 */
}

void dir_orphan_all(struct source_dir *dir, uint64_t now)
{
	struct ring_file *next;

	if (dir->listing)
		closedir(dir->listing);
	dir->listing = NULL;
	dir->again = dir->hasty = false;
	schedule_remove(&dir->collector->schedule, &dir->scan);
	names_clear(dir);
	for (struct ring_file *f = LIST_FIRST(&dir->files); f; f = next) {
		next = LIST_NEXT(f, entry);
		while (next && next->orphan)
			next = LIST_NEXT(next, entry);
		if (!f->orphan)
			file_orphan(f, now);
	}
	limit_set(dir, 0);
	schedule_remove(&dir->collector->schedule, &dir->scan);
}

void dir_scan_deinit(struct source_dir *dir)
{
	names_clear(dir);
	if (dir->listing)
		closedir(dir->listing);
}
