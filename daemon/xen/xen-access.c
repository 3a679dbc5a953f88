/* Open the handles that need rights, then give up the rights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "helper.h"
#include "rights.h"
#include "source-xen.h"
#include "xen.h"

int xen_access_open(struct xen_access *access, const char *console_logs, char *sentence, size_t size)
{
	int r;

	if (!xen_is_dom0()) {
		snprintf(sentence, size,
			 "this machine is no Xen dom0; watch a directory of ring files with --source dir:PATH");
		return -ENODEV;
	}
	r = helper_start(&access->helper, console_logs);
	if (r) {
		snprintf(sentence, size, "the helper process cannot be started: error=%s", strerror(-r));
		return r;
	}
	r = xen_open(&access->xen, sentence, size);
	if (r)
		return r;
	r = rights_drop();
	if (r)
		snprintf(sentence, size, "capabilities cannot be given up: error=%s", strerror(-r));
	return r;
}

void xen_access_close(struct xen_access *access)
{
	access->xen = xen_close(access->xen);
	access->helper = helper_stop(access->helper);
}
