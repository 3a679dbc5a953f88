/*
 * libxenctrl.so.4.17 for the helper that asks for domain states: the four functions that the
 * helper calls, which answer from the simulation's files. The helper loads the library at run time,
 * because the library's soname has the version of Xen. LD_LIBRARY_PATH makes the helper find this
 * library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xenctrl.h>

#include "sim.h"

xc_interface *xc_interface_open(xentoollog_logger *logger, xentoollog_logger *dombuild_logger, unsigned flags)
{
	(void)logger;
	(void)dombuild_logger;
	(void)flags;
	return calloc(1, 64);
}

int xc_interface_close(xc_interface *xch)
{
	free(xch);
	return 0;
}

int xc_domain_getinfolist(xc_interface *xch, uint32_t first, unsigned int max, xc_domaininfo_t *info)
{
	struct sim_domain domain;
	unsigned n;

	(void)xch;
	for (n = 0; n < max && sim_domain_from(first, &domain); n++) {
		memset(&info[n], 0, sizeof(info[n]));
		info[n].domain = (domid_t)domain.domid;
		info[n].flags = (domain.dying ? XEN_DOMINF_dying : 0u) | (domain.shutdown ? XEN_DOMINF_shutdown : 0u) |
				(domain.paused ? XEN_DOMINF_paused : 0u) | (domain.running ? XEN_DOMINF_running : 0u) |
				domain.reason << XEN_DOMINF_shutdownshift;
		first = domain.domid + 1;
	}
	return (int)n;
}

int xc_vcpu_getinfo(xc_interface *xch, uint32_t domid, uint32_t vcpu, xc_vcpuinfo_t *info)
{
	struct sim_vcpu of;

	(void)xch;
	if (!sim_vcpu(domid, vcpu, &of)) {
		errno = ESRCH;
		return -1;
	}
	*info = (xc_vcpuinfo_t){.vcpu = vcpu};
	info->online = (uint8_t)of.online;
	info->blocked = (uint8_t)of.blocked;
	info->running = (uint8_t)of.running;
	info->cpu_time = of.cpu_time;
	return 0;
}
