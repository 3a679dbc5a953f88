/*
 * A ring in a file. Only the mapping keeps the file open, so the kernel reports the writer's end to
 * a process that watches the directory: at munmap(), at exit and when the writer is killed.
 */
#include <mprof/recorder-file.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int file_create(const char *path)
{
	int fd;

	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	return fd < 0 ? -errno : fd;
}

/*
 * Map SIZE bytes of FD and store their address in *MEMORY. Return 0 or -errno. The blocks of the
 * file are allocated now, because a store to an unallocated page would kill the program if the disk
 * is full.
 */
static int file_map(int fd, size_t size, void **memory)
{
	int r = posix_fallocate(fd, 0, (off_t)size);

	if (r)
		return -r;
	*memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory == MAP_FAILED) {
		*memory = NULL;
		return -errno;
	}
	return 0;
}

int mprof_recorder_file_open(struct mprof_recorder_file *f, const char *path, size_t size)
{
	int fd, r;

	*f = (struct mprof_recorder_file){0};
	fd = file_create(path);
	if (fd < 0)
		return fd;
	r = file_map(fd, size, &f->memory);
	close(fd);
	if (r < 0) {
		unlink(path);
		return r;
	}
	f->size = size;
	return 0;
}

void mprof_recorder_file_close(struct mprof_recorder_file *f)
{
	if (f->memory)
		munmap(f->memory, f->size);
	*f = (struct mprof_recorder_file){0};
}
