/* /var/tmp, not /tmp: what is spooled may be larger than memory. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "scope.h"

int spool_file(void)
{
	const char *dir = getenv("TMPDIR");
	SCOPED(freep) char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/mprofctl.XXXXXX", dir && *dir ? dir : "/var/tmp") < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}
