/* Open the handles that need rights, then give up the rights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "helper.h"
#include "rights.h"
#include "source-xen.h"
#include "vcpu-area.h"
#include "xen.h"

int xen_access_open(struct xen_access *access, const struct config *config, char *sentence, size_t size)
{
	struct helper_options options = {
		.console_logs = config->xen_console_logs,
		.vcpu_interval = config->vcpu_interval_ns,
	};
	long page = sysconf(_SC_PAGESIZE);
	int r;

	if (!xen_is_dom0()) {
		snprintf(sentence, size,
			 "this machine is no Xen dom0; watch a directory of ring files with --source dir:PATH");
		return -ENODEV;
	}
	/* The kernel maps whole pages of its own, and a grant is 4 KiB of one. */
	if (page != XEN_PAGE_BYTES) {
		snprintf(sentence, size,
			 "this kernel has pages of %ld bytes, and a ring of a guest has pages of %u; boot dom0 with a "
			 "kernel that has such pages",
			 page, XEN_PAGE_BYTES);
		return -EOPNOTSUPP;
	}
	if (config_any_vcpu(config)) {
		options.vcpu_area = access->vcpu_area = vcpu_area_new();
		if (!access->vcpu_area) {
			snprintf(sentence, size, "there is no memory to record what vCPUs do");
			return -ENOMEM;
		}
	}
	r = helper_start(&access->helper, &options);
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
	access->vcpu_area = vcpu_area_free(access->vcpu_area);
}
