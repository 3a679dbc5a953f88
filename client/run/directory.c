#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS "0123456789"

int directory_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

/* Return whether NAME is what mprof-run or OCaml's runtime calls a file in such a directory. */
static bool is_known(const char *name)
{
	static const char *const names[] = {"objects", "counters", "modules", "look", "stacks"};
	static const char *const numbered[] = {"thread-", "domain-"};
	size_t digits = strspn(name, DIGITS);

	if (digits && strcmp(name + digits, ".events") == 0)
		return true;
	name += *name == '.';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
		size_t n = strlen(numbered[i]);

		if (strncmp(name, numbered[i], n) == 0 && name[n] && !name[n + strspn(name + n, DIGITS)])
			return true;
	}
	return false;
}

void directory_remove(const char *path)
{
	int fd = directory_open(path);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	if (fd >= 0 && !d)
		close(fd);
	if (!d)
		return;
	while ((e = readdir(d)))
		if (is_known(e->d_name))
			unlinkat(fd, e->d_name, 0);
	closedir(d);
	rmdir(path);
}

/* Return whether the directory FD lies at PATH. */
static bool lies_at(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/*
 * Lock the directory PATH of this user, if its file system has locks. Return a descriptor, or -errno: -EBUSY if another mprof-run has the
 * lock, or has just removed the directory.
 */
static int lock(const char *path)
{
	int fd = directory_open(path);

	if (fd < 0)
		return fd;
	if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && lies_at(fd, path))
		return fd;
	close(fd);
	return -EBUSY;
}

int directory_make(const char *dir, const char *name, char **path)
{
	int left, fd;

	if (asprintf(path, "%s/.%s", dir, name) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	left = lock(*path);
	if (left == -EBUSY)
		return left;
	if (left >= 0) {
		directory_remove(*path);
		close(left);
	}
	if (mkdir(*path, 0750) < 0)
		return -errno;
	fd = lock(*path);
	if (fd == -EPERM) {
		/* This removes an empty directory only. */
		rmdir(*path);
		return -ESTALE;
	}
	return fd;
}

int directory_show(int fd, const char *dir, const char *name, char **path)
{
	char *shown;
	int r;

	if (asprintf(&shown, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	/* An earlier directory stays if there is nothing to take its place. */
	r = lies_at(fd, *path) ? 0 : -ESTALE;
	if (!r) {
		directory_remove(shown);
		r = rename(*path, shown) < 0 ? -errno : lies_at(fd, shown) ? 0 : -ESTALE;
	}
	if (r) {
		free(shown);
		return r;
	}
	free(*path);
	*path = shown;
	return 0;
}

void directory_drop(int fd, const char *path)
{
	if (lies_at(fd, path))
		directory_remove(path);
}

FILE *directory_file(int fd, const char *name)
{
	int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	FILE *f = file >= 0 ? fdopen(file, "w") : NULL;

	if (file >= 0 && !f)
		close(file);
	return f;
}

void directory_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', f);
		fprintf(f, *text >= ' ' && *text < 127 ? "%c" : "\\x%02x", (unsigned char)*text);
	}
}

int directory_file_end(int fd, const char *name, FILE *f)
{
	int r = -errno;

	if (!f)
		return r;
	/* A write that failed before has left its mark in F alone. */
	r = fflush(f) < 0 ? -errno : ferror(f) ? -EIO : 0;
	if (fclose(f) < 0 && !r)
		r = -errno;
	if (r)
		unlinkat(fd, name, 0);
	return r;
}
