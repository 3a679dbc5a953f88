/*
 * A ring set: a directory in the ring directory, which is one guest with a ring for each file.
 *
 * inotify reports changes of the directory, and then it is listed as a whole: it has few files. The
 * run begins with the first ring. It ends when the directory goes, or when no ring has a writer.
 *
 *  OPEN    rings are attached and polled
 *  ENDING  the capture of the end of all rings is being taken
 *  REST    the run has ended; each ring is polled once a second, because a program may write again
 */
#include "ring-set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

#define NAMES_MAX  1024u
#define SOON_NS	   (5 * NS_PER_MS)  /* wait before a listing, so that a program can complete a new file */
#define LIST_LEAST (50 * NS_PER_MS) /* least time between listings */
#define LIST_PAUSE 20u		    /* pause between listings, in multiples of the last one's duration */
#define LIST_AGAIN NS_PER_S	    /* time to the next listing if a file could not be opened */

int ring_set_compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct ring_set *ring_set_find(const struct source_dir *dir, const char *name)
{
	char *const **found = tfind(&name, &dir->set_names, ring_file_compare);

	return found ? (struct ring_set *)((char *)*found - offsetof(struct ring_set, name)) : NULL;
}

struct ring_set *ring_set_watched(const struct source_dir *dir, int watch)
{
	int *const *found = tfind(&watch, &dir->set_watches, ring_set_compare);

	return found ? (struct ring_set *)((char *)*found - offsetof(struct ring_set, watch)) : NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Begin a guest, and continue the run of the archive if it has one of this directory that is not over. */
static int guest_begin_set(struct ring_set *set)
{
	struct collector *c = set->dir->collector;
	struct guest_identity identity = {.source = "dir", .name = set->name, .domid = -1};
	const struct resume_entry *entry;
	char key[512];
	int r = ring_file_key(set->fd, set->name, key, sizeof(key));

	if (r)
		return r;
	identity.key = key;
	entry = collector_resume_run(c, "dir", key);
	set->resumed = entry ? entry->resume.run : 0;
	set->next_number = entry ? collector_resume_numbers(c, set->resumed) : 0;
	r = guest_init(&set->guest, &c->shared, &identity, set->resumed, PATIENCE_NS);
	if (r == 0 && entry)
		collector_resume_taken_up(c, set->resumed);
	if (r == 0)
		ring_file_claim_name(set->dir, set->name);
	return r;
}

int ring_set_guest(struct ring_set *set)
{
	struct set_ring *ring;

	if (set->state == SET_REST) {
		/* Another ring begins another run. The rings of the last one stay with it. */
		guest_deinit(&set->guest);
		for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
			ring->spent = true;
		set->state = SET_OPEN;
	}
	return set->guest.shared ? 0 : guest_begin_set(set);
}

void ring_set_wake(struct ring_set *set)
{
	if (set->state != SET_REST)
		return;
	guest_set_state(&set->guest, "running", NULL);
	set->state = SET_OPEN;
}

/* The run has ended: wait for a ring that is written again, or forget a set that is gone. */
static void set_rest(struct ring_set *set, uint64_t now)
{
	set->state = SET_REST;
	set->unfinished = 0;
	if (set->orphan)
		collector_at(set->dir->collector, &set->task, now);
}

static void set_ended(struct ring_set *set, const char *why)
{
	const char *before = set->guest.state;

	if (set->resumed)
		collector_resume_declare(set->dir->collector, set->resumed);
	if (!set->guest.run || (before && strcmp(before, "ended") == 0))
		return;
	guest_set_state(&set->guest, "ended", "ended");
	log_write_limited(&set->dir->lives, LOG_LEVEL_INFO, set->guest.name, "%s, run=%lld ended", why,
			  (long long)set->guest.run);
}

void ring_set_ending(struct ring_set *set, uint64_t now)
{
	if (set->state != SET_ENDING || !guest_capture_done(&set->guest))
		return;
	set_ended(set, set->orphan ? "its directory is gone" : "no writer is left");
	set_rest(set, now);
}

static void list_at(struct ring_set *set, uint64_t due)
{
	uint64_t pause = LIST_PAUSE * set->listing_cost,
		 least = set->listed + (pause > LIST_LEAST ? pause : LIST_LEAST);

	if (set->listings && due < least)
		due = least;
	if (!set->task.place || due < set->task.due)
		collector_at(set->dir->collector, &set->task, due);
}

/* Return whether the run is over. *RESTS: the archive has the end of all rings; *ANY: one is attached. */
static bool is_over(const struct ring_set *set, bool *any, bool *rests)
{
	const struct set_ring *ring;
	bool closed = true;

	*any = false;
	*rests = true;
	for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry)) {
		if (!ring->stream.guest) {
			/* It may yet become a ring of this run. */
			closed = closed && (ring->refused || ring->spent || ring->withdrawn);
			continue;
		}
		*any = true;
		*rests = *rests && ring->rests;
		closed = closed && ring->closed;
	}
	return set->orphan || (*any && closed);
}

void ring_set_check(struct ring_set *set, uint64_t now)
{
	struct set_ring *ring;
	bool any, rests;
	int64_t capture;

	if (set->state != SET_OPEN || !is_over(set, &any, &rests)) {
		set->closed = 0;
		return;
	}
	if (!set->closed)
		set->closed = now;
	/* A program that has ended at once may have made more rings than were listed. */
	if (!set->orphan && set->listed < set->closed) {
		list_at(set, now);
		return;
	}
	if (!any || rests) {
		set_ended(set, any ? "its end is archived" : "its directory is gone");
		set_rest(set, now);
		return;
	}
	if (!guest_capture_done(&set->guest) && !set->orphan)
		return;
	guest_capture_abandon(&set->guest);
	capture = set->unfinished ? guest_capture_again(&set->guest, set->unfinished, true)
				  : guest_capture_begin(&set->guest, "ended", NULL, true, NULL);
	if (capture <= 0)
		return;
	set->state = SET_ENDING;
	for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
		set_ring_at(ring, now);
}

/* ---- the files ------------------------------------------------------------------------------- */

void ring_set_list_soon(struct ring_set *set)
{
	if (!set->orphan)
		list_at(set, clock_mono() + SOON_NS);
}

static struct set_ring *ring_named(const struct ring_set *set, const char *name)
{
	struct set_ring *ring;

	for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
		if (!ring->withdrawn && strcmp(ring->name, name) == 0)
			return ring;
	return NULL;
}

/* Return whether the file NAME was looked up; false if it must be looked up again later. */
static bool look_up(struct ring_set *set, const char *name, bool *left, uint64_t now)
{
	struct set_ring *ring = ring_named(set, name);
	struct stat st;

	if (!dir_name_counts(name) || fstatat(set->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return true;
	if (ring && ring->dev == st.st_dev && ring->ino == st.st_ino) {
		ring->seen = set->listings;
		return true;
	}
	if (ring)
		set_ring_withdraw(ring, now);
	if (set->n_rings < SET_RINGS_MAX && dir_make_room(set->dir, &st.st_ctim, false, now))
		return set_ring_add(set, name, &st, now);
	*left = true;
	/* When another guest's file makes room, no event of this directory says so. */
	return dir_has_room(set->dir);
}

/* Log, once, that SET has more files than are looked at. */
static void note_left(struct ring_set *set, bool left)
{
	if (left && !set->left)
		log_write_limited(
			&set->dir->refusals, LOG_LEVEL_WARNING, set->guest.shared ? set->guest.name : NULL,
			"%s/%s has more than %u rings, or the limit of %u files is reached; the rest is left alone",
			set->dir->shown, set->name, SET_RINGS_MAX, DIR_FILES_MAX);
	set->left = left;
}

static void set_list(struct ring_set *set, uint64_t now)
{
	int fd = openat(set->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	bool again = !listing, left = false, whole = listing != NULL;
	struct set_ring *ring;
	struct dirent *entry;

	set->listings++;
	set->listed = now;
	for (unsigned n = 0; listing && (entry = readdir(listing)); n++) {
		if (n == NAMES_MAX) {
			left = true;
			whole = false;
			break;
		}
		again |= !look_up(set, entry->d_name, &left, now);
	}
	for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
		if (whole && ring->seen != set->listings && !ring->withdrawn)
			set_ring_withdraw(ring, now);
	if (listing)
		closedir(listing);
	else if (fd >= 0)
		close(fd);
	note_left(set, left);
	set->listing_cost = clock_mono() - now;
	if (again)
		list_at(set, now + LIST_AGAIN);
	if (set->closed)
		ring_set_check(set, now);
}

static void ring_set_run(struct task *task, uint64_t now)
{
	struct ring_set *set = (struct ring_set *)task;

	if (!set->orphan)
		set_list(set, now);
	else if (set->state == SET_REST)
		ring_set_free(set);
	else
		ring_set_check(set, now);
}

void ring_set_recheck(struct ring_set *set, uint64_t now)
{
	struct set_ring *ring;

	for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
		set_ring_closed(ring, now);
	list_at(set, now + SOON_NS);
}

void ring_set_event(struct ring_set *set, const struct inotify_event *event)
{
	struct set_ring *ring = event->len && event->mask & IN_CLOSE_WRITE ? ring_named(set, event->name) : NULL;
	uint64_t now = clock_mono();

	if (ring)
		set_ring_closed(ring, now);
	else if (!(event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)))
		list_at(set, now + SOON_NS);
}

/* ---- the directory --------------------------------------------------------------------------- */

static void unwatch(struct ring_set *set)
{
	if (set->watch < 0)
		return;
	tdelete(&set->watch, &set->dir->set_watches, ring_set_compare);
	inotify_rm_watch(set->dir->inotify, set->watch);
	set->watch = -1;
}

void ring_set_orphan(struct ring_set *set, uint64_t now)
{
	if (set->orphan)
		return;
	unwatch(set);
	tdelete(&set->name, &set->dir->set_names, ring_file_compare);
	set->orphan = true;
	collector_at(set->dir->collector, &set->task, now);
}

void ring_set_free(struct ring_set *set)
{
	struct source_dir *dir = set->dir;

	unwatch(set);
	if (!set->orphan)
		tdelete(&set->name, &dir->set_names, ring_file_compare);
	while (!LIST_EMPTY(&set->rings))
		set_ring_free(LIST_FIRST(&set->rings));
	LIST_REMOVE(set, entry);
	dir->n_files--;
	schedule_remove(&dir->collector->schedule, &set->task);
	guest_deinit(&set->guest);
	close(set->fd);
	free(set->name);
	free(set);
}

/*
 * Watch the set's directory. If a set watches the same directory under another name, the directory
 * was renamed: that set is an orphan now. Return 0 or -errno.
 */
static int watch(struct ring_set *set, uint64_t now)
{
	const uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_ATTRIB |
			      IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;
	CLEANUP(freep) char *path = NULL;
	struct ring_set *other;
	int wd;

	if (asprintf(&path, "%s/%s", set->dir->path, set->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	wd = inotify_add_watch(set->dir->inotify, path, mask);
	other = wd < 0 ? NULL : ring_set_watched(set->dir, wd);
	if (other) {
		ring_set_orphan(other, now);
		wd = inotify_add_watch(set->dir->inotify, path, mask);
	}
	if (wd < 0)
		return -errno;
	set->watch = wd;
	return tsearch(&set->watch, &set->dir->set_watches, ring_set_compare) ? 0 : -ENOMEM;
}

static struct ring_set *set_new(struct source_dir *dir, const char *name, const struct stat *st)
{
	CLEANUP(closep) int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct ring_set *set = fd < 0 ? NULL : calloc(1, sizeof(*set));
	struct stat opened;

	if (set)
		set->name = strdup(name);
	if (!set || !set->name || fstat(fd, &opened) < 0 || opened.st_dev != st->st_dev ||
	    opened.st_ino != st->st_ino || !tsearch(&set->name, &dir->set_names, ring_file_compare)) {
		if (set)
			free(set->name);
		free(set);
		return NULL;
	}
	set->task.run = ring_set_run;
	set->dir = dir;
	set->fd = TAKE_FD(fd);
	set->watch = -1;
	set->dev = st->st_dev;
	set->ino = st->st_ino;
	set->seen = dir->scans;
	LIST_INIT(&set->rings);
	LIST_INSERT_HEAD(&dir->sets, set, entry);
	dir->n_files++;
	return set;
}

bool ring_set_add(struct source_dir *dir, const char *name, const struct stat *st, uint64_t now)
{
	struct ring_set *set;
	int r;

	if (!dir_make_room(dir, &st->st_ctim, false, now))
		return false;
	errno = ENOMEM;
	set = set_new(dir, name, st);
	r = set ? watch(set, now) : -errno;
	if (r == 0) {
		collector_at(dir->collector, &set->task, now);
		return true;
	}
	if (set)
		ring_set_free(set);
	dir_unreadable(dir, name, -r);
	return true;
}
