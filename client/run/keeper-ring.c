#include "keeper-ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "directory.h"
#include "xen-guest.h"

#define HIDDEN_NAME 40u /* bytes of the hidden name of a file, NUL included */

/* Write the hidden name of the file NAME to HIDDEN. */
static void hide(const char *name, char hidden[HIDDEN_NAME])
{
	snprintf(hidden, HIDDEN_NAME, ".%s", name);
}

/* Make the file NAME of BYTES bytes in DIRECTORY under its hidden name, and map it. Return a descriptor of it, or -errno. */
static int file_make(int directory, const char *name, uint64_t bytes, void **memory)
{
	char hidden[HIDDEN_NAME];
	int fd, r;

	hide(name, hidden);
	fd = openat(directory, hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	/* All blocks are allocated now: a store to a page without one would kill the writer if the disk is full. */
	r = -posix_fallocate(fd, 0, (off_t)bytes);
	*memory = r ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	r = r ? r : -errno;
	unlinkat(directory, hidden, 0);
	close(fd);
	return r;
}

/* The file NAME in DIRECTORY is there under its hidden name. Give it its name if R, the result so far, is 0; else remove it. Return 0 or -errno. */
static int file_show(int directory, const char *name, int r)
{
	char hidden[HIDDEN_NAME];

	hide(name, hidden);
	if (!r && renameat(directory, hidden, directory, name) < 0)
		r = -errno;
	if (r)
		unlinkat(directory, hidden, 0);
	return r;
}

/* Let RECORDER write a ring into the BYTES bytes at MEMORY. Return 0 or -errno. */
static int ring_format(struct mprof_recorder *recorder, void *memory, uint64_t bytes)
{
	return mprof_recorder_init(recorder, memory, bytes, 0, NULL, NULL) == MPROF_RECORDER_OK ? 0 : -EINVAL;
}

int file_ring_make(int directory, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		   struct mprof_recorder *recorder)
{
	void *memory = NULL;
	int fd = file_make(directory, name, bytes, &memory);

	if (fd < 0)
		return fd;
	*file = (struct mprof_recorder_file){.memory = memory, .size = bytes};
	close(fd);
	return file_show(directory, name, ring_format(recorder, memory, bytes));
}

int keeper_ring_make(const struct ring_place *place, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		     struct mprof_recorder *recorder)
{
	void *memory = NULL;
	int directory, r;

	if (place->xen) {
		r = guest_ring_write(place->xen, name, bytes, &memory);
		return r ? r : ring_format(recorder, memory, bytes);
	}
	directory = directory_open(place->path);
	if (directory < 0)
		return directory;
	r = file_ring_make(directory, name, bytes, file, recorder);
	close(directory);
	return r;
}

int thread_ring_make(const char *dir, const char *name, uint64_t bytes)
{
	int directory = directory_open(dir), fd = directory, r;
	struct mprof_recorder recorder;
	void *memory = NULL;

	if (directory < 0)
		return directory;
	fd = file_make(directory, name, bytes, &memory);
	if (fd >= 0) {
		r = file_show(directory, name, ring_format(&recorder, memory, bytes));
		munmap(memory, bytes);
		if (r)
			close(fd);
		fd = r ? r : fd;
	}
	close(directory);
	return fd;
}
