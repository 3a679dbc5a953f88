/*
 * Directories that are complete or not there.
 *
 * The files are made in a temporary directory beside the destination, which then gets its name in one step.  rename(2) puts a directory
 * into the place of an empty one and of nothing else, so that nothing is ever replaced.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"
#include "output-directory.h"
#include "scope.h"

/* Make ".NAME.XXXXXX" beside PATH, which does not end in a slash. */
static int open_aside(struct output_directory *d)
{
	const char *slash = strrchr(d->path, '/');
	int dir = slash ? (int)(slash - d->path) + 1 : 0;
	mode_t mask = umask(0);
	char *temp;

	umask(mask);
	if (asprintf(&temp, "%.*s.%s.XXXXXX", dir, d->path, d->path + dir) < 0)
		return -ENOMEM;
	if (!mkdtemp(temp)) {
		int error = errno;

		free(temp);
		return -error;
	}
	d->temp = temp;
	d->fd = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return d->fd < 0 || fchmod(d->fd, 0777 & ~mask) < 0 ? -errno : 0;
}

static int complain(const struct output_directory *d, int error)
{
	if (error == EEXIST || error == ENOTEMPTY || error == ENOTDIR)
		say("%s is there already and is not overwritten; remove it, or name another directory with -o",
		    d->path);
	else
		say("cannot write %s: %s", d->path, strerror(error));
	return CTL_FAILED;
}

/* Is there something that must stay? */
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
	return n > 2; /* beside itself and the one above */
}

int output_directory_open(struct output_directory *d, const char *path, const char *verb)
{
	size_t len = strlen(path);
	int r;

	*d = (struct output_directory){.fd = -1};
	if (strcmp(path, "-") == 0)
		return say_usage(verb, "this format is a directory, which standard output is not; name one with -o");
	while (len > 1 && path[len - 1] == '/')
		len--;
	d->path = strndup(path, len);
	if (!d->path)
		return say_memory();
	r = is_taken(d->path) ? -EEXIST : open_aside(d);
	return r ? complain(d, -r) : CTL_OK;
}

int output_directory_commit(struct output_directory *d)
{
	if (rename(d->temp, d->path) < 0)
		return complain(d, errno);
	free(d->temp);
	d->temp = NULL;
	return CTL_OK;
}

static void remove_all(struct output_directory *d)
{
	DIR *dir = d->fd < 0 ? NULL : fdopendir(d->fd);
	struct dirent *entry;

	if (dir)
		d->fd = -1; /* the stream's own from now on */
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(d->temp);
}

void output_directory_close(struct output_directory *d)
{
	if (d->temp)
		remove_all(d);
	closep(&d->fd);
	free(d->temp);
	free(d->path);
	*d = (struct output_directory){.fd = -1};
}
