/* The seam to Xen in a build without Xen's libraries: the collector links with this instead of xen.c and source-xen.c. */
#include <errno.h>
#include <stdio.h>

#include "source.h"
#include "xen.h"

bool xen_built(void)
{
	return false;
}

int xen_open(struct xen **xp, char *sentence, size_t size)
{
	*xp = NULL;
	snprintf(sentence, size, "this build of mprofd has no Xen");
	return -ENOTSUP;
}

struct xen *xen_close(struct xen *xen)
{
	(void)xen; /* always NULL */
	return NULL;
}

int source_xen_open(struct source **sp, struct collector *collector, struct xen **xp, struct helper **hp,
		    char *sentence, size_t size)
{
	(void)collector;
	(void)hp; /* no helper runs without Xen */
	*sp = NULL;
	return xen_open(xp, sentence, size);
}
