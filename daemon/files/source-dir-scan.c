/*
 * Find the files of a ring directory.
 *
 * An inotify event names one file, and only that file is looked up, so a change costs the same
 * however many files there are. A *scan* reads the whole directory: at the start, after inotify has
 * lost events, and when there is room again for files beyond the limit DIR_FILES_MAX. Lookups and scans
 * are made in small steps, with pauses proportional to the cost of the step, so many changes take a
 * fifth of a core at most.
 *
 * Files beyond the limit are left out. Those that programs write to stay, then come files whose run the archive has
 * and that was not over at the start, then those that changed last. So files that are no rings do not keep a new
 * guest out, however many there are.
 *
 * An *orphan* is a file that the directory no longer names, or that was left out for another one, but whose end is
 * not archived yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring-set.h"

#define ORPHANS_MAX  4096u
#define CHANGED_MAX  1024u /* names that wait to be looked up; if there are more, the directory is scanned instead */
#define STEP_NAMES   64u
#define STEP_ENTRIES 256u
#define STEP_PAUSE   4u /* pause after a step, in multiples of the step's duration */

#define SOON_NS		(5 * NS_PER_MS) /* wait before a scan or a look-up, so that a program can complete a new file */
#define SCAN_PAUSE	20u		/* pause between scans, in multiples of the last scan's duration */
#define SCAN_SOON_LEAST (50 * NS_PER_MS) /* least pause before a hasty scan */
#define SCAN_LEAST	NS_PER_S	 /* least pause before any other scan */

/* ---- files ----------------------------------------------------------------------------------- */

struct ring_file *dir_file(const struct source_dir *dir, const char *name)
{
	char *const **found = tfind(&name, &dir->names, ring_file_compare);

	return found ? (struct ring_file *)((char *)*found - offsetof(struct ring_file, name)) : NULL;
}

bool dir_has_room(const struct source_dir *dir)
{
	return dir->n_files < DIR_FILES_MAX;
}

/* Make an orphan of FILE, which its task frees when its end is archived. */
static void file_depart(struct ring_file *file, uint64_t now)
{
	struct source_dir *dir = file->dir;
	struct ring_file *oldest;

	tdelete(&file->name, &dir->names, ring_file_compare);
	dir->n_files--;
	file->orphan = true;
	TAILQ_INSERT_TAIL(&dir->orphans, file, departed);
	dir->n_orphans++;
	ring_file_at(file, now);
	if (dir->n_orphans <= ORPHANS_MAX)
		return;
	/*
	 * There are more than ORPHANS_MAX orphans: files are replaced faster than their ends are
	 * archived. Give up the oldest one.
	 */
	oldest = TAILQ_FIRST(&dir->orphans);
	if (guest_is_running(&oldest->guest))
		guest_set_state(&oldest->guest, "ended", "ended");
	ring_file_free(oldest);
}

static void file_orphan(struct ring_file *file, uint64_t now)
{
	struct source_dir *dir = file->dir;

	file_depart(file, now);
	if (dir->left)
		dir_scan(dir, false);
}

void dir_unreadable(struct source_dir *dir, const char *name, int error)
{
	if (error == ENOENT)
		return;
	log_write_limited(&dir->refusals, LOG_LEVEL_WARNING, NULL, "%s/%s cannot be read: error=%s", dir->shown, name,
			  strerror(error));
	if (error != EACCES && error != EPERM && error != ELOOP)
		dir_scan(dir, false);
}

/*
 * Return a new file for the descriptor FD, which it then owns. Return NULL if FD is not the regular
 * file that ST describes, or without memory.
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

void dir_left_words(const struct source_dir *dir, char *sentence, size_t size)
{
	*sentence = '\0';
	if (dir->left)
		snprintf(
			sentence, size,
			"The ring directory %s holds more than %u files; mprofd leaves out %zu, the oldest to which no "
			"program writes. Remove files that are no rings.",
			dir->shown, DIR_FILES_MAX, dir->left);
}

/*
 * Set the number of files that are left out because they are beyond the limit, and tell users. The log tells when
 * that number becomes more than 0.
 */
static void limit_set(struct source_dir *dir, size_t left)
{
	char sentence[sizeof(dir->note)];
	bool is_first = left && !dir->left;

	if (left == dir->left)
		return;
	dir->left = left;
	dir_left_words(dir, sentence, sizeof(sentence));
	if (is_first)
		log_write_limited(&dir->changes, LOG_LEVEL_WARNING, NULL, "%s", sentence);
	collector_report_trouble(dir->collector, sentence);
}

/* ---- room ------------------------------------------------------------------------------------ */

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Return the file that changed longest ago of those that may be left out, or NULL. */
static struct ring_file *oldest_idle(const struct source_dir *dir)
{
	struct ring_file *oldest = NULL, *f;

	for (f = LIST_FIRST(&dir->files); f; f = LIST_NEXT(f, entry))
		if (!f->orphan && !f->known && (f->state == FILE_PENDING || f->state == FILE_REST) &&
		    (!oldest || is_newer(&oldest->changed, &f->changed)))
			oldest = f;
	return oldest;
}

bool dir_make_room(struct source_dir *dir, const struct timespec *changed, bool known, uint64_t now)
{
	struct ring_file *oldest;

	if (dir_has_room(dir))
		return true;
	if (!known && !is_newer(changed, &dir->floor))
		return false;
	oldest = oldest_idle(dir);
	if (!oldest)
		return false;
	dir->floor = oldest->changed;
	if (!known && !is_newer(changed, &oldest->changed))
		return false;
	/* A scan that has listed the file does not count it again. */
	if (!dir->listing)
		limit_set(dir, dir->left + 1);
	else if (oldest->seen == dir->scans)
		dir->scan_left++;
	file_depart(oldest, now);
	return true;
}

/* Return whether the archive has a run of FD, the file NAME, that is not over. */
static bool is_known(const struct source_dir *dir, const char *name, int fd)
{
	char key[512];

	return ring_file_key(fd, name, key, sizeof(key)) == 0 && collector_resume_run(dir->collector, "dir", key);
}

/* Open and add a file. Return false if it is beyond the limit. */
static bool file_add(struct source_dir *dir, const char *name, const struct stat *st, uint64_t now)
{
	bool known = false;
	struct ring_file *file;
	int fd;

	/* Only the first scan may meet a file that the archive knows, and that is not watched. */
	if (dir->scans > 1 && !dir_make_room(dir, &st->st_ctim, false, now))
		return false;
	fd = ring_file_open(dir->fd, name);
	if (fd < 0) {
		dir_unreadable(dir, name, errno);
		return true;
	}
	if (dir->scans <= 1) {
		known = is_known(dir, name, fd);
		if (!dir_make_room(dir, &st->st_ctim, known, now)) {
			close(fd);
			return false;
		}
	}
	file = file_new(dir, name, st, fd);
	if (!file)
		return true;
	file->known = known;
	file->changed = st->st_ctim;
	file->task.run = ring_file_run;
	file->retry = RING_FILE_RETRY_MIN;
	file->seen = dir->scans;
	LIST_INSERT_HEAD(&dir->files, file, entry);
	dir->n_files++;
	ring_file_at(file, now);
	return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool dir_name_counts(const char *name)
{
	/*
	 * A file `metadata` is the metadata of a CTF directory. A hidden file is not complete yet.
	 */
	return name[0] != '.' && strcmp(name, "metadata") != 0;
}

/* Return whether SET is the file that ST describes. */
static bool is_set(const struct ring_set *set, const struct stat *st)
{
	return set->dev == st->st_dev && set->ino == st->st_ino;
}

/*
 * Compare the file or directory that NAME names now with the file known by that name, and add, replace or orphan
 * it. Return false if it is a file beyond the limit.
 */
static bool name_lookup(struct source_dir *dir, const char *name, uint64_t now)
{
	struct ring_file *file = dir_file(dir, name);
	struct ring_set *set = ring_set_find(dir, name);
	struct stat st;
	int error;

	if (!dir_name_counts(name))
		return true;
	dir->lookups++;
	error = fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
	if (error && error != ENOENT) {
		dir_unreadable(dir, name, error);
		return true;
	}
	if (file && !error && file->dev == st.st_dev && file->ino == st.st_ino) {
		file->seen = dir->scans;
		file->changed = st.st_ctim;
		return true;
	}
	if (set && !error && is_set(set, &st)) {
		set->seen = dir->scans;
		return true;
	}
	if (file)
		file_orphan(file, now);
	else if (set)
		ring_set_orphan(set, now);
	else if (error && dir->left)
		dir_scan(dir, false); /* the removed file may be one beyond the limit */
	if (!error && S_ISDIR(st.st_mode))
		return ring_set_add(dir, name, &st, now);
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
	dir->floor = (struct timespec){0};
	for (unsigned i = 0; i < STEP_NAMES && (name = TAILQ_FIRST(&dir->changed)); i++) {
		TAILQ_REMOVE(&dir->changed, name, entry);
		dir->n_changed--;
		if (!name_lookup(dir, name->name, now)) {
			if (!dir->left)
				limit_set(dir, 1);
			dir_scan(dir, false); /* count the files beyond the limit */
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
	dir->floor = (struct timespec){0};
	dir->scans++;
	dir->listing = fd < 0 ? NULL : fdopendir(fd);
	if (dir->listing) {
		dir_trouble(dir, "%s", "");
		return true;
	}
	dir_trouble(dir, "The ring directory %s cannot be listed: error=%s", dir->shown, strerror(errno));
	if (fd >= 0)
		close(fd);
	/* A change of permissions causes an event. For other failures scan again later. */
	dir_scan(dir, false);
	return false;
}

/* Look up each set that the scan did not list. A lookup may make an orphan of a set, and frees none. */
static void sets_unlisted(struct source_dir *dir, uint64_t now)
{
	for (struct ring_set *set = LIST_FIRST(&dir->sets); set; set = LIST_NEXT(set, entry))
		if (!set->orphan && set->seen != dir->scans)
			dir->scan_left += !name_lookup(dir, set->name, now);
}

static void scan_end(struct source_dir *dir, uint64_t now)
{
	struct ring_file *next;

	closedir(dir->listing);
	dir->listing = NULL;
	/*
	 * Look up each file that the scan did not list, because it may have been created again. A
	 * lookup frees orphans only.
	 */
	for (struct ring_file *f = LIST_FIRST(&dir->files); f; f = next) {
		next = LIST_NEXT(f, entry);
		while (next && next->orphan)
			next = LIST_NEXT(next, entry);
		if (!f->orphan && f->seen != dir->scans)
			dir->scan_left += !name_lookup(dir, f->name, now);
	}
	sets_unlisted(dir, now);
	limit_set(dir, dir->scan_left);
	if (dir->again)
		dir_scan(dir, dir->hasty);
	dir->again = dir->hasty = false;
}

/* Read at most N entries of the directory. Return false at the end of the scan. */
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
	 * scan_cost stays 0: this first scan opens all files, so its cost says nothing about the
	 * next one.
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
	for (struct ring_set *set = LIST_FIRST(&dir->sets); set; set = LIST_NEXT(set, entry))
		ring_set_orphan(set, now);
	limit_set(dir, 0);
	schedule_remove(&dir->collector->schedule, &dir->scan);
}

void dir_scan_deinit(struct source_dir *dir)
{
	names_clear(dir);
	if (dir->listing)
		closedir(dir->listing);
}
