/* Readers hold back deletion. */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "archive.h"
#include "cleanup.h"

int hold_take(const char *path, int *fd)
{
	CLEANUP(closep) int mine = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (mine < 0)
		return -errno;
	if (flock(mine, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? ARCHIVE_E_BUSY : -errno;
	*fd = TAKE_FD(mine);
	return 0;
}

int hold_open(int directory, const char *name, int *fd)
{
	CLEANUP(closep) int mine = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);

	if (mine < 0 || fchmod(mine, 0640) < 0) /* the group reads, whatever the umask */
		return -errno;
	*fd = TAKE_FD(mine);
	return 0;
}

bool hold_begin(int fd)
{
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void hold_end(int fd)
{
	if (fd >= 0)
		flock(fd, LOCK_UN);
}
