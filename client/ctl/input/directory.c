/*
 * Streams are told from other files by what they begin with and not by their names, which each producer chooses as it likes: `metadata`
 * is the one name that CTF reserves.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/packet.h>

#include "directory.h"
#include "scope.h"

bool directory_wants(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return name[0] && name[0] != '.' && strcmp(name, "metadata") != 0;
}

int directory_add_file(struct lanes *l, const char *name, int fd)
{
	SCOPED(closep) int owned = fd;
	uint8_t magic[4];

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || mprof_load32(magic) != MPROF_PACKET_MAGIC)
		return 0;
	owned = -1;
	return lanes_add(l, name, fd);
}

static int wanted_entry(const struct dirent *entry)
{
	return directory_wants(entry->d_name);
}

static int add_entry(struct lanes *l, int dir, const char *name)
{
	struct stat st;
	int fd;

	/* What is not an ordinary file is not opened: a pipe would wait for its writer. */
	if (fstatat(dir, name, &st, 0) != 0 || !S_ISREG(st.st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : directory_add_file(l, name, fd);
}

int directory_add(struct lanes *l, const char *path)
{
	SCOPED(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int i, n, r = 0;

	if (fd < 0)
		return -errno;
	n = scandirat(fd, ".", &entries, wanted_entry, alphasort);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		r = r ? r : add_entry(l, fd, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}
