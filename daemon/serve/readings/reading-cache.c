/* Keep readings as files, each with its key before it and a checksum behind it. */
#include "reading-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <mprof/reading.h>

#include "cleanup.h"
#include "write-all.h"

#define NAME_BYTES  (CACHE_KEY_BYTES + 1u) /* half of the key in hexadecimal digits, and a NUL */
#define SUM_BYTES   8u
#define FILE_BYTES  (CACHE_KEY_BYTES + MPROF_READING_BYTES_MAX + SUM_BYTES)
#define PRUNE_EVERY 64u /* writes */
#define WRITING	    "writing"

void reading_cache_close(struct reading_cache *c)
{
	closep(&c->directory);
}

static void make_name(const uint8_t key[CACHE_KEY_BYTES], char name[NAME_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < CACHE_KEY_BYTES / 2; i++) {
		name[2 * i] = digits[key[i] >> 4];
		name[2 * i + 1] = digits[key[i] & 15];
	}
	name[CACHE_KEY_BYTES] = '\0';
}

/* Read the whole file FD of SIZE bytes to P. */
static bool read_file(int fd, uint8_t *p, size_t size)
{
	ssize_t n;

	for (; size; p += n, size -= (size_t)n) {
		n = read(fd, p, size);
		if (n <= 0)
			return false;
	}
	return true;
}

uint8_t *reading_cache_get(const struct reading_cache *c, const uint8_t key[CACHE_KEY_BYTES], size_t *bytes)
{
	CLEANUP(freep) uint8_t *p = NULL;
	CLEANUP(closep) int fd = -1;
	char name[NAME_BYTES];
	struct stat st;
	size_t size;

	make_name(key, name);
	/* Without O_NONBLOCK a FIFO of that name would block the server. */
	fd = c->directory < 0 ? -1
			      : openat(c->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_BYTES ||
	    st.st_size < (off_t)(CACHE_KEY_BYTES + SUM_BYTES))
		return NULL;
	size = (size_t)st.st_size;
	p = malloc(size);
	if (!p || !read_file(fd, p, size) || memcmp(p, key, CACHE_KEY_BYTES) != 0 ||
	    mprof_load64(p + size - SUM_BYTES) != XXH3_64bits(p, size - SUM_BYTES))
		return NULL;
	*bytes = size - CACHE_KEY_BYTES - SUM_BYTES;
	memmove(p, p + CACHE_KEY_BYTES, *bytes);
	return TAKE_PTR(p);
}

struct entry {
	struct timespec time;
	uint64_t bytes;
	char name[NAME_BYTES];
};

static int older(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->time, *y = &((const struct entry *)b)->time;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Add the files of D to LIST, which has room for MOST. Return their number. */
static size_t list_files(DIR *d, struct entry *list, size_t most)
{
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	while (n < most && (e = readdir(d))) {
		if (strlen(e->d_name) != NAME_BYTES - 1 || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		list[n].time = st.st_mtim;
		list[n].bytes = (uint64_t)st.st_size;
		memcpy(list[n++].name, e->d_name, NAME_BYTES);
	}
	return n;
}

/* Delete the oldest files if there are more than CACHE_FILES_MOST, and sum up the others. */
static void prune(struct reading_cache *c)
{
	const size_t most = CACHE_FILES_MOST + 2 * PRUNE_EVERY;
	struct entry *list = calloc(most, sizeof(*list));
	int fd = openat(c->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = d && list ? list_files(d, list, most) : 0;

	if (n > CACHE_FILES_MOST)
		qsort(list, n, sizeof(*list), older);
	for (size_t i = 0; i + CACHE_FILES_MOST < n; i++)
		(void)unlinkat(c->directory, list[i].name, 0);
	c->bytes = 0;
	for (size_t i = n > CACHE_FILES_MOST ? n - CACHE_FILES_MOST : 0; i < n; i++)
		c->bytes += list[i].bytes;
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	free(list);
}

int reading_cache_open(struct reading_cache *c, const char *path)
{
	*c = (struct reading_cache){.directory = -1};
	if (!path)
		return 0;
	c->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->directory < 0)
		return -errno;
	prune(c);
	return 0;
}

int reading_cache_put(struct reading_cache *c, const uint8_t key[CACHE_KEY_BYTES], const uint8_t *reading, size_t bytes)
{
	size_t size = CACHE_KEY_BYTES + bytes;
	CLEANUP(freep) uint8_t *p = NULL;
	CLEANUP(closep) int fd = -1;
	char name[NAME_BYTES];
	int r;

	if (c->directory < 0)
		return 0;
	p = malloc(size + SUM_BYTES);
	if (!p)
		return -ENOMEM;
	memcpy(p, key, CACHE_KEY_BYTES);
	memcpy(p + CACHE_KEY_BYTES, reading, bytes);
	mprof_store64(p + size, XXH3_64bits(p, size));
	(void)unlinkat(c->directory, WRITING, 0);
	fd = openat(c->directory, WRITING, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_all(fd, p, size + SUM_BYTES);
	make_name(key, name);
	if (r == 0 && renameat(c->directory, WRITING, c->directory, name) < 0)
		r = -errno;
	if (r != 0)
		(void)unlinkat(c->directory, WRITING, 0);
	if (r == 0)
		c->bytes += size + SUM_BYTES;
	if (r == 0 && ++c->writes % PRUNE_EVERY == 0)
		prune(c);
	return r;
}
