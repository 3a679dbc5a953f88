/* Read and replace the file of the hub's epoch. */
#include "own-state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "hub-epoch"

void own_state_read(const char *directory, char epoch[HUB_UUID_BYTES])
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(fclosep) FILE *f = NULL;

	epoch[0] = '\0';
	if (asprintf(&path, "%s/" NAME, directory) < 0) {
		path = NULL;
		return;
	}
	f = fopen(path, "re");
	if (!f || !fgets(epoch, HUB_UUID_BYTES, f) || strlen(epoch) != HUB_UUID_BYTES - 1 ||
	    strspn(epoch, "0123456789abcdef-") != HUB_UUID_BYTES - 1)
		epoch[0] = '\0';
}

static int write_file(const char *path, const char *epoch)
{
	FILE *f = fopen(path, "we");
	int r;

	if (!f)
		return -errno;
	r = fprintf(f, "%s\n", epoch) < 0 || fflush(f) != 0 || fsync(fileno(f)) < 0 ? -EIO : 0;
	return fclose(f) != 0 ? -EIO : r;
}

int own_state_write(const char *directory, const char *epoch)
{
	CLEANUP(freep) char *path = NULL, *fresh = NULL;
	int r;

	if (asprintf(&path, "%s/" NAME, directory) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (asprintf(&fresh, "%s.new", path) < 0) {
		fresh = NULL;
		return -ENOMEM;
	}
	r = write_file(fresh, epoch);
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	return r;
}
