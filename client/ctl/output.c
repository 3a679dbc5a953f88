/*
 * Files that are complete or not there.
 *
 * A download goes to a temporary file beside its destination and gets its name when it is whole, so that nobody takes a part for the
 * trace.  What exists and is no regular file (a pipe, /dev/null) is written in place: replacing it would be harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"
#include "output.h"
#include "scope.h"

/* Create the temporary file ".NAME.XXXXXX" beside PATH. */
static int open_aside(struct output *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) + 1 : 0;
	mode_t mask = umask(0);

	umask(mask);
	if (asprintf(&o->temp, "%.*s.%s.XXXXXX", dir, path, path + dir) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
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
	bool exists = stat(path, &st) == 0;

	o->path = strdup(path);
	if (!o->path)
		return -ENOMEM;
	o->close_it = true;
	if (exists && mode == OUTPUT_NEW)
		return -EEXIST;
	if (mode != OUTPUT_DIRECT && !(exists && !S_ISREG(st.st_mode)))
		return open_aside(o, path);
	o->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	return o->fd < 0 ? -errno : 0;
}

int output_open(struct output *o, const char *path, enum output_mode mode, const char *verb)
{
	int r = 0;

	*o = (struct output){.fd = -1, .replace = mode != OUTPUT_NEW};
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
	const char *p = bytes;

	while (len) {
		ssize_t n = write(o->fd, p, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int output_start_over(struct output *o)
{
	return ftruncate(o->fd, 0) < 0 || lseek(o->fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Give TEMP its name without replacing anything, also on file systems that cannot rename so. */
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

int output_commit(struct output *o)
{
	int r = 0;

	if (!o->temp)
		return CTL_OK;
	if (fsync(o->fd) < 0 && errno != EINVAL)
		r = -errno;
	else if (o->replace)
		r = rename(o->temp, o->path) < 0 ? -errno : 0;
	else
		r = rename_new(o->temp, o->path);
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
