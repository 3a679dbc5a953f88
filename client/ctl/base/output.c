/*
 * Write a file that appears at its path only when it is complete.
 *
 * The data goes to an unnamed file in the directory of the destination. The file gets its name when
 * it is complete, so nobody mistakes a part of a trace for the whole. If the program ends earlier,
 * the kernel deletes the file. On a file system without unnamed files the data goes to a temporary
 * file beside the destination.
 *
 * An existing file that is not regular, such as a pipe or /dev/null, is written in place, because
 * replacing it would break its other users. If the path is a symbolic link, the link stays and its
 * target is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "output-writer.h"
#include "output.h"

#define FD_PATH_MAX 32u
#define TRIES	    100 /* attempts to find a free name */
#define LINKS_MAX   40	/* most symbolic links that are followed; the kernel has the same limit */

/*
 * Write to BUF (FD_PATH_MAX bytes) a path that opens the file of descriptor FD, even if the file
 * has no name. Return BUF.
 */
static const char *fd_path(int fd, char *buf)
{
	snprintf(buf, FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return buf;
}

char *output_aside(const char *path, const char *end)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	char *name;

	return asprintf(&name, "%.*s.%s.%s", dir, path, path + dir, end) < 0 ? NULL : name;
}

/*
 * Return the path of the file that the symbolic link at PATH points to; TARGET is the link's
 * content. The path is relative to the working directory or absolute. The caller frees it. Return
 * NULL without memory.
 */
static char *behind_link(const char *path, const char *target)
{
	const char *slash = *target == '/' ? NULL : strrchr(path, '/');
	char *name;

	return asprintf(&name, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, target) < 0 ? NULL : name;
}

/*
 * Follow the symbolic links from PATH, and set *PLACE to the path of the last target, which may not
 * exist. The caller frees *PLACE. Return 0 or -errno.
 */
static int follow_links(const char *path, char **place)
{
	char target[PATH_MAX], *next;
	ssize_t n;

	*place = strdup(path);
	for (int i = 0; *place && (n = readlink(*place, target, sizeof(target) - 1)) >= 0; i++) {
		if (i == LINKS_MAX)
			return -ELOOP;
		target[n] = 0;
		next = behind_link(*place, target);
		free(*place);
		*place = next;
	}
	return *place ? 0 : -ENOMEM;
}

/*
 * Open an unnamed file in the directory of PATH as O->fd. Return false if that is not possible, as
 * on a file system without unnamed files.
 */
static bool open_nameless(struct output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(freep) char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char buf[FD_PATH_MAX];

	o->fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
	if (o->fd >= 0 && access(fd_path(o->fd, buf), F_OK) < 0)
		closep(&o->fd); /* without /proc the file could not get a name later */
	o->nameless = o->can_start_over = o->fd >= 0;
	return o->nameless;
}

/*
 * Create the temporary file ".NAME.XXXXXX" beside PATH as O->fd. NAME is the last part of PATH;
 * XXXXXX stands for random characters. Return 0 or -errno.
 */
static int open_aside(struct output *o, const char *path)
{
	mode_t mask = umask(0);

	umask(mask);
	o->temp = output_aside(path, "XXXXXX");
	if (!o->temp)
		return -ENOMEM;
	o->fd = mkostemp(o->temp, O_CLOEXEC);
	if (o->fd < 0) {
		int error = errno;

		free(o->temp);
		o->temp = NULL;
		return -error;
	}
	fchmod(o->fd, 0666 & ~mask);
	o->can_start_over = true;
	return 0;
}

static int open_path(struct output *o, const char *path, enum output_mode mode)
{
	struct stat st;
	bool there;
	int r;

	o->path = strdup(path);
	if (!o->path)
		return -ENOMEM;
	o->close_it = true;
	if (mode == OUTPUT_NEW && lstat(path, &st) == 0)
		return -EEXIST;
	/*
	 * Test the path with stat() before follow_links(). The kernel may refuse to follow a
	 * symbolic link that another user put into /tmp, and stat() then fails. readlink() does not
	 * fail.
	 */
	there = stat(path, &st) == 0;
	if (!there && errno != ENOENT)
		return -errno;
	r = follow_links(path, &o->place);
	if (r)
		return r;
	if (mode != OUTPUT_DIRECT && (!there || S_ISREG(st.st_mode)))
		return open_nameless(o, o->place) ? 0 : open_aside(o, o->place);
	o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (o->fd < 0)
		return -errno;
	o->can_start_over = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
	return 0;
}

int output_open(struct output *o, const char *path, enum output_mode mode, const char *verb)
{
	int r = 0;

	*o = (struct output){.fd = -1, .replace = mode != OUTPUT_NEW};
	if (!path[0])
		return say_usage(verb, "the name of the output is empty; name a file, or \"-\" for standard output");
	if (strcmp(path, "-") == 0)
		o->fd = STDOUT_FILENO;
	else
		r = open_path(o, path, mode);
	if (r == -EEXIST) {
		say("%s is there already and is not overwritten; remove it, or name another file with -o", path);
		return CTL_FAILED;
	}
	if (r < 0) {
		say("cannot write %s: %s", path, strerror(-r));
		return CTL_FAILED;
	}
	if (isatty(o->fd))
		return say_usage(verb,
				 "a trace is not written to a terminal; name a file with -o, or redirect the output");
	return CTL_OK;
}

int output_write(struct output *o, const void *bytes, size_t len)
{
	return write_all(o->fd, bytes, len);
}

int output_start_over(struct output *o)
{
	return ftruncate(o->fd, 0) < 0 || lseek(o->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/*
 * Rename TEMP to PATH, and fail if PATH exists. On a file system without RENAME_NOREPLACE use
 * link() and unlink(). Return 0 or -errno.
 */
static int rename_new(const char *temp, const char *path)
{
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (link(temp, path) < 0)
		return -errno;
	unlink(temp);
	return 0;
}

/* Give the unnamed file the name NAME. Return 0, -EEXIST if NAME exists, or another -errno. */
static int give_name(struct output *o, const char *name)
{
	char buf[FD_PATH_MAX];

	if (linkat(AT_FDCWD, fd_path(o->fd, buf), AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	o->nameless = false;
	return 0;
}

/*
 * Give the unnamed file a temporary name beside its destination, because only a file with a name
 * can be renamed over an existing file. Return 0 or -errno.
 */
static int name_temporarily(struct output *o)
{
	int r = -EEXIST;
	uint32_t number;
	char end[16];

	for (int i = 0; i < TRIES && r == -EEXIST; i++) {
		free(o->temp);
		if (getrandom(&number, sizeof(number), 0) < 0)
			number = (uint32_t)i;
		snprintf(end, sizeof(end), "%06x", number & 0xffffff);
		o->temp = output_aside(o->place, end);
		r = o->temp ? give_name(o, o->temp) : -ENOMEM;
	}
	if (r) {
		free(o->temp);
		o->temp = NULL;
	}
	return r;
}

static int put_in_place(struct output *o)
{
	int r = o->nameless && o->replace ? name_temporarily(o) : 0;

	if (r)
		return r;
	if (o->nameless)
		return give_name(o, o->place);
	if (o->replace)
		return rename(o->temp, o->place) < 0 ? -errno : 0;
	return rename_new(o->temp, o->place);
}

int output_commit(struct output *o)
{
	int r = 0;

	if (!o->temp && !o->nameless)
		return CTL_OK;
	if (fsync(o->fd) < 0 && errno != EINVAL)
		r = -errno;
	else
		r = put_in_place(o);
	if (r < 0) {
		say("cannot write %s: %s", o->path, strerror(-r));
		return CTL_FAILED;
	}
	free(o->temp);
	o->temp = NULL;
	return CTL_OK;
}

void output_close(struct output *o)
{
	if (o->close_it)
		closep(&o->fd);
	if (o->temp)
		unlink(o->temp);
	free(o->temp);
	free(o->place);
	free(o->path);
	*o = (struct output){.fd = -1};
}

int output_complain(const struct output *o, int error)
{
	if (error == EPIPE && !o->path)
		return CTL_OK;
	say("cannot write %s: %s", o->path ? o->path : "standard output", strerror(error));
	return CTL_FAILED;
}

/*
 * The default is /var/tmp because /tmp is often in memory, and the data may be larger than memory.
 */

int spool_file(void)
{
	const char *dir = getenv("TMPDIR");
	CLEANUP(freep) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/mprofctl.XXXXXX", dir && *dir ? dir : "/var/tmp") < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}
