/* Files that are no regular files are never opened without O_NONBLOCK, and their kind is checked on the descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "regular.h"

int regular_open(const char *path, FILE **file)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	*file = NULL;
	if (fd < 0)
		return errno == ENXIO ? REGULAR_E_KIND : -errno; /* ENXIO: a socket */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return REGULAR_E_KIND;
	*file = fdopen(fd, "r");
	if (!*file)
		return -errno;
	(void)TAKE_FD(fd);
	return 0;
}

const char *regular_words(int r)
{
	return r == REGULAR_E_KIND ? REGULAR_KIND : strerror(-r);
}

bool regular_is_other(const char *path, const char *suffix)
{
	CLEANUP(freep) char *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s", path, suffix) < 0) {
		name = NULL;
		return false;
	}
	return stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}
