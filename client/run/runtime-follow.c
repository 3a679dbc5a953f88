/*
 * The keeper maps the file, so the events stay readable when the program has removed it, and after
 * any death. The file is anybody's: the library checks what it reads, and a file that is cut is given
 * up.
 *
 * The program overwrites what is not read in time. So the steps come faster while it writes much.
 */
#include "runtime-follow.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/runtime.h>

#include "directory.h"
#include "mapped-file.h"
#include "ocaml-domains.h"

#define WAIT_MIN   2	/* ms */
#define WAIT_MAX   20	/* ms */
#define SEARCHES   500u /* for the file, after which they become rarer */
#define ITEM_WORDS 3u	/* most items are not longer */

struct runtime {
	char *path;	  /* of the file, as the process sees it */
	const char *name; /* of the file, in PATH */
	int directory;	  /* of the file; it stays when the process goes */
	int stale;	  /* a file of this name that was there before, not opened; -1 = none */
	bool owned;	  /* the file is in the keeper's directory */
	bool over;	  /* no rings, no ring file, or it was cut: nothing is read any more */
	uid_t user;	  /* of the process */
	int wait;
	uint32_t searches;
	uint64_t dropped; /* files that were given up */
	struct mapping mapping;
	struct mprof_runtime_layout layout;
	struct mprof_runtime *reader; /* NULL = the file is not there yet */
	struct mprof_runtime_translator *translator;
	struct domains *domains;
};

/* Return whether PATH is a file in the directory DIR itself. */
static bool lies_in(const char *path, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	return n && strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1] && !strchr(path + n + 1, '/');
}

static struct runtime *runtime_free(struct runtime *r)
{
	mprof_runtime_translator_free(r->translator);
	mprof_runtime_free(r->reader);
	domains_free(r->domains);
	mapping_close(&r->mapping);
	if (r->stale >= 0)
		close(r->stale);
	if (r->directory >= 0)
		close(r->directory);
	free(r->path);
	free(r);
	return NULL;
}

/*
 * Return a descriptor of what lies at the file's place, or -1. The process chose the place: to open a
 * device or a pipe may do something, so this opens nothing.
 */
static int file_find(const struct runtime *r)
{
	return openat(r->directory, r->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Open the regular file FOUND for reading, without a wait for a lease on it. Return a descriptor or -1. */
static int file_open(int found)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Open the directory of R's file, where the process PID sees it. Return false if that is impossible. */
static bool place_open(struct runtime *r, pid_t pid)
{
	char *slash = strrchr(r->path, '/'), *outside, root[32];

	if (!slash)
		return false;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	r->name = slash + 1;
	if (asprintf(&outside, "%s%.*s", r->owned ? "" : root, (int)(slash - r->path), r->path) < 0)
		return false;
	r->directory = r->owned ? directory_open(outside) : open(outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(outside);
	return r->directory >= 0;
}

struct runtime *runtime_new(pid_t pid, uid_t user, const char *path, const char *own, const struct domain_rings *rings)
{
	struct runtime *r = calloc(1, sizeof(*r));
	struct mprof_runtime_events events;
	uint64_t seed = 0;

	if (!r)
		return NULL;
	r->directory = r->stale = -1;
	r->user = user;
	r->owned = lies_in(path, own);
	r->wait = WAIT_MIN;
	r->path = strdup(path);
	r->domains = domains_new(rings);
	if (!r->path || !r->domains || !place_open(r, pid))
		return runtime_free(r);
	r->over = !rings->n;
	r->stale = file_find(r);
	(void)!getrandom(&seed, sizeof(seed), 0);
	events = domains_events(r->domains);
	r->translator = mprof_runtime_translator_new(&events, seed);
	return r->translator ? r : runtime_free(r);
}

static void give_up(struct runtime *r)
{
	r->over = true;
	r->dropped++;
}

/* Return whether A and B are the same file. */
static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Map the BYTES bytes of the file FD, and begin to read them if the header is complete. */
static void map(struct runtime *r, int fd, uint64_t bytes)
{
	const struct mprof_runtime_memory memory = {.load = mapping_load, .context = &r->mapping};
	enum mprof_status status;

	if (mapping_open(&r->mapping, fd, (size_t)bytes) < 0) {
		give_up(r);
		return;
	}
	status = mprof_runtime_layout_load(&r->layout, &memory, bytes);
	if (status == MPROF_OK)
		r->reader = mprof_runtime_new(&memory, &r->layout);
	if (r->reader)
		return;
	mapping_close(&r->mapping);
	if (status != MPROF_MORE)
		give_up(r);
}

static void find(struct runtime *r)
{
	int found = file_find(r), fd = -1;
	struct stat st;

	if (found < 0)
		return;
	if (r->stale < 0 || !is_same(found, r->stale)) {
		if (fstat(found, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != r->user)
			give_up(r);
		else if (st.st_size)
			fd = file_open(found);
	}
	if (fd >= 0) {
		map(r, fd, (uint64_t)st.st_size);
		close(fd);
	}
	close(found);
}

/* Set the time until the next step by the number of WORDS that came in this one. */
static void wait_set(struct runtime *r, uint64_t words)
{
	if (words > r->layout.ring_words / 8)
		r->wait = r->wait / 2 > WAIT_MIN ? r->wait / 2 : WAIT_MIN;
	else if (words <= r->layout.ring_words / 64)
		r->wait = r->wait * 2 < WAIT_MAX ? r->wait * 2 : WAIT_MAX;
}

void runtime_step(struct runtime *r)
{
	struct mprof_runtime_totals before;
	const struct mprof_runtime_totals *totals;
	struct mprof_runtime_sink sink;

	if (!r->reader && !r->over)
		find(r);
	if (!r->reader || r->over) {
		r->wait = r->searches++ > SEARCHES ? WAIT_MAX : WAIT_MIN;
		return;
	}
	totals = mprof_runtime_totals(r->reader);
	before = *totals;
	sink = mprof_runtime_translator_sink(r->translator);
	if (mprof_runtime_read(r->reader, &sink, NULL) != MPROF_OK || r->mapping.cut)
		give_up(r);
	wait_set(r, (totals->items - before.items) * ITEM_WORDS + totals->lost_words - before.lost_words);
}

int runtime_wait(const struct runtime *r)
{
	return r->over ? INT_MAX : r->wait;
}

uint64_t runtime_dropped(const struct runtime *r)
{
	return r->dropped + domains_dropped(r->domains);
}

void runtime_end(struct runtime *r)
{
	if (!r)
		return;
	runtime_step(r);
	mprof_runtime_translator_end(r->translator);
	domains_settle(r->domains);
	if (r->owned)
		unlinkat(r->directory, r->name, 0);
	runtime_free(r);
}
