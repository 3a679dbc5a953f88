/* This file finds a hole by SEEK_DATA and SEEK_HOLE. A file system that does not know them says that it has none. */
#include "file-hole.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#define LOOKED_MAX 65536u /* pieces of data that are looked at; many small holes only take time to read */

/* Find the first large hole of FD, a file of SIZE bytes, behind FROM. Return false if there is none. */
static bool find_hole(int fd, off_t from, off_t size, off_t *begin, off_t *end)
{
	for (unsigned looked = 0; looked < LOOKED_MAX; looked++) {
		*begin = lseek(fd, from, SEEK_HOLE);
		if (*begin < 0 || *begin >= size)
			return false;
		*end = lseek(fd, *begin, SEEK_DATA);
		if (*end < 0) /* the hole reaches to the end of the file */
			*end = size;
		if (*end - *begin >= FILE_HOLE_BYTES)
			return true;
		from = *end;
	}
	return false;
}

int file_hole_check(int fd, const char *name)
{
	off_t at = lseek(fd, 0, SEEK_CUR), begin, end;
	struct stat st;
	bool found;

	/* A file without holes takes one call more. */
	if (at < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size - st.st_blocks * 512 < FILE_HOLE_BYTES)
		return 0;
	found = find_hole(fd, at, st.st_size, &begin, &end);
	if (lseek(fd, at, SEEK_SET) < 0 || !found)
		return 0;
	say("%s has a hole from byte %lld to byte %lld, where nothing was ever written, so it is no whole trace; "
	    "`head -c %lld` copies what is before the hole",
	    name, (long long)begin, (long long)end, (long long)begin);
	return CTL_FAILED;
}
