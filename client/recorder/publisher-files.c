/*
 * The publisher of ring files. A file has a hidden name until its ring is initialised, so that a reader
 * finds whole rings only. Only the mapping keeps a file open: the kernel reports the writer's end to a
 * process that watches the directory, also when the writer is killed. A child of fork() does not inherit
 * the mapping, so it does not count as a writer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mprof/publisher.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN_SIZE (MPROF_PUBLISHER_NAME_SIZE + 1u) /* bytes of the name of a file that is not complete */

static void hidden_name(char name[HIDDEN_SIZE], unsigned index)
{
	name[0] = '.';
	mprof_publisher_name(name + 1, index);
}

/* Make a file of BYTES bytes and map it. Return 0 or -errno. */
static int ring_make(int directory, const char *name, size_t bytes, void **memory)
{
	int fd, r;

	unlinkat(directory, name, 0);
	fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	/* A store to a page without a block would kill the program if the disk is full. */
	r = -posix_fallocate(fd, 0, (off_t)bytes);
	if (r == 0) {
		*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (*memory == MAP_FAILED)
			r = -errno;
	}
	if (r == 0 && madvise(*memory, bytes, MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(*memory, bytes);
	}
	if (r)
		unlinkat(directory, name, 0);
	close(fd);
	return r;
}

static int files_share(void *context, unsigned index, size_t bytes, void **memory)
{
	struct mprof_publisher_files *f = context;
	char name[HIDDEN_SIZE];
	int r;

	if (f->directory < 0)
		return -ENOENT;
	hidden_name(name, index);
	r = ring_make(f->directory, name, bytes, memory);
	if (r == 0) {
		f->ring[index].memory = *memory;
		f->ring[index].bytes = bytes;
	}
	return r;
}

static int files_say(void *context, unsigned index, const char *name)
{
	struct mprof_publisher_files *f = context;
	char hidden[HIDDEN_SIZE];

	hidden_name(hidden, index);
	if (renameat(f->directory, hidden, f->directory, name) == 0)
		return 0;
	return -errno;
}

static void files_withdraw(void *context, unsigned index)
{
	struct mprof_publisher_files *f = context;

	if (f->ring[index].memory)
		munmap(f->ring[index].memory, f->ring[index].bytes);
	f->ring[index].memory = NULL;
}

/* Remove the rings that an earlier process or this one has left in DIRECTORY. */
static void rings_remove(int directory)
{
	char hidden[HIDDEN_SIZE];

	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++) {
		hidden_name(hidden, i);
		unlinkat(directory, hidden, 0);
		unlinkat(directory, hidden + 1, 0);
	}
}

/* Make the directory NAME.PID of this process. Return 0 or -errno. */
static int folder_make(struct mprof_publisher_files *f)
{
	snprintf(f->folder, sizeof(f->folder), "%s.%ld", f->name, (long)getpid());
	if (mkdirat(f->parent, f->folder, 0750) < 0 && errno != EEXIST)
		return -errno;
	f->directory = openat(f->parent, f->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->directory < 0)
		return -errno;
	rings_remove(f->directory);
	return 0;
}

static int files_forked(void *context)
{
	struct mprof_publisher_files *f = context;

	memset(f->ring, 0, sizeof(f->ring));
	if (f->directory >= 0)
		close(f->directory);
	f->directory = -1;
	return folder_make(f);
}

int mprof_publisher_files_open(struct mprof_publisher_files *f, struct mprof_publisher *p, const char *directory,
			       const char *name)
{
	size_t n = strlen(name);
	int r;

	*f = (struct mprof_publisher_files){.parent = -1, .directory = -1};
	if (n == 0 || n >= sizeof(f->name) || name[0] == '.' || strchr(name, '/'))
		return -EINVAL;
	memcpy(f->name, name, n + 1);
	f->parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->parent < 0)
		return -errno;
	r = folder_make(f);
	if (r) {
		close(f->parent);
		f->parent = -1;
		return r;
	}
	*p = (struct mprof_publisher){.share = files_share,
				      .say = files_say,
				      .withdraw = files_withdraw,
				      .forked = files_forked,
				      .context = f};
	return 0;
}

void mprof_publisher_files_close(struct mprof_publisher_files *f, int remove)
{
	char hidden[sizeof(f->folder) + 8];

	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++)
		files_withdraw(f, i);
	if (remove && f->directory >= 0) {
		/* A reader sees all rings go at once, and takes them as one. */
		snprintf(hidden, sizeof(hidden), ".%s.gone", f->folder);
		if (renameat(f->parent, f->folder, f->parent, hidden) < 0)
			snprintf(hidden, sizeof(hidden), "%s", f->folder);
		rings_remove(f->directory);
		unlinkat(f->parent, hidden, AT_REMOVEDIR);
	}
	if (f->directory >= 0)
		close(f->directory);
	if (f->parent >= 0)
		close(f->parent);
	f->directory = f->parent = -1;
}
