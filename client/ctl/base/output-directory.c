/*
 * Write a directory that appears only when all its files are complete.
 *
 * The files have no names while they are written, so the kernel deletes them however the program
 * ends. output_directory_commit() makes a temporary directory beside the destination, links the
 * files into the temporary directory, and renames the directory to the destination. Signals are
 * blocked during the commit. rename(2) can replace an empty directory, but no other file or
 * directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "ctl.h"
#include "output-directory.h"
#include "output.h"

#define FD_PATH_MAX 32u
#define COPY_BYTES  (1u << 20)

static int complain(const struct output_directory *d, int error)
{
	if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR)
		say("%s is there already and is not overwritten; remove it, or name another directory with -o",
		    d->path);
	else
		say("cannot write %s: %s", d->path, strerror(error));
	return CTL_FAILED;
}

/* Return true if PATH exists and is not an empty directory. */
static bool is_taken(const char *path)
{
	struct stat st;
	struct dirent *entry;
	DIR *dir;
	int n = 0;

	if (lstat(path, &st) != 0)
		return false;
	dir = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	if (!dir)
		return true;
	while ((entry = readdir(dir)) && n < 3)
		n++;
	closedir(dir);
	return n > 2; /* "." and ".." are two entries */
}

/*
 * Open the parent directory of PATH. Fail if no file can be created in the parent, because
 * otherwise the error would appear only after the whole trace was read. Return a descriptor that
 * the caller closes, or -errno.
 */
static int open_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(freep) char *name = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (!name)
		return -ENOMEM;
	if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd < 0 ? -errno : fd;
}

int output_directory_open(struct output_directory *d, const char *path, const char *verb)
{
	size_t len = strlen(path);

	*d = (struct output_directory){.above = -1};
	if (!len)
		return say_usage(verb, "the name of the output is empty; name a directory");
	if (strcmp(path, "-") == 0)
		return say_usage(verb, "this format is a directory and cannot go to standard output; name one with -o");
	while (len > 1 && path[len - 1] == '/')
		len--;
	d->path = strndup(path, len);
	if (!d->path)
		return say_memory();
	if (is_taken(d->path))
		return complain(d, EEXIST);
	d->above = open_above(d->path);
	return d->above < 0 ? complain(d, -d->above) : CTL_OK;
}

/* ---- the files of the directory */

/*
 * Create an unnamed file on the file system of the destination. If that file system has no unnamed
 * files, create a named file and unlink it. Return a descriptor that the caller closes, or -errno.
 */
static int open_nameless(const struct output_directory *d)
{
	int fd = openat(d->above, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	CLEANUP(freep) char *name = NULL;

	if (fd >= 0)
		return fd;
	name = output_aside(d->path, "XXXXXX");
	fd = name ? mkostemp(name, O_CLOEXEC) : -1;
	if (fd >= 0)
		unlink(name);
	else if (!name)
		errno = ENOMEM;
	return fd < 0 ? -errno : fd;
}

static int reserve(struct output_directory *d)
{
	size_t room = d->room ? d->room * 2 : 4;
	struct output_part *list;

	if (d->n < d->room)
		return 0;
	list = realloc(d->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	d->list = list;
	d->room = room;
	return 0;
}

int output_directory_file(struct output_directory *d, const char *name)
{
	struct output_part part;
	int fd, r;

	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->list[i].name, name) == 0)
			return -EEXIST;
	r = reserve(d);
	if (r)
		return r;
	part = (struct output_part){.name = strdup(name), .fd = -1};
	part.fd = part.name ? open_nameless(d) : -ENOMEM;
	if (part.fd < 0) {
		free(part.name);
		return part.fd;
	}
	d->list[d->n++] = part;
	/*
	 * The caller closes the returned descriptor. PART.fd stays open until the commit has given
	 * the file its name.
	 */
	fd = fcntl(part.fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* ---- giving the files their names */

static int copy(int from, int to)
{
	off_t at = 0;
	ssize_t n;

	while ((n = sendfile(to, from, &at, COPY_BYTES)) > 0)
		;
	if (n < 0 || (fsync(to) < 0 && errno != EINVAL))
		return -errno;
	return 0;
}

/*
 * Give PART its name in the directory DIR, by a link. If the unnamed file cannot be linked, copy
 * it. Return 0 or -errno.
 */
static int put_part(const struct output_part *part, int dir)
{
	char source[FD_PATH_MAX];
	CLEANUP(closep) int fd = -1;

	snprintf(source, sizeof(source), "/proc/self/fd/%d", part->fd);
	if (linkat(AT_FDCWD, source, dir, part->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	fd = openat(dir, part->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	return fd < 0 ? -errno : copy(part->fd, fd);
}

static int put_parts(const struct output_directory *d, const char *temp)
{
	CLEANUP(closep) int dir = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	mode_t mask = umask(0);
	int r = 0;

	umask(mask);
	if (dir < 0 || fchmod(dir, 0777 & ~mask) < 0)
		return -errno;
	for (size_t i = 0; i < d->n && !r; i++)
		r = put_part(&d->list[i], dir);
	if (!r && rename(temp, d->path) < 0)
		r = -errno;
	for (size_t i = 0; i < d->n && r; i++)
		unlinkat(dir, d->list[i].name, 0);
	return r;
}

static int put_all(const struct output_directory *d)
{
	CLEANUP(freep) char *temp = output_aside(d->path, "XXXXXX");
	int r;

	if (!temp)
		return -ENOMEM;
	if (!mkdtemp(temp))
		return -errno;
	r = put_parts(d, temp);
	if (r)
		rmdir(temp);
	return r;
}

int output_directory_commit(struct output_directory *d)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = put_all(d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? complain(d, -r) : CTL_OK;
}

void output_directory_close(struct output_directory *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->list[i].name);
		closep(&d->list[i].fd);
	}
	closep(&d->above);
	free(d->list);
	free(d->path);
	*d = (struct output_directory){.above = -1};
}
