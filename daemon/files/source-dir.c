/*
 * The source `dir:`, a directory of ring files: each program that traces into a mapped file leaves
 * one. If a file is replaced or removed, it stays as an orphan until its end is archived. A new
 * file of the same name is a new run.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include "array.h"
#include "cleanup.h"
#include "printable.h"
#include "ring-set.h"
#include "source-dir.h"

#define SHOWN_MAX 256u
#define SETTLE_NS NS_PER_S /* time after the start; a run that was not continued by then is over */

/*
 * Every file that existed at the start has been attached by now, or is no ring: end the other runs
 * that the archive has.
 */
static void settle_run(struct task *task, uint64_t now)
{
	struct source_dir *dir = (struct source_dir *)((char *)task - offsetof(struct source_dir, settle));

	(void)now;
	collector_resume_settle(dir->collector, "dir", NULL, NULL);
}

/* ---- the interface of the source ------------------------------------------------------------- */

static struct ring_file *file_of_run(struct source *source, int64_t run)
{
	struct source_dir *dir = (struct source_dir *)source;
	struct ring_file *f;

	for (f = LIST_FIRST(&dir->files); f; f = LIST_NEXT(f, entry))
		if (f->stream.guest && f->guest.run == run)
			return f;
	return NULL;
}

static struct ring_set *set_of_run(struct source *source, int64_t run)
{
	struct source_dir *dir = (struct source_dir *)source;
	struct ring_set *set;

	for (set = LIST_FIRST(&dir->sets); set; set = LIST_NEXT(set, entry))
		if (set->guest.run == run)
			return set;
	return NULL;
}

static struct guest *dir_find(struct source *source, int64_t run)
{
	struct ring_file *file = file_of_run(source, run);
	struct ring_set *set = file ? NULL : set_of_run(source, run);

	return file ? &file->guest : set ? &set->guest : NULL;
}

static void dir_poll_soon(struct source *source, int64_t run)
{
	struct ring_file *file = file_of_run(source, run);
	struct ring_set *set = file ? NULL : set_of_run(source, run);
	struct set_ring *ring;

	if (file)
		ring_file_at(file, clock_mono());
	else if (set)
		for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
			set_ring_at(ring, clock_mono());
}

static void dir_count(const struct source *source, size_t *guests, size_t *rings)
{
	const struct source_dir *dir = (const struct source_dir *)source;
	const struct ring_file *f;
	const struct ring_set *set;
	const struct set_ring *ring;

	*guests = *rings = 0;
	for (f = LIST_FIRST(&dir->files); f; f = LIST_NEXT(f, entry)) {
		*guests += guest_is_running(&f->guest);
		*rings += f->stream.guest != NULL;
	}
	for (set = LIST_FIRST(&dir->sets); set; set = LIST_NEXT(set, entry)) {
		*guests += guest_is_running(&set->guest);
		for (ring = LIST_FIRST(&set->rings); ring; ring = LIST_NEXT(ring, entry))
			*rings += ring->stream.guest != NULL;
	}
}

static const char *dir_trouble_now(const struct source *source)
{
	return ((const struct source_dir *)source)->trouble;
}

static const char *dir_note_now(struct source *source)
{
	struct source_dir *dir = (struct source_dir *)source;

	dir_left_words(dir, dir->note, sizeof(dir->note));
	return dir->note;
}

static void dir_metrics(const struct source *source, char *text, size_t size)
{
	const struct source_dir *dir = (const struct source_dir *)source;
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} metrics[] = {
		{"directory_present", "gauge", "1 while the ring directory is there.", dir->fd >= 0},
		{"directory_replacements", "counter", "Times that it went or another took its place.",
		 dir->replacements},
		{"directory_scans", "counter", "Times that all of it was read.", dir->scans},
		{"directory_lookups", "counter", "Names in it that were looked up.", dir->lookups},
		{"directory_files", "gauge", "Files in it that are watched.", dir->n_files},
		{"directory_files_left", "gauge", "Files in it beyond the limit, left alone.", dir->left},
	};
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && at < size; i++)
		at += (size_t)snprintf(
			text + at, size - at, "# TYPE mprofd_%s %s\n# HELP mprofd_%s %s\nmprofd_%s%s %llu\n",
			metrics[i].name, metrics[i].type, metrics[i].name, metrics[i].help, metrics[i].name,
			strcmp(metrics[i].type, "counter") == 0 ? "_total" : "", (unsigned long long)metrics[i].value);
}

static void dir_close(struct source *source)
{
	struct source_dir *dir = (struct source_dir *)source;
	struct schedule *schedule = &dir->collector->schedule;

	while (!LIST_EMPTY(&dir->files))
		ring_file_free(LIST_FIRST(&dir->files));
	while (!LIST_EMPTY(&dir->sets))
		ring_set_free(LIST_FIRST(&dir->sets));
	dir_scan_deinit(dir);
	sd_event_source_unref(dir->events);
	schedule_remove(schedule, &dir->compare);
	schedule_remove(schedule, &dir->scan);
	schedule_remove(schedule, &dir->lookup);
	schedule_remove(schedule, &dir->settle);
	closep(&dir->inotify);
	closep(&dir->fd);
	free(dir->path);
	free(dir->shown);
	free(dir);
}

/* Raise the limit of open descriptors, because each file takes one. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Return a copy of PATH without slashes at its end. */
static char *path_copy(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

/* Return a copy of PATH for messages, printable and cut to SHOWN_MAX bytes. The caller frees it. */
static char *path_shown(const char *path)
{
	char *shown = text_printable(path), *end;

	if (!shown || strlen(shown) <= SHOWN_MAX)
		return shown;
	for (end = shown + SHOWN_MAX; end > shown && (*end & 0xc0) == 0x80;)
		end--;
	*end = '\0';
	return shown;
}

static struct source_dir *dir_new(struct collector *collector, const char *path)
{
	struct source_dir *dir = calloc(1, sizeof(*dir));

	if (!dir)
		return NULL;
	dir->source = (struct source){.find = dir_find,
				      .poll_soon = dir_poll_soon,
				      .count = dir_count,
				      .trouble = dir_trouble_now,
				      .note = dir_note_now,
				      .metrics = dir_metrics,
				      .close = dir_close};
	dir->collector = collector;
	dir->lives.burst = LIVES_BURST;
	dir->compare.run = dir_compare_run;
	dir->scan.run = dir_scan_run;
	dir->lookup.run = dir_lookup_run;
	dir->settle.run = settle_run;
	dir->fd = dir->watch = dir->parent_watch = -1;
	LIST_INIT(&dir->files);
	LIST_INIT(&dir->sets);
	TAILQ_INIT(&dir->orphans);
	TAILQ_INIT(&dir->changed);
	dir->path = path_copy(path);
	dir->shown = path_shown(path);
	dir->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return dir;
}

int source_dir_open(struct source **sp, struct collector *collector, const char *path, char *sentence, size_t size)
{
	struct source_dir *dir = dir_new(collector, path);
	int r;

	if (!dir)
		return -ENOMEM;
	allow_descriptors();
	signal(SIGIO, SIG_IGN); /* the kernel sends SIGIO if a lease is broken while mprofd holds it */
	r = !dir->path || !dir->shown ? -ENOMEM : dir->inotify < 0 ? -errno : dir_enter(dir);
	if (r < 0)
		snprintf(sentence, size, "--source dir:%s cannot be watched: error=%s", path, strerror(-r));
	else
		r = sd_event_add_io(collector->event, &dir->events, dir->inotify, EPOLLIN, dir_on_inotify, dir);
	if (r < 0) {
		dir_close(&dir->source);
		return r;
	}
	dir_scan_now(dir, clock_mono());
	collector_at(collector, &dir->settle, clock_mono() + SETTLE_NS);
	dir_compare_run(&dir->compare, clock_mono());
	*sp = &dir->source;
	return 0;
}
