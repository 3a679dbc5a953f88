/*
 * The source `xen` in a build without Xen's libraries: refuse to open it. This file replaces
 * source-xen.c, xen-access.c and xen.c.
 */
#include <errno.h>
#include <stdio.h>

#include "source-xen.h"

int xen_access_open(struct xen_access *access, const struct config *config, char *sentence, size_t size)
{
	(void)config;
	*access = (struct xen_access){0};
	snprintf(sentence, size,
		 "--source xen: this build of mprofd has no Xen; "
		 "watch a directory of ring files with --source dir:PATH");
	return -ENOTSUP;
}

void xen_access_close(struct xen_access *access)
{
	(void)access; /* never opened in this build */
}

int source_xen_open(struct source **sp, struct collector *collector, struct xen_access *access, char *sentence,
		    size_t size)
{
	(void)collector;
	*sp = NULL;
	return xen_access_open(access, NULL, sentence, size);
}
