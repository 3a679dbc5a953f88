#include "keeper-ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xen-guest.h"

/* Return the path of NAME in the directory DIR, or of its hidden name; NULL without memory. The caller frees it. */
static char *path_of(const char *dir, const char *name, bool hidden)
{
	char *path;

	return asprintf(&path, "%s/%s%s", dir, hidden ? "." : "", name) < 0 ? NULL : path;
}

/* The ring of the file NAME is complete: give the file its name. Return 0 or -errno. */
static int file_show(const char *dir, const char *name)
{
	char *hidden = path_of(dir, name, true), *path = path_of(dir, name, false);
	int r = !hidden || !path ? -ENOMEM : rename(hidden, path) < 0 ? -errno : 0;

	if (r && hidden)
		unlink(hidden);
	free(hidden);
	free(path);
	return r;
}

static int file_make(const char *dir, const char *name, uint64_t bytes, struct mprof_recorder_file *file)
{
	char *path = path_of(dir, name, true);
	int r = path ? mprof_recorder_file_open(file, path, bytes) : -ENOMEM;

	free(path);
	return r;
}

int keeper_ring_make(const struct ring_place *place, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		     struct mprof_recorder *recorder)
{
	void *memory = NULL;
	int r;

	if (place->xen) {
		r = guest_ring_write(place->xen, name, bytes, &memory);
	} else {
		r = file_make(place->path, name, bytes, file);
		memory = file->memory;
		bytes = file->size;
	}
	if (!r && mprof_recorder_init(recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK)
		r = -EINVAL;
	return r || place->xen ? r : file_show(place->path, name);
}

/* Write the headers of a ring into the BYTES bytes of FD. Return 0 or -errno. */
static int ring_format(int fd, uint64_t bytes)
{
	struct mprof_recorder recorder;
	void *memory;
	int r = -posix_fallocate(fd, 0, (off_t)bytes);

	if (r)
		return r;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (mprof_recorder_init(&recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK)
		r = -EINVAL;
	munmap(memory, bytes);
	return r;
}

int thread_ring_make(const char *dir, const char *name, uint64_t bytes)
{
	char *hidden = path_of(dir, name, true);
	int fd, r;

	if (!hidden)
		return -ENOMEM;
	fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	r = fd < 0 ? -errno : ring_format(fd, bytes);
	if (fd >= 0 && r)
		unlink(hidden);
	free(hidden);
	r = r ? r : file_show(dir, name);
	if (fd >= 0 && r)
		close(fd);
	return r ? r : fd;
}
