#include "opened.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int opened_file_init(struct opened_file *file, const char *directory, const char *name)
{
	struct stat st;
	int r;

	*file = (struct opened_file){0};
	if (asprintf(&file->path, "%s/%s", directory, name) < 0) {
		file->path = NULL;
		return -ENOMEM;
	}
	if (stat(file->path, &st) < 0) {
		r = -errno;
		opened_file_deinit(file);
		return r;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	return 0;
}

void opened_file_deinit(struct opened_file *file)
{
	free(file->path);
	*file = (struct opened_file){0};
}

bool opened_file_replaced(const struct opened_file *file)
{
	struct stat st;

	if (!file->path)
		return false;
	if (stat(file->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	return st.st_dev != file->dev || st.st_ino != file->ino;
}
