/*
 * A process locks its directory. A directory whose lock can be taken was left by a process that has
 * ended.
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

void tree_remove(const char *path)
{
	if (nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
		log_warning("cannot remove %s: %s", path, strerror(errno));
}

static void remove_left(const char *directory, const char *prefix)
{
	DIR *dir = opendir(directory);
	size_t n = strlen(prefix);
	struct dirent *entry;
	char path[800];
	int fd;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, n) != 0 || entry->d_name[n] != '-' ||
		    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int)sizeof(path))
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			tree_remove(path);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

int tree_make(const char *directory, const char *prefix, char *path, size_t size, int *lock)
{
	int n, r;

	remove_left(directory, prefix);
	n = snprintf(path, size, "%s/%s-XXXXXX", directory, prefix);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (!mkdtemp(path))
		return -errno;
	*lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	r = -errno;
	if (*lock >= 0)
		close(*lock);
	*lock = -1;
	rmdir(path);
	return r;
}
